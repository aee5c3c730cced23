"""Define the formats of documents and of links, guess them from names and first bytes, and find the files of a folder.

`formats.json` has a row for each format, the root of XML that shows one, and keys of JSON with how their values begin.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import ChoiceError, Errors, SapbertError
from ..files.opening import file_name, without_gz
from ..files.output import is_special
from ..files.xml import root_tag

PUBTATOR_TITLE = re.compile(r"[^|\t]+\|t\|")


class Format(NamedTuple):
    """A format of documents, of links, or of both.

    Functions are written as `MODULE:NAME` below this package, and imported when they are called, see `import_function`.

    Attributes:
        name: The value of `--format` and of `--to`.
        aliases: Other names of it.
        endings: The endings of file names that show it. `.xml` and `.json` can be other formats as well.
        read: Reads documents to link from a `DocumentSource`.
        annotated: Reads documents with annotated mentions.
        in_passages: Whether consecutive records with one id can be passages of one document.
        encoding: The encoding of published corpora.
        written: The endings of file names that show it as the format of links.
        write: Makes the pieces of a text of records; a table that `needs` a package is written to a path.
        needs: The extra and the package of such a table.
        document: Makes a JSON value, or a text by the ending of each file, of a document and of the names of concepts.
        record: Makes such a value of a record.
        shape: Where they go: to "lines", a "list", a "file" or "files" for each document, or "rows" of a table of OMOP.
    """

    name: str
    aliases: Sequence[str] = ()
    endings: Sequence[str] = ()
    read: str = ""
    annotated: str = ""
    in_passages: bool = False
    encoding: str = "utf-8"
    written: Sequence[str] = ()
    write: str = ""
    needs: Sequence[str] = ()
    document: str = ""
    record: str = ""
    shape: str = ""


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
FORMATS = {name: Format(name, **row) for name, row in _TABLES["formats"].items()}
INPUT_FORMATS = tuple(name for name, format in FORMATS.items() if format.read or format.annotated)
"""The formats of documents, which are the values of `--format` for documents to link."""
ANNOTATED = tuple(name for name, format in FORMATS.items() if format.annotated)
"""The formats of documents with annotated mentions, which are its values for corpora."""
OUTPUT_FORMATS = tuple(name for name, format in FORMATS.items() if format.write or format.shape)
"""The formats of linked documents, which are the values of `--to`."""
_NAMES = {alias: name for name, format in FORMATS.items() for alias in (name, *format.aliases)}
_INPUT_ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.endings}
_OUTPUT_ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.written}
INPUT_SUFFIXES = tuple(_INPUT_ENDINGS)
"""The endings of file names that show a format."""
# a quotation mark inside of a text has a backslash before it
_JSON_KEYS = re.compile(rb'(?<!\\)"(\w+)"\s*:\s*([\[{]?)')
_HEAD_SIZE = 1 << 16
TYPE_SYSTEM = "TypeSystem.xml"
"""The file beside XMI that describes its types."""


def import_function(name: str) -> Callable[..., Any]:
    """Return a function of a `Format`, such as "documents.bioc:read_bioc"."""
    module, _, called = name.partition(":")
    made: Callable[..., Any] = getattr(import_module(f"..{module}", __package__), called)
    return made


def format_named(name: str, known: Collection[str] = INPUT_FORMATS, what: str = "format of documents") -> str:
    """Return the format with a name or an alias. It must be one of those that are known."""
    format = _NAMES.get(name, name)
    if format not in known:
        raise ChoiceError(given=name, what=what, choices=known)
    return format


def suffix_format(path: Path) -> str | None:
    """Return the format that the ending of a file name shows, if any. The file is not read.

    Several formats have the ending `.xml`, which stands for BioC here. See `opened_format`.
    """
    return _INPUT_ENDINGS.get(without_gz(path).suffix.lower())


def opened_format(path: Path, stream: BinaryIO) -> str:
    """Return the format of an open file by its name and its first bytes, which can still be read.

    PubTator files are often named `.txt`, so the first line decides for such files. For `.xml`, the root element does.
    """
    format = suffix_format(path)
    if format is None:
        raise unknown_format(path, INPUT_FORMATS)
    if format == "text":
        first_line = head_of(stream).removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
        return "pubtator" if PUBTATOR_TITLE.match(first_line.decode(errors="replace")) else format
    if format == "jsonl":
        before, _, passages = head_of(stream).partition(b'"passages"')
        return "bioc" if b'"offset"' in passages and b'"text"' not in before else format
    if format == "bioc" and not may_be_pubmed(path):
        return json_format(head_of(stream)) or format
    return _TABLES["roots"].get(root_tag(head_of(stream)), format) if may_be_pubmed(path) else format


def json_format(head: bytes) -> str | None:
    """Return the format of JSON with annotations that its first keys show, if any."""
    keys = ((match[1] + match[2]).decode() for match in _JSON_KEYS.finditer(head))
    return next(filter(None, map(_TABLES["keys"].get, keys)), None)


def is_companion(path: Path, format: str | None) -> bool:
    """Return whether a file belongs to one of annotations beside it: the text of brat, the type system of UIMA.

    It does not if the user gave another format.
    """
    is_beside = path.name == TYPE_SYSTEM or (path.suffix == ".txt" and path.with_suffix(".ann").is_file())
    return is_beside and format in (None, "brat", "xmi")


def may_be_pubmed(path: Path) -> bool:
    """Return whether the root element of a file decides whether it is PubMed, JATS or BioC."""
    return without_gz(path).suffix.lower() == ".xml"


def head_of(stream: BinaryIO, size: int = _HEAD_SIZE) -> bytes:
    """Return the first bytes of a stream, which can still be read."""
    head: bytes = stream.peek(size)[:size]  # type: ignore[attr-defined]  # all open files have it
    return head


def output_format(path: Path | None) -> str:
    """Return the format that a file name shows. Standard output, a device and a pipe get JSON lines."""
    if path is None or is_special(path):
        return "jsonl"
    name = without_gz(path).name.lower()
    shown = max((ending for ending in _OUTPUT_ENDINGS if name.endswith(ending)), key=len, default=None)
    if shown:
        return _OUTPUT_ENDINGS[shown]
    formats, endings = ", ".join(OUTPUT_FORMATS), ", ".join(_OUTPUT_ENDINGS)
    raise SapbertError(Errors.E551.format(path=path, endings=endings, formats=formats))


def unknown_format(path: Path, formats: Iterable[str]) -> SapbertError:
    """Return the error for a file whose format cannot be guessed."""
    return SapbertError(Errors.E124.format(path=path, formats=", ".join(formats)))


# --- the files of a folder, in a stable order, without leaving it

_SHOWN = 5
Skip = Callable[[Path, str], object]
"""Takes a path that is left out, and the reason."""


def files_of(folder: Path, skip: Skip = lambda *_: None) -> Iterator[Path]:
    """Yield the files of a folder and of its subfolders.

    The entries of a folder are sorted by name. Hidden files and folders, whose names begin with a dot, are left out
    silently. Symbolic links to files of the same folder are followed. Other symbolic links are left out and reported,
    so the search never leaves the folder.

    Args:
        skip: Takes what is left out and why: links, folders that cannot be read, and pipes or devices.
    """
    root = os.path.realpath(folder)
    open_folders = [_entries(folder, skip)]
    while open_folders:
        path = next(open_folders[-1], None)
        if path is None:
            open_folders.pop()
        elif path.is_symlink() and not (path.is_file() and Path(os.path.realpath(path)).is_relative_to(root)):
            skip(path, "this symbolic link leaves the folder, or does not lead to a file")
        elif path.is_dir():
            open_folders.append(_entries(path, skip))
        elif path.is_file():
            yield path
        else:
            skip(path, "this is neither a file nor a folder")


def _entries(folder: Path, skip: Skip) -> Iterator[Path]:
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        skip(folder, f"this folder cannot be read ({error.strerror})")
        return
    yield from map(folder.joinpath, names)


def others_message(folder: Path, others: Sequence[Path]) -> str:
    """Return how many files of a folder have no known format, and the names of the first ones."""
    names = ", ".join(file_name(Path(path.name)) for path in others[:_SHOWN])
    more = ", …" if len(others) > _SHOWN else ""
    return f"{file_name(folder)}: {len(others):,} files of no known format left out ({names}{more})"
