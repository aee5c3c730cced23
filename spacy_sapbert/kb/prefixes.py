"""The table of id prefixes: other spellings, web addresses that stand for ids, and pages of concepts.

`prefixes.json` holds data of Bioregistry (CC0 1.0). `scripts/prefixes.py` makes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ENDS = "/#_=:"
_OTHER_PARTS = "/#?&=_"


@dataclass(frozen=True)
class Prefixes:
    """The table.

    Attributes:
        spelled: The canonical prefix by each of its spellings in lower case.
        addresses: The canonical prefix by the beginning of a web address, without the scheme and `www.`.
        pages: The address of a concept's page by canonical prefix. `$1` stands for the id without the prefix.
        longest: The length of the longest address.
    """

    spelled: dict[str, str]
    addresses: dict[str, str]
    pages: dict[str, str]
    longest: int

    def of_address(self, address: str) -> str | None:
        """Return the CURIE of a web address without the scheme; None if the table does not have it.

        The end of the address must look like an id: with a digit, and without the signs of another part.
        """
        for start in range(min(len(address), self.longest), 0, -1):
            if address[start - 1] in _ENDS and (prefix := self.addresses.get(address[:start])):
                local = address[start:]
                return f"{prefix}:{local}" if _is_local(local) else None
        return None


@cache
def prefixes() -> Prefixes:
    """Return the table. The first call reads it, in a few milliseconds."""
    table = json.loads(Path(__file__).with_suffix(".json").read_bytes())["prefixes"]
    spelled = {prefix.lower(): prefix for prefix in table}
    spelled |= {text: prefix for prefix, about in table.items() for text in about["synonyms"]}
    addresses = {address: prefix for prefix, about in table.items() for address in about["addresses"]}
    pages = {prefix: about["page"] for prefix, about in table.items() if about["page"]}
    return Prefixes(spelled, addresses, pages, max(map(len, addresses)))


def _is_local(text: str) -> bool:
    return any(map(str.isdigit, text)) and not any(sign in text for sign in _OTHER_PARTS)
