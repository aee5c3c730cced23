"""Detect the format of `.json` and `.tsv` files from their beginning."""

from __future__ import annotations

from pathlib import Path

from ...errors import Errors, SapbertError
from ...files import open_text
from .babelon import is_babelon
from .discovered import is_discovered

_SSSOM = {"subject_id", "predicate_id", "object_id"}


def sniff_json(path: Path) -> str | None:
    """Return "obograph" for a JSON object, "json" for a list, else None."""
    return {"{": "obograph", "[": "json"}.get(_read_head(path).lstrip()[:1])


def sniff_tsv(path: Path) -> str:
    """Return "babelon" or "discovered" if the columns are those of translations or new names, else "table".

    Raises:
        SapbertError: E164 if the columns or the file name are those of mappings.
    """
    lines = _read_head(path).split("\n") if path.is_file() else []
    columns = next((line.split("\t") for line in lines if not line.startswith("#")), [])
    if ".sssom." in path.name.lower() or _SSSOM.issubset(columns):
        raise SapbertError(Errors.E164.format(path=path))
    if is_babelon(columns):
        return "babelon"
    return "discovered" if is_discovered(columns) else "table"


def _read_head(path: Path) -> str:
    # every byte is a character in Latin-1, so this works before the encoding is known
    with open_text(path, encoding="latin-1") as file:
        return file.read(1 << 16).removeprefix("\u00ef\u00bb\u00bf")
