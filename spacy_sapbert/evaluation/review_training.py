"""Train a pipeline on the corrections of a review, and measure it on decisions from which it did not learn."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language

from ..documents.input_documents import Problems
from ..files.output import ScratchFolder
from ..kb.knowledge_base import KnowledgeBase
from ..linking.storage import with_mentions
from ..metrics.counts import mean, percent
from ..metrics.linking_accuracy import standard_error
from ..outputs.records import LinkedDocument
from ..pipeline.attributes import get_links
from ..pipeline.corrections import read_decisions
from ..pipeline.factories import EXTERNAL, LINKER, MATCHER
from ..review.corrections import CORPUS, OCCURRENCE, REJECT, Correction, Decision, document_key
from ..review.corrections_file import CorrectionsFile
from ..review.export import ReviewedDocument, general_decisions, name_rows, reviewed
from ..review.queue import COVERED
from ..runs.document_linker import LinkingPipeline, LinkSettings
from ..text.inflections import inflections
from ..training.ranker_trainer import folds_of
from ..training.settings import RerankerTraining
from ..types import Document, Mention

FEWEST_DECISIONS = 30
"""With fewer ones, the standard error of a share is about ten points."""
MOST_BROKEN = 10
Links = Mapping[tuple[int, int], frozenset[str]]
"""The concepts of each mention that a pipeline finds in a document."""


class HeldOut(NamedTuple):
    """A decision about a mention, and whether two pipelines that did not learn it do the same.

    Attributes:
        document: The `document_key` of its document.
        action: The action of the correction; "reject" if concepts were only rejected.
        concept_ids: The concepts that were chosen, if any.
        is_new: Whether no document from which the second pipeline learned has a decision about the text.
        before: Whether the pipeline without corrections does the same.
        after: Whether the pipeline does that learned from other documents.
    """

    document: str
    text: str
    action: str
    concept_ids: tuple[str, ...]
    is_new: bool
    before: bool
    after: bool


def train_on_review(
    nlp: Language, file: CorrectionsFile, folder: Path, only: Sequence[Correction] | None = None
) -> Counter[str]:
    """Let a pipeline obey corrections in all documents, and add the texts with a concept to its vocabulary.

    A vocabulary that is not saved with the pipeline does not change. See `general_decisions` for what holds in all
    documents.

    Args:
        nlp: The pipeline. It changes.
        file: The corrections.
        folder: An empty folder for files that the pipeline uses until it is saved.
        only: Learn only these corrections. Names that others would add are removed.

    Returns:
        The numbers of corrections and of new names. W417 reports concepts that the vocabulary lacks.
    """
    corrections, corpora = list(file.corrections().values()), file.corpora()
    everything = file.copy(folder / "all.db", general_decisions(corrections, corpora))
    corrections = corrections if only is None else list(only)
    learned = file.copy(folder / "corrections.db", general_decisions(corrections, corpora))
    linkers, matchers = _made_by(nlp, LINKER), _made_by(nlp, MATCHER)
    for linker in linkers:
        read_decisions(file.address, linker.kb)  # warns of concepts that it lacks
    names = [name for name in _names(learned) if any(linker.kb.find_id(name.mentions[0].ids[0]) for linker in linkers)]
    known_names = _names(everything)
    for number, linker in enumerate(linkers):
        before: KnowledgeBase = linker.kb
        if linker.storage == EXTERNAL or not (names or before.meta.get("mentions")):
            continue
        own = folder / str(number)
        own.mkdir()
        # an earlier training may have added names
        linker.use(with_mentions(linker.linker.generator, names, own, without=known_names))
        for matcher in matchers:
            if matcher.kb.fingerprint == before.fingerprint:
                matcher.use(linker.kb)
    for component in (*linkers, *matchers):
        component.set_corrections(str(learned.path), named=False)
    return Counter(corrections=len(corrections), names=len(names))


def _made_by(nlp: Language, factory: str) -> list[Any]:
    return [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory == factory]


def _names(file: CorrectionsFile) -> list[Document]:
    """Return the names that corrections add to a vocabulary, each as an annotated document."""
    _, *rows = name_rows(file, Counter())
    return [Document(text, text, (Mention(0, len(text), text, "", (concept_id,)),)) for _, text, concept_id, *_ in rows]


# --- what the pipeline learns


def held_out_decisions(
    open_pipeline: Callable[[], Language],
    file: CorrectionsFile,
    problems: Problems,
    follow: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> list[HeldOut]:
    """Compare a pipeline without corrections with one that learned from the other documents.

    Each fifth of the documents is linked by a pipeline that learned from the rest. A correction of another document
    counts as one of the rest if it also decides a mention there. Mentions with a concept that the vocabulary lacks are
    left out.

    Args:
        open_pipeline: Returns a new copy of the pipeline.
        file: The corrections, with the documents.
        problems: Reports documents on which the pipeline fails. They are left out.
        follow: Passes on the numbers of the parts, and shows the progress.

    Returns:
        The decisions; none if the documents are fewer than the parts.
    """
    documents = [document for document in reviewed(file) if document.decided]
    keys = [document_key(document.document.text) for document in documents]
    settings = RerankerTraining()
    if len(documents) < settings.folds:
        return []
    folds = folds_of(keys, settings)
    corrections, corpora = list(file.corrections().values()), file.corpora()
    decisions: list[HeldOut] = []
    for fold in follow(range(settings.folds)):
        inside = [documents[number] for number in np.flatnonzero(folds == fold)]
        outside = [documents[number] for number in np.flatnonzero(folds != fold)]
        known = set(_decided_texts(outside, corpora))
        rest = [correction for correction in corrections if _holds_in(correction, known, corpora)]
        with ScratchFolder() as folder, warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\[W417\]")  # of concepts that the vocabulary lacks
            links = []
            for number, learned in enumerate(([], rest)):
                nlp, own = open_pipeline(), folder / str(number)
                own.mkdir()
                train_on_review(nlp, file, own, learned)
                linking = LinkingPipeline(LinkSettings(nlp), problems)
                inputs = [document.document for document in inside]
                links.append(dict(linking(inputs, lambda one: (one.document.text, _links(one)))))
            before, after = links
            for document in inside:
                text = document.document.text
                if text in before and text in after:
                    decisions += _compared(document, before[text], after[text], known, linking.kb)
    return decisions


def _decided_texts(
    documents: Iterable[ReviewedDocument], corpora: Mapping[str, Collection[str]]
) -> Iterator[tuple[str | None, str]]:
    """Yield each decided text with None, with its document and with the corpora of the document."""
    for document, decided, _ in documents:
        key = document_key(document.text)
        for start, end, _ in decided:
            text = inflections(document.text[start:end]).key
            yield from ((within, text) for within in (None, key, *corpora.get(key, ())))


def _holds_in(
    correction: Correction, decided: Collection[tuple[str | None, str]], corpora: Mapping[str, Collection[str]]
) -> bool:
    """Return whether a correction holds for one of the decided texts."""
    document = correction.document
    within = {OCCURRENCE: [document], CORPUS: [document, *corpora.get(document, ())]}.get(correction.scope, [None])
    return any((place, inflections(correction.text).key) in decided for place in within)


def _links(linked: LinkedDocument) -> Links:
    ids = ({link.concept_id for link in get_links(span) if link.concept_id} for span in linked.mentions)
    places = ((span.start_char, span.end_char) for span in linked.mentions)
    return dict(zip(places, map(frozenset, ids), strict=True))


def _compared(
    reviewed: ReviewedDocument,
    before: Links,
    after: Links,
    known: Collection[tuple[str | None, str]],
    kb: KnowledgeBase,
) -> Iterator[HeldOut]:
    text = reviewed.document.text
    for (start, end, _), decision in reviewed.decided.items():
        ids = decision.concept_ids or ()
        if decision is not COVERED and all(map(kb.find_id, ids)):
            yield HeldOut(
                document_key(text),
                text[start:end],
                decision.correction.action if decision.correction else REJECT,
                ids,
                (None, inflections(text[start:end]).key) not in known,
                _is_obeyed(decision, before.get((start, end)), kb),
                _is_obeyed(decision, after.get((start, end)), kb),
            )


def _is_obeyed(decision: Decision, linked: frozenset[str] | None, kb: KnowledgeBase) -> bool:
    """Return whether a pipeline does as decided. It links the mention to concepts; None if it does not find it."""
    if decision.is_no_mention:
        return not linked
    if decision.concept_ids is None:
        return not linked or linked.isdisjoint(id for rejected in decision.rejected for id in kb.find_id(rejected))
    wanted = {kb.find_id(id)[0] for id in decision.concept_ids}
    return linked is not None and (linked == wanted or not wanted)


def review_gain(decisions: Sequence[HeldOut]) -> dict[str, Any] | None:
    """Return how many held-out decisions two pipelines reproduce; None if there are fewer than `FEWEST_DECISIONS`.

    "all", "new_texts" and each action have the number "n" of decisions, the percentages "before" and "after", their
    "difference" in points with its standard error "se" over documents, and the numbers "mended" and "broken". "broken"
    has the first decisions that only the pipeline without corrections reproduces.
    """
    if len(decisions) < FEWEST_DECISIONS:
        return None
    actions = dict.fromkeys(sorted(decision.action for decision in decisions))
    groups = {
        "all": list(decisions),
        "new_texts": [decision for decision in decisions if decision.is_new],
        **{action: [decision for decision in decisions if decision.action == action] for action in actions},
    }
    broken = [decision for decision in decisions if decision.before and not decision.after]
    examples = [
        {"text": one.text, "action": one.action, "concept_ids": one.concept_ids} for one in broken[:MOST_BROKEN]
    ]
    return {**{name: _gain(group) for name, group in groups.items()}, "broken": examples}


def _gain(decisions: Sequence[HeldOut]) -> dict[str, Any]:
    gains = [int(decision.after) - int(decision.before) for decision in decisions]
    return {
        "n": len(decisions),
        "before": percent(mean([decision.before for decision in decisions])),
        "after": percent(mean([decision.after for decision in decisions])),
        "difference": percent(mean(gains)),
        "se": standard_error(gains, [decision.document for decision in decisions]) if decisions else None,
        "mended": gains.count(1),
        "broken": gains.count(-1),
    }
