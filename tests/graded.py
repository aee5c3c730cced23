"""Candidates with the grade that their score stands for."""

from spacy_sapbert.linking.agreement import SAME
from spacy_sapbert.types import Candidate, Grade


def graded(concept_id, score, name, *others, **fields):
    """Return a candidate. A score from `SAME` on is that of a name that is the text."""
    candidate = Candidate(concept_id, score, name, *others, **fields)
    grade = Grade.NEARLY_SAME if score >= SAME else Grade.REWRITTEN if candidate.rewrite else Grade.SIMILAR
    return candidate._replace(grade=Grade.REFUSED if candidate.refusal else grade)
