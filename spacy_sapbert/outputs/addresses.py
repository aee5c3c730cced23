"""Know the web page of a concept by its id."""

from __future__ import annotations

import re
from urllib.parse import quote

from ..kb.ids import prefixes

# A MeSH id has 6 or 9 digits and a UMLS CUI has 7, so they are never confused.
_BARE = {"MESH": re.compile(r"[CD]\d{6}(?:\d{3})?"), "UMLS": re.compile(r"C\d{7}")}
_CELL_LINE = re.compile(r"CVCL_[A-Z0-9]{4}")
_CELL_LINE_PAGE = "https://www.cellosaurus.org/"


def concept_url(concept_id: str) -> str | None:
    """Return the URL of a concept's web page; None for an id of an unknown vocabulary."""
    prefix, colon, local = concept_id.partition(":")
    if not colon:
        if _CELL_LINE.fullmatch(concept_id):
            return _CELL_LINE_PAGE + concept_id
        local = concept_id
        prefix = next((name for name, pattern in _BARE.items() if pattern.fullmatch(concept_id)), "")
    page = prefixes().pages.get(prefix)
    return page.replace("$1", quote(local, safe="")) if page else None
