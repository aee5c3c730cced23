"""`concept_matcher`: find the names of a vocabulary in a text, for pipelines without a trained NER."""

from bisect import bisect_left, bisect_right
from itertools import accumulate
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
)

import numpy as np
from spacy.language import Language
from spacy.pipeline.entityruler import entity_ruler_score
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import filter_spans

from ..documents.docs import split_tokens_at
from ..store.artifact import ArtifactWriter
from ..text.abbreviations import AbbreviationOccurrence, longer_phrases
from ..text.composites import composite_splits
from ..text.languages import ENGLISH
from ..text.short_forms import is_sense
from ..text.words import word_keys
from .attributes import get_abbreviation_occurrences, set_matched_name, set_other_words
from .base import FolderPipe
from .component_settings import add_factory, check_setting
from .corrections import CorrectedComponent
from .factories import INSIDE
from .mentions import outside_headings

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.finder import Finder, LooseMatch
    from ..linking.name_matcher import NameMatcher
    from ..review.corrections import Decisions

CACHED_LABELS = 1 << 14
OUTSIDE, KIND, ALL = MODIFIERS = ("outside", "kind", "all")
"""The values of the setting `modifiers`."""


class ConceptMatcher(CorrectedComponent, FolderPipe):
    """Marks the longest spans that are names of the vocabulary. Case, plural, spelling and word order may differ.

    The `abbreviation_resolver` provides short forms. One is marked only if its long form is a name, or part of a name
    of the short form's own concept. A name that is only part of a token is left out. `span._.matched_name` is the name
    as the vocabulary writes it.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        kb: "starter", or the path of a knowledge base that `spacy-sapbert kb build` made.
        spans_key: Write all spans, including overlapping ones, to `doc.spans[spans_key]`. None writes the longest spans
            that do not overlap to `doc.ents`.
        label: The label of the spans. None takes the first type of the concept, or CONCEPT if it has none.
        all_types: With a `spans_key`, write one span for each type of the concepts with this name, not only for the
            first.
        types: Only concepts of these types. An empty list allows all.
        sources: Only names from these sources. An empty list allows all.
        min_length: The least number of characters of a name.
        stop_names: Names that are never marked alone, regardless of case and number. None takes the general names of
            the language, such as "disease", in other languages than English qualifiers such as "leve", and in English
            words such as "placebo" and "salt", but not with a `spans_key`.
        corrections: A file of corrections. Texts that are no mentions are not marked, and those that were added are.
            None has no corrections.
        overwrite_ents: Whether a match replaces entities that it overlaps.
        composites: Mark "breast and ovarian cancer" as one mention if all its single mentions are names.
        modifiers: Which words before a name belong to its span. "outside" takes none, "kind" takes words such as
            "familial" and "gastric", and "all" takes "severe" and "chronic", too. Other languages than English have
            no such words.
        other_words: The types of the concepts that are also found in other words, such as "renal anomalies" for "kidney
            abnormality". None takes those with names of ordinary words, such as diseases, and leaves out chemicals,
            genes and species. An empty list has none. Concepts without a type belong to "CONCEPT". A pipeline that was
            saved without other words has none, unless the types are given.
        nested: Also mark names inside longer ones. It needs a `spans_key`: `doc.spans[spans_key]` has all of them, and
            `doc.ents` the longest.
        language: The language of the rules: "de", "en", "es" or "fr". None takes that of the pipeline.
        storage: "inside" saves the vocabulary and the keys of its names with the pipeline. "external" saves only their
            paths and checksums, for large vocabularies.
        scorer: Compares predicted entities with annotated ones.

    Raises:
        SapbertError: E125 the language has no rules, E406 `min_length` is less than 1, or `modifiers` has another
            value.
    """

    fixed = ("kb", "corrections", "language")
    shown = ("kb", "spans_key")

    def __init__(
        self,
        nlp: Language,
        name: str = "concept_matcher",
        *,
        kb: str = "starter",
        spans_key: Optional[str] = None,
        label: Optional[str] = None,
        all_types: bool = False,
        types: List[str] = [],
        sources: List[str] = [],
        min_length: int = 3,
        stop_names: Optional[List[str]] = None,
        corrections: Optional[str] = None,
        overwrite_ents: bool = False,
        composites: bool = True,
        modifiers: str = OUTSIDE,
        other_words: Optional[List[str]] = None,
        nested: bool = False,
        language: Optional[str] = None,
        storage: str = INSIDE,
        scorer: Optional[Callable] = entity_ruler_score,
        approximate: None = None,
    ) -> None:
        self.keep(nlp, name, locals())
        self.set_corrections(corrections)
        self._matcher: Optional[NameMatcher] = None
        self._finder: Optional[Finder] = None
        self._filtered: Optional[Tuple[Any, Optional[np.ndarray]]] = None
        self._labels: Dict[Any, Any] = {}
        self._row_types: Dict[Any, FrozenSet[str]] = {}
        check_setting(self, "nested", not nested or spans_key is not None, "false without a spans_key")
        self._general: Optional[Set[Tuple[str, ...]]] = None
        check_setting(self, "min_length", min_length >= 1, "at least 1")
        known = MODIFIERS if any(self._rules.words.modifiers) else (OUTSIDE,)
        wanted = f"one of {', '.join(MODIFIERS)}; only {OUTSIDE} for other languages than English"
        check_setting(self, "modifiers", modifiers in known, wanted)

    def __call__(self, doc: Doc) -> Doc:
        """Mark the names in one document."""
        spans = outside_headings(doc, self._spans(doc))
        spans, added = self._corrected(doc, spans) if self._corrections_setting.path is not None else (spans, [])
        if self.spans_key is not None:
            spans += added
            doc.spans[self.spans_key] = list({(span.start, span.end, span.label_): span for span in spans}.values())
            if not self.nested:
                return doc
        layers = (spans, doc.ents) if self.overwrite_ents else (doc.ents, spans)
        doc.ents = _without_overlaps(added, *layers)
        return doc

    def _corrected(self, doc: Doc, spans: List[Span]) -> Tuple[List[Span], List[Span]]:
        """Return the spans without texts that are no mentions, and the mentions that were added."""
        from ..review.corrections import document_key

        text = doc.text
        decisions, key = self._corrections_setting.decisions(self.kb), document_key(text)
        kept = [span for span in spans if not _is_none(span, decisions, key)]
        # a mention that is known keeps what is known of it, unless the correction has another label
        known = {(span.start, span.end): span for span in (*kept, *(doc.ents if self.spans_key is None else ()))}
        added = []
        for one in decisions.added(key, text):
            span = doc.char_span(one.start, one.end, label=one.label or "CONCEPT", alignment_mode="expand")
            if span is not None:
                same = known.get((span.start, span.end), span)
                added.append(same if one.label in ("", same.label_) else span)
        return kept, added

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """Return the measures of the `scorer`. Empty if the spans are not entities."""
        return self.scorer(examples, **settings) if self.scorer and self.spans_key is None else {}

    @property
    def matcher(self) -> "NameMatcher":
        """The name matcher. The knowledge base of the config is opened at the first use.

        The keys of its names come from the cache folder, or are made there.
        """
        if self._matcher is None:
            from ..kb.storage import load_knowledge_base
            from ..linking.name_matcher import NameMatcher

            self._use(NameMatcher.cached(load_knowledge_base(self._kb), self._rules))
            assert self._matcher is not None
        return self._matcher

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary."""
        return self.matcher.kb

    def set_kb(self, kb: str) -> None:
        """Find the names of another vocabulary from now on.

        Args:
            kb: "starter", or the path of a knowledge base.
        """
        self._kb = kb
        self._use(None)

    def use(self, kb: "KnowledgeBase") -> None:
        """Find the names of another knowledge base from now on. Its keys and words are not kept in the cache folder."""
        from ..linking.finder import Finder
        from ..linking.name_matcher import NameMatcher

        has_finder = self.finder is not None
        self._use(NameMatcher.build(kb, self._rules))
        self._finder = Finder.build(kb, self._rules) if has_finder else None

    def _use(self, matcher: "Optional[NameMatcher]") -> None:
        self._matcher, self._filtered, self._labels = matcher, None, {}
        self._finder, self._row_types = None, {}

    def _spans(self, doc: Doc) -> List[Span]:
        text = doc.text  # spaCy builds the text on each access
        matches = self.matcher.find(text, nested=self.nested)
        stop_words = self._stop_words()
        found = {
            match[:2]: match.row for match in matches if self._is_wanted(text[match.start : match.end], stop_words)
        }
        composite_forms: Set[Tuple[int, int]] = set()
        # the definition in the text takes precedence over other concepts with this name
        for occurrence in get_abbreviation_occurrences(doc):
            names = occurrence.names or (occurrence.long,)
            row = next((row for name in names if (row := self.matcher.match(name)) is not None), None)
            if row is None and occurrence.names and (row := self._first_of_composite(occurrence.long)) is not None:
                composite_forms.add((occurrence.start, occurrence.end))
            if row is not None:
                found[occurrence.start, occurrence.end] = row
            elif not self._is_cut_short(occurrence.long, found.get((occurrence.start, occurrence.end))):
                found.pop((occurrence.start, occurrence.end), None)
            found |= self._longer_name(text, occurrence)
        for occurrence in get_abbreviation_occurrences(doc, unclear=True):
            row = found.get((occurrence.start, occurrence.end))
            if row is not None and not is_sense(self.matcher.name(row), occurrence.names, self._rules):
                del found[occurrence.start, occurrence.end]
            found |= self._longer_name(text, occurrence)
        loose = self._in_other_words(text, found)
        found.update({match[:2]: match.row for match in loose.values()})
        places = sorted({*(match[:2] for match in matches), *loose})
        row_of = None if self.finder is None else self._row_of
        composites = self.matcher.find_composites(text, places, row_of) if self.composites else []
        wholes = {match[:2] for match in composites if match[:2] not in found}
        found.update({match[:2]: match.row for match in composites if match[:2] in wholes})
        _split_periods(doc, text, found)
        labels = self._labels_of(set(found.values()))
        spans: Dict[Tuple[int, int, str], Span] = {}
        modifiers, ends = self._modifiers(), {end for _, end in found}
        for (start, end), row in found.items():
            first = self.matcher.start_with_modifiers(text, start, modifiers, ends) if modifiers else start
            first = start if (first, end) in found else first
            for label in labels[row] if self.spans_key is not None and self.all_types else labels[row][:1]:
                span = doc.char_span(first, end, label=label, alignment_mode="expand")
                if span and not _adds_letters(text, span, first, end):
                    written = text[span.start_char : span.end_char]
                    spans.setdefault((span.start, span.end, label), span)
                    if (start, end) not in wholes and (start, end) not in composite_forms:
                        set_matched_name(span, self.matcher.name(row))
                    said = self._parts_of(written) if (start, end) in wholes else {written: loose.get((start, end))}
                    if other_words := {
                        part: (self.matcher.name(match.row), *match.evidence) for part, match in said.items() if match
                    }:
                        set_other_words(span, other_words)
        return list(spans.values())

    def _parts_of(self, text: str) -> "Dict[str, Optional[LooseMatch]]":
        """Return the parts of a composite, each with its match if it says a name in other words."""
        parts = composite_splits(text, max_splits=1, rules=self._rules) if self.finder is not None else []
        return {part: self._match_of(part) for split in parts for part in split if self.matcher.match(part) is None}

    def _match_of(self, text: str) -> "Optional[LooseMatch]":
        match = self.finder.match(text) if self.finder is not None else None
        return match if match is not None and self._has_other_words(match.row) else None

    def _row_of(self, text: str) -> Optional[int]:
        """Return the row of the name that a text is or says in other words, or None."""
        row = self.matcher.match(text)
        match = self._match_of(text) if row is None else None
        return match.row if match is not None else row

    def _in_other_words(self, text: str, found: Mapping[Tuple[int, int], int]) -> "Dict[Tuple[int, int], LooseMatch]":
        """Return the matches of names in other words, by place, that are not inside a name, or not one if `nested`."""
        finder = self.finder
        if finder is None:
            return {}
        places = sorted(found)
        reach = [*accumulate((end for _, end in places), max)]
        loose = {}
        for match in finder.find(text):
            first, last = bisect_left(places, (match.start,)), bisect_left(places, (match.end,))
            before = bisect_right(places, (match.start, len(text)))
            inside = before > 0 and reach[before - 1] >= match.end
            # a name inside is surer than one with a word between, and always if it has this word
            at, names = match.skipped, places[first:last]
            outside = at is not None and any(
                end <= match.end and (not self.nested or start <= at < end) for start, end in names
            )
            is_free = not outside and (self.nested or not inside)
            if match[:2] not in found and is_free and self._has_other_words(match.row):
                loose[match[:2]] = match
        return loose

    @property
    def finder(self) -> "Optional[Finder]":
        """Finds names in other words. None if no type of the vocabulary has them, see `other_words`.

        The words of the names come from the cache folder, or are indexed there.
        """
        if self._finder is None and self._worded_types:
            from ..linking.finder import Finder

            self._finder = Finder.cached(self.kb, self._rules)
        return self._finder if self._worded_types else None

    @property
    def _worded_types(self) -> FrozenSet[str]:
        if self.other_words is not None:
            return frozenset(self.other_words)
        if None not in self._row_types:
            from ..linking.finder import worded_types

            self._row_types[None] = worded_types(self.kb, self._rules)
        return self._row_types[None]

    def _has_other_words(self, row: int) -> bool:
        """Return whether a concept with the name in a row has a type of `other_words`."""
        if row not in self._row_types:
            _, owners = self.kb.name_concepts.of(np.array([row]))
            types = self.kb.types_at(self.kb.name_concepts.concepts[owners].tolist())
            self._row_types[row] = frozenset(type for of_concept in types for type in of_concept or ("CONCEPT",))
        return not self._worded_types.isdisjoint(self._row_types[row])

    def _stop_words(self) -> Set[Tuple[str, ...]]:
        """Return the keys of the stop names. Without a setting, they are computed once."""
        if self.stop_names is not None:
            return set(map(self._keys, self.stop_names))
        if self._general is None:
            from ..text.common_words import general_words

            names, code = self._rules.words.general_names, self._rules.code
            is_feature = self.spans_key is not None and code == ENGLISH.code  # NERs were trained with these words
            self._general = {self._keys(name) for name in (*names, *(() if is_feature else general_words(code)))}
        return self._general

    def _modifiers(self) -> FrozenSet[str]:
        kind, state = self._rules.words.modifiers
        return {OUTSIDE: frozenset(), KIND: kind, ALL: kind | state}[self.modifiers]

    def _is_wanted(self, text: str, stop_words: Set[Tuple[str, ...]]) -> bool:
        return len(text) >= self.min_length and any(map(str.isalpha, text)) and self._keys(text) not in stop_words

    def _keys(self, text: str) -> Tuple[str, ...]:
        return word_keys(text, self._rules)

    def _first_of_composite(self, long_form: str) -> Optional[int]:
        """Return the row of the first single mention of a long form, if all are names: "N/V/D"."""
        for parts in composite_splits(long_form, rules=self._rules):
            rows = [row for part in parts if (row := self.matcher.match(part)) is not None]
            if len(rows) == len(parts):
                return rows[0]
        return None

    def _longer_name(self, text: str, occurrence: AbbreviationOccurrence) -> Dict[Tuple[int, int], int]:
        """Return the longest name around a short form of clinical notes: "breast CA", "acute MI". One at most."""
        if occurrence.names:
            for start, end, phrases in longer_phrases(text, occurrence, self._rules):
                rows = [self.matcher.match(phrase) for phrase in phrases]
                known = [row for row in rows if row is not None]
                if known:
                    # of several senses, the most frequent one comes first
                    return {(start, end): known[0]} if occurrence.long or known == rows[:1] else {}
        return {}

    def _is_cut_short(self, long_form: str, row: Optional[int]) -> bool:
        """Return whether a short form's own concept has a longer name than the long form, which is not a name itself.

        "VHL" is still von Hippel-Lindau disease if the text has "von Hippel-Lindau (VHL) disease".
        """
        if row is None:
            return False
        wanted = set(self._keys(long_form))
        _, owners = self.kb.name_concepts.of(np.array([row]))
        concepts = np.unique(self.kb.name_concepts.concepts[owners]).tolist()
        names = dict.fromkeys(text for of_concept in self.kb.names_of_concepts(concepts) for text in of_concept)
        return bool(wanted) and any(wanted.issubset(self._keys(name)) for name in names)

    def _labels_of(self, rows: Set[int]) -> Mapping[Any, Tuple[str, ...]]:
        """Return the labels of each name; none if the filter excludes all its concepts."""
        matching = self._matching_entries()  # first, since it checks the filter
        setting = self.label, tuple(self.types), tuple(self.sources)
        if self._labels.get(None) != setting or len(self._labels) > CACHED_LABELS:
            self._labels = {None: setting}  # a new object, since another thread may read the old one
        labels = self._labels
        missing = sorted(rows.difference(labels))
        if missing:
            labels.update(self._read_labels(missing, matching))
        return labels

    def _read_labels(self, rows: Sequence[int], matching: Optional[np.ndarray]) -> Dict[int, Tuple[str, ...]]:
        """Return the first type of each concept with the name, that of the best tie rank first."""
        name_concepts = self.kb.name_concepts
        _, owners = name_concepts.of(np.array(rows))
        owners = owners if matching is None else owners[matching[owners]]
        owners = owners[np.argsort(name_concepts.ranks[owners], kind="stable")]
        concepts = name_concepts.concepts[owners].tolist()
        types = ([(self.label,)] * len(concepts)) if self.label else self.kb.types_at(concepts)
        labels: Dict[int, Dict[str, None]] = {row: {} for row in rows}
        for row, of_concept in zip(name_concepts.names[owners].tolist(), types):
            labels[row].setdefault(of_concept[0] if of_concept else "CONCEPT")
        return {row: tuple(of_row) for row, of_row in labels.items()}

    def _matching_entries(self) -> Optional[np.ndarray]:
        """Return which entries of `kb.name_concepts` match the filter; None for all. It is read once per filter."""
        filter = (tuple(self.types), tuple(self.sources))
        if self._filtered is None or self._filtered[0] != filter:
            from ..kb.filters import check_filters

            check_filters(self.kb, *filter)
            self._filtered = filter, self.kb.matching_entries(*filter) if any(filter) else None
        return self._filtered[1]

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        from ..kb.storage import KB, kb_artifact
        from ..linking.finder import FINDER
        from ..linking.name_matcher import MATCHER

        artifacts.add(KB, kb_artifact(self.kb))
        artifacts.add(MATCHER, self.matcher.artifact())
        if self.finder is not None:
            artifacts.add(FINDER, self.finder.artifact())
        self._corrections_setting.save(artifacts)

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        from ..kb.storage import KB, load_knowledge_base
        from ..linking.finder import FINDER, Finder
        from ..linking.name_matcher import MATCHER, NameMatcher

        matcher = NameMatcher.load(load_knowledge_base(artifacts[KB]), artifacts[MATCHER])
        # the keys of another language do not fit, if the setting was changed
        same = matcher.rules is self._rules
        self._use(matcher if same else NameMatcher.cached(matcher.kb, self._rules))
        if FINDER not in artifacts:
            self._row_types[None] = frozenset()  # saved without other words, such as by an older version
        elif same:
            self._finder = Finder.load(matcher.kb, artifacts[FINDER])
        self._corrections_setting = self._corrections_setting.saved(artifacts)


add_factory(
    ConceptMatcher,
    assigns=["doc.ents", "span._.matched_name"],
    scorer={"@scorers": "spacy.entity_ruler_scorer.v1"},
)


def _without_overlaps(*layers: Sequence[Span]) -> List[Span]:
    """Return spans that do not overlap. An earlier layer takes precedence, and within a layer the longest span."""
    kept: List[Span] = []
    occupied: Set[int] = set()
    for layer in layers:
        fitting = [span for span in filter_spans(layer) if occupied.isdisjoint(range(span.start, span.end))]
        kept += fitting
        occupied.update(token for span in fitting for token in range(span.start, span.end))
    return kept


def _split_periods(doc: Doc, text: str, places: Iterable[Tuple[int, int]]) -> None:
    """Split the period of a sentence from a name that ends with a single letter: "hepatitis C. She"."""
    ends = {end for _, end in places if text[end - 1].isupper() and text[end : end + 1] == "."}
    if ends and not doc.has_annotation("DEP") and not doc.spans:  # which splitting does not keep
        split_tokens_at(doc, {end for end in ends if not text[end + 1 : end + 3].strip()[:1].islower()})


def _is_none(span: Span, decisions: "Decisions", document: str) -> bool:
    """Return whether a person decided that a span is no mention."""
    return decisions.of(document, span.start_char, span.end_char, span.text, span.label_).is_no_mention


def _adds_letters(text: str, span: Span, start: int, end: int) -> bool:
    """Return whether the tokens of a match hold more of a word than the match itself, as in "NTG)-induced"."""
    return any(map(str.isalnum, text[span.start_char : start] + text[end : span.end_char]))
