"""Split the label of a mention into its types, since MedMentions joins several UMLS types (`T116,T123`)."""

from __future__ import annotations

from collections.abc import Collection


def types_of(label: str) -> tuple[str, ...]:
    """Return the types in a label, each once."""
    return tuple(dict.fromkeys(name.strip() for name in label.split(",") if name.strip()))


def has_type(label: str, types: Collection[str]) -> bool:
    """Return whether a label contains one of the types."""
    return any(name in types for name in types_of(label))
