"""A concept as one text: all its names and its definition (Shao et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterable

SEPARATOR = "; "


def concept_text(names: Iterable[str], definition: str | None = None) -> str:
    """Return the l2_normalized names, each once, and the definition."""
    forms = dict.fromkeys(form for name in names if (form := normal_name(name)))
    return SEPARATOR.join([*forms, *([definition] if definition else [])])


def normal_name(name: str) -> str:
    """Lower-case without hyphens and commas, blanks folded, and inversions turned round: "Neoplasm, Breast" is
    "breast neoplasm". A name with several commas is a list as often as an inversion, and keeps its order."""
    head, comma, rest = name.partition(", ")
    turned = f"{rest} {head}" if comma and ", " not in rest else name
    return " ".join(turned.lower().replace("-", " ").replace(",", " ").split())
