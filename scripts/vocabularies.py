"""Make tables for `spacy-sapbert kb build` from tables that it does not read.

python scripts/vocabularies.py group NAMES --output concepts.tsv
python scripts/vocabularies.py chemicals DESCRIPTORS TREE MAPPINGS --output chemicals.txt
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output

Names = dict[str, dict[str, None]]
Output = Annotated[Path, typer.Option("--output", "-o")]
app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def group(
    names: Annotated[Path, typer.Argument(help="name, id, …; tab-separated, plain or gzipped, without a header")],
    output: Output,
) -> None:
    """Group a table with one name per row by id, the preferred name first: id, name, and synonyms joined by |."""
    concepts: Names = {}
    for row in rows(names, 2):
        concepts.setdefault(row[1], {})[row[0].replace("|", " ")] = None
    genera = Counter(name.partition(" ")[0] for synonyms in concepts.values() for name in synonyms)
    with open_output(output) as write:
        write("id\tname\tsynonyms\n")
        for concept_id, synonyms in concepts.items():
            chosen = preferred(list(synonyms), genera)
            write(f"{concept_id}\t{chosen}\t{'|'.join(name for name in synonyms if name != chosen)}\n")
    show(output, concepts)


def preferred(names: Sequence[str], genera: Mapping[str, int]) -> str:
    """Return the scientific name of a species, or else the name with the most spellings, in its shortest one.

    A scientific name is one that is also there with an abbreviated genus: "Homo sapiens" beside "H. sapiens". There are
    also subspecies, and misspelled or former names. So the fewest words decide, and then the words that most names of
    the concept share. `genera` counts the first words of all names of the table, which decide last.
    """
    known = set(names)
    scientific = [name for name in names if abbreviated(name) in known]
    if scientific:
        shared = Counter(word for name in names for word in set(name.split()))
        votes = {name: sum(shared[word] for word in name.split()) for name in scientific}
        frequent = {name: genera[name.partition(" ")[0]] for name in scientific}
        return min(scientific, key=lambda name: (len(name.split()), -votes[name], -frequent[name], len(name), name))
    spellings = Counter(map(folded, names))
    return min(names, key=lambda name: (-spellings[folded(name)], len(name), name))


def abbreviated(name: str) -> str:
    genus, _, rest = name.partition(" ")
    return f"{genus[:1]}. {rest}" if genus.isalpha() and rest else ""


def folded(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


@app.command()
def chemicals(
    descriptors: Annotated[Path, typer.Argument(help="id, name, synonyms joined by |")],
    tree: Annotated[Path, typer.Argument(help="tree number, id, name; with a header")],
    mappings: Annotated[Path, typer.Argument(help="vocabulary, id, name, other vocabulary, …")],
    output: Output,
) -> None:
    """Write the chemicals of MeSH in MEDIC's format: id||name|synonym…

    These are the descriptors in the tree of chemicals, and the supplementary concepts that MAPPINGS maps to ChEBI.
    """
    branch = {row[1] for row in rows(tree, 3) if row[0].startswith("D")}  # chemicals and drugs
    concepts: Names = {}
    for concept_id, name, synonyms, *_ in rows(descriptors, 3):
        if concept_id in branch:
            concepts.setdefault(concept_id, {}).update(dict.fromkeys([name, *filter(None, synonyms.split("|"))]))
    for row in rows(mappings, 4):
        if row[3] == "CHEBI":
            concepts.setdefault(row[1], {})[row[2].replace("|", " ")] = None
    with open_output(output) as write:
        for concept_id in sorted(concepts):
            write(f"{concept_id}||{'|'.join(concepts[concept_id])}\n")
    show(output, concepts)


def rows(path: Path, n_columns: int) -> Iterator[list[str]]:
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            row = line.rstrip("\n").split("\t")
            if len(row) < n_columns:
                few = f"{len(row)} columns of at least {n_columns}"
                raise SystemExit(f"{path}, line {number}: {few}; get the file again")
            yield row


def show(output: Path, concepts: Names) -> None:
    typer.echo(f"{output}: {len(concepts):,} concepts, {sum(map(len, concepts.values())):,} names", err=True)


if __name__ == "__main__":
    app()
