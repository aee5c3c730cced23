"""A list of concepts: the ids that a task names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files import open_text
from .ids import canonical_id


def read_labels(path: Path) -> list[str]:
    """Read ids, one a line; empty lines are left out.

    RETURNS (list[str]): in canonical form, each once, in the order of the file.
    RAISES (SapbertError): E120 to E122 the file cannot be read, E644 a line with a blank in its id, or no id at all.
    """
    ids: dict[str, None] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            one = canonical_id(line)
            if len(one.split()) > 1:
                raise SapbertError(Errors.E644.format(path=path, line=number, reason=f"'{one}' is no id"))
            if one:
                ids[one] = None
    if not ids:
        raise SapbertError(Errors.E644.format(path=path, line=1, reason="there is no id"))
    return list(ids)


def write_labels(ids: Sequence[str], path: Path) -> None:
    path.write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")
