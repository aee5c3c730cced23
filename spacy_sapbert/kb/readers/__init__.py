"""Vocabulary files in, `Record`s out: one reader a format."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import Errors, SapbertError
from ...files import without_gz
from ...types import Record
from .babelon import read_babelon
from .biosyn import read_biosyn
from .context import ReaderContext
from .ctd import read_ctd
from .discovered import read_discovered
from .huner import read_huner
from .json_list import read_json
from .meddra import read_meddra
from .medic import read_medic
from .obo import read_obo
from .obograph import read_obograph
from .report import ReadReport
from .scispacy import read_scispacy
from .sniff import sniff_json, sniff_tsv
from .table import read_table
from .umls import read_umls

__all__ = ["READERS", "ReadReport", "Reader", "ReaderContext", "guess_format", "read_vocabulary"]

Reader = Callable[..., Iterator[Record]]
"""A reader takes a `ReaderContext` and, by keyword, the options of its format."""

READERS: dict[str, Reader] = {
    "babelon": read_babelon,
    "biosyn": read_biosyn,
    "ctd": read_ctd,
    "discovered": read_discovered,
    "huner": read_huner,
    "json": read_json,
    "meddra": read_meddra,
    "medic": read_medic,
    "obo": read_obo,
    "obograph": read_obograph,
    "scispacy": read_scispacy,
    "table": read_table,
    "umls": read_umls,
}
"""The readers, by the name of their format."""

_BY_SUFFIX = {".obo": "obo", ".jsonl": "scispacy", ".csv": "table", ".asc": "meddra", ".rrf": "umls", ".nlm": "umls"}
_RDF = (".owl", ".owx", ".ofn", ".omn", ".rdf", ".ttl")


def read_vocabulary(
    path: Path,
    format: str | None = None,
    *,
    report: ReadReport,
    source: str | None = None,
    types: Sequence[str] = (),
    id_prefix: str | None = None,
    encoding: str = "utf-8",
    strict: bool = False,
    **options: Any,
) -> Iterator[Record]:
    """Read a vocabulary file, record by record.

    Args:
        path: the file, plain or gzipped.
        format: one of `READERS`; guessed where the file's name tells it.
        report: counts what is read, kept and dropped, while the records are taken.
        source: name of the vocabulary; by default the file's name without its endings.
        types: semantic types for the concepts to which the file gives none.
        id_prefix: prefix of ids that are written as bare numbers ("NCBIGene"); MEDIC's are "OMIM" anyway.
        encoding: of text files, one that Python knows.
        strict: raise at the first broken row; else it is counted, and the rest goes on.
        **options: what the reader of the format takes by keyword, e.g. `columns` of `table`.

    Returns:
        the records, in the order of the file. A concept may come in several.

    Raises:
        SapbertError: E124 to E126 the format is not plain, not known, or has no such option; while reading: E120 to
            E123 the file cannot be read, E127 a broken row, and what the reader itself raises.
    """
    path = Path(path)
    format = format or guess_format(path)
    if format not in READERS:
        raise SapbertError(Errors.E125.format(format=format, formats=_formats()))
    _check_options(format, options)
    context = ReaderContext(path, source or without_gz(path).stem, tuple(types), id_prefix, encoding, strict, report)
    return _counted(READERS[format](context, **options), report)


def guess_format(path: Path) -> str:
    """Return the format that the file's name or, where several are so named, its beginning tells.

    Raises:
        SapbertError: E124 they tell none, E163 the file is RDF, E164 it holds mappings; E120 it cannot be read.
    """
    if path.is_dir():
        return _format_of_folder(path)
    if path.name.lower().startswith(("ctd_diseases.", "ctd_chemicals.")):
        return "ctd"
    suffix = without_gz(path).suffix.lower()
    if suffix in _RDF:
        raise SapbertError(Errors.E163.format(path=path))
    if suffix in (".tsv", ".tab"):
        return sniff_tsv(path)
    format = sniff_json(path) if suffix == ".json" else _BY_SUFFIX.get(suffix)
    if not format:
        raise SapbertError(Errors.E124.format(path=path, formats=_formats()))
    return format


def _format_of_folder(path: Path) -> str:
    if any(file.name.lower() == "pt.asc" for file in path.iterdir()):
        return "meddra"
    of_umls = ("MRCONSO.RRF*", "META/MRCONSO.RRF*", "*/META/MRCONSO.RRF*", "*.nlm", "*/*.nlm")
    if any(True for pattern in of_umls for _ in path.glob(pattern)):
        return "umls"
    raise SapbertError(Errors.E124.format(path=path, formats=_formats()))


def _check_options(format: str, options: dict[str, Any]) -> None:
    parameters = inspect.signature(READERS[format]).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            message = Errors.E126.format(format=format, option=option, options=", ".join(known) or "none")
            raise SapbertError(message)


def _counted(records: Iterator[Record], report: ReadReport) -> Iterator[Record]:
    for record in records:
        report.records += 1
        report.names += len(record.names)
        yield record


def _formats() -> str:
    return ", ".join(sorted(READERS))
