"""HUNER dictionaries, as HunFlair links with: `id[|id…]||name[|synonym…]`.

Several ids in a line are the concepts of a name, or one concept's alternatives: see `biosyn`, whose rule holds here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...types import Record
from .biosyn import read_rows
from .context import ReaderContext


def read_huner(context: ReaderContext) -> Iterator[Record]:
    """Yield `Record`: one for each concept of a line."""
    return read_rows(context, lambda cell: cell.split("|"))
