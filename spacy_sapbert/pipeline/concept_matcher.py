"""`concept_matcher`: find the names of a vocabulary in a text, for pipelines without a trained NER."""

import re
import warnings
from bisect import bisect_right
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
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
from spacy.tokens import Doc, Span, Token
from spacy.training import Example
from spacy.util import filter_spans

from ..documents.docs import split_tokens_at
from ..errors import Warnings
from ..store.artifact import ArtifactWriter
from ..text.languages import ENGLISH
from ..text.words import word_keys
from .attributes import get_abbreviation_occurrences, get_links, set_matched_name, set_other_words
from .base import FolderPipe
from .component_settings import add_factory, check_setting
from .corrections import CorrectedComponent
from .factories import INSIDE
from .mentions import outside_headings

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..linking.finder import FoundName, NameFinder
    from ..linking.name_matcher import NameMatcher

CACHED_LABELS = 1 << 14
OUTSIDE, KIND, ALL = MODIFIERS = ("outside", "kind", "all")
"""The values of the setting `modifiers`."""
# how a word goes on before and after a name: "0.25 mg", "t(9;22)", "2-(4-bromophenyl)propionate"; "PAI-1", "(COX)-2"
_WORD_BEFORE = re.compile(r"(?:\w|\d[.,](?=\d)|[)\]][-–]|\w\(|[^\W\d_]\)|\d\])(?=\w$)")
_DOSE = re.compile(r"[\d.,]+ ?(?:mg|mcg|µg|kg|g|m[lL]|mmol|mEq)")  # "25 mg" is not the isotope "(25)Mg"
_PERSON = re.compile(r"\b(?:Mrs?|Ms|Dr|Prof)\.? (?:[A-Z][a-z]* ){0,2}[A-Z][a-z'’-]+")  # "Ms. Ann Rose"
_WORD_AFTER = re.compile(r"\w|\)?[-–/.,]\d|\)\d")


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
        self._finder: Optional[NameFinder] = None
        self._filtered: Optional[Tuple[Any, Optional[np.ndarray]]] = None
        self._labels: Dict[Any, Any] = {}
        check_setting(self, "nested", not nested or spans_key is not None, "false without a spans_key")
        self._general: Optional[Set[Tuple[str, ...]]] = None
        check_setting(self, "min_length", min_length >= 1, "at least 1")
        known = MODIFIERS if any(self._rules.words.modifiers) else (OUTSIDE,)
        wanted = f"one of {', '.join(MODIFIERS)}; only {OUTSIDE} for other languages than English"
        check_setting(self, "modifiers", modifiers in known, wanted)

    def __call__(self, doc: Doc) -> Doc:
        """Mark the names in one document."""
        spans = outside_headings(doc, self._spans(doc))
        spans, added = self._corrected(doc, spans) if self._obeyed is not None else (spans, [])
        if self.spans_key is not None:
            spans += added
            doc.spans[self.spans_key] = list({(span.start, span.end, span.label_): span for span in spans}.values())
            if not self.nested:
                return doc
        layers = (spans, doc.ents) if self.overwrite_ents else (doc.ents, spans)
        is_late = any(map(get_links, doc.ents))
        doc.ents = _without_overlaps(added, *layers)
        if is_late and not all(map(get_links, doc.ents)):
            warnings.warn(Warnings.W420.format(component=self.name), stacklevel=2)
        return doc

    def _corrected(self, doc: Doc, spans: List[Span]) -> Tuple[List[Span], List[Span]]:
        """Return the spans without texts that are no mentions, and the mentions that were added.

        Inflections of an added text are among the spans, since a longer mention takes precedence over them.
        """
        from ..review.corrections import document_key

        text = doc.text
        decisions, key = self._decided(self.kb, self._rules), document_key(text)
        decided = [decisions.of(key, span.start_char, span.end_char, span.text, span.label_) for span in spans]
        kept = [span for span, decision in zip(spans, decided) if not decision.is_no_mention]
        # a mention that is known keeps what is known of it, unless the correction has another label
        known = {(span.start, span.end): span for span in (*kept, *(doc.ents if self.spans_key is None else ()))}
        added: List[Span] = []
        for one in decisions.added(key, text):
            span = doc.char_span(one.start, one.end, label=one.label or "CONCEPT", alignment_mode="expand")
            if span is not None:
                same = known.get((span.start, span.end), span)
                (kept if one.is_inflected else added).append(same if one.label in ("", same.label_) else span)
        return kept, added

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """Return the measures of the `scorer`. Empty if the spans are not entities."""
        return self.scorer(examples, **settings) if self.scorer and self.spans_key is None else {}

    @property
    def finder(self) -> "NameFinder":
        """What finds names. The knowledge base of the config is opened at the first use.

        The indexes of its names come from the cache folder, or are made there.
        """
        if self._finder is None:
            from ..kb.storage import load_knowledge_base
            from ..linking.finder import NameFinder
            from ..linking.name_matcher import NameMatcher

            self._use(NameFinder(NameMatcher.cached(load_knowledge_base(self._kb), self._rules)))
            assert self._finder is not None
        if self.other_words is not None:
            self._finder.worded = frozenset(self.other_words)
        return self._finder

    @property
    def matcher(self) -> "NameMatcher":
        """What finds names as they are written."""
        return self.finder.exact

    @property
    def kb(self) -> "KnowledgeBase":
        """The vocabulary."""
        return self.finder.kb

    def set_kb(self, kb: str) -> None:
        """Find the names of another vocabulary from now on.

        Args:
            kb: "starter", or the path of a knowledge base.
        """
        self._kb = kb
        self._use(None)

    def use(self, kb: "KnowledgeBase") -> None:
        """Find the names of another knowledge base from now on. Its indexes are not kept in the cache folder."""
        from ..linking.finder import NameFinder

        self._use(NameFinder.build(kb, self._rules))

    def _use(self, finder: "Optional[NameFinder]") -> None:
        self._finder, self._filtered, self._labels, self._general = finder, None, {}, None

    def _spans(self, doc: Doc) -> List[Span]:
        """Return the mentions of names as spans of tokens."""
        text, stop_words = doc.text, self._stop_words()  # spaCy builds the text on each access
        names = self.finder.find(
            text,
            get_abbreviation_occurrences(doc),
            get_abbreviation_occurrences(doc, unclear=True),
            is_wanted=lambda name: self._is_wanted(name, stop_words),
            composites=self.composites,
            nested=self.nested,
        )
        if names and self._rules.code == ENGLISH.code:
            in_persons = {at for person in _PERSON.finditer(text) for at in range(*person.span())}
            names = [name for name in names if name.start not in in_persons]
        _split_tokens(doc, text, names)
        labels = self._labels_of({name.row for name in names})
        spans: Dict[Tuple[int, int, str], Span] = {}
        for start, name in self._with_modifiers(text, names):
            for label in labels[name.row] if self.spans_key is not None and self.all_types else labels[name.row][:1]:
                span = doc.char_span(start, name.end, label=label, alignment_mode="expand")
                if span and not _adds_letters(text, span, start, name.end):
                    spans.setdefault((span.start, span.end, label), span)
                    self._annotate(span, name)
        return list(spans.values())

    def _with_modifiers(self, text: str, names: "Sequence[FoundName]") -> "Iterator[Tuple[int, FoundName]]":
        """Yield each name, with the first character of its mention. That is another name in no case."""
        modifiers, ends = self._modifiers(), {name.end for name in names}
        places = {(name.start, name.end) for name in names}
        for name in names:
            start = name.start
            if modifiers:
                start = self.matcher.start_with_modifiers(text, start, modifiers, ends)
            yield (name.start if (start, name.end) in places else start), name

    def _annotate(self, span: Span, name: "FoundName") -> None:
        """Set the name of a span, and what it says in other words."""
        matched = self.matcher.name(name.row)
        if name.parts is None:
            set_matched_name(span, matched)
        said = name.parts or ({span.text: (matched, name.score, name.reason)} if name.reason else {})
        if said:
            set_other_words(span, said)

    def _stop_words(self) -> Set[Tuple[str, ...]]:
        """Return the keys of the stop names. Without a setting, they are computed once."""
        if self.stop_names is not None:
            return set(map(self._keys, self.stop_names))
        if self._general is None:
            from ..text.common_words import general_words

            names, code = self._rules.words.general_names, self._rules.code
            is_feature = self.spans_key is not None and code == ENGLISH.code  # NERs were trained with these words
            general = {self._keys(name) for name in (*names, *(() if is_feature else general_words(code)))}
            # what the vocabulary was told to keep is found; `kb` may open it
            kept = () if is_feature else self.kb.meta.get("stop_names", {}).get("kept", ())
            self._general = general.difference(map(self._keys, kept))
        return self._general

    def _modifiers(self) -> FrozenSet[str]:
        kind, state = self._rules.words.modifiers
        return {OUTSIDE: frozenset(), KIND: kind, ALL: kind | state}[self.modifiers]

    def _is_wanted(self, text: str, stop_words: Set[Tuple[str, ...]]) -> bool:
        is_word = len(text) >= self.min_length and any(map(str.isalpha, text)) and not _DOSE.fullmatch(text)
        return is_word and self._keys(text) not in stop_words

    def _keys(self, text: str) -> Tuple[str, ...]:
        return word_keys(text, self._rules)

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

        artifacts.add(KB, kb_artifact(self.kb))
        for index in (self.matcher, self.finder.other_words):
            if index is not None:
                artifacts.add(index.ROLE, index.artifact())
        self._save_corrections(artifacts)

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        from ..kb.storage import KB, load_knowledge_base
        from ..linking.finder import NameFinder
        from ..linking.name_matcher import NameMatcher
        from ..linking.other_words import OtherWords

        kb, words = load_knowledge_base(artifacts[KB]), artifacts.get(OtherWords.ROLE)
        matcher = NameMatcher.load(kb, artifacts[NameMatcher.ROLE])
        if matcher.rules is not self._rules:  # the keys of another language do not fit, if the setting was changed
            finder = NameFinder(NameMatcher.cached(kb, self._rules))
        else:
            finder = NameFinder(matcher, None if words is None else OtherWords.load(kb, words))
        if words is None:
            finder.worded = frozenset()  # saved without other words, such as by an older version
        self._use(finder)
        self._load_corrections(artifacts)


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


