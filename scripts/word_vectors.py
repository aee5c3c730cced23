"""Train word vectors (floret) on abstracts, on training documents and on the names of a vocabulary.

    python scripts/word_vectors.py corpus/ner/train --exclude corpus/ner/dev --documents assets/documents \\
        --kb corpus/names.kb --output corpus/vectors

The output is a pipeline with vectors of 8 bits, for `paths.vectors` of a training config. floret makes the vector of a
word from its pieces of 3 to 5 characters (https://github.com/explosion/floret). `pip install floret` installs it.

The names of a concept make one line. A word for the type of the concept follows each name, so that the pieces of names
learn which types they are of.
"""

import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import floret
import spacy
import typer
from spacy.language import Language
from spacy.training.initialize import convert_vectors

from spacy_sapbert.augmentation.documents import EvaluationSets
from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import from_doc
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_all
from spacy_sapbert.files.console import stderr_console
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.training.tagging.word_vectors import to_int8
from spacy_sapbert.types import Document

TOKENIZER, VECTORS = "spacy-sapbert.BiomedicalTokenizer.v1", "spacy-sapbert.Int8Vectors.v1"
NAMES_PER_CONCEPT = 6
BATCH = 1000
SHORTEST, LONGEST = 3, 5

app = typer.Typer(add_completion=False)


def corpus_of(paths: Iterable[Path]) -> Iterator[Document]:
    for path in paths:
        for file in sorted(path.rglob("*.spacy")) if path.is_dir() else [path]:
            yield from map(from_doc, read_docbin(file))


def other_texts(folder: Path | None, evaluation: EvaluationSets) -> Iterator[str]:
    if folder is not None and folder.is_dir():
        documents = read_all([(folder, ReadOptions())], Problems(stderr_console()))
        yield from (document.text for document in documents if not evaluation.overlap(document))


def lines_of_texts(nlp: Language, texts: Iterable[str]) -> Iterator[str]:
    yield from (words_of(nlp, text) for text in texts)


def lines_of_names(nlp: Language, kb: KnowledgeBase) -> Iterator[str]:
    """Yield one line per concept: each name, followed by a word for the concept's type."""
    for first in range(0, len(kb), BATCH):
        rows = list(range(first, min(first + BATCH, len(kb))))
        for types, names in zip(kb.types_at(rows), kb.names_of_concepts(rows), strict=True):
            mark = [f"__{types[0].lower()}"] if types else []
            yield " ".join(word for name in names[:NAMES_PER_CONCEPT] for word in [words_of(nlp, name), *mark])


def words_of(nlp: Language, text: str) -> str:
    return " ".join(token.lower_ for token in nlp.tokenizer(text) if not token.is_space)


def train(lines: Iterable[str], output: Path, settings: dict[str, int]) -> None:
    """Write floret vectors of the words in these lines, as text."""
    fixed = {"model": "skipgram", "mode": "floret", "hashCount": 2, "minn": SHORTEST, "maxn": LONGEST, "minCount": 3}
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "lines.txt"
        text.write_text("\n".join(lines), encoding="utf-8")
        model = floret.train_unsupervised(str(text), **fixed, **settings)
    model.save_floret_vectors(str(output))


@app.command()
def main(
    training: Annotated[list[Path], typer.Argument(help="Training documents: .spacy files, or folders.")],
    kb: Annotated[Path, typer.Option(help="The vocabulary.")],
    output: Annotated[Path, typer.Option(help="The folder of the pipeline.")],
    exclude: Annotated[list[Path] | None, typer.Option(help="Documents to leave out: the same.")] = None,
    documents: Annotated[Path | None, typer.Option(help="A folder of other texts: .txt and .jsonl files.")] = None,
    dimensions: int = 128,
    rows: Annotated[int, typer.Option(help="Rows of the table of pieces.")] = 50_000,
    epochs: int = 4,
    threads: Annotated[int, typer.Option(help="More than one gives other vectors each time.")] = 1,
) -> None:
    """Train word vectors on documents and on the names of a vocabulary."""
    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER}, "vectors": {"@vectors": VECTORS}}})
    texts = [document.text for document in corpus_of(training)]
    if not texts:
        raise SystemExit("There are no training documents. Give .spacy files, or folders of them.")
    others = list(other_texts(documents, EvaluationSets(corpus_of(exclude or []))))
    if not others:
        typer.echo("There are no other texts. Vectors come from the training documents and the names only.", err=True)
    lines = [*lines_of_texts(nlp, texts + others), *lines_of_names(nlp, load_knowledge_base(str(kb)))]
    random.Random(0).shuffle(lines)
    settings = {"bucket": rows, "dim": dimensions, "epoch": epochs, "thread": threads}
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.floret"
        train(lines, vectors, settings)
        convert_vectors(nlp, vectors, truncate=0, prune=-1, mode="floret", attr="LOWER")
    nlp.vocab.vectors.data = to_int8(nlp.vocab.vectors.data)
    nlp.to_disk(output)
    typer.echo(f"{len(texts)} training documents and {len(others)} other texts; vectors in {output}", err=True)


if __name__ == "__main__":
    app()
