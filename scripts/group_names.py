"""Group a table with one name per row by id, and choose the preferred name of each concept.

    python scripts/group_names.py NAMES --output concepts.tsv

NAMES has the columns name and id, without a header. The output has the columns id, name and synonyms (joined by |), for
`kb build --format table`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output


def main(
    names: Annotated[Path, typer.Argument(help="name, id, …; tab-separated, plain or gzipped")],
    output: Annotated[Path, typer.Option("--output", "-o")],
) -> None:
    """Write one row per concept, the preferred name first."""
    concepts: dict[str, dict[str, None]] = {}
    with open_text(names) as handle:
        for number, line in enumerate(handle, start=1):
            row = line.rstrip("\n").split("\t")
            if len(row) < 2:
                raise SystemExit(f"{names}, line {number}: {len(row)} columns of at least 2; get the file again")
            concepts.setdefault(row[1], {})[row[0].replace("|", " ")] = None
    genera = Counter(name.partition(" ")[0] for of_concept in concepts.values() for name in of_concept)
    with open_output(output) as write:
        write("id\tname\tsynonyms\n")
        for concept_id, of_concept in concepts.items():
            chosen = preferred(list(of_concept), genera)
            write(f"{concept_id}\t{chosen}\t{'|'.join(name for name in of_concept if name != chosen)}\n")
    typer.echo(f"{output}: {len(concepts):,} concepts, {sum(map(len, concepts.values())):,} names", err=True)


def preferred(names: Sequence[str], genera: Mapping[str, int]) -> str:
    """Return the scientific name of a species, or else the name with the most spellings, in its shortest one.

    A scientific name is one that is also there with an abbreviated genus: "Homo sapiens" beside "H. sapiens". There are
    also subspecies, and misspelled or former names. So the fewest words decide, and then the words that most names of
    the concept share. `genera` counts the first words of all names of the table, which decide last.
    """
    known = set(names)
    scientific = [name for name in names if _abbreviated(name) in known]
    if scientific:
        shared = Counter(word for name in names for word in set(name.split()))
        votes = {name: sum(shared[word] for word in name.split()) for name in scientific}
        frequent = {name: genera[name.partition(" ")[0]] for name in scientific}
        return min(scientific, key=lambda name: (len(name.split()), -votes[name], -frequent[name], len(name), name))
    spellings = Counter(map(_folded, names))
    return min(names, key=lambda name: (-spellings[_folded(name)], len(name), name))


def _abbreviated(name: str) -> str:
    genus, _, rest = name.partition(" ")
    return f"{genus[:1]}. {rest}" if genus.isalpha() and rest else ""


def _folded(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


if __name__ == "__main__":
    typer.run(main)
