"""How well a pipeline names the concepts of whole documents, by the measures of `metrics.ranking`.

They are averaged over documents. P is bounded by the number of gold concepts; `best_possible` says how far.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..corpora.docs import to_doc
from ..corpora.document_gold import documents_by_concept, gold_of, is_named, primary_id
from ..corpora.mention_types import types_of
from ..errors import Errors, SapbertError
from ..files import open_output
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.counts import SetCounts, compare_sets, macro, mean, micro, percent, precision_recall_f1
from ..metrics.ranking import FEW_PLACES, PLACES, RankingScore, score_ranking
from ..pipeline.factories import LINKER, RETRIEVER
from ..types import AnnotatedDocument, DocumentConcept, Mention
from .linking import SPANS_KEY, last_component, on_spans
from .predictions import write_prediction

MAP_DEPTH = 100
RARE_BELOW = 10  # training documents
DOCUMENTS_PER_BATCH = 64


# --- a corpus


class RankedDocument(NamedTuple):
    """A document with its gold concepts and what the retriever made of it.

    Attributes:
        gold: by primary id, with the mentions of each.
        ranked: best first, without a threshold.
    """

    doc_id: str
    gold: dict[str, list[Mention]]
    ranked: Sequence[DocumentConcept]


def evaluate_concepts(
    nlp: Language,
    documents: Iterable[AnnotatedDocument],
    *,
    labels: Iterable[str] | None = None,
    train: Iterable[AnnotatedDocument] | None = None,
    k: int = PLACES,
    type: str | None = None,
    gold_mentions: bool = False,
    predictions: Path | None = None,
) -> dict[str, Any]:
    """Measure how a pipeline's `concept_retriever` ranks the gold concepts of a corpus.

    The components before it are run on the texts. Documents without a gold concept do not count. Alternative ids are
    the primary ones; gold concepts that the vocabulary lacks count as missed.

    Args:
        nlp: the pipeline.
        documents: taken in batches, never all at once.
        labels: ids of the concepts that may be named; None for the whole vocabulary.
        train: tells which concepts are rare.
        k: how many concepts each document is given.
        type: only gold concepts that are mentioned with this label.
        gold_mentions: give the documents their gold mentions, without ids, instead of searching for any.
        predictions: write a JSON line for each document to this file; it appears when it is complete.

    Returns:
        dict: counts `documents`, `without_gold` (documents left out for that), `concepts` (pairs of a document and a
            gold concept) and `without_a_name` (those of them that the vocabulary lacks), with labels `labels` and
            `labels_without_a_name`; `all`, `non_canonical`, `rare` and, by label, `types`, each with the count `n` of
            its pairs and, averaged over the documents that have any, `p@10`, `r@10`, `f1@10` (of the two), `r@5` and
            `map`; `micro`: `p@10`, `r@10`, `f1@10`; `threshold`: its `value`, and `macro` and `micro` `p`, `r`, `f1` of
            the concepts above it, among as many as the component names; `best_possible`: `p@10`, `r@10`, `f1@10` of an
            oracle. The figures are percentages, None where nothing counts; 10 stands for k.

    Raises:
        SapbertError: E631 the pipeline has no retriever, E634 no gold concept, E635 the vocabulary has none of the
            labels, E507 the file cannot be written, and what reading the documents raises.
    """
    retriever = find_retriever(nlp)
    primary = lru_cache(maxsize=100_000)(lambda concept_id: primary_id(concept_id, retriever.kb))
    filter, counts = None, Counter[str]()
    if labels is not None:
        filter = _with_names(list(dict.fromkeys(map(primary, labels))), retriever.kb, counts)
    scorer = _Scorer(retriever, documents_by_concept(train, primary) if train is not None else None, k)
    with open_output(predictions) if predictions else nullcontext() as write:
        for document, ranked in _rank(nlp, retriever, documents, max(k, MAP_DEPTH), filter, gold_mentions):
            one = RankedDocument(document.doc_id, gold_of(document, primary, type), ranked)
            counts["without_gold"] += not one.gold
            if one.gold:
                score = scorer(one)
                if write:
                    write_prediction(write, _prediction(one, score, k))
        if not scorer.tops:
            raise SapbertError(Errors.E634.format(wanted="" if type is None else f" with the label {type}"))
    return {"documents": len(scorer.tops), **counts, **scorer.report()}


def find_retriever(nlp: Language) -> Any:
    """Return the last retriever of the pipeline, whose concepts are the ones that stay.

    Raises:
        SapbertError: E631 there is none.
    """
    return last_component(nlp, RETRIEVER, Errors.E631)


def _with_names(labels: Sequence[str], kb: KnowledgeBase, counts: Counter[str]) -> frozenset[str]:
    """Return the labels that the vocabulary has; the others cannot be named.

    Raises:
        SapbertError: E635 it has none of them.
    """
    found = frozenset(label for label in labels if kb.find_id(label))
    if not found:
        raise SapbertError(Errors.E635.format(n=len(labels), path=kb.path, example=labels[0]))
    counts.update(labels=len(labels), labels_without_a_name=len(labels) - len(found))
    return found


def _rank(
    nlp: Language,
    retriever: Any,
    documents: Iterable[AnnotatedDocument],
    depth: int,
    filter: frozenset[str] | None,
    gold_mentions: bool,
) -> Iterator[tuple[AnnotatedDocument, list[DocumentConcept]]]:
    """Yield each document with its ranking, which is as long as the component's own, or longer."""
    names = nlp.pipe_names
    place = [component for _, component in nlp.pipeline].index(retriever)
    disabled = names[place:]
    inputs: Iterator[tuple[str | Doc, AnnotatedDocument]] = ((document.text, document) for document in documents)
    if gold_mentions:
        disabled += [name for name in names[:place] if finds_entities(nlp, name)]
        inputs = ((with_mentions(nlp, document), document) for _, document in inputs)
    with on_spans(mention_components(nlp), None) if gold_mentions else nullcontext():
        for batch in minibatch(nlp.pipe(inputs, as_tuples=True, disable=disabled), size=DOCUMENTS_PER_BATCH):
            rankings = retriever.rank([doc for doc, _ in batch], max(depth, retriever.k), filter)
            yield from zip((document for _, document in batch), rankings, strict=True)