def _split_tokens(doc: Doc, text: str, names: "Iterable[FoundName]") -> None:
    """Split the tokens that hold more than a name, as "1.Asthma" and "hepatitis C." before a capital do."""
    places = {(name.start, name.end) for name in names if doc.char_span(name.start, name.end) is None}
    places = {place for place in places if not _goes_on(text, *place)}
    if not places or doc.has_annotation("DEP") or doc.spans:  # which splitting does not keep
        return
    starts = [token.idx for token in doc]
    cuts = {cut for place in places for cut in place}
    split_tokens_at(doc, {cut for cut in cuts if not _is_address(doc[bisect_right(starts, cut) - 1])})


def _goes_on(text: str, start: int, end: int) -> bool:
    """Return whether the word of a name goes on outside of it: "PAI-1", "E. coli"."""
    before, after = _WORD_BEFORE.search(text, max(0, start - 2), start + 1), _WORD_AFTER.match(text, end)
    is_initial = (
        text[end - 1].isupper() and text[end : end + 1] == "." and text[end + 1 : end + 3].strip()[:1].islower()
    )
    return before is not None or after is not None or is_initial


def _is_address(token: Token) -> bool:
    return (token.like_url and not token.text[0].isdigit()) or token.like_email  # "2.type" is none


def _adds_letters(text: str, span: Span, start: int, end: int) -> bool:
    """Return whether the tokens of a match hold more of a word than the match itself, as in "NTG)-induced"."""
    return any(map(str.isalnum, text[span.start_char : start] + text[end : span.end_char]))
