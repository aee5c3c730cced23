"""BioSyn's dictionaries: `id[|id…]||name`, one name a line.

A line alone does not tell what its joined ids mean: alternative ids of one concept, or several concepts that share the
name. BioSyn's merged dictionaries have one line a unique name and so hold both; a composite mention among the names
joins ids of different concepts as well. Taken for alternatives throughout, they would run unlike concepts together in
the store, which merges records of one primary id. So the whole file decides: ids that stand in exactly the same lines
are one concept, the first of them primary; all others are concepts of their own, and each of a line's concepts gets
its name.

Of the pairs of ids so joined in BioSyn's own dictionary of MEDIC, 99.7 % are of one concept in MEDIC (and 99.97 % of
MEDIC's pairs are found); of the pairs joined by their line's first id, 67 %. The price: where an id also stands
without its concept's other ids (mentions are added with one id), it is split off as a concept with the shared names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

from ...types import Record
from ..ids import split_ids
from .context import ReaderContext


def read_biosyn(context: ReaderContext) -> Iterator[Record]:
    """Yield `Record`: one for each concept of a line. Its name is "exact": the format tells of no preferred name."""
    return read_rows(context, lambda cell: [cell])


def read_rows(context: ReaderContext, split_names: Callable[[str], list[str]]) -> Iterator[Record]:
    """Read lines of `ids||names`. The file is gone through three times: its ids must be known before its names.

    Args:
        split_names: the names in what follows a line's first `||`.
    """
    leaders = _leaders(context)
    for number, ids, cell in _rows(context):
        context.report.rows_read += 1
        if not ids:
            context.drop_broken(number, "no id and || before the name")
            continue
        names = context.names((name, "exact") for name in split_names(cell))
        if not names:
            context.drop("no name")
            continue
        concepts: dict[str, list[str]] = defaultdict(list)
        for concept_id in ids:
            concepts[leaders.get(concept_id, concept_id)].append(concept_id)
        for leader, members in concepts.items():
            alternatives = tuple(member for member in members if member != leader)
            yield Record(leader, names, alternatives, context.types)


def _leaders(context: ReaderContext) -> dict[str, str]:
    """Return `dict[str, str]`: for ids that are ever joined to others, the first id that stands in the same lines."""
    joined = {concept_id for _, ids, _ in _rows(context) if len(ids) > 1 for concept_id in ids}
    # one number stands for the set of an id's lines; a hash of numbers is the same in every process
    lines: dict[str, int] = {}
    for number, ids, _ in _rows(context):
        for concept_id in ids:
            if concept_id in joined:
                lines[concept_id] = hash((lines.get(concept_id, 0), number))
    first: dict[int, str] = {}
    return {concept_id: first.setdefault(of, concept_id) for concept_id, of in lines.items()}


def _rows(context: ReaderContext) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield line number, canonical ids (none where there is no `||`), and the rest of the line."""
    with context.open() as lines:
        for number, line in enumerate(lines, start=1):
            ids, bars, cell = line.partition("||")
            if line.strip():
                yield number, split_ids(ids, context.id_prefix) if bars else (), cell
