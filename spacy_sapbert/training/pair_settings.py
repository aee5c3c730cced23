"""Settings of the pairs of names on which an encoder is trained, and of their negatives."""

# no postponed annotations here: spaCy could not check the settings of a registered class

from dataclasses import dataclass

from ..errors import ChoiceError, OptionError
from .pairs import SELECTIONS, PairSelection
from .settings import check_counts, check_rules


@dataclass(frozen=True)
class PairSettings:
    """Which pairs `spacy-sapbert pairs` draws. None takes the number of the selection, see `PairSelection`.

    Attributes:
        selection: A key of `SELECTIONS`.
        mentions: A corpus whose mentions are paired with names of their concepts, instead of synonyms.
        mentions_format: The format of the corpus. None guesses it.
        mentions_types: Only mentions of this type, or of these types, are used. None uses all.
        seed: The seed for drawing pairs.
    """

    selection: str = "all"
    max_pairs: int | None = None
    min_pairs: int | None = None
    min_names: int | None = None
    max_length: int | None = None
    concepts: int | None = None
    eval_pairs: int | None = None
    plot_pairs: int | None = None
    mentions: str | None = None
    mentions_format: str | None = None
    mentions_types: str | list[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.selection not in SELECTIONS:
            raise ChoiceError(given=self.selection, what="selection of pairs", choices=SELECTIONS)
        chosen = self.chosen()
        check_counts("pairs", max_pairs=chosen.max_pairs, min_pairs=chosen.min_pairs, concepts=chosen.concepts)
        check_counts("pairs", max_length=chosen.max_length)
        check_rules(
            chosen,
            ("min_names", chosen.min_names >= 2, "2 or more"),
            ("eval_pairs", chosen.eval_pairs >= 0, "0 or more"),
            ("plot_pairs", chosen.plot_pairs >= 0, "0 or more"),
        )
        reasons = {
            "min_pairs is above max_pairs": (chosen.min_pairs or 0) > chosen.max_pairs,
            "plot_pairs is above eval_pairs": chosen.plot_pairs > chosen.eval_pairs,
            "with mentions, only max_pairs is used": bool(self.mentions)
            and chosen != PairSelection(max_pairs=chosen.max_pairs),
            "mentions_format and mentions_types need mentions": not self.mentions
            and bool(self.mentions_format or self.mentions_types),
        }
        for reason, holds in reasons.items():
            if holds:
                raise OptionError(option="[pairs]", reason=reason)

    @property
    def types(self) -> list[str]:
        """The types of the mentions that are used; none for all."""
        return [self.mentions_types] if isinstance(self.mentions_types, str) else self.mentions_types or []

    def chosen(self) -> PairSelection:
        """Return the selection with the numbers of these settings."""
        numbers = {name: getattr(self, name) for name in PairSelection._fields}
        given = {name: number for name, number in numbers.items() if number is not None}
        return SELECTIONS[self.selection]._replace(**given)


@dataclass(frozen=True)
class MiningSettings:
    """How `spacy-sapbert mine` finds hard negatives.

    Attributes:
        neighbors: The number of negatives per pair.
        pooling: "cls" or "mean". None takes the setting of the encoder, or else "cls".
        device: "cpu", "cuda", "cuda:1", …; "auto" uses a GPU if there is one.
        index: The vector index: "Flat" (exact), "HNSW", "IVF,PQ", … or a Qdrant collection.
    """

    neighbors: int = 3
    pooling: str | None = None
    device: str = "auto"
    index: str = "Flat"

    def __post_init__(self) -> None:
        check_counts("mine", neighbors=self.neighbors)
