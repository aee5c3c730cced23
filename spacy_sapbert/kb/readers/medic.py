"""Read MEDIC from NCBI Disease's dictionary: `id[|alternative id…]||name[|synonym…]`, one concept per line.

The first name is the preferred name. OMIM ids are bare numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...types import Record
from .context import ReaderContext


def read_medic(context: ReaderContext) -> Iterator[Record]:
    """Yield one record per line. Bare numbers are OMIM ids unless `id_prefix` is set."""
    context = replace(context, id_prefix=context.id_prefix or "OMIM")
    with context.open() as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            context.report.rows_read += 1
            ids, bars, names = line.partition("||")
            if not bars:
                context.drop_broken(number, "no || between ids and names")
                continue
            concept_id, *alternatives = ids.split("|")
            preferred, *synonyms = names.split("|")
            pairs = [(preferred, "preferred"), *((synonym, "exact") for synonym in synonyms)]
            yield from context.record(number, concept_id, pairs, alternative_ids=alternatives)
