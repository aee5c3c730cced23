"""Read dictionaries with a line `ids||names`: those of BioSyn, of HUNER (HunFlair), and NCBI Disease's MEDIC.

In MEDIC, a line is a concept: its id and alternative ids, its preferred name and synonyms.

A single line of BioSyn or HUNER does not show what its joined ids mean. They may be alternative ids of one concept, or
several concepts that share the name. BioSyn's merged dictionaries have one line per unique name and so contain both. A
composite mention among the names also joins ids of different concepts. If all joined ids were alternative ids,
different concepts would merge, because a knowledge base merges records with the same primary id.

So the whole file decides. Ids that occur in exactly the same lines are one concept, and the first is the primary id.
All other ids are separate concepts. The name of a line belongs to each of its concepts.

In BioSyn's own dictionary of MEDIC, 99.7 % of the pairs of ids that this rule joins are one concept in MEDIC. The rule
finds 99.97 % of MEDIC's pairs. If every id were joined to the first id of its line, 67 % of the pairs would be right.

The rule has a price. Mentions are added with one id, so an id may occur without the other ids of its concept. It then
becomes a separate concept with the shared names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from ...types import Record
from ..ids import split_ids
from .context import ReaderContext, preferred_first


def read_biosyn(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|id…]||name`, one name per line.

    Yields:
        One record for each concept of a line. All names are "exact", since the format has no preferred name.
    """
    return _read_joined(context, lambda cell: [cell])


def read_huner(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|id…]||name[|synonym…]`."""
    return _read_joined(context, lambda cell: cell.split("|"))


def read_medic(context: ReaderContext) -> Iterator[Record]:
    """Read `id[|alternative id…]||name[|synonym…]`. Bare numbers are OMIM ids unless `id_prefix` is set."""
    context = replace(context, id_prefix=context.id_prefix or "OMIM")
    for number, line in context.filled_lines():
        context.report.rows_read += 1
        ids, bars, names = line.partition("||")
        if not bars:
            context.drop_broken(number, "no || between ids and names")
            continue
        concept_id, *alternatives = ids.split("|")
        texts = preferred_first(names.split("|"))
        yield from context.record(number, concept_id, texts, alternative_ids=alternatives)


def _read_joined(context: ReaderContext, split_names: Callable[[str], list[str]]) -> Iterator[Record]:
    """Read a file three times, because the ids must be known before the names."""
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
    """Map each id that is ever joined to others to the first id that occurs in the same lines."""
    joined = {concept_id for _, ids, _ in _rows(context) if len(ids) > 1 for concept_id in ids}
    # one number identifies the set of lines of an id; hashes of integers are the same in every process
    lines: dict[str, int] = {}
    for number, ids, _ in _rows(context):
        for concept_id in ids:
            if concept_id in joined:
                lines[concept_id] = hash((lines.get(concept_id, 0), number))
    first: dict[int, str] = {}
    return {concept_id: first.setdefault(line_set, concept_id) for concept_id, line_set in lines.items()}


def _rows(context: ReaderContext) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield line number, canonical ids (none if the line has no `||`), and the rest of the line."""
    for number, line in context.filled_lines():
        ids, bars, cell = line.partition("||")
        yield number, split_ids(ids, context.id_prefix) if bars else (), cell
