"""Read vocabulary files (UMLS, MeSH, OBO, MedDRA, tables and more) into `Record`s, with one reader per format."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import Errors, SapbertError
from ...files.opening import check_encoding, without_gz
from ...types import Record
from ..languages import language_tag
from .babelon import read_babelon
from .biosyn import read_biosyn
from .context import ReaderContext
from .ctd import read_ctd
from .discovered import read_discovered
from .huner import read_huner
from .icd10cm import read_icd10cm
from .json_list import read_json
from .loinc import read_loinc
from .meddra import read_meddra
from .medic import read_medic
from .obo import read_obo
from .obograph import read_obograph
from .rdf import read_rdf
from .report import ReadReport
from .scispacy import read_scispacy
from .sniff import sniff_csv, sniff_folder, sniff_json, sniff_tsv, sniff_xml, sniff_zip
from .snomed import read_snomed
from .table import read_table
from .umls import read_rxnorm, read_umls

__all__ = ["READERS", "ReadReport", "Reader", "ReaderContext", "guess_format", "read_vocabulary"]

Reader = Callable[..., Iterator[Record]]
"""A function that takes a `ReaderContext` and, by keyword, the options of its format, and yields records."""

READERS: dict[str, Reader] = {
    "babelon": read_babelon,
    "biosyn": read_biosyn,
    "ctd": read_ctd,
    "discovered": read_discovered,
    "huner": read_huner,
    "icd10cm": read_icd10cm,
    "json": read_json,
    "loinc": read_loinc,
    "meddra": read_meddra,
    "medic": read_medic,
    "obo": read_obo,
    "obograph": read_obograph,
    "rdf": read_rdf,
    "rxnorm": read_rxnorm,
    "scispacy": read_scispacy,
    "snomed": read_snomed,
    "table": read_table,
    "umls": read_umls,
}
"""The readers by format."""

_BY_SUFFIX = {".obo": "obo", ".jsonl": "scispacy", ".asc": "meddra", ".rrf": "umls", ".nlm": "umls"}
_BY_SUFFIX |= dict.fromkeys((".owl", ".rdf", ".ttl", ".nt", ".nq", ".trig"), "rdf")
_SNIFFED = {
    ".csv": sniff_csv,
    ".json": sniff_json,
    ".tab": sniff_tsv,
    ".tsv": sniff_tsv,
    ".xml": sniff_xml,
    ".zip": sniff_zip,
}
_NOT_RDF = {".owx": "OWL/XML", ".ofn": "OWL functional syntax", ".omn": "Manchester syntax"}


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
    check_encoding(path, encoding)
    context = ReaderContext(
        path,
        report,
        encoding,
        strict,
        source=named,
        types=tuple(types),
        id_prefix=id_prefix,
        language=language_tag(language),
    )
    return _count_records(READERS[format](context, **options), report)


def guess_format(path: Path) -> str:
    """Guess the format from the name of the file, or else from its beginning.

    Raises:
        SapbertError: E124 if they do not show the format; E163 if it is OWL, but not RDF; E164 if it holds mappings;
            E120 if it does not exist or cannot be read; E143 or E144 if it is a broken zip file.
    """
    suffix = without_gz(path).suffix.lower()
    if path.is_dir():
        format = sniff_folder(path)
    elif path.name.lower().startswith(("ctd_diseases.", "ctd_chemicals.")):
        format = "ctd"
    elif path.name.lower().startswith("rxnconso.rrf"):
        format = "rxnorm"
    elif suffix in _NOT_RDF:
        raise SapbertError(Errors.E163.format(path=path, syntax=_NOT_RDF[suffix]))
    else:
        format = _SNIFFED[suffix](path) if suffix in _SNIFFED else _BY_SUFFIX.get(suffix)
    if not format and not path.exists():
        raise SapbertError(Errors.E120.format(path=path, reason=os.strerror(errno.ENOENT)))
    if not format:
        raise SapbertError(Errors.E124.format(path=path, formats=_format_list()))
    return format


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
