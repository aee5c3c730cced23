"""How often a pipeline links gold mentions to the right concepts.

The mentions are given; there is no threshold and no NIL, and nothing is told how many gold ids a mention has.
Two measures stand side by side. *Lenient* is that of BioSyn (Sung et al. 2020, section 4.2): every part that the linker
looked up must meet any of the gold ids. *Strict* asks for one part a gold concept, and for the right one.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..corpora.docs import to_doc
from ..corpora.mention_types import has_type, types_of
from ..errors import Errors, SapbertError, Warnings
from ..files import open_output
from ..kb.knowledge_base import KnowledgeBase
from ..kb.name_index import NameIndex
from ..pipeline.attributes import get_abbreviation_occurrences
from ..pipeline.mentions import mentions_of
from ..text.abbreviations import expand
from ..text.normalize import biosyn
from ..types import AnnotatedDocument, LinkedPart, Mention
from .predictions import write_prediction

LINKER = "sapbert_linker"
# the second is scispaCy's
PREPARING = ("abbreviation_resolver", "abbreviation_detector", "composite_splitter")
SPANS_KEY = "gold"
CUTOFFS = (1, 5)
RECALL_CUTOFF = 20
SLICES = ("seen", "unseen", "abbreviation", "composite")
DOCUMENTS_PER_BATCH = 64

Ids = AbstractSet[str]


# --- one mention


def lenient_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Whether every part has, among its first k candidates, one that meets any gold id.

    gold (Collection[Ids]): the gold concepts, each as the set of the gold ids that name it.
    parts (Sequence[Sequence[Ids]]): for each part its candidates, best first, each as the set of all its ids.
    RETURNS (bool): False where there is no part.
    """
    ids = frozenset().union(*gold)
    return bool(parts) and all(any(ids & candidate for candidate in part[:k]) for part in parts)


def strict_at(k: int, gold: Collection[Ids], parts: Sequence[Sequence[Ids]]) -> bool:
    """Whether parts and gold concepts can be paired off so that each part has its concept among its first k candidates.

    The arguments are those of `lenient_at`. For k = 1 this means: the first candidates of the parts are the gold
    concepts, one to one. Two parts with the same first candidate are therefore wrong, whatever the gold is.
    """
    from scipy.optimize import linear_sum_assignment

    if not parts or len(parts) != len(gold):
        return False
    met = np.array([[any(ids & candidate for candidate in part[:k]) for ids in gold] for part in parts])
    rows, columns = linear_sum_assignment(met, maximize=True)
    return bool(met[rows, columns].all())


def gold_concepts(ids: Iterable[str], kb: KnowledgeBase) -> list[frozenset[str]]:
    """Put together the gold ids that name one concept of the store, so that one part can answer for all of them.

    RETURNS (list[frozenset[str]]): one set of ids a concept; an id that the store lacks is alone.
    """
    groups: list[tuple[frozenset[str], frozenset[str]]] = []
    for concept_id in ids:
        group, concepts = frozenset([concept_id]), frozenset([concept_id, *kb.find_id(concept_id)])
        for other in [other for other in groups if other[1] & concepts]:
            groups.remove(other)
            group, concepts = other[0] | group, other[1] | concepts
        groups.append((group, concepts))
    return [group for group, _ in groups]


# --- a corpus


class LinkedMention(NamedTuple):
    """A gold mention and what the linker made of it.

    long_form (str | None): the mention with its abbreviations expanded, where it has any, whether or not that form won.
    parts (tuple[LinkedPart, ...]): what was looked up; empty for a mention that is no span of tokens.
    """

    doc_id: str
    mention: Mention
    long_form: str | None
    parts: tuple[LinkedPart, ...]


class MentionScore(NamedTuple):
    """What is right about a linked mention.

    covered (bool): every gold id is in the store, as BioSyn's protocol asks of a mention that it keeps.
    lenient, strict (dict[int, bool]): by cutoff.
    exact_match (bool): a name of the store that equals the mention, or its long form, belongs to a gold concept.
    slices (tuple[str, ...]): those of `SLICES` that the mention is in.
    """

    covered: bool
    lenient: dict[int, bool]
    strict: dict[int, bool]
    exact_match: bool
    slices: tuple[str, ...]


