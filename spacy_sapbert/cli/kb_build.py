"""Define `spacy-sapbert kb build` and `kb get`, which build a knowledge base from files or from a recipe."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..documents.reader import read_corpus
from ..documents.source import Report
from ..errors import Errors, MismatchError, NotFoundError, OptionError, SapbertError
from ..files.console import progress_callback, show_problems, stderr_console, track
from ..files.opening import sha256_of
from ..files.output import refuse_input, temporary_folder
from ..kb.build import KnowledgeBaseBuilder, new_knowledge_base
from ..kb.curation import curate
from ..kb.download import download, is_web_page
from ..kb.mapping import read_mappings
from ..kb.readers import ReadReport, read_vocabulary
from ..kb.recipe import (
    LATEST,
    SUFFIXES,
    TRANSLATIONS,
    File,
    Recipe,
    find_recipe,
    parse_recipe,
    read_catalog,
    read_recipe_values,
    release_in,
)
from ..types import Document, Record, has_type
from .inputs import split_pairs
from .kb_tables import counts_table, print_wide

_MEGABYTE = 10**6

Mentions = Annotated[
    list[Path] | None,
    typer.Option(help="Add the mentions of this annotated corpus as names of their concepts. Repeatable."),
]
Mapping_ = Annotated[
    list[Path] | None,
    typer.Option(help="Merge concepts by this mapping of ids: SSSOM, or a table of two columns. Repeatable."),
]
Below = Annotated[list[str] | None, typer.Option(help="Take only this concept and those below it, by id. Repeatable.")]
Select = Annotated[
    str | None,
    typer.Option(help='Take only the concepts of this ECL expression, such as "<< 404684003 MINUS << 64572001".'),
]
StopNames = Annotated[
    list[Path] | None, typer.Option(help="List of further names that must not be found in text. Repeatable.")
]


def build(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Vocabulary files, plain or gzipped, the folder of a release, or the postgresql:// address of OMOP's "
            "tables. Or a recipe (.yaml), and its files."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Knowledge base file to write.")],
    format: Annotated[
        list[str] | None,
        typer.Option(help="Format of the sources: once for all, or once per source. Default: guessed from the file."),
    ] = None,
    type: Annotated[
        list[str] | None,
        typer.Option(
            help="Semantic type of concepts that have none. Repeatable: with one per source, each has its own."
        ),
    ] = None,
    id_prefix: Annotated[str | None, typer.Option(help="Prefix to add to ids that are numbers only.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Column of a field of a table, as FIELD=COLUMN: synonyms=Synonyms. Repeatable."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter between cells. Default: found out from the first line.")
    ] = None,
    mentions: Mentions = None,
    mapping: Mapping_ = None,
    below: Below = None,
    select: Select = None,
    stop_names: StopNames = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first broken row.")] = False,
) -> None:
    """Build a knowledge base from vocabulary files, or as a recipe says.

    The command shows how many rows were read and dropped, and why. A recipe is a file of further options.
    """
    refuse_input(output, sources)
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for field, name in split_pairs("--column", column):
        columns[field].append(name)
    reading = {"type": type, "id_prefix": id_prefix, "column": dict(columns) or None, "delimiter": delimiter}
    reading = {key: value for key, value in reading.items() if value is not None}
    recipes = [path for path in sources if path.lower().endswith(SUFFIXES)][:1]
    files = [*sources]
    if recipes:
        files.remove(recipes[0])
    values = read_recipe_values(Path(recipes[0])) if recipes else {}
    if files and values.get("sources"):
        raise OptionError(option=files[0], reason=f"{recipes[0]} has its own sources", remedy="Give one of the two.")
    if not files and (reading or format):
        reason = "the sources are in the recipe"
        raise OptionError(option="An option for files", reason=reason, remedy=f"Write it to {recipes[0]}.")
    if files:
        formats = [*format] if format else [None]
        formats = formats * len(files) if len(formats) == 1 else formats
        _check_number("--format", len(formats), len(files))
        given = [{"path": path, "format": format} for path, format in zip(files, formats, strict=True)]
        if type and len(type) > 1 < len(given):
            _check_number("--type", len(type), len(files))
            del reading["type"]
            given = [{**file, "type": own} for file, own in zip(given, type, strict=True)]
        values |= {**reading, "sources": given}
    values |= _given(
        mentions=mentions, mappings=mapping, below=below, select=select, stop_names=stop_names, strict=strict
    )
    recipe = parse_recipe(sources[0], values)
    for file in recipe.sources:
        if file.address:
            remedy = f"Fetch it with `spacy-sapbert kb get {sources[0]}`, or give its path."
            raise NotFoundError(what=f"path of {file.address} in {sources[0]}", remedy=remedy)
    _build(recipe, output, Console(stderr=True))


def _check_number(option: str, n_given: int, n_files: int) -> None:
    """Check that an option was given once per file."""
    if n_given != n_files:
        reason = f"it was given {n_given} times for {n_files} files"
        raise OptionError(option=option, reason=reason, remedy="Give it once for all, or once per file.")


def get(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A vocabulary of the catalog, such as doid; or a recipe with addresses (.yaml). Without it, the "
            "catalog is shown."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Knowledge base file to write. Default: NAME.kb.")
    ] = None,
    mirror: Annotated[
        str | None, typer.Option(help="Folder or address that has the file of the catalog, under the same name.")
    ] = None,
    keep_download: Annotated[
        bool, typer.Option("--keep-download", help="Keep the downloaded file next to the knowledge base.")
    ] = False,
    mentions: Mentions = None,
    mapping: Mapping_ = None,
    below: Below = None,
    select: Select = None,
    stop_names: StopNames = None,
) -> None:
    """Download a vocabulary by its name, and build a knowledge base from it.

    Without a network, use --mirror.
    """
    if name is None:
        _print_catalog()
        return
    given = _given(mentions=mentions, mappings=mapping, below=below, select=select, stop_names=stop_names)
    if name.lower().endswith(SUFFIXES):
        recipe = parse_recipe(name, read_recipe_values(Path(name)) | given)
    else:
        recipe = find_recipe(name)
        changed = parse_recipe(name, given)
        recipe = replace(recipe, **{key: getattr(changed, key) for key in given})
    output = output or Path(f"{Path(recipe.name).stem}.kb")
    refuse_input(output, [Path(name)])
    console = stderr_console()
    console.print(f"{recipe.title or recipe.name}. License: {recipe.license}. {recipe.home}")
    output.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(output) as folder:
        kept = output.parent if keep_download else folder
        sources: list[File] = []
        origin: dict[str, Any] = {}
        for source in recipe.sources:
            path = source.path
            if source.address:
                path, origin = _fetch(source, recipe, mirror, folder, kept, console)
            sources.append(replace(source, path=path))
        if recipe.release == LATEST:
            recipe = replace(recipe, release=release_in(sources[0].path))
        _build(replace(recipe, sources=sources), output, Console(stderr=True), origin)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that replace keys of a recipe, by key."""
    given = {key: value for key, value in options.items() if value}
    return {key: [*map(str, value)] if isinstance(value, list) else value for key, value in given.items()}


