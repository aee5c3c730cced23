"""Read RxNorm in RRF: `RXNCONSO`, and `RXNSTY`, `RXNREL` and `RXNCUI` if they exist.

These tables have the columns of UMLS tables, as the RxNorm Technical Documentation describes them. But they are not
sorted, and do not say which name a concept prefers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from ....types import Record
from ..context import ReaderContext
from .atoms import Atom, Ranks
from .files import RXNORM
from .reader import ReleaseReader
from .settings import UmlsSettings

_SOURCE = "RXNORM"
# The term types of RxNorm's own names, the preferred one first. Other sources come last.
_TERM_TYPES = (
    *("IN", "PIN", "MIN", "BN", "SCD", "SBD", "GPCK", "BPCK", "SCDC", "SBDC", "SCDF", "SCDFP", "SBDF", "SBDFP"),
    *("SCDG", "SCDGP", "SBDG", "DF", "DFG", "PSN", "SY", "TMSY", "ET"),
)
_OLD, _CARDINALITY, _NEW = 0, 3, 4


def read_rxnorm(context: ReaderContext, *, umls: UmlsSettings | None = None) -> Iterator[Record]:
    """Read a release of RxNorm. Ids are RXCUIs: `RXNORM:161`.

    Names and types are read as from UMLS, and a drug gets its brand names. The preferred name is that of RxNorm, by
    term
    type: ingredients, brands, clinical drugs, then synonyms. A retired RXCUI that became one other is an alternative
        id.

    Args:
        context: The folder of a release, its folder `rrf`, its zip file, or RXNCONSO.RRF. If a release also holds the
            prescribable subset, the whole is read.
        umls: What to read. Default: the English names that are not suppressed.

    Yields:
        One record per concept. Its types are TUIs.

    Raises:
        SapbertError: E151 if there is no RXNCONSO; E141 to E144 if files are missing or damaged; E148 if there are no
            semantic types; E123 if the encoding is unknown.
    """
    context = replace(context, id_prefix=context.id_prefix or _SOURCE)
    return _RxNormReader(context, replace(umls or UmlsSettings(), sort=True), RXNORM).records()


class _RxNormReader(ReleaseReader):
    def records(self) -> Iterator[Record]:
        self._old_ids = self._retired()
        yield from super().records()

    def ranks(self) -> Ranks:
        ranks = Ranks(None)
        for rank, term_type in enumerate(reversed(_TERM_TYPES), start=1):
            ranks.atoms[_SOURCE.encode(), term_type.encode()] = rank
        return ranks

    def concept_id(self, cui: str) -> str:
        return f"{self._context.id_prefix}:{cui}"

    def alternative_ids(self, cui: str) -> tuple[str, ...]:
        return tuple(map(self.concept_id, self._old_ids.get(cui, ())))

    def is_preferred(self, atom: Atom) -> bool:
        return atom.source == _SOURCE

    def _retired(self) -> dict[str, list[str]]:
        """Return the retired RXCUIs by the one that each became."""
        old_ids: defaultdict[str, list[str]] = defaultdict(list)
        table = self._tables.get("RXNCUI")
        for _, cells in table.rows() if table else ():
            old, new = cells[_OLD].decode("latin-1"), cells[_NEW].decode("latin-1")
            if cells[_CARDINALITY] == b"1" and old != new and old.isalnum():
                old_ids[new].append(old)
        return {new: sorted(set(old)) for new, old in old_ids.items()}
