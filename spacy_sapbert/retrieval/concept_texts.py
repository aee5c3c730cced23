"""Turn a concept into one text: all its names and its definition (Shao et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterable

SEPARATOR = "; "


def concept_text(names: Iterable[str], definition: str | None = None) -> str:
    """Return the unique names in normal form, and the definition."""
    forms = dict.fromkeys(form for name in names if (form := normal_name(name)))
    return SEPARATOR.join([*forms, *([definition] if definition else [])])


def normal_name(name: str) -> str:
    """Return a name in lower case without hyphens and commas, with single blanks and inversions resolved.

    "Neoplasm, Breast" becomes "breast neoplasm". A name with several commas may be a list, so it keeps its order.
    """
    head, comma, rest = name.partition(", ")
    turned = f"{rest} {head}" if comma and ", " not in rest else name
    return " ".join(turned.lower().replace("-", " ").replace(",", " ").split())
