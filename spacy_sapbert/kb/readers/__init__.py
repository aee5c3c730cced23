"""Read vocabulary files (UMLS, MeSH, OBO, MedDRA, tables and more) into `Record`s, with one reader per format.

The format is guessed from the name, from the files in a folder or archive, or from the beginning.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

from ...errors import ChoiceError, Errors, OptionError, SapbertError
from ...files.opening import check_encoding, open_text, reading, without_gz
from ...types import Record
from ..ids import language_tag
from .classifications import read_claml, read_icd10cm, read_meddra
from .context import ReaderContext, ReadReport
from .json_files import read_fhir, read_json, read_scispacy
from .known_tables import (
    is_unii,
    known_table,
    loinc_table,
    read_babelon,
    read_belb,
    read_biosyn,
    read_ctd,
    read_discovered,
    read_huner,
    read_loinc,
    read_medic,
    read_ssslm,
    read_unii,
)
from .mesh import ASCII_START, read_mesh
from .obo import read_obo, read_obograph
from .omop import read_omop
from .rdf import read_rdf
from .rrf import readable
from .snomed import is_snomed, read_snomed
from .table import read_table
from .umls import read_rxnorm, read_umls

__all__ = ["READERS", "ReadReport", "Reader", "ReaderContext", "guess_format", "read_vocabulary"]

Reader = Callable[..., Iterator[Record]]
"""A function that takes a `ReaderContext` and, by keyword, the options of its format, and yields records."""

_READERS = (
    *(read_babelon, read_belb, read_biosyn, read_claml, read_ctd, read_discovered, read_fhir, read_huner),
    *(read_icd10cm, read_json, read_loinc, read_meddra, read_medic, read_mesh, read_obo, read_obograph),
    *(read_omop, read_rdf, read_rxnorm, read_scispacy, read_snomed, read_ssslm, read_table, read_umls, read_unii),
)
_NAMES = map(methodcaller("removeprefix", "read_"), map(attrgetter("__name__"), _READERS))
READERS: dict[str, Reader] = dict(zip(_NAMES, _READERS, strict=True))
"""The readers by format."""

_SIGNS: dict[str, Any] = json.loads(Path(__file__).with_name("formats.json").read_bytes())
"""What shows a format: the beginning of a name, the suffix, keys of JSON, the root of XML, the files of a folder.

