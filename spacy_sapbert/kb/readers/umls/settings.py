"""What to take from a UMLS release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import Errors, SapbertError
from ...semantic_types import find_types

SUPPRESS_FLAGS = "OEY"


@dataclass(frozen=True)
class UmlsSettings:
    """What to take from a UMLS release. An empty sequence takes everything.

    Attributes:
        languages: languages of names (LAT). Where a concept has names in several, its preferred name is in the first of
            them.
        sources: sources (SAB) of names, definitions and relations.
        without_sources: sources to leave out.
        drop_suppressed: flags (SUPPRESS) of the rows to leave out: O obsolete, E by an editor, Y by its term type.
        term_types: term types (TTY) of names.
        semantic_types: TUIs or names of semantic types, one of which a concept must have.
        semantic_groups: codes or names of groups of semantic types, in the same way.
        trade_names: whether the names of a drug's brand become names of the drug.
        definitions: whether to read them.
        parents: whether to read them.
        sort: sort the rows by concept, in a temporary file; for files that are not sorted as a release is.

    Raises:
        SapbertError: E146 there is no such semantic type or group, E147 no such flag.
    """

    languages: Sequence[str] = ("ENG",)
    sources: Sequence[str] = ()
    without_sources: Sequence[str] = ()
    drop_suppressed: str = SUPPRESS_FLAGS
    term_types: Sequence[str] = ()
    semantic_types: Sequence[str] = ()
    semantic_groups: Sequence[str] = ()
    trade_names: bool = True
    definitions: bool = True
    parents: bool = False
    sort: bool = False

    def __post_init__(self) -> None:
        if not set(self.drop_suppressed) <= set(SUPPRESS_FLAGS):
            raise SapbertError(Errors.E147.format(given=self.drop_suppressed))
        self.wanted_types()

    def wanted_types(self) -> frozenset[str]:
        """Return TUIs, one of which a concept must have; empty for all concepts."""
        return find_types(self.semantic_types, self.semantic_groups)
