"""Check training settings."""

from __future__ import annotations

from ..errors import Errors, SapbertError


def check_counts(**counts: int | None) -> None:
    """Check that counts are whole numbers above 0, or None.

    Raises:
        SapbertError: E335 one of them is not.
    """
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise SapbertError(Errors.E335.format(name=name, value=count, wanted="1 or more"))
