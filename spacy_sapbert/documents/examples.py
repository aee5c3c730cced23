"""Training and evaluation examples from `.spacy` files: with given mentions for a linker, or as spaCy reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
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
    """Read a `.spacy` file, or a folder of them, as `spacy.Corpus.v1` does. Only long documents are split otherwise.

    Args:
        gold_preproc: Whether the predicted documents have the sentences and tokens of the annotated ones.
        max_length: Documents with more tokens are split, see `pieces_of`; 0 for no limit. spaCy would leave out those
            without sentences, and forget which types the others annotate.
        limit: Maximum number of documents; 0 for all.
        augmenter: A function that adds variants of documents.

    Raises:
        TrainingDataError: E571 if it is a file of another kind.
    """
    corpus = create_docbin_reader(path, gold_preproc, 0, limit, augmenter)

    def read(nlp: Language) -> Iterator[Example]:
        check_suffix(path)
        for example in corpus(nlp):
            reference = example.reference
            if not 0 < max_length < len(reference):
                yield example
                continue
            keep_tokens = gold_preproc or reference.has_unknown_spaces
            for piece in pieces_of(reference, max_length):
                yield Example(without_annotation(piece) if keep_tokens else nlp.make_doc(piece.text), piece)

    return read


def pieces_of(doc: Doc, max_length: int) -> Iterator[Doc]:
    """Split a document into pieces of at most `max_length` tokens, as long as they can be.

    A piece ends before a sentence if the document has sentences, else between two tokens. It never ends inside an
    entity, unless the entity is longer than a piece. Pieces keep entities, span groups and user data.
    """
    start = 0
    while start < len(doc):
        end = min(start + max_length, len(doc))
        if end < len(doc):
            places = [token for token in doc[start + 1 : end + 1] if token.ent_iob_ != "I"]
            sentences = [token for token in places if token.is_sent_start]
            end = next((token.i for token in reversed(sentences or places)), end)
        piece = doc[start:end].as_doc(copy_user_data=True)
        for key, group in doc.spans.items():
            inside = [span for span in group if start <= span.start and span.end <= end]
            piece.spans[key] = [
                Span(piece, span.start - start, span.end - start, span.label_, kb_id=span.kb_id_) for span in inside
            ]
        yield piece
        start = end


def check_suffix(path: str | Path | None) -> None:
    """Check that the path of training data is a `.spacy` file. A folder and a missing file pass."""
    file = Path(path or SUFFIX)
    if file.suffix != SUFFIX and file.is_file():
        raise TrainingDataError(Errors.E571.format(path=file))


def with_mentions_given(reference: Doc, spans_key: str | None = None) -> Example:
    """Return an example in which the predicted document has the gold tokens and mentions, but no ids."""
    predicted = without_annotation(reference)
    add_gold_mentions(predicted, reference, spans_key)
    return Example(predicted, reference)


def without_annotation(doc: Doc) -> Doc:
    """Return a document with the same tokens and nothing else."""
    return Doc(doc.vocab, [token.text for token in doc], [bool(token.whitespace_) for token in doc])


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
