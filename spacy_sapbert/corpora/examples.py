"""Training and evaluation examples for a linker: documents with gold mentions, from `.spacy` files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import filter_spans

from .docbin import read_docbin


def mention_corpus(path: str, spans_key: str | None = None, limit: int = 0) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file for a linker. The predicted documents have the gold mentions, but not their ids.

    The tokens are those of the file, so every mention that is a span in the file is a span here.

    Args:
        path: A file that `spacy-sapbert convert` wrote, or any file with entities that have a `kb_id_`.
        spans_key: Use the mentions in `doc.spans[spans_key]` instead of `doc.ents`.
        limit: Maximum number of documents; 0 for all.

    Raises:
        SapbertError: E210 if the file cannot be read.
    """

    def read(nlp: Language) -> Iterator[Example]:
        for number, reference in enumerate(read_docbin(Path(path), nlp.vocab)):
            if limit and number == limit:
                return
            yield with_mentions_given(reference, spans_key)

    return read


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
