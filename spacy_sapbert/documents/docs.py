"""Convert annotated documents to spaCy `Doc`s and back, without loss; their gold concepts and annotated types."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from ..errors import Errors, SapbertError
from ..kb.ids import split_ids
from ..types import NIL, Document, Mention, has_type
from .source import Report

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase

DOC_ID = "doc_id"
GOLD_MENTIONS = "gold_mentions"
WEIGHT = "weight"
"""Key of `doc.user_data`: weight of a training document. The default is 1.0."""
PROVENANCE = "provenance"
"""Key of `doc.user_data`, in documents that rules annotated: the origin of text and annotations, as JSON values."""
ANNOTATED_TYPES = "annotated_types"
"""Key of `doc.user_data`: the types that the document annotates throughout. Without it, it annotates all."""
UNSURE = "unsure"
"""Key of `doc.spans`: spans that may be mentions of their label, although they are not annotated."""


def is_augmented(doc: Doc) -> bool:
    """Return whether rules annotated the document."""
    return PROVENANCE in doc.user_data


def to_doc(
    nlp: Language,
    document: Document,
    *,
    spans_key: str = "gold",
    split_tokens: bool = False,
    report: Report | None = None,
) -> Doc:
    """Convert an annotated document to a `Doc`.

    Gold mentions are character spans. Whitespace at their ends is ignored when they are matched to tokens. A mention
    that starts and ends with a token becomes a span of `doc.spans[spans_key]`, with label and `kb_id_` (the ids joined
    by `|`). Spans that do not overlap become `doc.ents`, longest first. `doc.user_data["gold_mentions"]` keeps all
    mentions exactly, as lists `[start, end, text, label, ids, parts]`. A discontinuous mention also has its offsets
    there. `doc.user_data["doc_id"]` keeps the id of the
    document.

    Args:
        nlp: Its tokenizer is used; no component runs.
        split_tokens: Split tokens at the ends of mentions, so that every mention becomes a span.
        report: Takes the counts of mentions that are not spans, and of spans that are not entities.

    Raises:
        SapbertError: E208 if the tokenizer changes the text, so that offsets do not match.
    """
    doc = nlp.make_doc(document.text)
    if doc.text != document.text:
        raise SapbertError(Errors.E208.format(doc_id=document.doc_id, lang=nlp.lang))
    bounds = [_strip_whitespace(document.text, mention) for mention in document.mentions]
    if split_tokens:
        split_tokens_at(doc, {position for bound in bounds for position in bound})
    spans = _spans(doc, document.mentions, bounds)
    doc.spans[spans_key] = spans
    doc.ents = filter_spans(spans)
    doc.user_data[DOC_ID] = document.doc_id
    doc.user_data[GOLD_MENTIONS] = [
        [*mention[:4], list(mention.ids), list(mention.parts), *_offsets(mention)] for mention in document.mentions
    ]
    if report is not None:
        report.misaligned += len(document.mentions) - len(spans)
        report.overlapping += len(spans) - len(doc.ents)
    return doc


def from_doc(doc: Doc, *, spans_key: str = "gold") -> Document:
    """Convert a `Doc` to an annotated document. For a `Doc` from `to_doc`, this is exactly the original document.

    The mentions of other `Doc`s are the spans of `doc.spans[spans_key]`, or `doc.ents` if there is no such group. Their
    ids come from `kb_id_`.
    """
    doc_id = doc.user_data.get(DOC_ID, "")
    rows = doc.user_data.get(GOLD_MENTIONS)
    if rows is not None:
        mentions = [_gold_mention(*row) for row in rows]
    else:
        spans = doc.spans.get(spans_key, doc.ents)
        mentions = sorted(map(mention_of, spans))
    return Document(doc_id, doc.text, tuple(mentions))


def offsets_of(doc: Doc) -> dict[tuple[int, int, str], tuple[tuple[int, int], ...]]:
    """Return the pieces of the discontinuous gold mentions of a `Doc`, by start, end and label of the mention."""
    rows = doc.user_data.get(GOLD_MENTIONS)
    if not rows:
        return {}
    mentions = (_gold_mention(*row) for row in rows)
    discontinuous = [mention for mention in mentions if mention.offsets]
    text = doc.text if discontinuous else ""  # spaCy builds the text on each access
    return {(*_strip_whitespace(text, mention), mention.label): mention.offsets for mention in discontinuous}


def _offsets(mention: Mention) -> list[list[list[int]]]:
    return [[list(piece) for piece in mention.offsets]] if mention.offsets else []


def _gold_mention(
    start: int,
    end: int,
    text: str,
    label: str,
    ids: Sequence[str],
    parts: Sequence[str],
    offsets: Sequence[Sequence[int]] = (),
) -> Mention:
    pieces = tuple((first, last) for first, last in offsets)
    return Mention(start, end, text, label, tuple(ids), tuple(parts), pieces)


def _strip_whitespace(text: str, mention: Mention) -> tuple[int, int]:
    surface = text[mention.start : mention.end]
    n_leading = len(surface) - len(surface.lstrip())
    return mention.start + n_leading, mention.start + len(surface.rstrip())


def split_tokens_at(doc: Doc, positions: set[int]) -> None:
    """Split the tokens that contain one of the character positions. Text and whitespace stay the same."""
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
    """Convert a span to a mention, with the ids of its `kb_id_`, without NIL."""
    ids = tuple(concept_id for concept_id in split_ids(span.kb_id_) if concept_id != NIL)
    return Mention(span.start_char, span.end_char, span.text, span.label_, ids)


# --- annotated types, for training on corpora that annotate different types


def annotated_labels(doc: Doc) -> Collection[str] | None:
    """Return the types that the document annotates throughout; None for all."""
    labels: Sequence[str] | None = doc.user_data.get(ANNOTATED_TYPES)
    return labels


def unsure_spans(doc: Doc) -> list[Span]:
    """Return the spans that may be mentions of their label or not."""
    return list(doc.spans.get(UNSURE, ()))


def set_annotated(
    doc: Doc, labels: Sequence[str] | None, unsure: Mapping[str, Collection[str]] = MappingProxyType({})
) -> None:
    """State which types the document annotates.

    Args:
        doc: A document with its annotated entities.
        labels: The types that it annotates throughout. None means all.
        unsure: For a type, lowercase words that the corpus annotates at some places only. Those outside of entities
            become unsure spans.
    """
    if labels is not None:
        doc.user_data[ANNOTATED_TYPES] = list(labels)
    outside = [token for token in doc if not token.ent_type_]
    doc.spans[UNSURE] = [
        Span(doc, token.i, token.i + 1, label=label)
        for label, words in unsure.items()
        for token in outside
        if token.lower_ in words
    ]


# --- the gold concepts of whole documents


def primary_id(concept_id: str, kb: KnowledgeBase) -> str:
    """Return the primary id for a primary or alternative id. An id outside the vocabulary is returned unchanged."""
    return next(iter(kb.find_id(concept_id)), concept_id)


def gold_of(document: Document, primary: Callable[[str], str], type: str | None = None) -> dict[str, list[Mention]]:
    """Return the gold concepts of a document by primary id, each with its mentions.

    A composite mention counts for each of its concepts.

    Args:
        primary: Returns the primary id for any id.
        type: Use only mentions with this label.
    """
    gold: dict[str, list[Mention]] = defaultdict(list)
    for mention in document.mentions:
        if type is None or has_type(mention.label, [type]):
            for concept_id in dict.fromkeys(primary(gold_id) for gold_id in mention.ids if gold_id != NIL):
                gold[concept_id].append(mention)
    return dict(gold)


def documents_by_concept(documents: Iterable[Document], primary: Callable[[str], str]) -> Counter[str]:
    """Return the number of documents that contain each concept."""
    return Counter(concept_id for document in documents for concept_id in gold_of(document, primary))


def is_named(concept_id: str, mentions: Iterable[Mention], kb: KnowledgeBase) -> bool:
    """Return whether a mention of the concept equals one of its names, ignoring case.

    Names that come from annotated corpora do not count, because the vocabulary does not contain them.
    """
    names = {name.text.lower() for name in kb.names_of(concept_id) if name.scope != "mention"}
    return any(mention.text.lower() in names for mention in mentions)
