"""How well a gold pipeline does on texts: what it finds in them, beside what is annotated there.

Three things are compared by `metrics.spans`, all documents together: the mentions (`ner`), the mentions with their
concepts (`span_id`), and the concepts of each document, however often they are mentioned (`document_id`).
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ..corpora.docs import mention_of
from ..errors import Errors, SapbertError, Warnings
from ..files import open_output
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.counts import SetCounts, micro, total
from ..metrics.spans import Comparison
from ..pipeline.factories import RETRIEVER
from ..pipeline.mentions import mentions_of
from ..types import AnnotatedDocument, Mention
from .concepts import finds_entities, mention_components, with_mentions
from .linking import SPANS_KEY, find_linker, on_spans
from .predictions import write_prediction

MEASURES = ("ner", "span_id", "document_id")

Counts = dict[str, SetCounts]

_NOTHING = total([])


def evaluate_pipeline(
    nlp: Language,
    documents: Iterable[AnnotatedDocument],
    *,
    type: str | None = None,
    labels: Mapping[str, str] | None = None,
    gold_mentions: bool = False,
    predictions: Path | None = None,
) -> dict[str, Any]:
    """Measure what a pipeline finds in the texts of a corpus, of which it is given nothing else.

    All components are run, but for a `concept_retriever`. What the linker left without an id is no link. A document
    that comes twice counts twice.

    Args:
        nlp: the pipeline.
        documents: taken in batches, never all at once.
        type: only mentions with this label, of the gold ones and of those that are found.
        labels: what the pipeline's labels are called in the corpus, where that differs.
        gold_mentions: give the linker the gold mentions, without ids, instead of searching for any.
        predictions: write a JSON line for each document to this file; it appears when it is complete.

    Returns:
        dict: `documents`; `without_a_name`, how many pairs of a document and a gold concept there are whose concept the
            vocabulary lacks; `other_labels`, how many mentions were found of each label that no gold mention has; and
            `ner` (characters and label), `ner_untyped` (characters alone), `span_id` (characters and all ids),
            `span_id_single` (without those of gold mentions with several ids) and `document_id` (unique pairs of a
            document and an id): each with the counts `gold`, `found` and `right`, and percentages `p`, `r` and `f1`.
            Labels count for `ner` only; `types` of `ner`, `span_id` and `document_id` compares gold and found mentions
            of one label.

    Raises:
        SapbertError: E510 the pipeline has no linker, E511 no mention with a gold id, E208 the pipeline changes a text,
            E507 the file cannot be written, and what reading the documents raises.
    """
    linker = find_linker(nlp)
    tally = _Tally(linker.kb)
    with open_output(predictions) if predictions else nullcontext() as write:
        for gold, doc in _run(nlp, _of_type(documents, type, tally.labels), gold_mentions):
            if doc.text != gold.text:
                raise SapbertError(Errors.E208.format(doc_id=gold.doc_id, lang=nlp.lang))
            found = _found(gold, doc, linker.spans_key, {} if gold_mentions else labels or {})
            tally.found.update(mention.label for mention in found.mentions)
            found = found._replace(mentions=_with_label(found.mentions, type))
            counts = tally(gold, found)
            if write:
                write_prediction(write, _prediction(gold, found, counts))
        if not tally.counts["span_id"].gold:
            wanted = "with a concept id" if type is None else f"of type {type}"
            raise SapbertError(Errors.E511.format(wanted=wanted, known=", ".join(sorted(+tally.labels)) or "none"))
    if not tally.found:
        components = ", ".join(nlp.pipe_names)
        warnings.warn(Warnings.W557.format(n=tally.documents, components=components), stacklevel=2)
    return tally.report()


def _of_type(
    documents: Iterable[AnnotatedDocument], type: str | None, labels: Counter[str]
) -> Iterator[AnnotatedDocument]:
    for document in documents:
        for mention in document.mentions:
            labels[mention.label] += bool(mention.ids)
        yield document._replace(mentions=_with_label(document.mentions, type))


def _with_label(mentions: Sequence[Mention], label: str | None) -> tuple[Mention, ...]:
    return tuple(mention for mention in mentions if label in (None, mention.label))


def _run(
    nlp: Language, documents: Iterable[AnnotatedDocument], gold_mentions: bool
) -> Iterator[tuple[AnnotatedDocument, Doc]]:
    """Yield each document with what the pipeline made of its text, or of its gold mentions."""
    names = nlp.pipe_names
    disabled = [name for name in names if nlp.get_pipe_meta(name).factory == RETRIEVER]
    inputs: Iterator[tuple[str | Doc, AnnotatedDocument]] = ((document.text, document) for document in documents)
    if gold_mentions:
        disabled += [name for name in names if finds_entities(nlp, name)]
        inputs = ((with_mentions(nlp, document), document) for _, document in inputs)
    # unlike the entities, a group holds mentions that overlap as well
    with on_spans(mention_components(nlp), SPANS_KEY) if gold_mentions else nullcontext():
        for doc, document in nlp.pipe(inputs, as_tuples=True, disable=disabled):
            yield document, doc


def _found(
    document: AnnotatedDocument, doc: Doc, spans_key: str | None, labels: Mapping[str, str]
) -> AnnotatedDocument:
    """Return the document with the mentions that were found, by the labels of the corpus."""
    mentions = map(mention_of, mentions_of(doc, spans_key))
    return document._replace(
        mentions=tuple(mention._replace(label=labels.get(mention.label, mention.label)) for mention in mentions)
    )


class _Tally:
    """Adds up what is compared, by measure and label.

    Attributes:
        labels: how many gold mentions with an id each label of the corpus has, whatever the type wanted.
        found: how many mentions were found of each label, whatever the type wanted.
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

    def __call__(self, gold: AnnotatedDocument, found: AnnotatedDocument) -> Counts:
        """Return `dict[str, SetCounts]`: those of this document, by measure."""
        counts = self._compare(gold, found)
        _add(self.counts, counts)
        for label in {mention.label for mention in (*gold.mentions, *found.mentions)}:
            both = (one._replace(mentions=_with_label(one.mentions, label)) for one in (gold, found))
            _add(self._types[label], self._compare(*both))
        self.documents += 1
        self._without_a_name += sum(not self._kb.find_id(concept_id) for concept_id in self._compare.concepts(gold))
        return counts

    def report(self) -> dict[str, Any]:
        others = {label: n for label, n in sorted(self.found.items()) if label not in self.labels}
        result: dict[str, Any] = {
            "documents": self.documents,
            "without_a_name": self._without_a_name,
            "other_labels": others,
            **{measure: _figures(counts) for measure, counts in self.counts.items()},
        }
        for measure in MEASURES:
            types = ((label, counts[measure]) for label, counts in sorted(self._types.items()))
            result[measure]["types"] = {label: _figures(one) for label, one in types if one.gold or one.named}
        return result


def _add(totals: defaultdict[str, SetCounts], counts: Counts) -> None:
    for measure, one in counts.items():
        totals[measure] = total([totals[measure], one])


def _figures(counts: SetCounts) -> dict[str, Any]:
    return {"gold": counts.gold, "found": counts.named, "right": counts.hits, **micro([counts])}


def _prediction(gold: AnnotatedDocument, found: AnnotatedDocument, counts: Counts) -> dict[str, Any]:
    """A line of the predictions file."""
    return {
        "doc_id": gold.doc_id,
        "gold": _rows(gold.mentions),
        "found": _rows(found.mentions),
        **{measure: {"gold": one.gold, "found": one.named, "right": one.hits} for measure, one in counts.items()},
    }


def _rows(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    return [
        {"start": start, "end": end, "text": text, "label": label, "ids": list(ids)}
        for start, end, text, label, ids, _ in mentions
    ]
