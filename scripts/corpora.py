"""Prepare corpora: list the ids that they annotate, leave mentions open, and split them by document.

python scripts/corpora.py labels CORPUS … --output labels.txt
python scripts/corpora.py leave-open CORPUS LABEL
python scripts/corpora.py split FOLDER --train-ids IDS --dev-ids IDS --train FOLDER --dev FOLDER
"""

from pathlib import Path
from typing import Annotated

import typer

from spacy_sapbert.documents.docbin import read_docbin, write_docbin
from spacy_sapbert.documents.docs import DOC_ID, UNSURE, unsure_spans
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.files.output import open_output

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def labels(
    corpora: Annotated[list[Path], typer.Argument(help="Corpora in any format that `spacy-sapbert convert` reads.")],
    output: Annotated[Path, typer.Option("--output", "-o")],
) -> None:
    """Write the ids that corpora annotate, one per line: the concepts of the task."""
    documents = (document for path in corpora for document in read_corpus(path))
    ids = {concept_id for document in documents for mention in document.mentions for concept_id in mention.ids}
    if not ids:
        raise SystemExit(f"No mention in {', '.join(map(str, corpora))} has an id; give annotated corpora.")
    with open_output(output) as write:
        for concept_id in sorted(ids):
            write(f"{concept_id}\n")
    typer.echo(f"{output}: {len(ids):,} ids", err=True)


@app.command()
def leave_open(
    corpus: Annotated[Path, typer.Argument(help="A .spacy file of `spacy-sapbert convert`; it is changed.")],
    label: Annotated[str, typer.Argument(help="The label of the mentions.")],
) -> None:
    """Make mentions of a label unsure, since the corpus sees their bounds in another way than the others.

    So it only teaches where no mention of this label is.
    """
    docs = list(read_docbin(corpus))
    for doc in docs:
        doc.spans[UNSURE] = [*unsure_spans(doc), *(entity for entity in doc.ents if entity.label_ == label)]
        doc.ents = [entity for entity in doc.ents if entity.label_ != label]
    typer.echo(f"{corpus}: {write_docbin(docs, corpus):,} documents", err=True)


@app.command()
def split(
    corpora: Annotated[Path, typer.Argument(help="A folder of .spacy files of `spacy-sapbert convert`.")],
    train_ids: Annotated[Path, typer.Option(help="Ids of training documents, one per line. Others may be among them.")],
    dev_ids: Annotated[Path, typer.Option(help="Ids of development documents, one per line.")],
    train: Annotated[Path, typer.Option(help="The folder for the training documents.")],
    dev: Annotated[Path, typer.Option(help="The folder for the development documents.")],
) -> None:
    """Split corpora into training and development documents by lists of ids.

    Corpora share documents. One list for all of them keeps the development documents out of every training set.
    Documents in neither list are left out.
    """
    parts = {dev: set(dev_ids.read_text(encoding="utf-8").split())}
    parts[train] = set(train_ids.read_text(encoding="utf-8").split()) - parts[dev]
    files = sorted(corpora.glob("*.spacy"))
    if not files:
        raise SystemExit(f"{corpora} has no .spacy file. Convert the corpora first.")
    for corpus in files:
        docs = list(read_docbin(corpus))
        for folder, ids in parts.items():
            part = [doc for doc in docs if doc.user_data.get(DOC_ID) in ids]
            if not part:
                raise SystemExit(f"{corpus} has no document for {folder}. Check the ids.")
            typer.echo(f"{folder / corpus.name}: {write_docbin(part, folder / corpus.name):,} documents", err=True)


if __name__ == "__main__":
    app()
