"""Make a vocabulary of the chemicals of MeSH: descriptors in the tree of chemicals, and supplementary concepts.

    python scripts/mesh_chemicals.py DESCRIPTORS TREE MAPPINGS --output chemicals.txt

The output has MEDIC's format: id||name|synonym… The supplementary concepts are those that MAPPINGS maps to ChEBI. They
have their name in MeSH.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output

_BRANCH = "D"  # chemicals and drugs


def main(
    descriptors: Annotated[Path, typer.Argument(help="id, name, synonyms joined by |")],
    tree: Annotated[Path, typer.Argument(help="tree number, id, name; with a header")],
    mappings: Annotated[Path, typer.Argument(help="vocabulary, id, name, other vocabulary, …")],
    output: Annotated[Path, typer.Option("--output", "-o")],
) -> None:
    """Make a vocabulary of chemicals of MeSH, in MEDIC's format."""
    chemicals = {row[1] for row in rows(tree, 3) if row[0].startswith(_BRANCH)}
    names: dict[str, dict[str, None]] = {}
    for concept_id, name, synonyms, *_ in rows(descriptors, 3):
        if concept_id in chemicals:
            names.setdefault(concept_id, {}).update(dict.fromkeys([name, *filter(None, synonyms.split("|"))]))
    for row in rows(mappings, 4):
        if row[3] == "CHEBI":
            names.setdefault(row[1], {})[row[2].replace("|", " ")] = None
    with open_output(output) as write:
        for concept_id in sorted(names):
            write(f"{concept_id}||{'|'.join(names[concept_id])}\n")
    typer.echo(f"{output}: {len(names):,} concepts, {sum(map(len, names.values())):,} names", err=True)


def rows(path: Path, n_columns: int) -> Iterator[list[str]]:
    with open_text(path) as handle:
        for number, line in enumerate(handle, start=1):
            row = line.rstrip("\n").split("\t")
            if len(row) < n_columns:
                raise SystemExit(
                    f"{path}, line {number}: {len(row)} columns of at least {n_columns}; get the file again"
                )
            yield row


if __name__ == "__main__":
    typer.run(main)
