"""Read vocabulary files (UMLS, MeSH, OBO, MedDRA, tables and more) into `Record`s, with one reader per format."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import ChoiceError, Errors, OptionError, SapbertError
from ...files.opening import check_encoding, reading, without_gz
from ...types import Record
from ..languages import language_tag
from .babelon import read_babelon
from .context import ReaderContext, ReadReport
from .ctd import read_ctd
from .dictionaries import read_biosyn, read_huner, read_medic
from .discovered import read_discovered
from .icd10cm import read_icd10cm
from .json_list import read_json
from .loinc import read_loinc
from .meddra import read_meddra
from .obo import read_obo
from .obograph import read_obograph
from .rdf import read_rdf
from .scispacy import read_scispacy
from .sniff import sniff
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


def guess_format(path: Path) -> str:
    """Guess the format of a vocabulary from its name, from the files in it, or from its beginning.

    Raises:
        CannotReadError: The file is not there or cannot be read.
        DamagedError: It is a broken zip file.
        SapbertError: E124 the format is not clear; E163 it is OWL, but not RDF; E164 it holds mappings.
    """
    format = sniff(path)
    if not format:
        with reading(path):
            path.stat()
        raise SapbertError(Errors.E124.format(path=path, formats=", ".join(sorted(READERS))))
    return format


def _count_records(records: Iterator[Record], report: ReadReport) -> Iterator[Record]:
    for record in records:
        report.records += 1
        report.names += len(record.names)
        yield record