def evaluate_linking(
    nlp: Language,
    documents: Iterable[AnnotatedDocument],
    *,
    type: str | None = None,
    predictions: Path | None = None,
    each: Callable[[LinkedMention, MentionScore], object] | None = None,
) -> dict[str, Any]:
    """Measure how a pipeline links the gold mentions of a corpus.

    Of the pipeline run its `abbreviation_resolver` (or scispaCy's `abbreviation_detector`) and `composite_splitter`, as
    far as it has them, and its `sapbert_linker`. A document that comes twice counts twice.

    nlp (Language): the pipeline.
    documents (Iterable[AnnotatedDocument]): taken in batches, never all at once.
    type (str | None): only mentions with this label.
    predictions (Path | None): write a JSON line for each mention to this file; it appears when it is complete.
    each (Callable | None): is called with every mention and its score, e.g. to report errors.
    RETURNS (dict): counts `mentions` (with a gold id) and `covered`; `lenient` and `strict`, `{"acc@1", "acc@5"}` over
        the covered; `lenient_all`, `strict_all` over all; `exact_match_floor`, the share of the covered that a look-up
        of l2_normalized names gets right; `candidate_recall@20`, the lenient accuracy at 20; `slices`, each with the count
        `n` of its covered mentions, `lenient` and `strict`: `seen` and `unseen`, by whether the mention's normal form
        is a name of the store, `abbreviation`, with a short form that was resolved, and `composite`, with several gold
        ids. Accuracies are percentages, None where nothing counts.
    RAISES (SapbertError): E510 the pipeline has no linker, E511 no mention with a gold id, E507 the file cannot be
        written, and what reading the documents raises.
    """
    scorer = _Scorer(find_linker(nlp).kb)
    scores: list[MentionScore] = []
    lost: list[LinkedMention] = []
    labels: Counter[str] = Counter()
    with open_output(predictions) if predictions else nullcontext() as write:
        for linked in link_gold_mentions(nlp, _with_gold_ids(documents, type, labels)):
            score = scorer(linked)
            scores.append(score)
            if not linked.parts:
                lost.append(linked)
            if write:
                write_prediction(write, _prediction(linked, score))
            if each:
                each(linked, score)
        if not scores:
            wanted = "with a concept id" if type is None else f"of type {type}"
            raise SapbertError(Errors.E511.format(wanted=wanted, known=", ".join(sorted(labels)) or "none"))
    for first in lost[:1]:
        place = {"mention": repr(first.mention.text), "doc_id": first.doc_id}
        warnings.warn(Warnings.W510.format(n=len(lost), total=len(scores), **place), stacklevel=2)
    return _report(scores)


def link_gold_mentions(nlp: Language, documents: Iterable[AnnotatedDocument]) -> Iterator[LinkedMention]:
    """Link the mentions of annotated documents, with all candidates and without a threshold.

    YIELDS (LinkedMention): every mention of every document, in their order.
    RAISES (SapbertError): E510 the pipeline has no linker.
    """
    linker = find_linker(nlp)
    preparing = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory in PREPARING]
    with on_spans([*preparing, linker], SPANS_KEY):
        for batch in minibatch(documents, size=DOCUMENTS_PER_BATCH):
            docs = [to_doc(nlp, document, spans_key=SPANS_KEY, split_tokens=True) for document in batch]
            for component in preparing:
                docs = [component(doc) for doc in docs]
            for document, doc, parts in zip(batch, docs, linker.predict(docs), strict=True):
                yield from _linked_mentions(document, doc, parts)


def find_linker(nlp: Language) -> Any:
    """RETURNS: the last linker of the pipeline, whose links are the ones that stay.

    RAISES (SapbertError): E510 there is none.
    """
    return last_component(nlp, LINKER, Errors.E510)


def last_component(nlp: Language, factory: str, missing: str) -> Any:
    """RETURNS: the last component that a factory made.

    missing (str): the message where there is none.
    """
    made = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory == factory]
    if not made:
        raise SapbertError(missing.format(components=", ".join(nlp.pipe_names) or "none"))
    return made[-1]


@contextmanager
def on_spans(components: Iterable[Any], spans_key: str | None) -> Iterator[None]:
    """Let components work on the gold mentions, whatever they are set to work on otherwise.

    spans_key (str | None): the span group that holds them; None for `doc.ents`.
    """
    before = [(component, component.spans_key) for component in components if hasattr(component, "spans_key")]
    try:
        for component, _ in before:
            component.spans_key = spans_key
        yield
    finally:
        for component, its_own in before:
            component.spans_key = its_own


def _with_gold_ids(
    documents: Iterable[AnnotatedDocument], type: str | None, labels: Counter[str]
) -> Iterator[AnnotatedDocument]:
    for document in documents:
        mentions = [mention for mention in document.mentions if mention.ids]
        labels.update(name for mention in mentions for name in types_of(mention.label))
        kept = tuple(mention for mention in mentions if type is None or has_type(mention.label, [type]))
        yield document._replace(mentions=kept)


