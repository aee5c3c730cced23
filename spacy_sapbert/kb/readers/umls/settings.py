"""Settings of the UMLS reader: which languages, sources, semantic types and relations to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....errors import Errors, SapbertError
from ...semantic_types import find_types

SUPPRESS_FLAGS = "OEY"


@dataclass(frozen=True)
class UmlsSettings:
    """What to read from a UMLS release. An empty sequence does not restrict anything.

    Attributes:
        languages: Languages of names (LAT). If a concept has names in several, its preferred name is in the first of
            these.
        sources: Sources (SAB) of names, definitions and relations.
        without_sources: Sources to leave out.
        drop_suppressed: Flags (SUPPRESS) of the rows to leave out: O obsolete, E by an editor, Y by its term type.
        term_types: Term types (TTY) of names.
        semantic_types: TUIs or names of semantic types. A concept must have one of them.
        semantic_groups: Codes or names of semantic groups. A concept must have a type in one of them.
        codes: Sources (SAB) whose codes become cross-references of the concept, also if their names are left out.
        trade_names: Whether the names of a drug's brand become names of the drug.
        definitions: Whether to read definitions.
        parents: Whether to read parents.
        sort: Sort the rows by concept in a temporary file. Needed for files that are not sorted as in a release.

    Raises:
        SapbertError: E146 if a semantic type or group is unknown; E147 if a flag is unknown.
    """

    languages: Sequence[str] = ("ENG",)
    sources: Sequence[str] = ()
    without_sources: Sequence[str] = ()
    drop_suppressed: str = SUPPRESS_FLAGS
    term_types: Sequence[str] = ()
    semantic_types: Sequence[str] = ()
    semantic_groups: Sequence[str] = ()
    codes: Sequence[str] = ()
    trade_names: bool = True
    definitions: bool = True
    parents: bool = False
    sort: bool = False

    def __post_init__(self) -> None:
        if not set(self.drop_suppressed) <= set(SUPPRESS_FLAGS):
            raise SapbertError(Errors.E147.format(given=self.drop_suppressed))
        self.wanted_types()

    def wanted_types(self) -> frozenset[str]:
        """Return the TUIs of which a concept must have one. Empty if all concepts are read."""
        return find_types(self.semantic_types, self.semantic_groups)
