"""Read and write files of pairs, and of names that several concepts share.

A file of pairs has SapBERT's lines, `id||name||name`. Names are in lower case, with single blanks.

A second file next to it has the names that several concepts share, `name||id||id…`. Two pairs of a batch that share a
concept are not negatives of each other. The ids of the pairs alone do not show that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError
from ..files.opening import open_text, without_gz

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
    candidates = (shared_names_path(one) for one in (pairs, train))
    return next((path for path in candidates if path.is_file()), None)


def as_line(*fields: str) -> str:
    """Return a line of a file of pairs or of shared names."""
    return _BARS.join(fields) + "\n"


def read_pairs(path: Path) -> Iterator[Pair]:
    """Read a file of pairs, ours or SapBERT's: plain or gzipped, with or without blanks around the bars.

    Yields:
        The pairs in the order of the file, with the names as written.

    Raises:
        SapbertError: E180 a line is not a pair, E12x the file cannot be read.
    """
    for line, fields in _read_fields(path):
        if len(fields) != len(Pair._fields) or not all(fields):
            raise SapbertError(Errors.E180.format(path=path, line=line, wanted="id||name||name"))
        yield Pair(*fields)


def read_shared_names(path: Path) -> Iterator[SharedName]:
    """Read a file of shared names. `dict` converts them to a mapping from names to ids.

    Yields:
        The shared names in the order of the file.

    Raises:
        SapbertError: E180 a line is not a name with two or more ids, E12x the file cannot be read.
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
    """Return whether a reader would read back the same text. It skips a byte order mark at the start."""
    bars = _BARS in text or text.endswith("|")
    return bool(text) and not bars and not text.startswith("\ufeff") and text == " ".join(text.split())
