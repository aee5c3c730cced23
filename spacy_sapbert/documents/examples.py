"""Training and evaluation examples from `.spacy` files: with given mentions for a linker, or as spaCy reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.training.corpus import create_docbin_reader
from spacy.util import filter_spans

from ..errors import Errors, TrainingDataError
from .docbin import read_docbin

SUFFIX = ".spacy"


def mention_corpus(path: str, spans_key: str | None = None, limit: int = 0) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file for a linker. The predicted documents have the gold mentions, but not their ids.

    The tokens are those of the file, so every mention that is a span in the file is a span here.

    Args:
        path: A file that `spacy-sapbert convert` wrote, or any file with entities that have a `kb_id_`.
        spans_key: Use the mentions in `doc.spans[spans_key]` instead of `doc.ents`.
        limit: Maximum number of documents; 0 for all.

    Raises:
        TrainingDataError: E571 if it is a file of another kind. A `DamagedError` if it cannot be read.
    """

    def read(nlp: Language) -> Iterator[Example]:
        check_suffix(path)
        for number, reference in enumerate(read_docbin(Path(path), nlp.vocab)):
            if limit and number == limit:
                return
            yield with_mentions_given(reference, spans_key)

    return read


def document_corpus(
    path: str | None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[..., Any] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file, or a folder of them, as `spacy.Corpus.v1` does.

    Args:
        gold_preproc: Whether the predicted documents have the sentences and tokens of the annotated ones.
        max_length: Documents with more tokens are split at sentences, or left out; 0 for no limit.
        limit: Maximum number of documents; 0 for all.
        augmenter: A function that adds variants of documents.

    Raises:
        TrainingDataError: E571 if it is a file of another kind.
    """
    corpus = create_docbin_reader(path, gold_preproc, max_length, limit, augmenter)

    def read(nlp: Language) -> Iterator[Example]:
        check_suffix(path)
        yield from corpus(nlp)

    return read


def check_suffix(path: str | Path | None) -> None:
    """Check that the path of training data is a `.spacy` file. A folder and a missing file pass."""
    file = Path(path or SUFFIX)
    if file.suffix != SUFFIX and file.is_file():
        raise TrainingDataError(Errors.E571.format(path=file))


def with_mentions_given(reference: Doc, spans_key: str | None = None) -> Example:
    """Return an example in which the predicted document has the gold tokens and mentions, but no ids."""
    words, spaces = [token.text for token in reference], [bool(token.whitespace_) for token in reference]
    predicted = Doc(reference.vocab, words=words, spaces=spaces)
    add_gold_mentions(predicted, reference, spans_key)
    return Example(predicted, reference)


def add_gold_mentions(doc: Doc, reference: Doc, spans_key: str | None) -> None:
    """Copy the mentions of another document with the same text, without their ids.

    A mention that does not match the tokens is left out. If entities overlap, only the longest is kept.
    """
    mentions = reference.ents if spans_key is None else reference.spans.get(spans_key, ())
    offsets = [(mention.start_char, mention.end_char, mention.label_) for mention in mentions]
    spans = [span for start, end, label in offsets if (span := doc.char_span(start, end, label=label)) is not None]
    if spans_key is None:
        doc.ents = filter_spans(spans)
    else:
        doc.spans[spans_key] = spans
