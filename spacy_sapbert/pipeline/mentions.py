"""The mentions that components process: entities or a span group, their variants, and their gold ids."""

import re
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Tuple

from spacy.attrs import IS_PUNCT, ORTH, SENT_START
from spacy.language import Language
from spacy.pipeline import Sentencizer
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..documents.docs import to_doc
from ..documents.examples import add_gold_mentions
from ..kb.ids import split_ids
from ..text.abbreviations import appositions, expand
from ..text.languages import LanguageRules
from ..text.notes.sections import Section, section_at
from ..text.snippets import snippet
from ..text.words import word_keys
from ..types import NIL, Document
from .attributes import (
    get_abbreviation_occurrences,
    get_composite_splits,
    get_corrections,
    get_links,
    get_matched_name,
    get_other_words,
    get_sections,
    has_abbreviations,
)
from .component_settings import language_rules

if TYPE_CHECKING:
    from ..kb.new_names import LinkedOccurrence
    from ..linking.variants import MentionQuery

GOLD_SPANS = "gold"
"""The span group of given mentions. Unlike `doc.ents`, it can hold mentions that overlap."""

Place = Tuple[int, int, str]


def mentions_of(doc: Doc, spans_key: Optional[str]) -> List[Span]:
    """Return the mentions of a document.

    Args:
        doc: The document.
        spans_key: The span group, or None for `doc.ents`. A missing group has no mentions.
    """
    if spans_key is None:
        return list(doc.ents)
    return list(doc.spans[spans_key]) if spans_key in doc.spans else []


def set_kb_ids(doc: Doc, mentions: List[Span], kb_ids: List[str], spans_key: Optional[str]) -> None:
    """Set the ids of all mentions of a document, both here and in the document."""
    for number, (mention, kb_id) in enumerate(zip(mentions, kb_ids)):
        mention.kb_id_ = kb_id
        if spans_key is not None:
            doc.spans[spans_key][number] = mention  # a group returns copies of its spans
        else:
            for token in mention:
                token.ent_kb_id = mention.kb_id


def queries_of(
    doc: Doc,
    spans_key: Optional[str],
    *,
    resolve_abbreviations: bool = True,
    rules: Optional[LanguageRules] = None,
) -> List["MentionQuery"]:
    """Return the mentions of a document as the linker takes them, with the variants that earlier components found."""
    from ..linking.variants import MentionQuery, MentionVariants, with_likely_long_forms

    rules = rules or language_rules(None, doc.vocab)
    mentions, text = mentions_of(doc, spans_key), doc.text  # spaCy builds the text on each access
    beside: Dict[int, str] = {}
    if resolve_abbreviations and len(mentions) > 1:
        beside = appositions(text, list(map(place_of, mentions)))
    long_forms = _LongForms(doc, text, rules) if resolve_abbreviations and has_abbreviations(doc) else None
    queries = []
    for index, mention in enumerate(mentions):
        start, end, label = place_of(mention)
        written, name = text[start:end], get_matched_name(mention)
        long_form, names, senses = long_forms.of(start, end, name) if long_forms else (None, (), ())
        variants = MentionVariants(
            written,
            long_form,
            get_composite_splits(mention),
            name,
            get_corrections(mention),
            apposition=beside.get(index),
            other_words=get_other_words(mention),
            long_forms=names,
            senses=senses,
        )
        queries.append(MentionQuery(variants, label))
    return with_likely_long_forms(queries, rules) if resolve_abbreviations else queries


class _LongForms:
    """The long forms of the mentions of a document with abbreviations."""

    def __init__(self, doc: Doc, text: str, rules: LanguageRules) -> None:
        self._text, self._rules = text, rules
        self._occurrences = get_abbreviation_occurrences(doc)
        self._defined = [occurrence for occurrence in self._occurrences if not occurrence.names]
        self._names = {occurrence[:2]: occurrence.names for occurrence in self._occurrences if occurrence.names}
        unclear = get_abbreviation_occurrences(doc, unclear=True)
        self._senses = {occurrence[:2]: occurrence.names for occurrence in unclear}

    def of(self, start: int, end: int, name: Optional[str]) -> Tuple[Optional[str], Tuple[str, ...], Tuple[str, ...]]:
        """Return the text of a mention with its abbreviations expanded, if it has any; and the names and the senses
        that the list of clinical short forms gives.

        Args:
            name: The name of the vocabulary that was found here.
        """
        offsets, written = (start, end), self._text[start:end]
        expanded = expand(self._text, start, end, self._occurrences, self._rules)
        # in a longer name of the vocabulary, such as "IgA deficiency", no short form of notes is expanded
        in_name = bool(self._names) and name is not None and offsets not in self._names
        if in_name and word_keys(expanded) != word_keys(name or ""):
            expanded = expand(self._text, start, end, self._defined, self._rules)
        long_form = None if expanded == written else expanded
        return long_form, self._names.get(offsets, ()), self._senses.get(offsets, ())


