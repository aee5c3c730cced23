"""MEDIC as NCBI Disease's dictionary has it: `id[|alternative id…]||name[|synonym…]`, one concept a line.

The first name is the preferred one. OMIM ids are bare numbers there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...types import Record
from .context import Reading


def read_medic(reading: Reading) -> Iterator[Record]:
    """YIELDS (Record): one a line. Bare numbers are OMIM ids unless the reading gives another prefix."""
    reading = replace(reading, id_prefix=reading.id_prefix or "OMIM")
    with reading.open() as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            reading.report.rows_read += 1
            ids, bars, names = line.partition("||")
            if not bars:
                reading.drop_broken(number, "no || between ids and names")
                continue
            concept_id, *alternatives = ids.split("|")
            preferred, *synonyms = names.split("|")
            pairs = [(preferred, "preferred"), *((synonym, "exact") for synonym in synonyms)]
            yield from reading.record(number, concept_id, pairs, alternative_ids=alternatives)
