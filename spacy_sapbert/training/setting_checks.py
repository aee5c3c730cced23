"""Check training settings."""

from __future__ import annotations

from typing import Any

from ..errors import Errors, SapbertError


def check_counts(**counts: int | None) -> None:
    """Check that counts are whole numbers above 0, or None.

    Raises:
        SapbertError: E335 one of them is not.
    """
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise SapbertError(Errors.E335.format(name=name, value=count, wanted="1 or more"))


def check_rules(settings: Any, *rules: tuple[str, bool, str]) -> None:
    """Check settings by rules: the name of an attribute, whether its value is allowed, and the allowed values.

    Raises:
        SapbertError: E335 a value is not allowed.
    """
    for name, holds, wanted in rules:
        if not holds:
            raise SapbertError(Errors.E335.format(name=name, value=getattr(settings, name), wanted=wanted))
