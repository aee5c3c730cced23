"""The grade of a candidate, and the score that users see, which is made here and nowhere else."""

from __future__ import annotations

from ..types import SCORE_DIGITS, Candidate, Grade

SAME, REWRITTEN = 0.99, 0.98
"""The least score of a name that is the text, and the score of one that is another way to write it."""
REFUSED = 0.5
"""The share of its score that a refused candidate keeps."""
STEP = 0.0001
"""By how much a less plausible way to write a text has a lower score."""


def score_of(grade: Grade, similarity: float, rank: int = 0, above: float = 0.0) -> float:
    """Return the score of a candidate.

    Args:
        grade: How well its name fits the text.
        similarity: The combined similarity of the name; for a refused candidate, the score that it had.
        rank: How many ways to write the text are more plausible.
        above: What the score of a rewritten name of rank 0 exceeds: that of the best other candidate.
    """
    if grade is Grade.SAME:
        return round(SAME + (1 - SAME) * similarity, SCORE_DIGITS)
    if grade is Grade.REWRITTEN:
        return round(max(min(REWRITTEN, similarity), above + STEP) - STEP * rank, SCORE_DIGITS)
    return similarity * REFUSED if grade is Grade.REFUSED else similarity


def refused(candidate: Candidate, reason: str) -> Candidate:
    """Return a candidate that is not linked for a reason."""
    score = score_of(Grade.REFUSED, candidate.score)
    return candidate._replace(score=score, refusal=reason, grade=Grade.REFUSED)


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by their scores, best first. Equal ones keep their order."""
    return sorted(candidates, key=_score, reverse=True)


def _score(candidate: Candidate) -> float:
    return candidate.score
