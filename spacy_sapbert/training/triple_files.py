"""Files of triples: a name, a synonym of it, and a name of another concept that an encoder takes for near.

They are tables with tabs and a line of headings, one line a triple, and the triples of one pair of synonyms together.
Names are lower-cased, with single blanks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files import open_text, parse_float

_NEEDED = ("concept_id", "anchor", "positive", "negative")
_BETWEEN_IDS = "|"


class Triple(NamedTuple):
    """Two names of one concept, and one of another.

    Attributes:
        similarity: the cosine of positive and negative, by the encoder that mined them.
        negative_ids: all concepts that own the negative, as far as they are known.
    """

    concept_id: str
    anchor: str
    positive: str
    negative: str
    similarity: float | None = None
    negative_ids: tuple[str, ...] = ()


HEADINGS = "\t".join(Triple._fields) + "\n"
"""The first line of a file of triples."""


def as_line(triple: Triple) -> str:
    """Return the line of a file of triples."""
    *fields, similarity, negative_ids = triple
    shown = "" if similarity is None else f"{similarity:.4f}"
    return "\t".join((*fields, shown, _BETWEEN_IDS.join(negative_ids))) + "\n"


def read_triples(path: Path) -> Iterator[Triple]:
    """Read a file of triples, plain or gzipped; the columns are found by their headings, and others are passed over.

    Files without the columns `similarity` and `negative_ids` can be read as well.

    Yields:
        in the order of the file, the names as they stand there.

    Raises:
        SapbertError: E185 a column is missing, E186 a line is no triple, E12x the file cannot be read.
    """
    with open_text(path) as lines:
        columns = next(lines, "").rstrip("\n").split("\t")
        missing = [column for column in _NEEDED if column not in columns]
        if missing:
            raise SapbertError(Errors.E185.format(path=path, missing=", ".join(missing), wanted=", ".join(_NEEDED)))
        for number, line in enumerate(lines, start=2):
            if line.strip():
                try:
                    yield _triple(dict(zip(columns, line.rstrip("\n").split("\t"), strict=True)))
                except ValueError as error:
                    raise SapbertError(Errors.E186.format(path=path, line=number, reason=error)) from error


def _triple(cells: dict[str, str]) -> Triple:
    """Raise ValueError: a name or the id is missing, or the similarity is no number."""
    concept_id, anchor, positive, negative = needed = [cells[column].strip() for column in _NEEDED]
    if not all(needed):
        raise ValueError(f"{_NEEDED[needed.index('')]} is empty")
    similarity = parse_float(cells["similarity"]) if cells.get("similarity") else None
    negative_ids = filter(None, cells.get("negative_ids", "").split(_BETWEEN_IDS))
    return Triple(concept_id, anchor, positive, negative, similarity, tuple(negative_ids))
