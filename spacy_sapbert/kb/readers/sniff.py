"""Guess the format of a vocabulary from its name, from the files in it, or from its beginning."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ...errors import Errors, SapbertError
from ...files.opening import open_text, without_gz
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
_BY_SUFFIX = {".obo": "obo", ".jsonl": "scispacy", ".asc": "meddra", ".rrf": "umls", ".nlm": "umls"}
_BY_SUFFIX |= dict.fromkeys((".owl", ".rdf", ".ttl", ".nt", ".nq", ".trig"), "rdf")
_NOT_RDF = {".owx": "OWL/XML", ".ofn": "OWL functional syntax", ".omn": "Manchester syntax"}


def sniff(path: Path) -> str | None:
    """Return the format of a file or folder, else None. For some formats, the file need not exist."""
    name, suffix = path.name.lower(), without_gz(path).suffix.lower()
    if os.path.isdir(path):
        return _folder_format(path)
    if name.startswith(("ctd_diseases.", "ctd_chemicals.")):
        return "ctd"
    if name.startswith("rxnconso.rrf"):
        return "rxnorm"
    if suffix in _NOT_RDF:
        raise SapbertError(Errors.E163.format(path=path, syntax=_NOT_RDF[suffix]))
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if suffix == ".zip":
        return _zip_format(path)
    head = ""
    if suffix in (".csv", ".json", ".tab", ".tsv", ".xml") and os.path.exists(path):
        # every byte is a character in Latin-1, so this works before the encoding is known
        with open_text(path, encoding="latin-1") as file:
            head = file.read(1 << 16).removeprefix("\u00ef\u00bb\u00bf")
    if suffix == ".csv":
        return "loinc" if is_loinc(head.partition("\n")[0]) else "table"
    if suffix == ".json":
        return {"{": "obograph", "[": "json"}.get(head.lstrip()[:1])
    if suffix in (".tab", ".tsv"):
        return _tsv_format(path, head)
    return _xml_format(head)


def _folder_format(path: Path) -> str | None:
    if any(file.name.lower() == "pt.asc" for file in path.iterdir()):
        return "meddra"
    for format, patterns in {"umls": _UMLS, "rxnorm": _RXNORM}.items():
        if any(True for pattern in patterns for _ in path.glob(pattern)):
            return format
    if is_snomed(str(file) for pattern in _SNOMED for file in path.glob(pattern)):
        return "snomed"
    return "loinc" if loinc_table(path) else None


def _zip_format(path: Path) -> str | None:
    with readable(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if is_snomed(iter(names)):
        return "snomed"
    return "rxnorm" if _has(names, "RXNCONSO.RRF") else "umls" if _has(names, "MRCONSO.RRF", ".NLM") else None


def _has(names: Sequence[str], *ends: str) -> bool:
    return any(name.upper().endswith(ends) for name in names)


def _xml_format(head: str) -> str | None:
    root = _ROOT_ELEMENT.search(head)
    name = root["name"] if root else ""
    return "icd10cm" if name == ROOT else "rdf" if name.rpartition(":")[2] == "RDF" else None


def _tsv_format(path: Path, head: str) -> str:
    columns = next((line.split("\t") for line in head.split("\n") if not line.startswith("#")), [])
    if ".sssom." in path.name.lower() or _SSSOM.issubset(columns):
        raise SapbertError(Errors.E164.format(path=path))
    if is_babelon(columns):
        return "babelon"
    return "discovered" if is_discovered(columns) else "table"
