"""The types of a mention: its label, or several in one, as MedMentions writes those of UMLS (`T116,T123`)."""

from __future__ import annotations

from collections.abc import Collection


def types_of(label: str) -> tuple[str, ...]:
    """Return the types that a label names, each once."""
    return tuple(dict.fromkeys(name.strip() for name in label.split(",") if name.strip()))


def has_type(label: str, types: Collection[str]) -> bool:
    """Whether a label names one of the types."""
    return any(name in types for name in types_of(label))
