"""Define the input and output formats of `link`, and guess them from file names."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files.opening import open_text, open_unpacked, without_gz
from ..files.xml import root_tag
from .archives import files_in, is_archive, translated

STDIN = Path("-")
PUBTATOR_TITLE = re.compile(r"[^|\t]+\|t\|(.*)", re.DOTALL)


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

ARCHIVED = {InputFormat.jats: (".nxml", ".xml"), InputFormat.bioc: (".xml", ".json")}
"""The formats that the files of a tar archive can have, with the endings of these files."""

_INPUT_SUFFIXES = {
    ".txt": InputFormat.text,
    ".jsonl": InputFormat.jsonl,
    ".ndjson": InputFormat.jsonl,
    ".csv": InputFormat.csv,
    ".tsv": InputFormat.tsv,
    ".tab": InputFormat.tsv,
    ".parquet": InputFormat.parquet,
    ".pubtator": InputFormat.pubtator,
    ".xml": InputFormat.bioc,
    ".bioc": InputFormat.bioc,
    ".json": InputFormat.bioc,
    ".nxml": InputFormat.jats,
    ".tar": InputFormat.jats,
    ".tgz": InputFormat.jats,
    ".spacy": InputFormat.spacy,
}
INPUT_SUFFIXES = tuple(_INPUT_SUFFIXES)
"""The endings of file names that show a format."""
_ROOTS = {
    "PubmedArticleSet": InputFormat.pubmed,
    **dict.fromkeys(("article", "pmc-articleset", "OAI-PMH"), InputFormat.jats),
}
_HEAD_SIZE = 1 << 16
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


def input_format(path: Path) -> InputFormat:
    """Return the format that a file name shows.

    PubTator files are often named `.txt`, so the first line decides for such files. For `.xml`, the root element
    decides, and for an archive its first article.

    Raises:
        SapbertError: E505 the file name shows no format. E120, E121, E580 the file cannot be read or unpacked.
    """
    found = suffix_format(path)
    if found is None:
        formats = ", ".join(format.value for format in InputFormat)
        raise SapbertError(Errors.E505.format(path=path, formats=formats))
    if found is InputFormat.text and PUBTATOR_TITLE.match(_first_line(path)):
        return InputFormat.pubtator
    if is_archive(path):
        return archive_format(path)
    return xml_format(path) if without_gz(path).suffix.lower() == ".xml" else found


def suffix_format(path: Path) -> InputFormat | None:
    """Return the format that the ending of a file name shows, if any. The file is not read.

    Several formats have the ending `.xml`, which stands for BioC here. See `xml_format`.
    """
    return _INPUT_SUFFIXES.get(without_gz(path).suffix.lower())


def xml_format(path: Path) -> InputFormat:
    """Return the format of an XML file by its root element. Any other root stands for BioC.

    Raises:
        SapbertError: E120, E121 the file cannot be read or unpacked.
    """
    with open_unpacked(path) as handle:
        return _ROOTS.get(root_tag(handle.read(_HEAD_SIZE)), InputFormat.bioc)


def archive_format(path: Path) -> InputFormat:
    """Return the format of the first article of an archive. Without any, it is JATS.

    Raises:
        SapbertError: E120, E121, E580 the archive cannot be read or unpacked.
    """
    for file in files_in(path, sorted({ending for endings in ARCHIVED.values() for ending in endings})):
        if file.content is not None:
            with translated(path):
                is_bioc = file.name.lower().endswith(".json") or root_tag(file.content.read(_HEAD_SIZE)) == "collection"
            return InputFormat.bioc if is_bioc else InputFormat.jats
    return InputFormat.jats


def output_format(path: Path | None) -> OutputFormat:
    """Return the format that a file name shows. Standard output, a device and a pipe get JSON lines.

    Raises:
        SapbertError: E551 the file name shows no format.
    """
    if path is None or (path.exists() and not path.is_file()):
        return OutputFormat.jsonl
    name = without_gz(path).name.lower()
    found = next((format for ending, format in _OUTPUT_ENDINGS.items() if name.endswith(ending)), None)
    if found is None:
        formats = ", ".join(format.value for format in OutputFormat)
        raise SapbertError(Errors.E551.format(path=path, endings=", ".join(_OUTPUT_ENDINGS), formats=formats))
    return found


def _first_line(path: Path) -> str:
    with open_text(path) as handle:
        line = next((line for line in handle.buffer if line.strip()), b"")
    return line.decode("utf-8-sig", errors="replace")
