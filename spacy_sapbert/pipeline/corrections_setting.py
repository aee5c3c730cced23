"""The setting `corrections` of components: a file that is opened at the first use, and saved with the pipeline."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Mapping, Optional

from ..errors import Warnings
from ..store.artifact import Artifact, ArtifactWriter

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase
    from ..review.corrections import Decisions
    from ..review.corrections_file import CorrectionsFile

CORRECTIONS = "corrections"
"""The role of the corrections among the artifacts of a component."""


class CorrectionsSetting:
    """The corrections of a component, if it has any.

    Attributes:
        path: The file, or None.
    """

    def __init__(self, path: Optional[str]) -> None:
        self.path = path
        self._decisions: Optional[Decisions] = None

    def decisions(self, kb: "KnowledgeBase") -> "Decisions":
        """Return what the corrections decide. The file is read once.

        Args:
            kb: The vocabulary of the component. W417 tells of concepts that it lacks.
        """
        if self._decisions is None:
            file = self._file
            self._decisions = file.decisions()
            wanted = {one for each in file.corrections().values() for one in each.concept_ids}
            unknown = sorted(one for one in wanted if not kb.find_id(one))
            if unknown:
                message = Warnings.W417.format(
                    path=self.path, unknown=len(unknown), total=len(wanted), first=unknown[0]
                )
                warnings.warn(message, stacklevel=2)
        return self._decisions

    def save(self, artifacts: ArtifactWriter) -> None:
        """Add the corrections to the artifacts of a component, without the texts of the documents."""
        if self.path is not None:
            file = self._file
            artifacts.add(CORRECTIONS, Artifact(CORRECTIONS, file.fingerprint, file.copy, ".db"))

    def saved(self, artifacts: Mapping[str, Path]) -> "CorrectionsSetting":
        """Return the corrections among the artifacts of a component. Without any, nothing changes."""
        return CorrectionsSetting(str(artifacts[CORRECTIONS])) if CORRECTIONS in artifacts else self

    @property
    def _file(self) -> "CorrectionsFile":
        from ..review.corrections_file import CorrectionsFile

        assert self.path is not None
        return CorrectionsFile(self.path)
