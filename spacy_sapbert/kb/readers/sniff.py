"""Detect the formats of folders and zip files from their files, and those of other files from their beginning."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import Errors, SapbertError
from ...files.opening import open_text
from .babelon import is_babelon
from .discovered import is_discovered
from .icd10cm import ROOT
from .loinc import is_loinc, loinc_table
from .snomed import is_snomed
from .umls.packed import readable

_UMLS = ("MRCONSO.RRF*", "META/MRCONSO.RRF*", "*/META/MRCONSO.RRF*", "*.nlm", "*/*.nlm")
_RXNORM = ("RXNCONSO.RRF*", "rrf/RXNCONSO.RRF*", "*/rrf/RXNCONSO.RRF*")
# at most in a folder of releases, since a deeper search could read the whole disk
_SNOMED = tuple("*/" * depth + "*sct2_Concept_*" for depth in range(5))
# The first element that is neither a declaration nor a comment.
_ROOT_ELEMENT = re.compile(r"<(?P<name>[A-Za-z_][\w.:-]*)")
_SSSOM = {"subject_id", "predicate_id", "object_id"}


def sniff_folder(path: Path) -> str | None:
    """Return the format of a folder, else None."""
    if any(file.name.lower() == "pt.asc" for file in path.iterdir()):
        return "meddra"
    for format, patterns in {"umls": _UMLS, "rxnorm": _RXNORM}.items():
        if any(True for pattern in patterns for _ in path.glob(pattern)):
            return format
    if is_snomed(str(file) for pattern in _SNOMED for file in path.glob(pattern)):
        return "snomed"
    return "loinc" if loinc_table(path) else None


def sniff_zip(path: Path) -> str | None:
    """Return "snomed", "rxnorm" or "umls" by the names in the archive, else None.

    Raises:
        SapbertError: E120, E143 or E144 if the archive cannot be read.
    """
    if not path.is_file():
        return None
    with readable(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if is_snomed(iter(names)):
        return "snomed"
    return "rxnorm" if _has(names, "RXNCONSO.RRF") else "umls" if _has(names, "MRCONSO.RRF", ".nlm") else None


def _has(names: Sequence[str], *ends: str) -> bool:
    return any(name.upper().endswith(tuple(end.upper() for end in ends)) for name in names)


def sniff_xml(path: Path) -> str | None:
    """Return "icd10cm" or "rdf" by the root element, else None."""
    found = _ROOT_ELEMENT.search(_read_head(path))
    name = found["name"] if found else ""
    return "icd10cm" if name == ROOT else "rdf" if name.rpartition(":")[2] == "RDF" else None


def sniff_csv(path: Path) -> str:
    """Return "loinc" if the columns are those of LOINC, else "table"."""
    header = _read_head(path).partition("\n")[0] if path.is_file() else ""
    return "loinc" if is_loinc(header) else "table"


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
