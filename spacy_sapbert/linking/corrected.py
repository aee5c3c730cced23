"""Apply what corrections decide to a linked mention."""

from __future__ import annotations

from ..kb.knowledge_base import KnowledgeBase
from ..review.corrections import Correction, Decision
from ..types import Candidate, LinkedPart

Parts = tuple[LinkedPart, ...]
CERTAIN = 1.0  # the score of a concept that a person chose


def corrected(parts: Parts, text: str, decision: Decision, kb: KnowledgeBase) -> Parts:
    """Return the parts of a mention as a person decided.

    A chosen concept takes precedence over filters and the threshold. Ids that the vocabulary lacks do not count.

    Args:
        parts: The parts of the mention, linked without corrections.
        text: The text of the mention.
        decision: What holds for it.
        kb: The vocabulary.
    """
    correction = decision.correction
    if correction is not None and decision.is_no_mention:
        return (LinkedPart(text, None, (), reasons=(f"no mention, {_said(correction)}",)),)
    ids = [concept_id for id in decision.concept_ids or () for concept_id in kb.find_id(id)[:1]]
    if correction is not None and ids:
        names = kb.summaries_of(ids)
        chosen = (Candidate(concept_id, CERTAIN, names[concept_id].preferred) for concept_id in dict.fromkeys(ids))
        return tuple(LinkedPart(text, None, (candidate,), reasons=(_said(correction),)) for candidate in chosen)
    rejected = {concept_id for id in decision.rejected for concept_id in kb.find_id(id)}
    return tuple(_without(part, rejected) for part in parts) if rejected else parts


def _said(correction: Correction) -> str:
    by = f" by {correction.author}" if correction.author else ""
    remark = f": {correction.comment}" if correction.comment else ""
    return f"corrected{by} on {correction.date[:10]}{remark}"


def _without(part: LinkedPart, rejected: set[str]) -> LinkedPart:
    removed = [candidate for candidate in part.candidates if candidate.concept_id in rejected]
    if not removed:
        return part
    candidates = tuple(candidate for candidate in part.candidates if candidate.concept_id not in rejected)
    reasons = (f"{candidate.concept_id} ({candidate.name}) was rejected" for candidate in removed)
    return part._replace(candidates=candidates, tie=None, reasons=(*reasons, *part.reasons))
