"""Annotated `.spacy` files as what a linker is trained and measured on: documents whose mentions are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import filter_spans

from .docbin import read_docbin


def mention_corpus(path: str, spans_key: str | None = None, limit: int = 0) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file for a linker: the predicted documents have the gold mentions, but not their ids.

    Tokens are those of the file, so that every mention that is a span there is one here.

    Args:
        path: what `spacy-sapbert convert` wrote, or any file whose entities have a `kb_id_`.
        spans_key: take the mentions of `doc.spans[spans_key]` instead of `doc.ents`.
        limit: at most so many documents; 0 for all.

    Raises:
        SapbertError: E210 the file cannot be read.
    """

    def read(nlp: Language) -> Iterator[Example]:
        for number, reference in enumerate(read_docbin(Path(path), nlp.vocab)):
            if limit and number == limit:
                return
            yield with_mentions_given(reference, spans_key)

    return read


def with_mentions_given(reference: Doc, spans_key: str | None = None) -> Example:
    """Return `Example`: whose predicted document has the tokens and the mentions of an annotated one, but no ids."""
    words, spaces = [token.text for token in reference], [bool(token.whitespace_) for token in reference]
    predicted = Doc(reference.vocab, words=words, spaces=spaces)
    add_gold_mentions(predicted, reference, spans_key)
    return Example(predicted, reference)


def add_gold_mentions(doc: Doc, reference: Doc, spans_key: str | None) -> None:
    """Give a document the mentions of another one with the same text, without their ids.

    A mention that is no span of its tokens is left out, and so are entities that overlap a longer one.
    """
    mentions = reference.ents if spans_key is None else reference.spans.get(spans_key, ())
    places = [(mention.start_char, mention.end_char, mention.label_) for mention in mentions]
    spans = [span for start, end, label in places if (span := doc.char_span(start, end, label=label)) is not None]
    if spans_key is None:
        doc.ents = filter_spans(spans)
    else:
        doc.spans[spans_key] = spans
