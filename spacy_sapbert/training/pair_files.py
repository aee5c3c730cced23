"""Files of pairs, and of the names that several concepts share.

A file of pairs has SapBERT's lines, `id||name||name`. Names are lower-cased, with single blanks. Beside it lies a file
of the names that several concepts own, `name||id||id…`: two pairs of a batch that share an owner are no negatives of
one another, and the id of a pair alone does not tell that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files import open_text, without_gz

_BARS = "||"


class Pair(NamedTuple):
    """Two names of one concept; where it comes from a corpus, the mention and a name."""

    concept_id: str
    name1: str
    name2: str


class SharedName(NamedTuple):
    """A name with all the concepts that own it, two or more."""

    name: str
    concept_ids: tuple[str, ...]


def shared_names_path(pairs: Path) -> Path:
    """Return where the shared names of a file of pairs lie, e.g. `pairs.shared.txt.gz` by `pairs.txt.gz`."""
    plain = without_gz(pairs)
    return pairs.with_name(f"{plain.stem}.shared{plain.suffix}{pairs.name[len(plain.name) :]}")


def find_shared_names(pairs: Path) -> Path | None:
    """Return the file of shared names beside a file of pairs, if there is one; eval.txt and plot.txt, the pairs that
    were set aside, have it in common with train.txt.
    """
    train = pairs.with_name("train.txt") if pairs.name in ("eval.txt", "plot.txt") else pairs
    beside = (shared_names_path(one) for one in (pairs, train))
    return next((path for path in beside if path.is_file()), None)


def as_line(*fields: str) -> str:
    """Return the line of a file of pairs or of shared names."""
    return _BARS.join(fields) + "\n"


def read_pairs(path: Path) -> Iterator[Pair]:
    """Read a file of pairs, ours or SapBERT's: plain or gzipped, with or without blanks round the bars.

    Yields:
        in the order of the file, the names as they stand there.

    Raises:
        SapbertError: E180 a line is no pair, E12x the file cannot be read.
    """
    for line, fields in _read_fields(path):
        if len(fields) != len(Pair._fields) or not all(fields):
            raise SapbertError(Errors.E180.format(path=path, line=line, wanted="id||name||name"))
        yield Pair(*fields)


def read_shared_names(path: Path) -> Iterator[SharedName]:
    """Read a file of shared names; `dict` makes a table of it, from names to ids.

    Yields:
        in the order of the file.

    Raises:
        SapbertError: E180 a line is no name with two ids or more, E12x the file cannot be read.
    """
    for line, (name, *concept_ids) in _read_fields(path):
        if len(concept_ids) < 2 or not all((name, *concept_ids)):
            raise SapbertError(Errors.E180.format(path=path, line=line, wanted="name||id||id…"))
        yield SharedName(name, tuple(concept_ids))


def _read_fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not blank."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, [field.strip() for field in line.split(_BARS)]


def is_writable(text: str) -> bool:
    """Whether a reader finds a text again; it takes a byte order mark at the beginning for none of the text."""
    bars = _BARS in text or text.endswith("|")
    return bool(text) and not bars and not text.startswith("\ufeff") and text == " ".join(text.split())
