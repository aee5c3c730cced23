"""Options that hold two values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import Errors, SapbertError


def split_pairs(option: str, pairs: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Split what an option was given, each time, at its first `=`.

    RAISES (SapbertError): E532 one of the two values is missing.
    """
    for pair in pairs or []:
        left, _, right = pair.partition("=")
        if not left or not right:
            raise SapbertError(Errors.E532.format(option=option, given=pair))
        yield left, right
