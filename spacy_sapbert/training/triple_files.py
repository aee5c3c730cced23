"""Read and write files of triples: a name, a synonym, and a hard negative.

They are tab-separated tables with headings and one triple per line. The triples of one pair of synonyms are together.
Names are in lower case, with single blanks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files.opening import open_text
from ..files.values import parse_float

_NEEDED = ("concept_id", "anchor", "positive", "negative")
_BETWEEN_IDS = "|"


class Triple(NamedTuple):
    """Two names of one concept, and one of another.

    Attributes:
        concept_id: The id of the concept.
        anchor: A name of the concept.
        positive: Another name of the concept.
        negative: A name of another concept that an encoder puts near the positive.
        similarity: The cosine of positive and negative, by the encoder that mined them.
        negative_ids: All known concepts of the negative.
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
    """Return a line of a file of triples."""
    *fields, similarity, negative_ids = triple
    shown = "" if similarity is None else f"{similarity:.4f}"
    return "\t".join((*fields, shown, _BETWEEN_IDS.join(negative_ids))) + "\n"


def read_triples(path: Path) -> Iterator[Triple]:
    """Read a file of triples, plain or gzipped. Columns are found by their headings. Other columns are ignored.

    The columns `similarity` and `negative_ids` are optional.

    Yields:
        The triples in the order of the file, with the names as written.

    Raises:
        SapbertError: E185 a column is missing, E186 a line is not a triple, E12x the file cannot be read.
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
    """Return the triple of a line.

    Raises:
        ValueError: A name or the id is missing, or the similarity is not a number.
    """
    concept_id, anchor, positive, negative = needed = [cells[column].strip() for column in _NEEDED]
    if not all(needed):
        raise ValueError(f"{_NEEDED[needed.index('')]} is empty")
    similarity = parse_float(cells["similarity"]) if cells.get("similarity") else None
    negative_ids = filter(None, cells.get("negative_ids", "").split(_BETWEEN_IDS))
    return Triple(concept_id, anchor, positive, negative, similarity, tuple(negative_ids))
