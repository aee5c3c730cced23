"""`Linker`: link mentions to concepts, without spaCy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from operator import attrgetter
from typing import NamedTuple

from ..errors import OptionError
from ..kb.filters import Filter
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mapping import vocabulary_of
from ..store.cache import drop_oldest
from ..text.languages import ENGLISH, LanguageRules
from ..types import NIL, Alternative, Candidate, Grade, Link, LinkedPart
from .agreement import REFUSED, Agreement, Candidates, tied
from .candidates import CandidateGenerator
from .concept_facts import ConceptFacts
from .prior import ConceptPrior
from .ranker import PROBABLE, Judgments, Parts, Ranker, describe, ranker_for
from .rewrites import Rewriter
from .settings import THRESHOLD, LinkerParameters, LinkerSettings
from .ties import TieBreaker, longer_forms, names_in
from .variants import MentionQuery, select_variant


class Annotation(NamedTuple):
    """What is written of a mention.

    Attributes:
        links: Its links, one per part.
        kb_ents: Its concept ids with scores, best first, in scispaCy's format. Also those of a tie that is not linked.
        kb_id: The ids of its links, see `kb_id_of`.
    """

    links: list[Link]
    kb_ents: list[tuple[str, float]]
    kb_id: str


_FEWEST_DIGITS, _MOST_DIGITS = 2, 17
_JUDGED = attrgetter("tie", "reasons")
_MISSING_DIGITS = 4


class _Current(NamedTuple):
    """What the settings and the fitted values say now. It would take long to find out for each mention.

    Attributes:
        prior, ranker, parameters, threshold: See the properties of `Linker`.
        by_probability: Whether the probability decides, not the score.
        least_score: The score that a link of another variant, or a second concept, needs.
    """

    prior: ConceptPrior | None
    ranker: Ranker | None
    parameters: LinkerParameters
    threshold: float
    by_probability: bool
    least_score: float


class Linker:
    """Links mentions to the concepts with the most similar names.

    A mention has variants: as written, with its abbreviations expanded, split into parts, with its spelling corrected.
    `select_variant` chooses the variant. `TieBreaker` chooses between concepts with the same score. A `Ranker` may
    choose a concept that is less similar.

    Args:
        generator: Finds the candidates of a text.
        settings: Shared with the caller, who may change them at any time.
        parameters: Fitted or trained values, used for settings that are None.

    Attributes:
        trained_ranker: The ranker that was trained with the linker, or None.
        listed: How many candidates a link lists besides its own values.
    """

    listed = 0

    def __init__(
        self,
        generator: CandidateGenerator,
        settings: LinkerSettings | None = None,
        parameters: LinkerParameters | None = None,
        rules: LanguageRules = ENGLISH,
    ) -> None:
        self.rules = rules
        self.settings = settings or LinkerSettings()
        self.stored_parameters = parameters or LinkerParameters()
        self.trained_ranker: Ranker | None = None
        self._open(generator)

    def _open(self, generator: CandidateGenerator) -> None:
        self._generator = generator
        self._agreement = Agreement(generator.kb, self.rules)
        self._rewriter = Rewriter(generator.kb, self.rules)
        self._facts = ConceptFacts(generator.kb)
        self._judgments: tuple[Ranker | None, Judgments] = None, {}
        self._prior: ConceptPrior | None = None

    def __repr__(self) -> str:
        return f"Linker({self.kb!r}, threshold {self.threshold:g}, λ {self.sparse_weight:g}, μ {self.prior_weight:g})"

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary."""
        return self._generator.kb

    @property
    def generator(self) -> CandidateGenerator:
        """The candidate generator, with the current λ."""
        self._current()
        return self._generator

    @property
    def ranker(self) -> Ranker | None:
        """The ranker for the scores of this linker: the one that was trained with it, or else the one in the package.

        None if there is none, if the linker has a prior, or if it was calibrated without one.
        """
        return self._current().ranker

    def _current(self) -> _Current:
        """Return what holds now. The generator gets the current λ."""
        stored, settings, generator = self.stored_parameters, self.settings, self._generator
        setting = settings.candidates.sparse_weight
        generator.sparse_weight = stored.sparse_weight if setting is None else setting
        setting = settings.candidates.prior_weight
        prior_weight = stored.prior_weight if setting is None else setting
        prior = self._prior_of(stored.annotated, prior_weight) if stored.annotated and prior_weight else None
        generator.complete = prior is not None
        by_scores = prior is not None or (stored.sparse_share is not None and not stored.reranked)
        ranker = None if by_scores or not settings.selection.rerank else ranker_for(generator, self.trained_ranker)
        parameters = self._valid(stored, prior_weight, reranked=ranker is not None)
        by_probability = settings.threshold is None and ranker is not None
        fitted_threshold = PROBABLE if parameters.sparse_share is None and ranker else parameters.threshold
        threshold = fitted_threshold if settings.threshold is None else settings.threshold
        least_score = THRESHOLD if by_probability else threshold
        return _Current(prior, ranker, parameters, threshold, by_probability, least_score)

    def _valid(self, stored: LinkerParameters, prior_weight: float, *, reranked: bool) -> LinkerParameters:
        """Return the fitted values, without those that hold for other scores than the present ones."""
        fitted = stored.sparse_share, stored.prior_weight, stored.reranked
        is_valid = stored.sparse_share is None or fitted == (self._generator.sparse_share, prior_weight, reranked)
        return stored if is_valid else stored.without_calibration()

    def _prior_of(self, counts: Mapping[str, int], weight: float) -> ConceptPrior:
        if self._prior is None or not self._prior.is_of(counts, weight, self.kb):
            self._prior = ConceptPrior(counts, weight, self.kb)
        return self._prior

    # --- linking

    def link(self, documents: Sequence[Sequence[MentionQuery]]) -> list[list[Parts]]:
        """Find the candidates of mentions. Each unique text is looked up once, and equal mentions share the result.

        Args:
            documents: The mentions of each document. Mentions of one document are evidence for each other.

        Returns:
            The parts of each mention, with candidates of any score.
        """
        current = self._current()
        keys = [list(map(attrgetter("key"), queries)) for queries in documents]
        unique = dict(zip(chain.from_iterable(keys), chain.from_iterable(documents), strict=True))
        parts_of = dict(zip(unique, self._link_by_scores(list(unique.values()), current), strict=True))
        linked = [list(map(parts_of.__getitem__, of_document)) for of_document in keys]
        if current.ranker is not None:
            if self._judgments[0] is not current.ranker:
                self._judgments = current.ranker, {}
            linked = current.ranker(linked, self._facts, self.rules, self._judgments[1])
        return list(map(self._with_document, linked, documents))

    def _link_by_scores(self, queries: Sequence[MentionQuery], current: _Current) -> list[Parts]:
        settings, filters = self.settings, dict[str, Filter]()
        texts: dict[Filter, dict[str, None]] = {}
        for query in queries:
            if query.label not in filters:
                filters[query.label] = self.filter_of(query.label)
            of_filter = texts.setdefault(filters[query.label], {})
            of_filter.update(dict.fromkeys(query.variants.texts(formulas=settings.selection.formulas)))
        candidates: dict[Filter, Candidates] = {}
        for filter, unique in texts.items():
            candidates[filter] = self._candidates(unique, filter, current)
        mentions = []
        for variants, label in queries:
            look_up = candidates[filters[label]].__getitem__
            variant = select_variant(
                variants, look_up, settings.selection, self._agreement, current.least_score, self.rules
            )
            mentions.append(variant)
        if current.prior is None and not any(map(tied, chain.from_iterable(mentions))):
            return mentions
        labels = [query.label for query in queries]
        return TieBreaker(self.kb, settings.label_types).break_ties(mentions, labels)

    def _with_document(self, mentions: list[Parts], queries: Sequence[MentionQuery]) -> list[Parts]:
        """Return the mentions of a document with what its other names say of ties and of shorter forms."""
        named = names_in(mentions) if len(mentions) > 1 else {}
        if named:
            mentions = longer_forms(mentions, named, self.rules)
        judged = [place for place, parts in enumerate(mentions) if any(chain.from_iterable(map(_JUDGED, parts)))]
        return self._with_ties(mentions, queries, judged, named) if judged else mentions

    def _with_ties(
        self, mentions: list[Parts], queries: Sequence[MentionQuery], judged: Sequence[int], named: dict[str, set[str]]
    ) -> list[Parts]:
        """Return the mentions of a document with the ties broken that some of them may have."""
        ties = [place for place in judged if any(map(tied, mentions[place]))]
        breaker, labels = TieBreaker(self.kb, self.settings.label_types), [queries[place].label for place in ties]
        broken = breaker.break_ties([mentions[place] for place in ties], labels, named)
        return list(map(dict(zip(ties, broken, strict=True)).get, range(len(mentions)), mentions))

    def _candidates(self, texts: Iterable[str], filter: Filter, current: _Current) -> Candidates:
        """Return the candidates of texts, best first. Those of earlier texts are known."""
        generator, known, k = self._generator, self._generator.derived, self.settings.k
        prior = current.prior
        settings = filter, k, generator.sparse_weight, generator.complete, prior, self.rules
        found, missing = Candidates(), list[str]()
        for text in texts:
            if (earlier := known.get((text, settings))) is None:
                missing.append(text)
            else:
                found[text] = earlier
        if not missing:
            return found
        search = partial(generator, k=k, filter=filter)
        graded = self._agreement.look_up(missing, search)
        for text, similar in graded.items():
            graded[text] = self._agreement(text, similar, prior, k if prior else None)
        graded = self._rewriter(graded, partial(generator.named, filter=filter))
        known.update(zip(zip(graded, repeat(settings)), graded.values(), strict=True))
        if len(known) > generator.cache_size:
            drop_oldest(known, generator.cache_size)
        return found | graded

    def links(self, parts: Parts, label: str = "") -> list[Link]:
        """Return one link per part of a mention, with the reason if there is no concept."""
        return self.annotations([(parts, label)])[0].links

    def kb_ents(self, parts: Parts) -> list[tuple[str, float]]:
        """Return the concept ids and scores of a mention, best first, in scispaCy's format."""
        return self.annotations([(parts, "")])[0].kb_ents

    def annotations(self, mentions: Sequence[tuple[Parts, str]]) -> list[Annotation]:
        """Return what is written of many mentions. Mentions that share their parts share it.

        Args:
            mentions: The parts and the label of each mention.
        """
        current, known, annotations = self._current(), dict[tuple[int, str], Annotation](), []
        for parts, label in mentions:
            annotation = known.get((id(parts), label))
            if annotation is None:
                linked = list(map(self._linked, parts, repeat(current)))
                links = list(map(self._link, parts, linked, repeat(label), repeat(current), repeat(len(parts) > 1)))
                if not all(linked):
                    linked = [found or self._equal(part, current) for part, found in zip(parts, linked, strict=True)]
                annotation = Annotation(links, _kb_ents(parts, linked), kb_id_of(links))
                known[id(parts), label] = annotation
            annotations.append(annotation)
        return annotations

    def filter_of(self, label: str) -> Filter:
        """Return the filter for the concepts and names of mentions with a label."""
        types = self.settings.label_types.get(label, self.settings.types)
        return Filter(tuple(sorted(types)), tuple(sorted(self.settings.sources)))

    def confidence(self, candidate: Candidate) -> float:
        """Return what is compared with the threshold: the score of a candidate, or its probability if that decides."""
        return _confidence(candidate, self._current())

    def linkable(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates that are not refused, and that `filter_for_definitions` allows, with any score.

        There are none if the text is another word or symbol than the most similar name.
        """
        candidates = list(candidates)
        if candidates and candidates[0].refusal and candidates[0].grade > Grade.REFUSED:
            return []
        allowed = [candidate for candidate in candidates if candidate.refusal is None]
        if self.settings.filter_for_definitions:
            least = self.settings.no_definition_threshold
            allowed = [c for c in allowed if c.score >= least or self._is_defined(c.concept_id)]
        return allowed

    def _is_defined(self, concept_id: str) -> bool:
        return bool(self.kb.query("SELECT 1 FROM concepts WHERE id = ? AND definition IS NOT NULL", concept_id))

    def _linked(self, part: LinkedPart, current: _Current) -> list[Candidate]:
        """Return the best candidates above the threshold, at most `max_entities_per_mention`.

        There are none if the first that may be linked is below it.
        """
        linkable = self.linkable(part.candidates)
        if not linkable or self._certainty(part, linkable[0], current) <= current.threshold:
            return []
        first, *others = linkable
        above = [candidate for candidate in others if candidate.score > current.least_score]
        return [first, *above[: self.settings.max_entities_per_mention - 1]]

    def _equal(self, part: LinkedPart, current: _Current) -> list[Candidate]:
        """Return the concepts of a name if none of them is certain. They are candidates, and not linked."""
        equal = self.linkable(tied(part)) if part.candidates and part.candidates[0].grade >= Grade.NEARLY_SAME else []
        return [one for one in equal if one.score > current.least_score][: self.settings.max_entities_per_mention]

    def _certainty(self, part: LinkedPart, first: Candidate, current: _Current) -> float:
        """Return the confidence in the first candidate, or the highest of a tie between vocabularies.

        If the text is a name in several vocabularies, they may mean the same, and the rules for ties said which one to
        take. Within a vocabulary, as between genes of two species, the concepts differ.
        """
        certainty = _confidence(first, current)
        rivals = self.linkable(tied(part)) if first.grade >= Grade.NEARLY_SAME else ()
        own = vocabulary_of(first.concept_id) if rivals else None
        others = [rival for rival in rivals if vocabulary_of(rival.concept_id) != own] if rivals else []
        return max(certainty, *map(_confidence, others, repeat(current))) if others else certainty

    def _link(
        self, part: LinkedPart, candidates: Sequence[Candidate], label: str, current: _Current, is_split: bool
    ) -> Link:
        linked = candidates[0] if candidates else None
        best = linked or (part.candidates[0] if part.candidates else None)
        is_first = best is not None and best is part.candidates[0]
        next_best = part.candidates[1:2] if is_first else part.candidates[:1]
        return Link(
            part.text,
            linked.concept_id if linked else None,
            best.score if best else None,
            best.name if best else None,
            part.long_form,
            is_split,
            None if linked else self._why_not_linked(part, label, current),
            _probability(best, current) if best else None,
            part.tie if linked and is_first else None,
            _alternative(next_best[0], current) if next_best else None,
            _alternative(best, current) if best and not linked else None,
            reasons=((best.rewrite, *part.reasons) if best and best.rewrite else part.reasons) if is_first else (),
            candidates=tuple(map(_alternative, part.candidates[: self.listed], repeat(current))),
            missing=_missing(part.candidates),
        )

    def _why_not_linked(self, part: LinkedPart, label: str, current: _Current) -> str:
        if not part.candidates and part.reasons:
            return "; ".join(part.reasons)
        if not part.candidates:
            limits = self.filter_of(label)._asdict().items()
            shown = " and ".join(f"{what} {', '.join(values)}" for what, values in limits if values)
            return "no name is similar" + (f" among {shown}" if shown else "")
        least = current.least_score * REFUSED
        if refused := next((one for one in part.candidates if one.refusal and one.score > least), None):
            return f"“{refused.name}” is not meant: {refused.refusal}"
        first = part.candidates[0]
        confidence, threshold = self._certainty(part, first, current), current.threshold
        if confidence > threshold:
            return "no candidate above the threshold has a definition"
        shown, limit = _distinct(confidence, threshold)
        if current.by_probability:
            is_name = part.tie and first.grade >= Grade.NEARLY_SAME
            why = part.tie if is_name else f"“{first.name}” {describe(part.text, first.name, self.rules)}"
            return f"probability {shown} is not above the threshold {limit}: {why}"
        what = "the score of the chosen candidate" if part.reasons else "best score"
        return f"{what} {shown} is not above the threshold {limit}"

    # --- fitted values

    @property
    def sparse_weight(self) -> float:
        """λ: the setting, or else the fitted or trained weight."""
        setting = self.settings.candidates.sparse_weight
        return self.stored_parameters.sparse_weight if setting is None else setting

    @property
    def prior_weight(self) -> float:
        """μ: the setting, or else the fitted or trained weight."""
        setting = self.settings.candidates.prior_weight
        return self.stored_parameters.prior_weight if setting is None else setting

    @property
    def threshold(self) -> float:
        """The setting, which is a score. Else the fitted value, or 0.5, of the probability if there is one."""
        return self._current().threshold

    @property
    def parameters(self) -> LinkerParameters:
        """The fitted or trained values that are valid for the current settings.

        Threshold and probabilities are valid for the links for which `calibrate` fitted them. With another λ or μ, or
        without the sparse score or the ranker, the default values apply.
        """
        return self._current().parameters

    @property
    def prior(self) -> ConceptPrior | None:
        """The prior of concepts: how often annotators mean them. None if it was neither fitted nor trained."""
        return self._current().prior

    @contextmanager
    def ranking(self, trained: Ranker | None) -> Iterator[None]:
        """Link inside the block as if this ranker had been trained; None for that in the package."""
        before, self.trained_ranker = self.trained_ranker, trained
        try:
            yield
        finally:
            self.trained_ranker = before

    @contextmanager
    def by_scores(self) -> Iterator[None]:
        """Link inside the block without a ranker."""
        selection, before = self.settings.selection, self.settings.selection.rerank
        selection.rerank = False
        try:
            yield
        finally:
            selection.rerank = before

    @contextmanager
    def using(self, generator: CandidateGenerator) -> Iterator[None]:
        """Link inside the block with another generator."""
        before = self._generator
        self._open(generator)
        try:
            yield
        finally:
            self._open(before)

    @contextmanager
    def weighing(self, counts: Mapping[str, int], weight: float) -> Iterator[None]:
        """Link inside the block as if these annotation counts and this μ had been fitted."""
        before = self.stored_parameters, self.settings.candidates.prior_weight
        self.stored_parameters = self.stored_parameters._replace(annotated=counts)
        self.settings.candidates.prior_weight = weight
        try:
            yield
        finally:
            self.stored_parameters, self.settings.candidates.prior_weight = before


def kb_id_of(links: Iterable[Link]) -> str:
    """Return the ids of the links of a mention, joined by "|", or "NIL"."""
    return "|".join(dict.fromkeys(filter(None, map(attrgetter("concept_id"), links)))) or NIL


def _kb_ents(parts: Parts, linked: Sequence[Sequence[Candidate]]) -> list[tuple[str, float]]:
    """Return the ids and scores of what is linked, best first. Each concept has its best score."""
    candidates = list(chain.from_iterable(linked))
    if len(parts) > 1:
        overruled = any(part.reasons for part in parts)  # what was chosen comes before what was overruled
        pairs = [pair for of_part in linked for pair in enumerate(of_part)]
        pairs.sort(key=lambda pair: (pair[0] if overruled else 0, -pair[1].score))
        candidates = [candidate for _, candidate in pairs]
    best: dict[str, float] = {}
    for candidate in candidates:
        best.setdefault(candidate.concept_id, candidate.score)
    return list(best.items())


def _confidence(candidate: Candidate, current: _Current) -> float:
    if not current.by_probability:
        return candidate.score
    # a candidate that was not compared, such as that of a correction
    return float(candidate.score > THRESHOLD) if candidate.probability is None else candidate.probability


def _probability(candidate: Candidate, current: _Current) -> float | None:
    """Return the probability of a candidate; None if it was neither compared nor fitted to the scores."""
    return current.parameters.probability(candidate.score) if current.ranker is None else candidate.probability


def _missing(candidates: Iterable[Candidate]) -> float | None:
    """Return the probability that the vocabulary lacks the concept: what the candidates leave, if that is known."""
    known = [candidate.probability for candidate in candidates if candidate.probability is not None]
    return round(max(1.0 - sum(known), 0.0), _MISSING_DIGITS) if known else None


def _alternative(candidate: Candidate, current: _Current) -> Alternative:
    return Alternative(candidate.concept_id, candidate.score, candidate.name, _probability(candidate, current))


def _distinct(first: float, second: float) -> tuple[str, str]:
    """Return two numbers with at least two digits after the point, and with more if they would look equal."""
    digits = range(_FEWEST_DIGITS, _MOST_DIGITS + 1)
    n = next((n for n in digits if f"{first:.{n}f}" != f"{second:.{n}f}"), _FEWEST_DIGITS)
    wholes = (f"{number:.{n}f}".partition(".") for number in (first, second))
    one, other = (f"{whole}.{digits.rstrip('0').ljust(_FEWEST_DIGITS, '0')}" for whole, _, digits in wholes)
    return one, other


class MentionCandidate(NamedTuple):
    """A concept proposed for a text, with the fields of scispaCy's class of this name.

    Attributes:
        concept_id: The primary id.
        aliases: The names that are similar to the text: here, the best one alone.
        similarities: The scores of these names, from 0 to 1 for unit vectors.
    """

    concept_id: str
    aliases: list[str]
    similarities: list[float]


class MentionCandidates:
    """Finds the candidates of texts, as scispaCy's `CandidateGenerator` does: `linker.candidate_generator(texts, k)`.

    The types and sources of the linker's settings filter the candidates. No threshold applies.

    Args:
        linker: The linker. Its settings and fitted weights count.
    """

    def __init__(self, linker: Linker) -> None:
        self._linker = linker

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary."""
        return self._linker.kb

    def __call__(self, mention_texts: Sequence[str], k: int) -> list[list[MentionCandidate]]:
        """Find the k best concepts for each text.

        Args:
            k: The most candidates per text.

        Returns:
            At most k candidates per text, best first.

        Raises:
            OptionError: The texts are a single string.
        """
        if isinstance(mention_texts, str):
            raise OptionError(option="mention_texts", reason="it is a text, not a list of texts")
        settings = self._linker.settings
        filter = Filter(tuple(sorted(settings.types)), tuple(sorted(settings.sources)))
        return [
            [MentionCandidate(candidate.concept_id, [candidate.name], [candidate.score]) for candidate in candidates]
            for candidates in self._linker.generator(list(mention_texts), k, filter)
        ]
