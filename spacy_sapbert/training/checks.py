"""Settings that make no sense."""

from __future__ import annotations

from ..errors import Errors, SapbertError


def check_counts(**counts: int | None) -> None:
    """Raise SapbertError: E335 one of them is given and is no whole number above 0."""
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise SapbertError(Errors.E335.format(name=name, value=count, wanted="1 or more"))
