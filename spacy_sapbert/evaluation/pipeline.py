"""Measure what a pipeline finds in texts, compared with the annotations of a corpus.

`metrics.spans` compares three things over all documents together. They are the mentions (`ner`), the mentions with
their concepts (`span_id`), and the unique concepts of each document (`document_id`).
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..documents.docs import mention_of
from ..errors import Errors, SapbertError, Warnings
from ..kb.ids import vocabulary_of
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.counts import SetCounts, micro, total
from ..metrics.spans import Comparison
from ..pipeline.factories import RETRIEVER
from ..pipeline.mentions import GOLD_SPANS, mentions_of
from ..types import Document, Mention
from .running import find_linker, no_mentions, predictions_file, run_pipeline, with_known_ids

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
    """Return the document with the found mentions, with the labels of the corpus."""
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
    """Return a line of the predictions file."""
    names = ("start", "end", "text", "label", "ids")
    rows = ([dict(zip(names, mention[:5], strict=True)) for mention in document.mentions] for document in (gold, found))
    figures = {name: {"gold": n.gold, "found": n.predicted, "right": n.hits} for name, n in counts.items()}
    return {"doc_id": gold.doc_id, **dict(zip(("gold", "found"), rows, strict=True)), **figures}
