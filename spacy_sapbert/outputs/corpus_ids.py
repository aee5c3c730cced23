"""Join the ids of a mention in one field of a corpus format, as our own readers split it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kb.ids import encode_id
from ..types import NIL

NO_ID = "-"
_BLANKS = dict.fromkeys(map(ord, "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), " ")


def joined_ids(entity: Mapping[str, Any]) -> str:
    """Return the ids of a mention, joined by `|`, or `-` if there are none.

    Separators inside an id become codes (see `encode_id`). The id that another component set may itself be a list, so
    it is not encoded.
    """
    if entity["links"] or entity["kb_id"] in ("", NIL):
        linked = dict.fromkeys(link["concept_id"] for link in entity["links"] if link["concept_id"])
        return "|".join(map(encode_id, linked)) or NO_ID
    return str(entity["kb_id"]).translate(_BLANKS)
