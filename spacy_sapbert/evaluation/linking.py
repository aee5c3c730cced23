"""Measure how often a pipeline links gold mentions to the right concepts, by `metrics.linking_accuracy`.

The mentions are given. There is no threshold and no NIL. The linker does not know the number of gold ids of a mention.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..documents.mention_types import has_type, types_of
from ..errors import Errors, SapbertError, Warnings
from ..files.output import open_output
from ..kb.knowledge_base import KnowledgeBase
from ..kb.name_index import NameIndex
from ..metrics.linking_accuracy import (
    CUTOFFS,
    RECALL_CUTOFF,
    Ids,
    MentionScore,
    gold_concepts,
    lenient_at,
    strict_at,
    summarize,
)
from ..metrics.spans import place_in_text
from ..pipeline.attributes import get_abbreviation_occurrences
from ..pipeline.factories import LINKER, PREPARING
from ..pipeline.gold_mentions import GOLD_SPANS, gold_doc, on_spans
from ..pipeline.mentions import mentions_of
from ..text.abbreviations import expand
from ..text.normalize import biosyn
from ..types import Document, LinkedPart, Mention
from .coverage import with_known_ids
from .predictions import write_prediction

DOCUMENTS_PER_BATCH = 64


# --- a corpus


class LinkedMention(NamedTuple):
    """A gold mention and its links.

    Attributes:
        long_form: The mention with its abbreviations expanded, even if the linker preferred the short form. None if the
            mention has no abbreviation.
        parts: The linked parts. Empty if the mention is not a span of tokens.
    """

    doc_id: str
    mention: Mention
    long_form: str | None
    parts: tuple[LinkedPart, ...]


def evaluate_linking(
    nlp: Language,
    documents: Iterable[Document],
    *,
    type: str | None = None,
    predictions: Path | None = None,
    each: Callable[[LinkedMention, MentionScore], object] | None = None,
) -> dict[str, Any]:
    """Measure how a pipeline links the gold mentions of a corpus.

    Of the pipeline, only these components run: `abbreviation_resolver` (or scispaCy's `abbreviation_detector`),
    `composite_splitter`, `spelling_corrector` and `sapbert_linker`. A document that occurs twice counts twice.

    Args:
        nlp: The pipeline.
        documents: The documents, read in batches.
        type: Measure only mentions with this label.
        predictions: Write a JSON line for each mention to this file. The file appears when it is complete.
        each: A function that is called with every mention and its score, for example to report errors.

    Returns:
        Counts, and accuracies as percentages, or None if nothing counts. The counts are `mentions` (with a gold id) and
        `covered` (with all gold ids in the vocabulary). `lenient` and `strict` have `acc@1` and `acc@5` over the
        covered mentions; `lenient_all` and `strict_all` over all mentions. `exact_match_floor` is the share of covered
        mentions that a lookup of normalized names gets right. `candidate_recall@20` is the lenient accuracy at 20.
        `slices` has groups of covered mentions, each with the count `n`, `lenient` and `strict`. Mentions are `seen` if
        their normalized text is a name of the vocabulary, or else `unseen`. `abbreviation` has mentions with a resolved
        short form. `composite` has mentions with several gold ids.

    Raises:
        SapbertError: E510 the pipeline has no linker. E511 no mention has a gold id. E572 none of these ids is in the
            vocabulary. E507 the file cannot be written. Reading the documents can raise further errors.
    """
    kb = find_linker(nlp).kb
    scorer = _Scorer(kb)
    documents = with_known_ids(documents, kb, type)
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
    return summarize(scores)


def link_gold_mentions(nlp: Language, documents: Iterable[Document]) -> Iterator[LinkedMention]:
    """Link the mentions of annotated documents, with all candidates and without a threshold.

    Yields:
        Every mention of every document, in their order.

    Raises:
        SapbertError: E510 the pipeline has no linker.
    """
    linker = find_linker(nlp)
    preparing = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory in PREPARING]
    with on_spans([*preparing, linker], GOLD_SPANS):
        for batch in minibatch(documents, size=DOCUMENTS_PER_BATCH):
            docs = [gold_doc(nlp, document) for document in batch]
            for component in preparing:
                docs = [component(doc) for doc in docs]
            for document, doc, parts in zip(batch, docs, linker.predict(docs), strict=True):
                yield from _linked_mentions(document, doc, parts)


def find_linker(nlp: Language) -> Any:
    """Return the last linker of the pipeline, which sets the final links.

    Raises:
        SapbertError: E510 the pipeline has no linker.
    """
    return last_component(nlp, LINKER, Errors.E510)


def last_component(nlp: Language, factory: str, missing: str) -> Any:
    """Return the last component that a factory made.

    Args:
        nlp: The pipeline.
        factory: The name of the factory.
        missing: The error message if there is no such component.
    """
    made = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory == factory]
    if not made:
        raise SapbertError(missing.format(components=", ".join(nlp.pipe_names) or "none"))
    return made[-1]


def _with_gold_ids(documents: Iterable[Document], type: str | None, labels: Counter[str]) -> Iterator[Document]:
    for document in documents:
        mentions = [mention for mention in document.mentions if mention.ids]
        labels.update(name for mention in mentions for name in types_of(mention.label))
        kept = tuple(mention for mention in mentions if type is None or has_type(mention.label, [type]))
        yield document._replace(mentions=kept)


def _linked_mentions(
    document: Document, doc: Doc, predicted: Sequence[tuple[LinkedPart, ...]]
) -> Iterator[LinkedMention]:
    spans = mentions_of(doc, GOLD_SPANS)
    by_place = {
        (span.start_char, span.end_char, span.label_): parts for span, parts in zip(spans, predicted, strict=True)
    }
    for mention in document.mentions:
        expanded = expand(document.text, mention.start, mention.end, get_abbreviation_occurrences(doc))
        long_form = None if expanded == mention.text else expanded
        yield LinkedMention(document.doc_id, mention, long_form, by_place.get(place_in_text(mention), ()))


# --- scores


class _Scorer:
    """Scores linked mentions with the ids and names of a knowledge base."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._names = NameIndex(kb, biosyn)
        self._ids = lru_cache(maxsize=100_000)(lambda concept_id: frozenset(kb.ids(concept_id)))

    def __call__(self, linked: LinkedMention) -> MentionScore:
        gold = gold_concepts(linked.mention.ids, self._kb.find_id)
        parts = [[self._ids(candidate.concept_id) for candidate in part.candidates] for part in linked.parts]
        return MentionScore(
            all(self._kb.find_id(concept_id) for concept_id in linked.mention.ids),
            {k: lenient_at(k, gold, parts) for k in (*CUTOFFS, RECALL_CUTOFF)},
            {k: strict_at(k, gold, parts) for k in CUTOFFS},
            self._is_exact_match(linked, gold),
            tuple(self._slices(linked)),
        )

    def _is_exact_match(self, linked: LinkedMention, gold: Collection[Ids]) -> bool:
        concept_ids = self._names.owners(linked.long_form) if linked.long_form else []
        concept_ids = concept_ids or self._names.owners(linked.mention.text)
        return lenient_at(1, gold, [[frozenset().union(*map(self._ids, concept_ids))]])

    def _slices(self, linked: LinkedMention) -> Iterator[str]:
        yield "seen" if self._names.owners(linked.mention.text) else "unseen"
        if linked.long_form is not None:
            yield "abbreviation"
        if len(linked.mention.ids) > 1:
            yield "composite"


def _prediction(linked: LinkedMention, score: MentionScore) -> dict[str, Any]:
    """Return a line of the predictions file."""
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
