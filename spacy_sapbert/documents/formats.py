"""Define the input and output formats of `link`, and guess them from file names and first bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files.opening import STDIN, OpenedFile, open_file, without_gz
from ..files.xml import root_tag
from .folders import files_in, is_archive, translated

__all__ = ["STDIN", "InputFormat", "OutputFormat"]

PUBTATOR_TITLE = re.compile(r"[^|\t]+\|t\|")


class InputFormat(str, Enum):
    """The formats of documents, which are the values of `--format`."""

    text = "text"
    lines = "lines"
    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    pubtator = "pubtator"
    bioc = "bioc"
    pubmed = "pubmed"
    jats = "jats"
    spacy = "spacy"
    names = "names"


class OutputFormat(str, Enum):
    """The formats of linked documents, which are the values of `--to`."""

    jsonl = "jsonl"
    tsv = "tsv"
    csv = "csv"
    parquet = "parquet"
    pubtator = "pubtator"
    bioc = "bioc"
    biocjson = "biocjson"
    html = "html"


ANNOTATED = (InputFormat.pubtator, InputFormat.bioc, InputFormat.spacy)
"""The input formats with annotated mentions."""

PASSAGES = (InputFormat.pubtator, InputFormat.bioc)
"""The input formats whose files can have a record for each passage of an article."""

TABLES = (InputFormat.csv, InputFormat.tsv, InputFormat.parquet)
"""The input formats with named columns."""

ARCHIVED = {InputFormat.jats: (".nxml", ".xml"), InputFormat.bioc: (".xml", ".json")}
"""The formats that the files of a tar archive can have, with the endings of these files."""

_INPUT_ENDINGS = {
    InputFormat.text: (".txt",),
    InputFormat.jsonl: (".jsonl", ".ndjson"),
    InputFormat.csv: (".csv",),
    InputFormat.tsv: (".tsv", ".tab"),
    InputFormat.parquet: (".parquet",),
    InputFormat.pubtator: (".pubtator",),
    InputFormat.bioc: (".xml", ".bioc", ".json"),
    InputFormat.jats: (".nxml", ".tar", ".tgz"),
    InputFormat.spacy: (".spacy",),
}
INPUT_SUFFIXES = tuple(ending for endings in _INPUT_ENDINGS.values() for ending in endings)
"""The endings of file names that show a format."""
_OUTPUT_ENDINGS = {
    ".jsonl": OutputFormat.jsonl,
    ".ndjson": OutputFormat.jsonl,
    ".tsv": OutputFormat.tsv,
    ".csv": OutputFormat.csv,
    ".parquet": OutputFormat.parquet,
    ".pubtator": OutputFormat.pubtator,
    ".xml": OutputFormat.bioc,
    ".bioc": OutputFormat.bioc,
    ".bioc.json": OutputFormat.biocjson,
    ".html": OutputFormat.html,
    ".htm": OutputFormat.html,
}
_HEAD_SIZE = 1 << 16


def input_format(path: Path) -> InputFormat:
    """Return the format that a file name shows.

    PubTator files are often named `.txt`, so the first line decides for such files. For `.xml`, the root element
    decides, and for an archive its first article.
    """
    if is_archive(path):
        return _archive_format(path)
    with open_file(path) as opened:
        return opened_format(path, opened)


def opened_format(path: Path, opened: OpenedFile) -> InputFormat:
    """Return the format of an open file by its name and its first bytes, which can still be read."""
    format = suffix_format(path)
    if format is None:
        raise unknown_format(path, [format.value for format in InputFormat])
    if format is InputFormat.text:
        head = opened.stream.peek(_HEAD_SIZE).removeprefix(codecs.BOM_UTF8).lstrip()
        is_pubtator = PUBTATOR_TITLE.match(head.partition(b"\n")[0].decode(errors="replace"))
        return InputFormat.pubtator if is_pubtator else format
    if format is not InputFormat.bioc or without_gz(path).suffix.lower() != ".xml":
        return format
    root = root_tag(opened.stream.peek(_HEAD_SIZE))
    if root == "PubmedArticleSet":
        return InputFormat.pubmed
    return InputFormat.jats if root in ("article", "pmc-articleset", "OAI-PMH") else format


def suffix_format(path: Path) -> InputFormat | None:
    """Return the format that the ending of a file name shows, if any. The file is not read.

    Several formats have the ending `.xml`, which stands for BioC here. See `opened_format`.
    """
    suffix = without_gz(path).suffix.lower()
    return next((format for format, endings in _INPUT_ENDINGS.items() if suffix in endings), None)


def _archive_format(path: Path) -> InputFormat:
    """Return the format of the first article of an archive. Without any, it is JATS."""
    for file in files_in(path, sorted({ending for endings in ARCHIVED.values() for ending in endings})):
        if file.content is not None:
            with translated(path):
                is_bioc = file.name.lower().endswith(".json") or root_tag(file.content.read(_HEAD_SIZE)) == "collection"
            return InputFormat.bioc if is_bioc else InputFormat.jats
    return InputFormat.jats


def output_format(path: Path | None) -> OutputFormat:
    """Return the format that a file name shows. Standard output, a device and a pipe get JSON lines."""
    if path is None or (path.exists() and not path.is_file()):
        return OutputFormat.jsonl
    name = without_gz(path).name.lower()
    for ending, format in _OUTPUT_ENDINGS.items():
        if name.endswith(ending):
            return format
    formats = ", ".join(format.value for format in OutputFormat)
    raise SapbertError(Errors.E551.format(path=path, endings=", ".join(_OUTPUT_ENDINGS), formats=formats))


def unknown_format(path: Path, formats: Iterable[str]) -> SapbertError:
    """Return the error for a file whose format cannot be guessed."""
    return SapbertError(Errors.E124.format(path=path, formats=", ".join(formats)))
