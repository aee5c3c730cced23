"""Read vocabulary files (UMLS, MeSH, OBO, MedDRA, tables and more) into `Record`s, with one reader per format."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import Errors, SapbertError
from ...files import without_gz
from ...types import Record
from ..languages import language_tag
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
"""A function that takes a `ReaderContext` and, by keyword, the options of its format, and yields records."""

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
"""The readers by format."""

_BY_SUFFIX = {".obo": "obo", ".jsonl": "scispacy", ".csv": "table", ".asc": "meddra", ".rrf": "umls", ".nlm": "umls"}
_RDF = (".owl", ".owx", ".ofn", ".omn", ".rdf", ".ttl")


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
        SapbertError: E124 if the format cannot be guessed; E125 if it is unknown; E126 if it has no such option; E193
            if the language is no tag. While reading: E120 to E123 if the file cannot be read; E127 if a row is broken
            and `strict` is set; and the errors of the reader.
    """
    path = Path(path)
    format = format or guess_format(path)
    if format not in READERS:
        raise SapbertError(Errors.E125.format(format=format, formats=_format_list()))
    _check_options(format, options)
    named = source or without_gz(path).stem
    context = ReaderContext(path, named, tuple(types), id_prefix, encoding, strict, report, language_tag(language))
    return _count_records(READERS[format](context, **options), report)


def guess_format(path: Path) -> str:
    """Guess the format from the name of the file, or else from its beginning.

    Raises:
        SapbertError: E124 if they do not show the format; E163 if the file is RDF; E164 if it holds mappings; E120 if
            it cannot be read.
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
        raise SapbertError(Errors.E124.format(path=path, formats=_format_list()))
    return format


def _format_of_folder(path: Path) -> str:
    if any(file.name.lower() == "pt.asc" for file in path.iterdir()):
        return "meddra"
    umls_patterns = ("MRCONSO.RRF*", "META/MRCONSO.RRF*", "*/META/MRCONSO.RRF*", "*.nlm", "*/*.nlm")
    if any(True for pattern in umls_patterns for _ in path.glob(pattern)):
        return "umls"
    raise SapbertError(Errors.E124.format(path=path, formats=_format_list()))


def _check_options(format: str, options: dict[str, Any]) -> None:
    parameters = inspect.signature(READERS[format]).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            message = Errors.E126.format(format=format, option=option, options=", ".join(known) or "none")
            raise SapbertError(message)


def _count_records(records: Iterator[Record], report: ReadReport) -> Iterator[Record]:
    for record in records:
        report.records += 1
        report.names += len(record.names)
        yield record


def _format_list() -> str:
    return ", ".join(sorted(READERS))
