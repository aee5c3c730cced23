"""Formats told by the beginning of a file, where names such as `.json` and `.tsv` leave several open."""

from __future__ import annotations

from pathlib import Path

from ...errors import Errors, SapbertError
from ...files import open_text
from .babelon import is_babelon
from .discovered import is_discovered

_SSSOM = {"subject_id", "predicate_id", "object_id"}


def sniff_json(path: Path) -> str | None:
    """Return "obograph" for an object, "json" for a list."""
    return {"{": "obograph", "[": "json"}.get(_beginning(path).lstrip()[:1])


def sniff_tsv(path: Path) -> str:
    """Return "babelon" or "discovered" where the columns are those of translations or new names, else "table".

    Raises:
        SapbertError: E164 they, or the file's name, are those of mappings.
    """
    lines = _beginning(path).split("\n") if path.is_file() else []
    columns = next((line.split("\t") for line in lines if not line.startswith("#")), [])
    if ".sssom." in path.name.lower() or _SSSOM.issubset(columns):
        raise SapbertError(Errors.E164.format(path=path))
    if is_babelon(columns):
        return "babelon"
    return "discovered" if is_discovered(columns) else "table"


def _beginning(path: Path) -> str:
    # in Latin-1 every byte is a character, so the question of the encoding is left to the reader
    with open_text(path, encoding="latin-1") as file:
        return file.read(1 << 16).removeprefix("\u00ef\u00bb\u00bf")
