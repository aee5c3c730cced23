"""Read HUNER dictionaries, which HunFlair uses: `id[|id…]||name[|synonym…]`.

Several ids in a line are either different concepts or alternative ids of one. The rule of `biosyn` decides.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...types import Record
from .biosyn import read_rows
from .context import ReaderContext


def read_huner(context: ReaderContext) -> Iterator[Record]:
    """Yield one record for each concept of a line."""
    return read_rows(context, lambda cell: cell.split("|"))
