"""Settings of the augmentation: what is searched, how it is annotated, and what is kept."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from dataclasses import dataclass
from pathlib import Path

from ..errors import ChoiceError, OptionError
from ..training.settings import check_counts, check_rules
from .eutils import DATABASES, URL

Files = str | list[str] | None
"""One path, several, or none."""


@dataclass(frozen=True)
class AugmentationSettings:
    """How `spacy-sapbert augment` makes training documents, after Shao et al. (2024).

    Attributes:
        kb: The knowledge base of the concepts, or "starter".
        train: Training corpora, which show the rare concepts.
        labels: A file with the concept ids to search and to keep, one per line.
        k: Concepts with fewer training documents are rare.
        all_concepts: Search for all concepts, not only for rare ones.
        documents: Documents to search: files or folders of any format that `link` reads.
        eutils: Search "pubmed" or "pmc" over the network, instead of `documents`.
        eutils_url: The address of the E-utilities.
        cache: A folder for answers of the network. With it, an interrupted run can continue.
        exclude: Corpora whose documents are left out, such as a test set.
        max_documents: The most documents per concept.
        max_tokens: The most tokens per segment.
        tokenizer: Count the wordpieces of this encoder. None counts spaCy tokens.
        metamaplite: Annotate with the MetaMapLite in this folder. None takes the concept_matcher.
        annotations: A folder with the output of MetaMapLite for the files of `--texts`.
        mapping: Mappings from the annotator's ids to the vocabulary: SSSOM, or tables of two columns.
        mapping_kb: A knowledge base that maps the ids, such as one of UMLS.
        abbreviation_filter: Leave out words that only look like an abbreviation.
        verb_filter: Leave out names that are verbs in the text: "leads to".
        inversion_filter: Leave out enumerations that only look like an inverted name: "Failure, Renal".
        overlap_filter: If mentions overlap, keep the more specific one.
        diversity_filter: Prefer documents that were found for few other concepts.
        relevance_filter: Leave out documents that lack the concept of the search.
        weight: The weight of each new document in training.
        mix_with: .spacy files to mix in, with weight 1 for each document.
        seed: The seed for the order of the documents.
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