# --- build


def _build(recipe: Recipe, output: Path, console: Console, origin: Mapping[str, Any] | None = None) -> None:
    """Build a knowledge base, and show the progress and the report. It records the origin of a download."""
    refuse_input(output, recipe.inputs)
    report, of_mappings = ReadReport(), ReadReport()
    # without another source, a translation is the vocabulary
    base = [file for file in recipe.sources if file.format not in TRANSLATIONS] or [*recipe.sources]
    translated = [*(file for file in recipe.sources if file not in base), *recipe.translations]
    if recipe.add_unknown:
        base, translated = [*base, *translated], []
    equivalents = None
    if recipe.mappings:
        equivalents = read_mappings(recipe.mappings, report=of_mappings, strict=recipe.strict)
    curation, rules = recipe.curation, recipe.stop_name_rules()
    merge_sources = recipe.merge_sources and len(base) > 1
    with new_knowledge_base(output, equivalents, recipe.merge_xrefs, merge_sources) as builder:
        read = partial(_read, strict=recipe.strict)
        records: Iterator[Record] = chain.from_iterable(map(partial(read, report=report), base))
        if any(curation):
            sources = [lambda report, file=file: read(file, report=report) for file in base]
            records = curate(curation, sources, report, builder.counts)
        for record in track(records, console, "concepts", share=lambda: report.bytes_read / max(1, report.bytes_total)):
            builder.add(record)
        with console.status(f"writing {output}"):
            for file in translated:
                warning = builder.add_translation(read(file, report=report), file.path)
                if warning:
                    console.print(warning, markup=False, soft_wrap=True)
            if recipe.mentions:
                from ..kb.mentions import add_mentions
            for corpus in recipe.mentions:
                documents = _documents(corpus, recipe.strict, builder)
                add_mentions(builder, documents, source=corpus.path.name.split(".")[0])
            try:
                builder.finish(_meta(recipe, report, origin or {}), rules)
            finally:  # if there is no concept, the counts show why
                _show_report(report, of_mappings, builder, console)
    stop_names = f", {builder.n_stop_names:,} of them stop names" if builder.n_stop_names else ""
    line = f"{output}: {builder.n_concepts:,} concepts, {builder.n_names:,} names{stop_names}"
    console.print(line, markup=False, highlight=False)