def _linked_mentions(
    document: AnnotatedDocument, doc: Doc, predicted: Sequence[tuple[LinkedPart, ...]]
) -> Iterator[LinkedMention]:
    spans = mentions_of(doc, SPANS_KEY)
    by_place = {
        (span.start_char, span.end_char, span.label_): parts for span, parts in zip(spans, predicted, strict=True)
    }
    for mention in document.mentions:
        expanded = expand(document.text, mention.start, mention.end, get_abbreviation_occurrences(doc))
        long_form = None if expanded == mention.text else expanded
        yield LinkedMention(document.doc_id, mention, long_form, by_place.get(place_in_text(mention), ()))


def place_in_text(mention: Mention) -> tuple[int, int, str]:
    """RETURNS (tuple[int, int, str]): characters and label of a mention's span, which has no blanks at its ends."""
    text = mention.text
    return mention.end - len(text.lstrip()), mention.start + len(text.rstrip()), mention.label


# --- scores


class _Scorer:
    """Judges linked mentions by what the store knows of ids and names."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._names = NameIndex(kb, biosyn)
        self._ids = lru_cache(maxsize=100_000)(lambda concept_id: frozenset(kb.ids(concept_id)))

    def __call__(self, linked: LinkedMention) -> MentionScore:
        gold = gold_concepts(linked.mention.ids, self._kb)
        parts = [[self._ids(candidate.concept_id) for candidate in part.candidates] for part in linked.parts]
        return MentionScore(
            all(self._kb.find_id(concept_id) for concept_id in linked.mention.ids),
            {k: lenient_at(k, gold, parts) for k in (*CUTOFFS, RECALL_CUTOFF)},
            {k: strict_at(k, gold, parts) for k in CUTOFFS},
            self._is_exact_match(linked, gold),
            tuple(self._slices(linked)),
        )

    def _is_exact_match(self, linked: LinkedMention, gold: Collection[Ids]) -> bool:
        owners = self._names.owners(linked.long_form) if linked.long_form else []
        owners = owners or self._names.owners(linked.mention.text)
        return lenient_at(1, gold, [[frozenset().union(*map(self._ids, owners))]])

    def _slices(self, linked: LinkedMention) -> Iterator[str]:
        yield "seen" if self._names.owners(linked.mention.text) else "unseen"
        if linked.long_form is not None:
            yield "abbreviation"
        if len(linked.mention.ids) > 1:
            yield "composite"


def _report(scores: Sequence[MentionScore]) -> dict[str, Any]:
    covered = [score for score in scores if score.covered]
    of_slice = {name: [score for score in covered if name in score.slices] for name in SLICES}
    over_all = _accuracies(scores)
    return {
        "mentions": len(scores),
        "covered": len(covered),
        **_accuracies(covered),
        "lenient_all": over_all["lenient"],
        "strict_all": over_all["strict"],
        "exact_match_floor": _percent([score.exact_match for score in covered]),
        f"candidate_recall@{RECALL_CUTOFF}": _percent([score.lenient[RECALL_CUTOFF] for score in covered]),
        "slices": {name: {"n": len(members), **_accuracies(members)} for name, members in of_slice.items()},
    }


def _accuracies(scores: Sequence[MentionScore]) -> dict[str, dict[str, float | None]]:
    return {
        "lenient": {f"acc@{k}": _percent([score.lenient[k] for score in scores]) for k in CUTOFFS},
        "strict": {f"acc@{k}": _percent([score.strict[k] for score in scores]) for k in CUTOFFS},
    }


def _percent(right: Sequence[bool]) -> float | None:
    return round(100 * sum(right) / len(right), 2) if right else None


def _prediction(linked: LinkedMention, score: MentionScore) -> dict[str, Any]:
    """A line of the predictions file."""
    mention = linked.mention
    return {
        "doc_id": linked.doc_id,
        "start": mention.start,
        "end": mention.end,
        "text": mention.text,
        "label": mention.label,
        "gold": list(mention.ids),
        "covered": score.covered,
        "long_form": linked.long_form,
        "parts": [
            {
                "text": part.text,
                "long_form": part.long_form,
                "candidates": [
                    {"id": candidate.concept_id, "score": candidate.score, "name": candidate.name}
                    for candidate in part.candidates[:RECALL_CUTOFF]
                ],
            }
            for part in linked.parts
        ],
        "lenient": {f"acc@{k}": score.lenient[k] for k in CUTOFFS},
        "strict": {f"acc@{k}": score.strict[k] for k in CUTOFFS},
        "slices": list(score.slices),
    }
