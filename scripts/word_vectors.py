"""Train word vectors (floret) on abstracts, on training documents and on the names of a vocabulary.

    python scripts/word_vectors.py corpus/ner/train --exclude corpus/ner/dev --documents assets/documents \\
        --kb corpus/names.kb --output corpus/vectors

The output is a pipeline with vectors, for `paths.vectors` of a training config. floret gives a vector to every word,
from its pieces of 3 to 5 characters (https://github.com/explosion/floret). `pip install floret` installs it.

The names of a concept make one line. A word for the type of the concept follows each name, so that the pieces of names
learn which types they are of.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

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
from spacy_sapbert.types import Document

TOKENIZER = "spacy-sapbert.BiomedicalTokenizer.v1"
NAMES_PER_CONCEPT = 6
BATCH = 1000
SHORTEST, LONGEST = 3, 5


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


def train(lines: Iterable[str], output: Path, args: argparse.Namespace) -> None:
    """Write floret vectors of the words in these lines, as text."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "lines.txt"
        text.write_text("\n".join(lines), encoding="utf-8")
        model = floret.train_unsupervised(
            str(text),
            model="skipgram",
            mode="floret",
            hashCount=2,
            bucket=args.rows,
            dim=args.dimensions,
            minn=SHORTEST,
            maxn=LONGEST,
            minCount=3,
            epoch=args.epochs,
            thread=args.threads,
        )
    model.save_floret_vectors(str(output))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path, nargs="+", help="training documents: .spacy files, or folders of them")
    parser.add_argument("--exclude", type=Path, action="append", default=[], help="documents to leave out: the same")
    parser.add_argument("--documents", type=Path, help="a folder of other texts: .txt and .jsonl files")
    parser.add_argument("--kb", type=Path, required=True, help="the vocabulary")
    parser.add_argument("--output", type=Path, required=True, help="the folder of the pipeline")
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the table of pieces")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="more than one gives other vectors each time")
    args = parser.parse_args()

    nlp = spacy.blank("en", config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER}}})
    texts = [document.text for document in corpus_of(args.train)]
    if not texts:
        raise SystemExit("There are no training documents. Give .spacy files, or folders of them.")
    others = list(other_texts(args.documents, EvaluationSets(corpus_of(args.exclude))))
    if not others:
        typer.echo(
            "There are no other texts. The vectors come from the training documents and the names only.", err=True
        )
    lines = [*lines_of_texts(nlp, texts + others), *lines_of_names(nlp, load_knowledge_base(str(args.kb)))]
    random.Random(0).shuffle(lines)
    with tempfile.TemporaryDirectory() as folder:
        vectors = Path(folder) / "vectors.floret"
        train(lines, vectors, args)
        convert_vectors(nlp, vectors, truncate=0, prune=-1, mode="floret", attr="LOWER")
    nlp.to_disk(args.output)
    typer.echo(f"{len(texts)} training documents and {len(others)} other texts; vectors in {args.output}", err=True)


if __name__ == "__main__":
    main()
