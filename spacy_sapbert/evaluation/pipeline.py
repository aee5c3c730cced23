"""Measure what a pipeline finds in texts, compared with the annotations of a corpus.

Three things are compared over all documents together: the mentions (`ner`), the mentions with their concepts
(`span_id`), and the unique concepts of each document (`document_id`).

`metrics.counts` measures the ranked concepts of whole documents, averaged over documents. The number of gold concepts
limits precision; `best_possible` shows the limit.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..documents.docs import documents_by_concept, gold_of, is_named, mention_of, primary_id
from ..errors import EmptyError, Errors, MismatchError, SapbertError, Warnings
from ..kb.ids import vocabulary_of
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
    total,
)
from ..metrics.linking_accuracy import Comparison
from ..pipeline.factories import RETRIEVER
from ..pipeline.mentions import GOLD_SPANS, mentions_of
from ..types import Document, DocumentConcept, Mention, types_of
from .running import find_linker, find_retriever, no_mentions, predictions_file, run_pipeline, with_known_ids

MEASURES = ("ner", "span_id", "document_id")

Counts = dict[str, SetCounts]

_NOTHING = total([])


def evaluate_pipeline(
    nlp: Language,
    documents: Iterable[Document],
    *,
    type: str | Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    gold_mentions: bool = False,
    predictions: Path | None = None,
) -> dict[str, Any]:
    """Measure what a pipeline finds in the texts of a corpus. The pipeline gets the texts alone.

    All components run, except a `concept_retriever`. A mention without an id from the linker is not a link. A document
    that occurs twice counts twice.

    Args:
        documents: The documents, read in batches.
        type: Compare only mentions with this label, or with one of these labels, gold and found.
        labels: The corpus label for each label of the pipeline, if they differ.
        gold_mentions: Link the gold mentions, without ids, instead of mentions that the pipeline finds.
        predictions: Write a JSON line for each document to this file. The file appears when it is complete.

    Returns:
        Counts, and one entry per measure. The counts are `documents`, `without_a_name`, `replaced` and `other_labels`.
        `without_a_name` counts the pairs of a document and a gold concept that the vocabulary lacks. `replaced` counts
        the pairs of a document and a gold id that the vocabulary has replaced by another of its ids, which is then
        compared: an alternative id of the same vocabulary as the primary id. `other_labels` counts the found mentions
        of each label that no gold mention has.
        The measures are `ner` (characters and label), `ner_untyped` (characters alone), `span_id` (characters and all
        ids), `span_id_single` and `document_id`. `span_id_single` leaves out gold mentions with several ids.
        `document_id` compares unique pairs of a document and an id. Each has the counts `gold`, `found` and `right`,
        and the percentages `p`, `r` and `f1`.
        A percentage without cases is None: `p` without found mentions, `r` without gold ones. So are all
        percentages of what cannot match: while there are `other_labels`, those of a label that only one side has.
        Labels count for `ner` only. `types` of `ner`, `span_id` and `document_id` compares the gold and found mentions
        of one label.

    Raises:
        SapbertError: The pipeline has no linker or changes a text, no mention has a gold id, or none of these ids is in
            the vocabulary. Reading the documents and writing the file can raise further errors.
    """
    linker = find_linker(nlp)
    tally = _Tally(linker.kb)
    types = (type,) if isinstance(type, str) else None if type is None else tuple(type)
    documents = with_known_ids(_of_types(documents, types, tally.labels), linker.kb)
    retrievers = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory == RETRIEVER]
    # a span group can have overlapping mentions, and doc.ents cannot
    batches = run_pipeline(nlp, documents, disable=retrievers, gold_mentions=gold_mentions, spans_key=GOLD_SPANS)
    spans_key = GOLD_SPANS if gold_mentions else linker.spans_key
    with predictions_file(predictions) as write:
        for gold, doc in chain.from_iterable(batches):
            if doc.text != gold.text:
                raise SapbertError(Errors.E208.format(doc_id=gold.doc_id, lang=nlp.lang))
            found = _found(gold, doc, spans_key, {} if gold_mentions else labels or {})
            tally.found.update(mention.label for mention in found.mentions)
            found = found._replace(mentions=_with_label(found.mentions, types))
            write(_prediction(gold, found, tally(gold, found)))
        if not tally.counts["span_id"].gold:
            raise no_mentions(types, tally.labels)
    if not tally.found:
        components = ", ".join(nlp.pipe_names)
        warnings.warn(Warnings.W557.format(n=tally.documents, components=components), stacklevel=2)
    return tally.report(types)


def _of_types(documents: Iterable[Document], types: Sequence[str] | None, labels: Counter[str]) -> Iterator[Document]:
    for document in documents:
        for mention in document.mentions:
            labels[mention.label] += bool(mention.ids)
        yield document._replace(mentions=_with_label(document.mentions, types))


def _with_label(mentions: Sequence[Mention], labels: Sequence[str] | None) -> tuple[Mention, ...]:
    return tuple(mention for mention in mentions if labels is None or mention.label in labels)


def _found(document: Document, doc: Doc, spans_key: str | None, labels: Mapping[str, str]) -> Document:
    mentions = map(mention_of, mentions_of(doc, spans_key))
    renamed = (mention._replace(label=labels.get(mention.label, mention.label)) for mention in mentions)
    return document._replace(mentions=tuple(renamed))


class _Tally:
    """Adds up counts by measure and label.

    Attributes:
        labels: The number of gold mentions with an id per corpus label, for all types.
        found: The number of found mentions per label, for all types.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._compare = Comparison(kb.find_id, kb.ids)
        self.counts: defaultdict[str, SetCounts] = defaultdict(lambda: _NOTHING)
        self._types: defaultdict[str, defaultdict[str, SetCounts]] = defaultdict(lambda: defaultdict(lambda: _NOTHING))
        self.labels: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.documents = 0
        self._without_a_name = 0
        self._replaced = 0

    def __call__(self, gold: Document, found: Document) -> Counts:
        """Return the counts of this document, by measure."""
        counts = self._compare(gold, found)
        _add(self.counts, counts)
        for label in {mention.label for mention in (*gold.mentions, *found.mentions)}:
            of_label = (doc._replace(mentions=_with_label(doc.mentions, (label,))) for doc in (gold, found))
            _add(self._types[label], self._compare(*of_label))
        self.documents += 1
        self._without_a_name += sum(not self._kb.find_id(concept_id) for concept_id in self._compare.concepts(gold))
        self._replaced += sum(map(self._is_replaced, {id for mention in gold.mentions for id in mention.ids}))
        return counts

    def _is_replaced(self, concept_id: str) -> bool:
        primary = self._compare.primary(concept_id)
        return primary != concept_id and vocabulary_of(primary) == vocabulary_of(concept_id)

    def report(self, types: Sequence[str] | None) -> dict[str, Any]:
        others = {label: n for label, n in sorted(self.found.items()) if label not in self.labels}
        result: dict[str, Any] = {
            "documents": self.documents,
            "without_a_name": self._without_a_name,
            "replaced": self._replaced,
            "other_labels": others,
            **{measure: _figures(counts) for measure, counts in self.counts.items()},
        }
        for measure in MEASURES:
            by_label = {label: _figures(counts[measure]) for label, counts in sorted(self._types.items())}
            with_cases = {label: counts for label, counts in by_label.items() if counts["gold"] or counts["found"]}
            result[measure]["types"] = with_cases
        for figures in self._without_a_match(result, types) if others else ():
            figures.update(p=None, r=None, f1=None)
        return result

    def _without_a_match(self, result: Mapping[str, Any], labels: Sequence[str] | None) -> Iterator[dict[str, Any]]:
        """Yield the figures that compare nothing, because the pipeline has other labels than the corpus."""
        if labels is not None and self.found.keys().isdisjoint(labels):
            yield from (result[measure] for measure in self.counts)
        elif self.found.keys().isdisjoint(self.labels):
            yield result["ner"]
        for measure in MEASURES:
            types = result[measure]["types"].values()
            yield from (figures for figures in types if not (figures["gold"] and figures["found"]))