Of a table, it is the columns: by suffix, the delimiter and the formats that it may have.
"""
# at most in a folder of releases, since a deeper search could read the whole disk
_SNOMED = ("", "*/", "*/*/", "*/*/*/", "*/*/*/*/")
# The first element that is neither a declaration nor a comment.
_ROOT_ELEMENT = re.compile(r"<(?P<name>[A-Za-z_][\w.:-]*)")
_SSSOM = {"subject_id", "predicate_id", "object_id"}
_BY_SUFFIX: dict[str, str] = _SIGNS["suffixes"]
_OBO_STARTS = ("format-version:", "[Term]")  # in files that are named .owl


def read_vocabulary(
    path: Path,
    format: str | None = None,
    *,
    report: ReadReport,
    source: str | None = None,
    language: str = "",
    types: Sequence[str] = (),
    id_prefix: str | None = None,
    encoding: str = "utf-8",
    strict: bool = False,
    **options: Any,
) -> Iterator[Record]:
    """Read a vocabulary file, record by record.

    Args:
        path: The file, plain or gzipped.
        format: One of `READERS`. If None, it is guessed from the file.
        report: Counts what is read, kept and dropped while the records are read.
        source: Name of the vocabulary. Default: the file name without its extensions.
        language: Language of the names whose language the file does not give, as a BCP 47 tag. Empty if it is unknown.
        types: Semantic types for the concepts that have none in the file.
        id_prefix: Prefix of ids that are bare numbers ("NCBIGene"). For MEDIC, the default is "OMIM".
        encoding: Encoding of text files, as Python names it.
        strict: Raise an error at the first broken row. Otherwise, broken rows are counted and skipped.
        **options: Keyword options of the reader, e.g. `columns` of `table`.

    Returns:
        The records, in the order of the file. Several records may belong to one concept.

    Raises:
        SapbertError: E124 the format cannot be guessed.
        ChoiceError: There is no such format.
        OptionError: The format has no such option, or there is no such encoding.
        CannotReadError: The file cannot be read, now or while the records are read.
        BadRecordError: A row is broken and `strict` is set.
    """
    path = Path(path)
    format = format or guess_format(path)
    if format not in READERS:
        raise ChoiceError(given=format, what="vocabulary format", choices=sorted(READERS))
    parameters = inspect.signature(READERS[format]).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            reason = f"the format {format} has the options: {', '.join(known) or 'none'}"
            raise OptionError(option=f"The option {option}", reason=reason)
    check_encoding(path, encoding)
    context = ReaderContext(
        path,
        report,
        encoding,
        strict,
        source=source or without_gz(path).stem,
        types=tuple(types),
        id_prefix=id_prefix,
        language=language_tag(language),
    )
    return _count_records(READERS[format](context, **options), report)


def _count_records(records: Iterator[Record], report: ReadReport) -> Iterator[Record]:
    for record in records:
        report.records += 1
        report.names += len(record.names)
        yield record


def guess_format(path: Path) -> str:
    """Guess the format of a vocabulary from its name, from the files in it, or from its beginning.

    Raises:
        CannotReadError: The file is not there or cannot be read.
        DamagedError: It is a broken zip file.
        SapbertError: E124 the format is not clear; E163 it is OWL, but not RDF; E164 it holds mappings.
    """
    format = _sniff(path)
    if not format:
        with reading(path):
            path.stat()
        raise SapbertError(Errors.E124.format(path=path, formats=", ".join(sorted(READERS))))
    return format


def _sniff(path: Path) -> str | None:
    """Return the format of a file or folder, else None. For some formats, the file need not exist."""
    name, suffix = path.name.lower(), without_gz(path).suffix.lower()
    if os.path.isdir(path):
        return _folder_format(path)
    if known := next((format for start, format in _SIGNS["names"].items() if name.startswith(start)), None):
        return str(known)
    if syntax := _SIGNS["not rdf"].get(suffix):
        raise SapbertError(Errors.E163.format(path=path, syntax=syntax))
    if suffix == ".zip":
        return _zip_format(path)
    head = ""
    if suffix in _SIGNS["read"] and os.path.exists(path):
        # every byte is a character in Latin-1, so this works before the encoding is known
        with open_text(path, encoding="latin-1") as file:
            head = file.read(1 << 16).removeprefix("\u00ef\u00bb\u00bf")
    if suffix in _BY_SUFFIX:
        return "obo" if head.lstrip().startswith(_OBO_STARTS) else _BY_SUFFIX[suffix]
    if suffix in _SIGNS["tables"]:
        return _table_format(path, head, *_SIGNS["tables"][suffix])
    if suffix in (".json", ".jsonl"):
        in_head = (format for key, format in _SIGNS["keys"].items() if f'"{key}"' in head)
        others = {"{": "obograph", "[": "json"}.get(head.lstrip()[:1])
        return next(in_head, "scispacy" if suffix == ".jsonl" else others)
    return _xml_format(head)


def _folder_format(path: Path) -> str | None:
    if any(file.name.lower() == "pt.asc" for file in path.iterdir()):
        return "meddra"
    folders: dict[str, list[str]] = _SIGNS["folders"]
    for format, patterns in folders.items():
        if any(True for pattern in patterns for _ in path.glob(pattern)):
            return format
    if is_snomed(str(file) for folder in _SNOMED for file in path.glob(f"{folder}*sct2_Concept_*")):
        return "snomed"
    return "loinc" if loinc_table(path) else None


def _zip_format(path: Path) -> str | None:
    with readable(path), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if is_snomed(iter(names)):
        return "snomed"
    if any(is_unii(Path(name).name) for name in names):
        return "unii"
    return "rxnorm" if _has(names, "RXNCONSO.RRF") else "umls" if _has(names, "MRCONSO.RRF") else None


def _has(names: Sequence[str], end: str) -> bool:
    return any(name.upper().removesuffix(".GZ").endswith(end) for name in names)


def _xml_format(head: str) -> str | None:
    root = _ROOT_ELEMENT.search(head)
    name = root["name"] if root else ""
    if head.lstrip().startswith(ASCII_START):
        return "mesh"
    roots: dict[str, str] = _SIGNS["roots"]
    return roots.get(name) or ("rdf" if name.rpartition(":")[2] == "RDF" else None)


def _table_format(path: Path, head: str, delimiter: str, *formats: str) -> str:
    header = next((line for line in head.split("\n") if not line.startswith("#")), "")
    columns = [cell.strip().strip('"') for cell in header.split(delimiter)]
    if ".sssom." in path.name.lower() or _SSSOM.issubset(columns):
        raise SapbertError(Errors.E164.format(path=path))
    return known_table(columns, *formats)
