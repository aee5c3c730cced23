"""Define `spacy-sapbert kb get`, which downloads a vocabulary of the catalog and builds a knowledge base from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import Errors, SapbertError
from ..files.console import progress_callback, stderr_console
from .kb_build import build_from_files
from .kb_build_options import (
    CorpusOptions,
    CurationOptions,
    MappingOptions,
    OntologyOptions,
    SourceOptions,
    TableOptions,
    TranslationOptions,
    UmlsOptions,
    without_none,
)
from .options import grouped

if TYPE_CHECKING:
    from ..kb.catalog import Entry
    from ..kb.download import Origin

_MEGABYTE = 10**6
_CUT_OFF = 0.5  # a file that is smaller than this share of the usual size
_PIPE_WIDTH = 240  # without a terminal, rows must not be wrapped


@grouped
def get(
    mappings: MappingOptions,
    curating: CurationOptions,
    translations: TranslationOptions,
    corpora: CorpusOptions,
    name: Annotated[str | None, typer.Argument(help="A vocabulary of the catalog, such as doid.")] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show the vocabularies of the catalog, and download nothing.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Knowledge base file to write. Default: NAME.kb.")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Folder or address that has the file of the catalog, under the same name.")
    ] = None,
    keep_download: Annotated[
        bool, typer.Option("--keep-download", help="Keep the downloaded file in the cache folder.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer of the server.")] = 60.0,
) -> None:
    """Download a vocabulary by its name, and build a knowledge base from it.

    An interrupted download goes on where it stopped. Without a network, use --mirror.
    """
    from ..kb.catalog import find_entry

    if show_list or name is None:
        _print_catalog()
        return
    entry = find_entry(name)
    console = stderr_console()
    console.print(f"{entry.title}. License: {entry.license}. {entry.home}")
    with _file_of(entry, mirror, timeout, console, keep=keep_download) as (path, origin):
        options = _groups(entry, path)
        build_from_files(
            [path],
            output or Path(f"{entry.name}.kb"),
            **options,
            mappings=mappings,
            curating=_curating(entry, curating),
            translations=translations,
            corpora=corpora,
            umls=UmlsOptions(),
            about={"catalog": _about(entry, origin)},
        )


def _print_catalog() -> None:
    from ..kb.catalog import read_catalog

    table = Table("name", "MB", "license", "release", "purpose", box=None)
    table.columns[1].justify = "right"
    entries = read_catalog().values()
    for entry in sorted(entries, key=lambda entry: not entry.address):
        size = f"{entry.size:g}" if entry.address else "-"
        table.add_row(*map(escape, (entry.name, size, entry.license, entry.release, entry.purpose)))
    console = Console()
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(table)
    console.print("A vocabulary without a size cannot be downloaded by a program. `kb get NAME` says how to get it.")


@contextmanager
def _file_of(
    entry: Entry, mirror: str | None, timeout: float, console: Console, *, keep: bool
) -> Iterator[tuple[Path, Origin | None]]:
    """Yield the file of an entry and its origin, which is None for a file in a folder."""
    if mirror and not mirror.lower().startswith(("http://", "https://")):
        path = _in_folder(entry, Path(mirror))
        _check(entry, path, console)
        yield path, None
        return
    address = f"{mirror.rstrip('/')}/{entry.file}" if mirror else entry.address
    with _cache_of(entry, console) as folder:
        path = folder / entry.file
        origin = _download(entry, address, path, timeout, console)
        try:
            _check(entry, path, console)
        except SapbertError:
            _remove(path)  # else the server would say that it has no other version
            raise
        yield path, origin
        if keep:
            console.print(f"The downloaded file is {path}.")
        else:
            _remove(path)


def _in_folder(entry: Entry, folder: Path) -> Path:
    plain = entry.file.removesuffix(".gz")
    for path in (folder / entry.file, folder / plain, folder / f"{plain}.gz"):
        if path.is_file():
            return path
    raise SapbertError(Errors.E119.format(file=entry.file, folder=folder, address=entry.address))


@contextmanager
def _cache_of(entry: Entry, console: Console) -> Iterator[Path]:
    """Lock and yield the folder for the downloads of an entry."""
    from filelock import FileLock, Timeout

    from ..store.cache import cache_dir

    folder = cache_dir() / "downloads" / entry.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SapbertError(Errors.E118.format(path=folder, reason=error.strerror)) from error
    lock = FileLock(folder.with_name(f"{entry.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        console.print(f"Another process is downloading {entry.name}. Waiting for it …")
        lock.acquire()
    try:
        yield folder
    finally:
        lock.release()


def _download(entry: Entry, address: str, path: Path, timeout: float, console: Console) -> Origin:
    from ..kb.download import download

    with progress_callback(console, "MB") as update:

        def progress(done: int, total: int) -> None:
            update(done // _MEGABYTE, total // _MEGABYTE)

        console.print(f"Downloading {address}, about {entry.size:g} MB.")
        origin = download(address, path, home=entry.home, timeout=timeout, progress=progress)
    if origin.hosts:
        console.print(f"The file came from another host: {', '.join(origin.hosts)}.")
    return origin


def _remove(path: Path) -> None:
    """Remove a downloaded file and the note on it."""
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.json").unlink(missing_ok=True)


def _check(entry: Entry, path: Path, console: Console) -> None:
    """Check that a file is what the catalog says, and is complete.

    Raises:
        SapbertError: E114 it is a web page; E116 it is another release; E121 its gzip data is damaged or cut off.
    """
    from ..kb.download import is_web_page, sha256_unpacked

    if is_web_page(path):
        raise SapbertError(Errors.E114.format(address=path, home=entry.home, file=entry.file))
    found = sha256_unpacked(path)  # it also finds damaged gzip data
    if found != (entry.sha256 or found):
        wanted = {"release": entry.release, "name": entry.name, "wanted": entry.sha256}
        raise SapbertError(Errors.E116.format(path=path, found=found, **wanted))
    size = path.stat().st_size / _MEGABYTE
    if path.name == entry.file and size < _CUT_OFF * entry.size:
        console.print(f"The file has only {size:.1f} MB; usually it has about {entry.size:g} MB. Check the counts.")


def _groups(entry: Entry, path: Path) -> dict[str, Any]:
    """Return the options of an entry in the groups of `kb build`."""
    from ..kb.catalog import LATEST, release_in

    def group(kind: Any) -> Any:
        known = {field.name for field in fields(kind)}
        return kind(**{option: value for option, value in entry.options.items() if option in known})

    release = entry.release if entry.release != LATEST else release_in(path)
    sources = replace(group(SourceOptions), release=release, licence=entry.license)
    return {"source_options": sources, "tables": group(TableOptions), "ontologies": group(OntologyOptions)}


def _curating(entry: Entry, given: CurationOptions) -> CurationOptions:
    """Return the options that the user gave, and those of the entry for the others."""
    known = {field.name for field in fields(CurationOptions)}
    unset = {option for option in known.intersection(entry.options) if getattr(given, option) is None}
    return replace(given, **{option: entry.options[option] for option in unset})


def _about(entry: Entry, origin: Origin | None) -> dict[str, Any]:
    """Return what the knowledge base records about the entry and the origin of its file."""
    about: dict[str, Any] = {"name": entry.name, "title": entry.title, "home": entry.home}
    if origin:
        about |= {**asdict(origin), "hosts": list(origin.hosts)}
    return without_none(about)