def _add(totals: defaultdict[str, SetCounts], counts: Counts) -> None:
    for measure, more in counts.items():
        totals[measure] = total([totals[measure], more])


def _figures(counts: SetCounts) -> dict[str, Any]:
    percentages = micro([counts])
    cases = {"p": counts.predicted, "r": counts.gold, "f1": counts.predicted or counts.gold}
    percentages.update({name: None for name, n in cases.items() if not n})
    return {"gold": counts.gold, "found": counts.predicted, "right": counts.hits, **percentages}


def _prediction(gold: Document, found: Document, counts: Counts) -> dict[str, Any]:
    names = ("start", "end", "text", "label", "ids")
    rows = ([dict(zip(names, mention[:5], strict=True)) for mention in document.mentions] for document in (gold, found))
    figures = {name: {"gold": n.gold, "found": n.predicted, "right": n.hits} for name, n in counts.items()}
    return {"doc_id": gold.doc_id, **dict(zip(("gold", "found"), rows, strict=True)), **figures}


# --- the concepts of whole documents


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
                    write(_ranking_line(document.doc_id, gold, ranked, scorer(gold, ranked), k))
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


def _ranking_line(
    doc_id: str, gold: Iterable[str], ranked: Sequence[DocumentConcept], score: RankingScore, k: int
) -> dict[str, Any]:
    concepts = [{"id": concept.concept_id, "score": concept.score} for concept in ranked]
    measures = {f"r@{k}": score.r, f"r@{FEW_PLACES}": score.few_r, "ap": score.ap}
    return {"doc_id": doc_id, "gold": sorted(gold), "ranked": concepts, **measures}
