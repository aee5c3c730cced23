"""The catalog of the vocabularies that `spacy-sapbert kb get` can fetch. Its data is in `catalog.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError
from ..files.opening import open_text

LATEST = "latest"
"""The release of an entry whose address always gives the newest one."""

_MAX_LIKE = 5
_HEADER_LINES = 200
_VERSION = "data-version:"


@dataclass(frozen=True)
class Entry:
    """A vocabulary of the catalog.

    Attributes:
        name: The name for `kb get`.
        title: The full name.
        purpose: What the vocabulary is for.
        home: The page of its provider.
        license: The license of the vocabulary.
        release: The release, or `LATEST`.
        address: The address of the file. Empty if no address is free.
        sha256: The checksum of the unpacked file, if the release is fixed.
        size: The size of the download in MB, roughly. 0 if there is no address.
        options: The options of `kb build`, as the command line names them, with `_` instead of `-`.
        instead: What to do if there is no address.
    """

    name: str
    title: str
    purpose: str
    home: str
    license: str
    release: str
    address: str = ""
    sha256: str | None = None
    size: float = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    instead: str = ""

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.address.rpartition("/")[2]


@cache
def read_catalog() -> Mapping[str, Entry]:
    """Return the entries by name, in the order of the file."""
    import srsly

    entries = srsly.read_yaml(Path(__file__).with_suffix(".yaml"))
    return {name: Entry(name, **values) for name, values in entries.items()}


def find_entry(name: str) -> Entry:
    """Return an entry that can be fetched.

    Raises:
        SapbertError: E110 there is no such entry; E111 it has no free address.
    """
    entry = read_catalog().get(name.strip().lower())
    if entry is None:
        raise SapbertError(Errors.E110.format(name=name, like=", ".join(_like(name)) or "none"))
    if not entry.address:
        raise SapbertError(Errors.E111.format(name=entry.name, license=entry.license, instead=entry.instead))
    return entry


def _like(name: str) -> list[str]:
    """Return the names that are spelled alike, and those whose title or purpose contains the text."""
    catalog, text = read_catalog(), name.strip().lower()
    described = [entry.name for entry in catalog.values() if text and text in f"{entry.title} {entry.purpose}".lower()]
    parts = [other for other in catalog if other.startswith(text) or text.startswith(other)] if text else []
    return [*dict.fromkeys([*get_close_matches(text, catalog), *parts, *described])][:_MAX_LIKE]


def release_in(path: Path) -> str | None:
    """Return the release that the header of an OBO file states; None for other files."""
    with open_text(path) as lines:
        # a file of another format can be one long line
        for line in islice(iter(lambda: lines.readline(1000), ""), _HEADER_LINES):
            if line.startswith("["):
                break
            if line.startswith(_VERSION):
                return line.removeprefix(_VERSION).strip().removeprefix("releases/") or None
    return None
