"""Annotated documents as spaCy `Doc`s, and back without loss."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..errors import Errors, SapbertError
from ..kb.ids import split_ids
from ..types import NIL, AnnotatedDocument, Mention
from .report import Report

DOC_ID = "doc_id"
GOLD_MENTIONS = "gold_mentions"
WEIGHT = "weight"
"""In `doc.user_data`: how much a training document counts; 1.0 where it says nothing."""
PROVENANCE = "provenance"
"""In `doc.user_data`, of documents that rules annotated: where they and their annotations come from, as JSON has it."""


def is_augmented(doc: Doc) -> bool:
    """Return whether rules annotated the document."""
    return PROVENANCE in doc.user_data


def to_doc(
    nlp: Language,
    document: AnnotatedDocument,
    *,
    spans_key: str = "gold",
    split_tokens: bool = False,
    report: Report | None = None,
) -> Doc:
    """Make a `Doc` of an annotated document.

    Gold mentions are characters; blanks at their ends do not count for their tokens. Those whose ends are ends of
    tokens become spans of `doc.spans[spans_key]`, with label and `kb_id_` (the ids joined by `|`); those of them that
    do not overlap, longest first, become `doc.ents`. All of them are kept to the character in
    `doc.user_data["gold_mentions"]` as lists `[start, end, text, label, ids, parts]`; the document's id is in
    `doc.user_data["doc_id"]`.

    Args:
        nlp: its tokenizer is used, no component is run.
        split_tokens: split the tokens that a mention's end cuts, so that every mention becomes a span.
        report: takes the counts of mentions that are no span, and of spans that are no entity.

    Raises:
        SapbertError: E208 the tokenizer changes the text, so that offsets no longer fit.
    """
    doc = nlp.make_doc(document.text)
    if doc.text != document.text:
        raise SapbertError(Errors.E208.format(doc_id=document.doc_id, lang=nlp.lang))
    bounds = [_without_outer_blanks(document.text, mention) for mention in document.mentions]
    if split_tokens:
        _split_at(doc, {position for bound in bounds for position in bound})
    spans = _spans(doc, document.mentions, bounds)
    doc.spans[spans_key] = spans
    doc.ents = filter_spans(spans)
    doc.user_data[DOC_ID] = document.doc_id
    doc.user_data[GOLD_MENTIONS] = [
        [*mention[:4], list(mention.ids), list(mention.parts)] for mention in document.mentions
    ]
    if report is not None:
        report.misaligned += len(document.mentions) - len(spans)
        report.overlapping += len(spans) - len(doc.ents)
    return doc


def from_doc(doc: Doc, *, spans_key: str = "gold") -> AnnotatedDocument:
    """The annotated document of a `Doc`; exactly the one it was made of, if `to_doc` made it.

    The mentions of other `Doc`s are the spans of `doc.spans[spans_key]`, or `doc.ents` where there is no such group,
    with the ids of their `kb_id_`.
    """
    doc_id = doc.user_data.get(DOC_ID, "")
    rows = doc.user_data.get(GOLD_MENTIONS)
    if rows is not None:
        mentions = [Mention(*row)._replace(ids=tuple(row[4]), parts=tuple(row[5])) for row in rows]
    else:
        spans = doc.spans.get(spans_key, doc.ents)
        mentions = sorted(map(mention_of, spans))
    return AnnotatedDocument(doc_id, doc.text, tuple(mentions))


def _without_outer_blanks(text: str, mention: Mention) -> tuple[int, int]:
    surface = text[mention.start : mention.end]
    n_leading = len(surface) - len(surface.lstrip())
    return mention.start + n_leading, mention.start + len(surface.rstrip())


def _split_at(doc: Doc, positions: set[int]) -> None:
    """Split the tokens that have one of the character positions inside; text and blanks stay as they are."""
    starts = [token.idx for token in doc]
    cuts: dict[int, list[int]] = defaultdict(list)
    for position in sorted(positions):
        index = bisect_right(starts, position) - 1
        if index >= 0 and starts[index] < position < starts[index] + len(doc[index]):
            cuts[index].append(position - starts[index])
    with doc.retokenize() as retokenizer:
        for index, offsets in cuts.items():
            token = doc[index]
            pieces = [token.text[start:end] for start, end in pairwise([0, *offsets, len(token)])]
            retokenizer.split(token, pieces, heads=[(token, row) for row in range(len(pieces))])


def _spans(doc: Doc, mentions: Sequence[Mention], bounds: Sequence[tuple[int, int]]) -> list[Span]:
    first = {token.idx: token.i for token in doc}
    last = {token.idx + len(token): token.i for token in doc}
    return [
        Span(doc, first[start], last[end] + 1, label=mention.label, kb_id="|".join(mention.ids))
        for mention, (start, end) in zip(mentions, bounds, strict=True)
        if start in first and end in last and start < end
    ]


def mention_of(span: Span) -> Mention:
    """Return a span as a mention, with the ids of its `kb_id_`; NIL is none."""
    ids = tuple(concept_id for concept_id in split_ids(span.kb_id_) if concept_id != NIL)
    return Mention(span.start_char, span.end_char, span.text, span.label_, ids)