def sentence_starts(doc: Doc) -> Iterable[int]:
    """Return the first token of each sentence: those of the document, or else those of spaCy's rules."""
    if doc.has_annotation("SENT_START"):
        return [position for position, start in enumerate(doc.to_array(SENT_START).tolist()) if start == 1]
    ends, starts, ended = _sentence_ends(), [0] if len(doc) else [], False
    for position, (word, is_punct) in enumerate(doc.to_array([ORTH, IS_PUNCT]).tolist()):
        if word in ends:
            ended = True
        elif ended and not is_punct:
            starts.append(position)
            ended = False
    return starts


@cache
def _sentence_ends() -> FrozenSet[int]:
    return frozenset(map(get_string_id, Sentencizer.default_punct_chars))


def outside_headings(doc: Doc, spans: Iterable[Span]) -> List[Span]:
    """Return the spans that are not in the heading of a section, which `note_sections` has found."""
    sections = get_sections(doc)
    return [
        span for span in spans if not any(map(partial(_is_heading, sections), (span.start_char, span.end_char - 1)))
    ]


def _is_heading(sections: List[Section], position: int) -> bool:
    section = section_at(sections, position)
    return section is not None and position < section.start


# --- gold mentions


def gold_doc(nlp: Language, document: Document) -> Doc:
    """Return a Doc with the mentions of a document as the span group `GOLD_SPANS`. Tokens are split at their ends."""
    return to_doc(nlp, document, spans_key=GOLD_SPANS, split_tokens=True)


@contextmanager
def on_spans(components: Iterable[Any], spans_key: Optional[str]) -> Iterator[None]:
    """Let components work on a given span group, whatever their own setting.

    Args:
        components: The components.
        spans_key: The span group with the gold mentions. None is `doc.ents`.
    """
    before = [(component, component.spans_key) for component in components if hasattr(component, "spans_key")]
    try:
        for component, _ in before:
            component.spans_key = spans_key
        yield
    finally:
        for component, own_key in before:
            component.spans_key = own_key


def gold_ids(reference: Doc, spans_key: Optional[str]) -> Dict[Place, Tuple[str, ...]]:
    """Return the ids of the mentions that have any, by characters and label."""
    ids_of = {place_of(mention): split_ids(mention.kb_id_) for mention in mentions_of(reference, spans_key)}
    return {place: ids for place, ids in ids_of.items() if ids and ids != (NIL,)}


def with_gold_mentions(example: Example, spans_key: Optional[str]) -> Doc:
    """Return the predicted document, or a copy with the gold mentions if it has no mentions."""
    doc = example.predicted
    if mentions_of(doc, spans_key):
        return doc
    doc = doc.copy()
    add_gold_mentions(doc, example.reference, spans_key)
    return doc


def place_of(mention: Span) -> Place:
    """Return the characters and the label of a mention."""
    return mention.start_char, mention.end_char, mention.label_


# --- linked mentions


def linked_occurrences(mention: Span) -> Iterator["LinkedOccurrence"]:
    """Yield one occurrence per linked part of a mention. For an abbreviation, its text is the long form."""
    from ..kb.new_names import LinkedOccurrence

    start, end = mention.start_char, mention.end_char
    text = mention.doc.text
    short_forms = [
        text[occurrence.start : occurrence.end]
        for occurrence in get_abbreviation_occurrences(mention.doc)
        if start <= occurrence.start < occurrence.end <= end
    ]
    written = {mention.text, *(part for split in get_composite_splits(mention) for part in split)}
    for link in get_links(mention):
        if link.concept_id is not None and link.name is not None and link.score is not None:
            is_corrected = link.text not in (link.long_form, *written)
            yield LinkedOccurrence(
                link.text,
                link.concept_id,
                link.name,
                link.score,
                snippet(text, start, end),
                (link.long_form or mention.text) if is_corrected else "",
                link.long_form is None and any(_has_word(link.text, short) for short in short_forms),
            )


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