def _read(file: File, report: ReadReport, strict: bool) -> Iterator[Record]:
    settings: dict[str, Any] = {"language": file.language, "strict": strict, **file.settings}
    return read_vocabulary(file.path, file.format, report=report, **settings)


def _documents(corpus: File, strict: bool, builder: KnowledgeBaseBuilder) -> Iterator[Document]:
    """Yield the documents of a corpus, with the mentions of the chosen types. The others are counted."""
    types, report = corpus.settings.get("types"), Report()
    for document in read_corpus(corpus.path, corpus.format, strict=strict, report=report):
        mentions = tuple(mention for mention in document.mentions if not types or has_type(mention.label, types))
        builder.counts["mentions of other types"] += len(document.mentions) - len(mentions)
        yield document._replace(mentions=mentions)
    builder.counts["broken records of corpora"] += report.broken


def _meta(recipe: Recipe, report: ReadReport, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the knowledge base records about how it was built."""
    manifest = partial(_manifest, report=report)
    files = {"mentions": recipe.mentions, "sources": recipe.sources, "translations": recipe.translations}
    files["mappings"] = [*map(File, recipe.mappings)]
    meta: dict[str, Any] = {key: [*map(manifest, some)] for key, some in files.items()}
    languages = [*map(attrgetter("language"), recipe.sources)]
    languages = languages[:1] if len({*languages}) == 1 else languages
    meta["names_language"] = languages if any(languages) else []
    if recipe.title or origin:
        about = {"name": Path(recipe.name).stem, "title": recipe.title, "home": recipe.home}
        meta["catalog"] = {**about, **origin}
    meta |= {"release": recipe.release} if recipe.release else {}
    meta |= {"licence": recipe.license} if recipe.license else {}
    meta |= {"curation": recipe.curation.as_json()} if any(recipe.curation) else {}
    return meta | {"add_unknown": recipe.add_unknown, "merge_xrefs": [*recipe.merge_xrefs], "read": report.counts()}


def _manifest(file: File, report: ReadReport) -> dict[str, Any]:
    """Return a file that was read, with its checksum or with the origin that its reader reports."""
    # without folders, so that the same files give the same knowledge base anywhere
    origin = report.origins.get(file.path) or {"sha256": sha256_of(file.path)}
    return {"file": file.path.name or file.path.resolve().name, "format": file.format, **origin}


def _show_report(report: ReadReport, of_mappings: ReadReport, builder: KnowledgeBaseBuilder, console: Console) -> None:
    groups: tuple[tuple[str, Mapping[str, int]], ...] = (
        ("rows ", {"read": report.rows_read, "kept": report.rows_kept}),
        ("rows dropped: ", report.rows_dropped),
        ("names dropped: ", report.names_dropped),
        ("", {"control characters removed": report.control_characters, **report.notes}),
        ("mappings: rows ", {"read": of_mappings.rows_read, "kept": of_mappings.rows_kept}),
        ("mappings: rows dropped: ", of_mappings.rows_dropped),
        ("", builder.counts),
    )
    shown = ((prefix, {label: n for label, n in counts.items() if n or prefix == "rows "}) for prefix, counts in groups)
    stderr_console().print(counts_table(*shown))
    show_problems(console, [*of_mappings.problems, *report.problems], of_mappings.broken + report.broken)
    for path, origin in report.origins.items():
        if origin.get("absent"):
            console.print(f"{path}: there is no {', '.join(origin['absent'])}", markup=False, soft_wrap=True)


# --- get


def _print_catalog() -> None:
    table = Table("name", "MB", "license", "release", "purpose", box=None)
    table.columns[1].justify = "right"
    for recipe in sorted(read_catalog().values(), key=lambda recipe: not recipe.sources):
        size = f"{recipe.size:g}" if recipe.sources else "-"
        table.add_row(*map(escape, (recipe.name, size, recipe.license, recipe.release, recipe.purpose)))
    print_wide(table, Console())
    Console().print("A vocabulary without a size cannot be downloaded by a program. `kb get NAME` says how to get it.")


def _fetch(
    source: File, recipe: Recipe, mirror: str | None, folder: Path, kept: Path, console: Console
) -> tuple[Path, dict[str, Any]]:
    """Return the file of a source, and what the knowledge base records of its origin.

    A download is checked in the temporary folder, and then moved to the folder `kept`.
    """
    name = source.path.name
    if mirror and not mirror.lower().startswith(("http://", "https://")):
        plain = name.removesuffix(".gz")
        paths = [path for end in (name, plain, f"{plain}.gz") if (path := Path(mirror) / end).is_file()]
        if not paths:
            remedy = f"Save it there from {source.address}, under this name."
            raise NotFoundError(what=f"file {name} in {mirror}, gzipped or not", remedy=remedy)
        _check(paths[0], source, recipe)
        return paths[0], {}
    address = f"{mirror.rstrip('/')}/{name}" if mirror else source.address
    console.print(f"Downloading {address}" + (f", about {recipe.size:g} MB." if recipe.size else "."))
    with progress_callback(console, "MB") as update:
        origin = download(
            address,
            folder / name,
            home=recipe.home,
            progress=lambda done, total: update(done // _MEGABYTE, total // _MEGABYTE),
        )
    _check(folder / name, source, recipe)
    return (folder / name).replace(kept / name), origin


def _check(path: Path, source: File, recipe: Recipe) -> None:
    """Check that a file is what the recipe says: no web page, no other release, and not damaged."""
    if is_web_page(path):
        reason = "it is a web page; the provider may want a login, or refuse programs"
        home, address = recipe.home or source.address, source.address
        raise SapbertError(Errors.E112.format(address=address, reason=reason, home=home, file=source.path.name))
    sha256 = sha256_of(path, unpacked=True)  # it also finds damaged gzip data
    if sha256 != (source.sha256 or sha256):
        reason = (
            f"it is not the release {recipe.release} of {recipe.name}: its SHA-256 is {sha256}, not {source.sha256}"
        )
        remedy = "Download it again. To use another release, give the file to `spacy-sapbert kb build`."
        raise MismatchError(path=path, reason=reason, remedy=remedy)
