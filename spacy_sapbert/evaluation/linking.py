"""Measure how often a pipeline links gold mentions to the right concepts, by `metrics.linking_accuracy`.

The mentions are given. There is no threshold and no NIL. The linker does not know the number of gold ids of a mention.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from spacy.language import Language

from ..kb.knowledge_base import KnowledgeBase
from ..kb.search import NameIndex
from ..metrics.linking_accuracy import (
    CUTOFFS,
    RECALL_CUTOFF,
    Ids,
    MentionScore,
    gold_concepts,
    lenient_at,
    standard_errors,
    strict_at,
    summarize,
)
from ..text.normalize import biosyn
from ..types import Document
from .running import (
    GoldMentions,
    LinkedMention,
    find_linker,
    link_gold_mentions,
    predictions_file,
    warn_of_lost,
    with_known_ids,
)


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
        documents: The documents, read in batches.
        type: Measure only mentions with this label.
        predictions: Write a JSON line for each mention to this file. The file appears when it is complete.
        each: A function that is called with every mention and its score, for example to report errors.

    Returns:
        Counts, and accuracies as percentages, or None if nothing counts. The counts are `mentions` (with a gold id) and
        `covered` (with all gold ids in the vocabulary). `lenient` and `strict` have `acc@1` and `acc@5` over the
        covered mentions; `lenient_all` and `strict_all` over all mentions. `exact_match_floor` is the share of covered
        mentions that a lookup of normalized names gets right. `candidate_recall@20` is the lenient accuracy at 20.
        `se` has the standard errors of `lenient` and `strict` accuracy at 1, over documents.
        `slices` has groups of covered mentions, each with the count `n`, `lenient` and `strict`. Mentions are `seen` if
        their normalized text is a name of the vocabulary, or else `unseen`. `abbreviation` has mentions with a resolved
        short form. `composite` has mentions with several gold ids.

    Raises:
        SapbertError: The pipeline has no linker, no mention has a gold id, or none of these ids is in the vocabulary.
            Reading the documents and writing the file can raise further errors.
    """
    kb = find_linker(nlp).kb
    scorer = _Scorer(kb)
    gold = GoldMentions(type, with_ids=True)
    scores: list[MentionScore] = []
    covered: list[tuple[MentionScore, str]] = []
    lost: list[LinkedMention] = []
    with predictions_file(predictions) as write:
        for linked in link_gold_mentions(nlp, with_known_ids(gold(documents), kb)):
            score = scorer(linked)
            scores.append(score)
            if score.covered:
                covered.append((score, linked.doc_id))
            if not linked.parts:
                lost.append(linked)
            write(_prediction(linked, score))
            if each:
                each(linked, score)
        gold.check()
    warn_of_lost(lost, len(scores))
    return summarize(scores) | {"se": standard_errors([score for score, _ in covered], [id for _, id in covered])}


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
    start, end, text, label, gold, *_ = linked.mention
    parts: list[dict[str, Any]] = []
    for part in linked.parts:
        first = part.candidates[:RECALL_CUTOFF]
        candidates = [{"id": id, "score": similarity, "name": name} for id, similarity, name, *_ in first]
        parts.append({"text": part.text, "long_form": part.long_form, "candidates": candidates})
    return {
        "doc_id": linked.doc_id,
        "start": start,
        "end": end,
        "text": text,
        "label": label,
        "gold": list(gold),
        "covered": score.covered,
        "long_form": linked.long_form,
        "parts": parts,
        "lenient": {f"acc@{k}": score.lenient[k] for k in CUTOFFS},
        "strict": {f"acc@{k}": score.strict[k] for k in CUTOFFS},
        "slices": list(score.slices),
    }