def finds_mentions(nlp: Language, name: str) -> bool:
    """Return whether a component finds mentions, as entities or as a group of spans."""
    meta = nlp.get_pipe_meta(name)
    return "doc.ents" in meta.assigns and meta.factory != LINKER  # which only gives them their ids


def finds_entities(nlp: Language, name: str) -> bool:
    """Return whether a component finds entities, so that it is not to run where the mentions are given.

    A group of spans does not harm, and an NER may want it.
    """
    return finds_mentions(nlp, name) and getattr(nlp.get_pipe(name), "spans_key", None) is None


def mention_components(nlp: Language) -> list[Any]:
    """Return `list`: the components that work on mentions, or on none, but find no mentions."""
    return [component for name, component in nlp.pipeline if not finds_mentions(nlp, name)]


def with_mentions(nlp: Language, document: AnnotatedDocument) -> Doc:
    """Return `Doc`: with the gold mentions as entities and as the spans `SPANS_KEY`; nothing tells their ids."""
    mentions = tuple(mention._replace(ids=(), parts=()) for mention in document.mentions)
    return to_doc(nlp, document._replace(mentions=mentions), spans_key=SPANS_KEY, split_tokens=True)


# --- scores


class _Scorer:
    """Collects what is measured of each document, by the groups of gold concepts that are told apart.

    Args:
        in_train: how many training documents hold each concept; None where that is not known.
    """

    def __init__(self, retriever: Any, in_train: Mapping[str, int] | None, k: int) -> None:
        self._retriever = retriever
        self._in_train = in_train
        self._k = k
        self._scores: dict[str, list[RankingScore]] = {"all": [], "non_canonical": []}
        self._types: dict[str, list[RankingScore]] = defaultdict(list)
        self._sizes: Counter[tuple[str, ...]] = Counter()
        self._without_a_name = 0
        self._above: list[SetCounts] = []
        self.tops: list[SetCounts] = []
        if in_train is not None:
            self._scores["rare"] = []

    def __call__(self, document: RankedDocument) -> RankingScore:
        """Return `RankingScore`: that of all gold concepts of the document, of which there must be some."""
        gold, ranked = document.gold, [concept.concept_id for concept in document.ranked]
        groups: dict[tuple[str, ...], list[str]] = {("all",): list(gold), **self._groups(gold)}
        for group, subset in groups.items():
            scores = self._types[group[1]] if group[0] == "types" else self._scores[group[0]]
            scores.append(score_ranking(ranked, gold, subset, k=self._k))
            self._sizes[group] += len(subset)
        self._without_a_name += sum(not self._retriever.kb.find_id(concept_id) for concept_id in gold)
        self.tops.append(compare_sets(gold.keys(), set(ranked[: self._k]))._replace(named=self._k))
        threshold = self._retriever.retriever.threshold
        named = {one.concept_id for one in document.ranked[: self._retriever.k] if one.score > threshold}
        self._above.append(compare_sets(gold.keys(), named))
        return self._scores["all"][-1]

    def _groups(self, gold: Mapping[str, Sequence[Mention]]) -> dict[tuple[str, ...], list[str]]:
        """Return the gold concepts in each group but "all"; a concept can be in several, or in none."""
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for concept_id, mentions in gold.items():
            if not is_named(concept_id, mentions, self._retriever.kb):
                groups["non_canonical",].append(concept_id)
            if self._in_train is not None and self._in_train.get(concept_id, 0) < RARE_BELOW:
                groups["rare",].append(concept_id)
            for label in {name for mention in mentions for name in types_of(mention.label)}:
                groups["types", label].append(concept_id)
        return groups

    def report(self) -> dict[str, Any]:
        k = self._k
        best = [SetCounts(min(k, one.gold), k, one.gold) for one in self.tops]
        return {
            "concepts": self._sizes["all",],
            "without_a_name": self._without_a_name,
            **{name: self._group((name,), scores) for name, scores in self._scores.items()},
            "types": {label: self._group(("types", label), scores) for label, scores in sorted(self._types.items())},
            "micro": _at(k, micro(self.tops)),
            "threshold": {
                "value": self._retriever.retriever.threshold,
                "macro": macro(self._above),
                "micro": micro(self._above),
            },
            "best_possible": _at(k, macro(best)),
        }

    def _group(self, group: tuple[str, ...], scores: Sequence[RankingScore]) -> dict[str, Any]:
        p, r, few_r, ap = zip(*scores, strict=True) if scores else ((),) * 4
        return {
            "n": self._sizes[group],
            **_at(self._k, precision_recall_f1(mean([share for share in p if share is not None]), mean(r))),
            f"r@{FEW_PLACES}": percent(mean(few_r)),
            "map": percent(mean(ap)),
        }


def _at(k: int, figures: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{name}@{k}": value for name, value in figures.items()}


def _prediction(document: RankedDocument, score: RankingScore, k: int) -> dict[str, Any]:
    """A line of the predictions file."""
    return {
        "doc_id": document.doc_id,
        "gold": sorted(document.gold),
        "ranked": [{"id": one.concept_id, "score": one.score} for one in document.ranked],
        f"r@{k}": score.r,
        f"r@{FEW_PLACES}": score.few_r,
        "ap": score.ap,
    }
