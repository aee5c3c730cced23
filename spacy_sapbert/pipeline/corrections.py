"""The corrections that a component obeys."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Mapping, Optional, Set, Tuple

from ..errors import Warnings
from ..files.postgres import check_address
from ..store.artifact import Artifact, ArtifactWriter
from ..text.languages import ENGLISH, LanguageRules
from ..types import Candidate, LinkedPart

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..review.corrections import Correction, Decision, Decisions

CORRECTIONS = "corrections"
"""The role of the corrections among the artifacts of a component."""
CERTAIN = 1.0  # the score of a concept that a person chose

Parts = Tuple[LinkedPart, ...]


def read_decisions(path: str, kb: "KnowledgeBase", rules: LanguageRules = ENGLISH) -> "Decisions":
    """Read what corrections decide. W417 reports concepts that a vocabulary lacks.

    Args:
        path: The file, or the address of a database.
        kb: The vocabulary.
        rules: The rules of the language.
    """
    from ..review.corrections_file import open_corrections

    file = open_corrections(path)
    ids = {id for correction in file.corrections().values() for id in correction.concept_ids}
    unknown = sorted(id for id in ids if not kb.find_id(id))
    if unknown:
        message = Warnings.W417.format(path=path, unknown=len(unknown), total=len(ids), first=unknown[0])
        warnings.warn(message, stacklevel=2)
    return file.decisions(rules)


class CorrectedComponent:
    """A component that obeys corrections. They are read at the first use, and saved with the pipeline."""

    _obeyed: Optional[str] = None
    _decisions: "Optional[Decisions]" = None

    def set_corrections(self, corrections: Optional[str], *, named: bool = True) -> None:
        """Obey the corrections of a file from now on, as it is at the next use. None has no corrections.

        A PostgreSQL address takes the place of a file. A file that is not `named` is not in the config, such as a
        temporary one. A saved component has its own copy.
        """
        check_address(corrections)
        self._corrections = corrections if named else None
        self._obey(corrections)

    def _obey(self, corrections: Optional[str]) -> None:
        self._obeyed, self._decisions = corrections, None

    def _decided(self, kb: "KnowledgeBase", rules: LanguageRules) -> "Decisions":
        """Return what the corrections decide. They are read once."""
        if self._decisions is None:
            assert self._obeyed is not None
            self._decisions = read_decisions(self._obeyed, kb, rules)
        return self._decisions

    def _save_corrections(self, artifacts: ArtifactWriter) -> None:
        """Add the corrections to the artifacts, without the texts of the documents."""
        if self._obeyed is not None:
            from ..review.corrections_file import open_corrections

            file = open_corrections(self._obeyed)
            artifacts.add(CORRECTIONS, Artifact(CORRECTIONS, file.fingerprint, file.copy, ".db"))

    def _load_corrections(self, artifacts: Mapping[str, Path]) -> None:
        if CORRECTIONS in artifacts:
            self._obey(str(artifacts[CORRECTIONS]))


def corrected(parts: Parts, text: str, decision: "Decision", kb: "KnowledgeBase") -> Parts:
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


def _said(correction: "Correction") -> str:
    by = f" by {correction.author}" if correction.author else ""
    remark = f": {correction.comment}" if correction.comment else ""
    return f"corrected{by} on {correction.date[:10]}{remark}"


def _without(part: LinkedPart, rejected: Set[str]) -> LinkedPart:
    removed = [candidate for candidate in part.candidates if candidate.concept_id in rejected]
    if not removed:
        return part
    candidates = tuple(candidate for candidate in part.candidates if candidate.concept_id not in rejected)
    reasons = (f"{candidate.concept_id} ({candidate.name}) was rejected" for candidate in removed)
    return part._replace(candidates=candidates, tie=None, reasons=(*reasons, *part.reasons))
