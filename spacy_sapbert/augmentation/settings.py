"""Settings of the augmentation: what is searched, how it is annotated, and what is kept."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from dataclasses import dataclass
from pathlib import Path

from ..errors import ChoiceError, OptionError
from ..settings_block import check_counts, check_rules
from .search import DATABASES, URL

Files = str | list[str] | None
"""One path, several, or none."""


@dataclass(frozen=True)
class AugmentationSettings:
    """How `spacy-sapbert augment` makes training documents, after Shao et al. (2024).

    `configs/augment.cfg`, which `init config augment` writes, describes each setting.
    """

    kb: str
    train: Files = None
    labels: str | None = None
    k: int = 10
    all_concepts: bool = False
    documents: Files = None
    eutils: str | None = None
    eutils_url: str = URL
    cache: str | None = None
    exclude: Files = None
    max_documents: int = 50
    max_tokens: int = 512
    tokenizer: str | None = None
    metamaplite: str | None = None
    annotations: str | None = None
    mapping: Files = None
    mapping_kb: str | None = None
    abbreviation_filter: bool = True
    verb_filter: bool = True
    inversion_filter: bool = True
    overlap_filter: bool = True
    diversity_filter: bool = True
    relevance_filter: bool = True
    weight: float = 0.3
    mix_with: Files = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_counts("augment", k=self.k, max_documents=self.max_documents)
        check_rules(self, ("max_tokens", self.max_tokens >= 8, "8 or more"), ("weight", self.weight >= 0, "0 or more"))
        if self.eutils and self.eutils not in DATABASES:
            raise ChoiceError(given=self.eutils, what="database of the E-utilities", choices=DATABASES)
        wrong = {
            "give either documents or eutils": bool(self.documents) == bool(self.eutils),
            "give train, labels or all_concepts, which say what to search for": not (
                self.train or self.labels or self.all_concepts
            ),
            "metamaplite runs MetaMapLite, but annotations has the output of an earlier run": bool(
                self.metamaplite and self.annotations
            ),
        }
        for reason, holds in wrong.items():
            if holds:
                raise OptionError(option="[augment]", reason=reason)


def paths(files: Files) -> list[Path]:
    """Return the paths of a setting."""
    return [Path(path) for path in ([files] if isinstance(files, str) else files or [])]
