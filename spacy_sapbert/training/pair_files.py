"""Read and write files of pairs, of names that several concepts share, and of triples.

A file of pairs has SapBERT's lines, `id||name||name`. Names are in lower case, with single blanks.

A second file next to it has the names that several concepts share, `name||id||id…`. Two pairs of a batch that share a
concept are not negatives of each other. The ids of the pairs alone do not show that.

A file of triples is a tab-separated table with headings: a name, a synonym and a hard negative in each row. The triples
of one pair of synonyms are together.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import BadRecordError, MissingColumnError
from ..files.opening import open_text, without_gz
from ..files.values import parse_float

_BARS = "||"


class Pair(NamedTuple):
    """Two names of one concept. In pairs from a corpus, these are the mention and a name."""

    concept_id: str
    name1: str
    name2: str


class SharedName(NamedTuple):
    """A name with all its concepts, two or more."""

    name: str
    concept_ids: tuple[str, ...]


def shared_names_path(pairs: Path) -> Path:
    """Return the path of the shared names of a file of pairs: `pairs.shared.txt.gz` for `pairs.txt.gz`."""
    plain = without_gz(pairs)
    return pairs.with_name(f"{plain.stem}.shared{plain.suffix}{pairs.name[len(plain.name) :]}")


def find_shared_names(pairs: Path) -> Path | None:
    """Return the file of shared names next to a file of pairs, if there is one.

    The held-out pairs in eval.txt and plot.txt use that of train.txt.
    """
    train = pairs.with_name("train.txt") if pairs.name in ("eval.txt", "plot.txt") else pairs
    candidates = map(shared_names_path, (pairs, train))
    return next((path for path in candidates if path.is_file()), None)


def pair_line(*fields: str) -> str:
    """Return a line of a file of pairs or of shared names."""
    return _BARS.join(fields) + "\n"


def read_pairs(path: Path) -> Iterator[Pair]:
    """Read a file of pairs, ours or SapBERT's: plain or gzipped, with or without blanks around the bars.

    Yields:
        The pairs in the order of the file, with the names as written.

    Raises:
        BadRecordError: A line is not a pair.
    """
    for line, fields in _read_fields(path):
        if len(fields) != len(Pair._fields) or not all(fields):
            raise _bad_line(path, line, "the line does not have the form id||name||name")
        yield Pair(*fields)


def read_shared_names(path: Path) -> Iterator[SharedName]:
    """Read a file of shared names. `dict` converts them to a mapping from names to ids.

    Yields:
        The shared names in the order of the file.
    """
    for line, (name, *concept_ids) in _read_fields(path):
        if len(concept_ids) < 2 or not all((name, *concept_ids)):
            raise _bad_line(path, line, "the line does not have the form name||id||id…")
        yield SharedName(name, tuple(concept_ids))


def _read_fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not blank."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, [field.strip() for field in line.split(_BARS)]


def is_writable(text: str) -> bool:
    """Return whether a reader would read back the same text. It skips a byte order mark at the start."""
    bars = _BARS in text or text.endswith("|")
    return bool(text) and not bars and not text.startswith("\ufeff") and text == " ".join(text.split())


def _bad_line(path: Path, line: int, reason: str) -> BadRecordError:
    return BadRecordError("Correct the line, or make the file again.", path=path, line=line, reason=reason)


# --- triples


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


def triple_line(triple: Triple) -> str:
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
        MissingColumnError: A column is missing.
        BadRecordError: A line is not a triple.
    """
    with open_text(path) as lines:
        columns = next(lines, "").rstrip("\n").split("\t")
        missing = [column for column in _NEEDED if column not in columns]
        if missing:
            remedy = "Create such a file with `spacy-sapbert mine`."
            raise MissingColumnError(remedy, path=path, column=missing, columns=columns)
        for number, line in enumerate(lines, start=2):
            if line.strip():
                try:
                    yield _triple(dict(zip(columns, line.rstrip("\n").split("\t"), strict=True)))
                except ValueError as error:
                    raise _bad_line(path, number, f"the line is not a triple ({error})") from error


def _triple(cells: dict[str, str]) -> Triple:
    """Return the triple of a line, or raise a ValueError if it is not one."""
    concept_id, anchor, positive, negative = needed = [cells[column].strip() for column in _NEEDED]
    if not all(needed):
        raise ValueError(f"{_NEEDED[needed.index('')]} is empty")
    similarity = parse_float(cells["similarity"]) if cells.get("similarity") else None
    negative_ids = filter(None, cells.get("negative_ids", "").split(_BETWEEN_IDS))
    return Triple(concept_id, anchor, positive, negative, similarity, tuple(negative_ids))
