"""Read AskAPatient and TwADR-L (Limsopatham & Collier 2016, doi:10.18653/v1/P16-1096)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..kb.ids import split_ids
from ..types import Document, Mention
from .source import UNTYPED, Source

ENCODING = "latin-1"
"""Encoding of the published files."""

_N_COLUMNS = 3
_CUI = re.compile(r"C\d{7}")
_NUMBER = re.compile(r"\d{6,18}")
# D5, the symmetries of a pentagon, is the group of the check digit; so is the permutation of the digit at each place
_FIRST_PERMUTATION = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def is_concept_id(text: str) -> bool:
    """Whether this is a CUI, or a number with the check digit that all ids of SNOMED CT have."""
    return bool(_CUI.fullmatch(text)) or bool(_NUMBER.fullmatch(text) and not _check_sum(text))


def read_askapatient(source: Source) -> Iterator[Document]:
    """Read one file of a fold, e.g. `AskAPatient.fold-0.test.txt`: `concept id<TAB>name<TAB>mention`, without a header.

    Numeric ids are those of SNOMED CT or its Australian extension for medicines (AMT): `SNOMEDCT:22253000`. Their
    numbers do not overlap. Ids of TwADR-L are CUIs. The name is that of the concept, so it is ignored.

    Yields:
        One document per row. Its text is the mention. Its id joins file name and line number with a colon.
    """
    for number, line in source.lines():
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) != _N_COLUMNS:
            source.broken(number, f"{len(columns)} columns instead of 3: concept id, its name and the mention")
        elif not columns[2]:
            source.broken(number, "no mention")
        else:
            ids, _, text = columns
            mention = Mention(0, len(text), text, UNTYPED, split_ids(ids, "SNOMEDCT"))
            yield Document(f"{source.path.name}:{number}", text, (mention,))


def _check_sum(number: str) -> int:
    """Return the checksum of Verhoeff's method (1969), which is 0 for a valid number."""
    total = 0
    for place, character in enumerate(reversed(number)):
        digit = int(character)
        for _ in range(place % 8):
            digit = _FIRST_PERMUTATION[digit]
        total = _compose(total, digit)
    return total


def _compose(first: int, second: int) -> int:
    """Compose two symmetries of a pentagon. Turns are numbered from 0 to 4, reflections from 5 to 9."""
    turn = (first + second) % 5 if first < 5 else (first - second) % 5
    return turn if (first < 5) == (second < 5) else turn + 5
