"""Split a corpus into training and development documents by a list of ids.

    python scripts/split_corpus.py CORPUS.spacy IDS --train train.spacy --dev dev.spacy

Corpora share documents. One list for all of them keeps the development documents out of every training set.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.corpora.docbin import read_docbin, write_docbin
from spacy_sapbert.corpora.docs import DOC_ID


def main(
    corpus: Annotated[Path, typer.Argument(help="A .spacy file of `spacy-sapbert convert`.")],
    ids: Annotated[Path, typer.Argument(help="Ids of development documents, one per line. Others may be among them.")],
    train: Annotated[Path, typer.Option(help="The .spacy file for the other documents.")],
    dev: Annotated[Path, typer.Option(help="The .spacy file for the development documents.")],
) -> None:
    """Write the documents with these ids to one file, and the others to another."""
    listed = set(ids.read_text(encoding="utf-8").split())
    parts: dict[Path, list] = {train: [], dev: []}
    for doc in read_docbin(corpus):
        parts[dev if doc.user_data.get(DOC_ID) in listed else train].append(doc)
    if not all(parts.values()):
        raise SystemExit(f"{ids} has all documents of {corpus}, or none of them; give the ids of some of them.")
    for path, docs in parts.items():
        typer.echo(f"{path}: {write_docbin(docs, path):,} documents", err=True)


if __name__ == "__main__":
    typer.run(main)
