"""Apply what corrections decide to a linked mention."""

from __future__ import annotations

from ..kb.knowledge_base import KnowledgeBase
from ..review.correction import Correction
from ..review.decisions import Decision
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
    one = decision.correction
    if one is not None and decision.is_no_mention:
        return (LinkedPart(text, None, (), reasons=(f"no mention, {_said(one)}",)),)
    ids = [found for wanted in decision.concept_ids or () for found in kb.find_id(wanted)[:1]]
    if one is not None and ids:
        names = kb.summaries_of(ids)
        chosen = (Candidate(concept_id, CERTAIN, names[concept_id].preferred) for concept_id in dict.fromkeys(ids))
        return tuple(LinkedPart(text, None, (candidate,), reasons=(_said(one),)) for candidate in chosen)
    rejected = {found for wanted in decision.rejected for found in kb.find_id(wanted)}
    return tuple(_without(part, rejected) for part in parts) if rejected else parts


def _said(one: Correction) -> str:
    by = f" by {one.author}" if one.author else ""
    remark = f": {one.comment}" if one.comment else ""
    return f"corrected{by} on {one.date[:10]}{remark}"


def _without(part: LinkedPart, rejected: set[str]) -> LinkedPart:
    kept = tuple(one for one in part.candidates if one.concept_id not in rejected)
    if len(kept) == len(part.candidates):
        return part
    removed = [f"{one.concept_id} ({one.name}) was rejected" for one in part.candidates if one.concept_id in rejected]
    return part._replace(candidates=kept, tie=None, reasons=(*removed, *part.reasons))
