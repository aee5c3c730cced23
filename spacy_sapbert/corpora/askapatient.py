"""Read AskAPatient and TwADR-L (Limsopatham & Collier 2016, doi:10.18653/v1/P16-1096)."""

from __future__ import annotations

from collections.abc import Iterator

from ..kb.ids import split_ids
from ..types import AnnotatedDocument, Mention
from .source import UNTYPED, Source

ENCODING = "latin-1"
"""Encoding of the published files."""

_N_COLUMNS = 3


def read_askapatient(source: Source) -> Iterator[AnnotatedDocument]:
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
            yield AnnotatedDocument(f"{source.path.name}:{number}", text, (mention,))
