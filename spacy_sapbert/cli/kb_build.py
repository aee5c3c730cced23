"""Define `spacy-sapbert kb build` and `kb get`, which build a knowledge base from files or from a recipe."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..errors import NotFoundError, OptionError
from ..files.console import print_tables, show, show_problems, stderr_console
from ..files.output import refuse_input, temporary_folder
from ..kb.build import KnowledgeBaseBuilder
from ..kb.download import fetch
from ..kb.readers import ReadReport
from ..kb.recipe import SUFFIXES, Recipe, find_recipe, parse_recipe, read_catalog, read_recipe_values
from .inputs import Encoding, split_pairs


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
    encoding: Encoding = None,
    mentions: Annotated[
        list[Path] | None,
        typer.Option(help="Add the mentions of this annotated corpus as names of their concepts. Repeatable."),
    ] = None,
    mapping: Annotated[
        list[Path] | None,
        typer.Option(help="Merge concepts by this mapping of ids: SSSOM, or a table of two columns. Repeatable."),
    ] = None,
    below: Annotated[
        list[str] | None, typer.Option(help="Take only this concept and those below it, by id. Repeatable.")
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(help='Take only the concepts of this ECL expression, such as "<< 404684003 MINUS << 64572001".'),
    ] = None,
    stop_names: Annotated[
        list[Path] | None, typer.Option(help="List of further names that must not be found in text. Repeatable.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first broken row.")] = False,
) -> None:
    """Build a knowledge base from vocabulary files, or as a recipe says.

    The command shows how many rows were read and dropped, and why. A recipe is a file of further options.
    """
    refuse_input(output, sources)
    reading = {"type": type, "id_prefix": id_prefix, "column": _columns(column), "delimiter": delimiter}
    reading["encoding"] = encoding
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
        given: list[dict[str, Any]] = [{"path": path} for path in files]
        _give_each(given, "format", format or [])
        if type and len(type) > 1 < len(files):
            _give_each(given, "type", type)
            del reading["type"]
        values |= {**reading, "sources": given}
    values |= _given(
        mentions=mentions, mappings=mapping, below=below, select=select, stop_names=stop_names, strict=strict
    )
    recipe = parse_recipe(sources[0], values)
    for file in recipe.sources:
        if file.address:
            remedy = f"Fetch it with `spacy-sapbert kb get {sources[0]}`, or give its path."
            raise NotFoundError(what=f"path of {file.address} in {sources[0]}", remedy=remedy)
    _build(recipe, output)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that replace keys of a recipe, by key."""
    given = {key: value for key, value in options.items() if value or value == ""}
    return {key: [*map(str, value)] if isinstance(value, list) else value for key, value in given.items()}


def _columns(column: list[str] | None) -> dict[str, list[str]] | None:
    columns: defaultdict[str, list[str]] = defaultdict(list)
    for field, name in split_pairs("--column", column):
        columns[field].append(name)
    return dict(columns) or None


def _give_each(files: Sequence[dict[str, Any]], key: str, values: Sequence[str]) -> None:
    """Give each file its value of an option, which was given once for all files, or once per file."""
    if len(values) not in (0, 1, len(files)):
        reason = f"it was given {len(values)} times for {len(files)} files"
        remedy = "Give it once for all, or once per file."
        raise OptionError(option=f"--{key}", reason=reason, remedy=remedy)
    for file, value in zip(files, cycle(values), strict=False):
        file[key] = value


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
) -> None:
    """Download a vocabulary by its name, and build a knowledge base from it.

    Without a network, use --mirror. To build a part of a vocabulary, or to add names, give a recipe.
    """
    if name is None:
        _print_catalog()
        return
    is_file = name.lower().endswith(SUFFIXES)
    recipe = parse_recipe(name, read_recipe_values(Path(name))) if is_file else find_recipe(name)
    output = output or Path(f"{Path(recipe.name).stem}.kb")
    refuse_input(output, [Path(name)])
    console = stderr_console()
    console.print(f"{recipe.title or recipe.name}. License: {recipe.license}. {recipe.home}")
    output.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(output) as folder:
        recipe, origin = fetch(recipe, folder, output.parent if keep_download else folder, console, mirror)
        _build(recipe, output, origin)


# --- build


def _build(recipe: Recipe, output: Path, origin: Mapping[str, Any] | None = None) -> None:
    """Build a knowledge base, and show the report."""
    from ..runs.build_recipe import BuildReport, build_recipe

    console, report = Console(stderr=True), BuildReport()
    try:
        build_recipe(recipe, output, origin=origin, report=report)
    finally:  # if there is no concept, the counts show why
        if report.builder:
            _show_report(report.rows, report.mappings, report.builder, console)
    if builder := report.builder:
        stop_names = f", {builder.n_stop_names:,} of them stop names" if builder.n_stop_names else ""
        line = f"{output}: {builder.n_concepts:,} concepts, {builder.n_names:,} names{stop_names}"
        console.print(line, markup=False, highlight=False)


def _show_report(report: ReadReport, of_mappings: ReadReport, builder: KnowledgeBaseBuilder, console: Console) -> None:
    groups = {
        "rows": {"read": report.rows_read, "kept": report.rows_kept},
        "rows dropped:": report.rows_dropped,
        "names dropped:": report.names_dropped,
        "mappings: rows": {"read": of_mappings.rows_read, "kept": of_mappings.rows_kept},
        "mappings: rows dropped:": of_mappings.rows_dropped,
        "": {"control characters removed": report.control_characters, **report.notes, **builder.counts},
    }
    shown = {name: {label: n for label, n in row.items() if n or name == "rows"} for name, row in groups.items()}
    print_tables({name: row for name, row in shown.items() if row})
    show_problems(console, [*of_mappings.problems, *report.problems], of_mappings.broken + report.broken)
    for path, origin in report.origins.items():
        if origin.get("absent"):
            console.print(f"{path}: there is no {', '.join(origin['absent'])}", markup=False, soft_wrap=True)


# --- get


def _print_catalog() -> None:
    vocabularies = [
        {
            "name": recipe.name,
            "MB": recipe.size if recipe.sources else None,
            "license": recipe.license,
            "release": recipe.release,
            "purpose": recipe.purpose,
        }
        for recipe in sorted(read_catalog().values(), key=lambda recipe: not recipe.sources)
    ]
    show({"vocabularies": vocabularies})
    note = "A vocabulary without a size cannot be downloaded by a program. `kb get NAME` says how to get it."
    stderr_console().print(note)
