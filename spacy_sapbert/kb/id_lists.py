"""Read and write a list of concept ids, one per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files.opening import open_text
from .ids import NO_ID, canonical_id

_ONE_ID = re.compile(r"[^\s|+,;]+")


def read_labels(path: Path) -> list[str]:
    """Read concept ids, one per line. Empty lines are skipped.

    Returns:
        The ids in canonical form, each once, in the order of the file.

    Raises:
        SapbertError: E632 if there is no id; E633 if a line is not an id; E120 to E122 if the file cannot be read.
    """
    labels: dict[str, None] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            label = canonical_id(line)
            if label and (label in NO_ID or not _ONE_ID.fullmatch(label)):
                raise SapbertError(Errors.E633.format(path=path, line=number, text=repr(line.strip())))
            if label:
                labels[label] = None
    if not labels:
        raise SapbertError(Errors.E632.format(path=path))
    return list(labels)


def write_labels(ids: Sequence[str], path: Path) -> None:
    path.write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")
