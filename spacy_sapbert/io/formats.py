"""Define the input and output formats of `link`, and guess them from file names."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files import open_text, without_gz

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
    ".spacy": InputFormat.spacy,
}
INPUT_SUFFIXES = tuple(_INPUT_SUFFIXES)
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


def input_format(path: Path) -> InputFormat:
    """Return the format that a file name shows.

    PubTator files are often named `.txt`, so the first line decides for such files.

    Raises:
        SapbertError: E505 the file name shows no format.
    """
    found = suffix_format(path)
    if found is None:
        formats = ", ".join(format.value for format in InputFormat)
        raise SapbertError(Errors.E505.format(path=path, formats=formats))
    if found is InputFormat.text and PUBTATOR_TITLE.match(_first_line(path)):
        return InputFormat.pubtator
    return found


def suffix_format(path: Path) -> InputFormat | None:
    """Return the format that the ending of a file name shows, if any. The file is not read."""
    return _INPUT_SUFFIXES.get(without_gz(path).suffix.lower())


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
