"""Split corpora into training and development documents by lists of ids.

    python scripts/split_corpora.py FOLDER --train-ids IDS --dev-ids IDS --train FOLDER --dev FOLDER

Corpora share documents. One list for all of them keeps the development documents out of every training set. Documents
in neither list are left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.documents.docbin import read_docbin, write_docbin
from spacy_sapbert.documents.docs import DOC_ID


def main(
    corpora: Annotated[Path, typer.Argument(help="A folder of .spacy files of `spacy-sapbert convert`.")],
    train_ids: Annotated[Path, typer.Option(help="Ids of training documents, one per line. Others may be among them.")],
    dev_ids: Annotated[Path, typer.Option(help="Ids of development documents, one per line.")],
    train: Annotated[Path, typer.Option(help="The folder for the training documents.")],
    dev: Annotated[Path, typer.Option(help="The folder for the development documents.")],
) -> None:
    """Write the documents of each file to files of the same name in the two folders."""
    wanted = {dev: set(dev_ids.read_text(encoding="utf-8").split())}
    wanted[train] = set(train_ids.read_text(encoding="utf-8").split()) - wanted[dev]
    files = sorted(corpora.glob("*.spacy"))
    if not files:
        raise SystemExit(f"{corpora} has no .spacy file. Convert the corpora first.")
    for corpus in files:
        docs = list(read_docbin(corpus))
        for folder, ids in wanted.items():
            part = [doc for doc in docs if doc.user_data.get(DOC_ID) in ids]
            if not part:
                raise SystemExit(f"{corpus} has no document for {folder}. Check the ids.")
            typer.echo(f"{folder / corpus.name}: {write_docbin(part, folder / corpus.name):,} documents", err=True)


if __name__ == "__main__":
    typer.run(main)
