"""List the ids that corpora annotate, one per line. These are the concepts of the task.

python scripts/label_set.py CORPUS … --output labels.txt
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.files.output import open_output


def main(
    corpora: Annotated[list[Path], typer.Argument(help="Corpora in any format that `spacy-sapbert convert` reads.")],
    output: Annotated[Path, typer.Option("--output", "-o")],
) -> None:
    """Write the ids that corpora annotate, one per line."""
    documents = (document for path in corpora for document in read_corpus(path))
    ids = {one_id for document in documents for mention in document.mentions for one_id in mention.ids}
    if not ids:
        raise SystemExit(f"No mention in {', '.join(map(str, corpora))} has an id; give annotated corpora.")
    with open_output(output) as write:
        for one_id in sorted(ids):
            write(f"{one_id}\n")
    typer.echo(f"{output}: {len(ids):,} ids", err=True)


if __name__ == "__main__":
    typer.run(main)
