"""Measure how well a pipeline predicts the concepts of whole documents, with the measures of `metrics.counts`.

The measures are averaged over documents. The number of gold concepts limits precision; `best_possible` shows the limit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..documents.docs import documents_by_concept, gold_of, is_named, primary_id
from ..errors import EmptyError, MismatchError
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.counts import (
    FEW_PLACES,
    PLACES,
    RankingScore,
    SetCounts,
    compare_sets,
    macro,
    mean,
    micro,
    percent,
    precision_recall_f1,
    score_ranking,
)
from ..types import Document, DocumentConcept, Mention, types_of
from .running import find_retriever, predictions_file, run_pipeline

MAP_DEPTH = 100
RARE_BELOW = 10  # training documents


def evaluate_concepts(
    nlp: Language,
    documents: Iterable[Document],
    *,
    labels: Iterable[str] | None = None,
    train: Iterable[Document] | None = None,
    k: int = PLACES,
    type: str | None = None,
    gold_mentions: bool = False,
    predictions: Path | None = None,
) -> dict[str, Any]:
    """Measure how a pipeline's `concept_retriever` ranks the gold concepts of a corpus.

    The components before the retriever run on the texts. Documents without a gold concept do not count. Alternative ids
    are replaced by primary ids. Gold concepts that the vocabulary lacks count as missed.

    Args:
        documents: The documents, read in batches.
        labels: Ids of the concepts to predict. None is the whole vocabulary.
        train: The training corpus, which shows the rare and the untrained concepts.
        k: The number of predicted concepts per document.
        type: Use only gold concepts that are mentioned with this label.
        gold_mentions: Use the gold mentions, without ids, instead of mentions that the pipeline finds.
        predictions: Write a JSON line for each document to this file. The file appears when it is complete.

    Returns:
        Counts, and one entry per group of gold concepts. The figures are percentages, or None if nothing counts; 10
        stands for k.
        The counts are `documents`, `without_gold` (documents left out), `concepts` (pairs of a document and a gold
        concept) and `without_a_name` (pairs that the vocabulary lacks). With labels, there are also `labels` and
        `labels_without_a_name`.
        The groups are `all`, `non_canonical`, `rare`, `untrained` (a part of `rare`) and, by label, `types`. Each has
        the count `n` of its pairs, and `p@10`, `r@10`, `f1@10` (of the two), `r@5` and `map`. These are averaged over
        the documents with any pair. With training documents, `shares` has the percentages of `non_canonical`, `rare`
        and `untrained` among all `pairs`, `concepts` (in any document) and `mentions`, as in Appendix B of the paper.
        `micro` has `p@10`, `r@10` and `f1@10` over all documents together. `threshold` has its `value`, and `macro` and
        `micro` with `p`, `r` and `f1`. It counts the concepts above the threshold, at most as many as the component
        predicts. `best_possible` has `p@10`, `r@10` and `f1@10` of an oracle.

    Raises:
        SapbertError: The pipeline has no retriever, there is no gold concept, or the vocabulary has none of the labels.
            Reading the documents and writing the file can raise further errors.
    """
    retriever = find_retriever(nlp)
    primary = lru_cache(maxsize=100_000)(lambda concept_id: primary_id(concept_id, retriever.kb))
    allowed, counts = None, Counter[str]()
    if labels is not None:
        allowed = _with_names(list(dict.fromkeys(map(primary, labels))), retriever.kb, counts)
    scorer = _Scorer(retriever, documents_by_concept(train, primary) if train is not None else None, k)
    position = [component for _, component in nlp.pipeline].index(retriever)
    with predictions_file(predictions) as write:
        for batch in run_pipeline(nlp, documents, disable=nlp.pipe_names[position:], gold_mentions=gold_mentions):
            # at least as long as the component's own ranking
            rankings = retriever.rank([doc for _, doc in batch], max(k, MAP_DEPTH, retriever.k), allowed)
            for (document, _), ranked in zip(batch, rankings, strict=True):
                gold = gold_of(document, primary, type)
                counts["without_gold"] += not gold
                if gold:
                    write(_prediction(document.doc_id, gold, ranked, scorer(gold, ranked), k))
        if not scorer.tops:
            what = "document with a gold concept" + ("" if type is None else f" with the label {type}")
            raise EmptyError("Check the corpus and the type.", what=what, consequence="nothing can be measured")
    return {"documents": len(scorer.tops), **counts, **scorer.report()}


def _with_names(labels: Sequence[str], kb: KnowledgeBase, counts: Counter[str]) -> frozenset[str]:
    """Return the labels in the vocabulary. The other labels cannot be predicted."""
    known = frozenset(label for label in labels if kb.find_id(label))
    if not known:
        remedy = "Give labels of this vocabulary, or a pipeline with the vocabulary of the labels."
        reason = f"it has none of the {len(labels)} labels, such as {labels[0]}"
        raise MismatchError(remedy, path=kb.path, reason=reason)
    counts.update(labels=len(labels), labels_without_a_name=len(labels) - len(known))
    return known


# --- scores


class _Scorer:
    """Collects the scores of documents by group of gold concepts, each with the number of mentions of its concepts."""

    def __init__(self, retriever: Any, in_train: Mapping[str, int] | None, k: int) -> None:
        self._retriever = retriever
        self._in_train = in_train
        self._k = k
        names = ("all", "non_canonical", *(() if in_train is None else ("rare", "untrained")))
        self._scores: dict[tuple[str, ...], list[tuple[dict[str, int], RankingScore]]] = {(name,): [] for name in names}
        self._without_a_name = 0
        self._above: list[SetCounts] = []
        self.tops: list[SetCounts] = []

    def __call__(self, gold: Mapping[str, Sequence[Mention]], concepts: Sequence[DocumentConcept]) -> RankingScore:
        """Return the score of a ranking without a threshold over all gold concepts of the document."""
        ranked = [concept.concept_id for concept in concepts]
        groups: dict[tuple[str, ...], list[str]] = {("all",): list(gold), **self._groups(gold)}
        for group, subset in groups.items():
            mentions = {concept_id: len(gold[concept_id]) for concept_id in subset}
            self._scores.setdefault(group, []).append((mentions, score_ranking(ranked, gold, subset, k=self._k)))
        self._without_a_name += sum(not self._retriever.kb.find_id(concept_id) for concept_id in gold)
        self.tops.append(compare_sets(gold.keys(), set(ranked[: self._k]))._replace(predicted=self._k))
        threshold = self._retriever.retriever.threshold
        predicted = {concept.concept_id for concept in concepts[: self._retriever.k] if concept.score > threshold}
        self._above.append(compare_sets(gold.keys(), predicted))
        return self._scores["all",][-1][1]

    def _groups(self, gold: Mapping[str, Sequence[Mention]]) -> dict[tuple[str, ...], list[str]]:
        """Return the gold concepts of each group except "all". A concept can be in several groups, or in none."""
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for concept_id, mentions in gold.items():
            if not is_named(concept_id, mentions, self._retriever.kb):
                groups["non_canonical",].append(concept_id)
            in_train = RARE_BELOW if self._in_train is None else self._in_train.get(concept_id, 0)
            if in_train < RARE_BELOW:
                groups["rare",].append(concept_id)
            if not in_train:
                groups["untrained",].append(concept_id)
            for label in {name for mention in mentions for name in types_of(mention.label)}:
                groups["types", label].append(concept_id)
        return groups

    def report(self) -> dict[str, Any]:
        k, threshold = self._k, self._retriever.retriever.threshold
        best = [SetCounts(min(k, counts.gold), k, counts.gold) for counts in self.tops]
        return {
            "concepts": self._counts("all")["pairs"],
            "without_a_name": self._without_a_name,
            **{group[0]: self._group(group) for group in self._scores if len(group) == 1},
            "types": {group[1]: self._group(group) for group in sorted(self._scores) if len(group) == 2},
            "micro": _at(k, micro(self.tops)),
            "threshold": {"value": threshold, "macro": macro(self._above), "micro": micro(self._above)},
            "best_possible": _at(k, macro(best)),
            **({} if self._in_train is None else {"shares": self._shares()}),
        }

    def _shares(self) -> dict[str, dict[str, float | None]]:
        every = self._counts("all")
        groups = {group: self._counts(group) for group in ("non_canonical", "rare", "untrained")}
        return {group: {name: percent(n / every[name]) for name, n in of.items()} for group, of in groups.items()}

    def _counts(self, *group: str) -> dict[str, int]:
        """Count the pairs of a document and a concept of a group, the concepts in any document, and the mentions."""
        pairs = [pair for mentions, _ in self._scores[group] for pair in mentions.items()]
        concepts = {concept_id for concept_id, _ in pairs}
        return {"pairs": len(pairs), "concepts": len(concepts), "mentions": sum(n for _, n in pairs)}

    def _group(self, group: tuple[str, ...]) -> dict[str, Any]:
        scores = self._scores[group]
        p, r, few_r, ap = zip(*(score for _, score in scores), strict=True) if scores else ((),) * 4
        return {
            "n": self._counts(*group)["pairs"],
            **_at(self._k, precision_recall_f1(mean([share for share in p if share is not None]), mean(r))),
            f"r@{FEW_PLACES}": percent(mean(few_r)),
            "map": percent(mean(ap)),
        }


def _at(k: int, figures: Mapping[str, float | None]) -> dict[str, float | None]:
    return {f"{name}@{k}": value for name, value in figures.items()}


def _prediction(
    doc_id: str, gold: Iterable[str], ranked: Sequence[DocumentConcept], score: RankingScore, k: int
) -> dict[str, Any]:
    """Return a line of the predictions file."""
    concepts = [{"id": concept.concept_id, "score": concept.score} for concept in ranked]
    measures = {f"r@{k}": score.r, f"r@{FEW_PLACES}": score.few_r, "ap": score.ap}
    return {"doc_id": doc_id, "gold": sorted(gold), "ranked": concepts, **measures}
