"""Read MedDRA: the folder MedAscii with llt.asc, pt.asc, hlt.asc, hlgt.asc, soc.asc and mdhier.asc.

No file names the columns. They are those of the MedDRA Distribution File Format Document (ICH), with `$` after every
cell. Preferred terms (PT) are concepts, and their lowest level terms (LLT) are their names. Annotated data contain LLT
codes, so these are alternative ids, even if the LLT is no longer current. High level terms, high level group terms and
system organ classes are concepts as well. They are the parents of the terms below them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ...files.opening import file_manifest
from ...types import Record
from .context import ReaderContext

_LEVELS = ("pt", "hlt", "hlgt", "soc")
# llt.asc: llt_code, llt_name, pt_code, …, llt_currency is the tenth; mdhier.asc begins with the codes of a PT's parents
_CURRENCY = 9


class _LowestLevelTerm(NamedTuple):
    """A row of llt.asc."""

    line: int
    code: str
    name: str
    is_current: bool


def read_meddra(context: ReaderContext, *, non_current: bool = False) -> Iterator[Record]:
    """Read a folder of MedDRA files. The path may also be a file in that folder. Types are PT, HLT, HLGT and SOC.

    Args:
        non_current: Also read the names of LLTs that are not current. Otherwise, they are counted and skipped.
    """
    context = replace(context, id_prefix=context.id_prefix or "MEDDRA")
    lowest: defaultdict[str, list[_LowestLevelTerm]] = defaultdict(list)  # by the code of their preferred term
    for line, cells in _rows(_file_context(context, "llt.asc"), n_cells=_CURRENCY + 1):
        lowest[cells[2]].append(_LowestLevelTerm(line, cells[0], cells[1], cells[_CURRENCY].strip() != "N"))
    parents: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # by level and code of a term
    for _, cells in _rows(_file_context(context, "mdhier.asc"), n_cells=len(_LEVELS)):
        for level, code, parent in zip(_LEVELS, cells, cells[1 : len(_LEVELS)], strict=False):
            parents[level, code][parent] = None
    for level in _LEVELS:
        level_context = _file_context(context, f"{level}.asc")
        for line, text in level_context.filled_lines():
            cells = text.split("$")
            context.report.rows_read += 1
            if len(cells) < 2:
                level_context.drop_broken(line, "no $ between code and name")
                continue
            terms = lowest.pop(cells[0], []) if level == "pt" else []
            yield from level_context.record(
                line,
                cells[0],
                [(cells[1], "preferred"), *_synonyms(context, terms, cells[0], non_current)],
                alternative_ids=[term.code for term in terms],
                types=[level.upper()],
                parents=parents.get((level, cells[0]), ()),
            )
    for code, terms in lowest.items():
        for term in terms:
            _file_context(context, "llt.asc").broken(term.line, f"there is no PT {code}")
    paths = [_file_context(context, f"{name}.asc").path for name in ("llt", *_LEVELS, "mdhier")]
    context.report.origins[context.path] = {"files": list(map(file_manifest, paths))}


def _synonyms(
    context: ReaderContext, terms: list[_LowestLevelTerm], code: str, non_current: bool
) -> Iterator[tuple[str, str]]:
    for term in terms:
        # every PT is also an LLT with the same code
        if term.code == code:
            continue
        if term.is_current or non_current:
            yield term.name, "exact"
        else:
            context.report.names_dropped["not current"] += 1


def _file_context(context: ReaderContext, name: str) -> ReaderContext:
    """Return the context for one file of the folder. Its name may be in capitals."""
    folder = context.path if context.path.is_dir() else context.path.parent
    paths = folder / name, folder / name.upper()
    return replace(context, path=next((path for path in paths if path.exists()), paths[0]))


def _rows(context: ReaderContext, n_cells: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of each row with so many cells. The others are reported."""
    for line, text in context.filled_lines():
        cells = text.split("$")
        if len(cells) >= n_cells:
            yield line, cells
        else:
            context.broken(line, f"{len(cells)} cells instead of {n_cells}")
