"""`spacy-sapbert kb build`: vocabulary files and annotated corpora in, a store out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    from ..kb.build import StoreBuilder
    from ..kb.readers import ReadReport

_SHOWN_BROKEN = 10


def build(
    sources: Annotated[list[Path], typer.Argument(help="Vocabulary files, plain or gzipped.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The store to write.")],
    format: Annotated[
        list[str] | None, typer.Option(help="Format of the sources: one for all, or one a source; guessed where plain.")
    ] = None,
    type: Annotated[list[str] | None, typer.Option(help="A semantic type for concepts that have none.")] = None,
    source_name: Annotated[
        str | None, typer.Option(help="Name of the source that the names are given; by default the file's.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="For tables: FIELD=COLUMN, for example synonyms=Synonyms.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="For tables: what separates the values of a cell.")] = None,
    id_prefix: Annotated[str | None, typer.Option(help="Prefix for ids that are bare numbers.")] = None,
    mentions: Annotated[
        list[Path] | None, typer.Option(help="A corpus whose mentions become names of their concepts.")
    ] = None,
    mentions_format: Annotated[list[str] | None, typer.Option(help="Its format: one for all, or one a corpus.")] = None,
    mentions_type: Annotated[list[str] | None, typer.Option(help="Take mentions of this type only.")] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first broken row.")] = False,
) -> None:
    """Build a store from vocabulary files, and say on standard error what was read and what was dropped."""
    from ..kb.build import new_store
    from ..kb.mentions import add_mentions
    from ..kb.readers import ReadReport, read_vocabulary
    from ..kb.store import ConceptStore

    report = ReadReport()
    options = _table_options(column, separator)
    given = _paired(sources, format, "--format")
    corpora = _paired(mentions or [], mentions_format, "--mentions-format")
    console = Console(stderr=True)
    with console.status(f"building {output}"), new_store(output) as builder:
        for path, format_ in given:
            for record in read_vocabulary(
                path,
                format_,
                report=report,
                source=source_name,
                types=type or [],
                id_prefix=id_prefix,
                strict=strict,
                **options,
            ):
                builder.add(record)
        for path, format_ in corpora:
            add_mentions(builder, _documents(path, format_, mentions_type, strict, builder), path.name.split(".")[0])
        builder.finish({"sources": _manifest(given), "mentions": _manifest(corpora), **_counts(report, builder)})
    store = ConceptStore(output)
    _show_report(report, builder, console)
    console.print(f"{output}: {len(store):,} concepts, {store.n_names:,} names", highlight=False)


def _paired(paths: list[Path], formats: list[str] | None, option: str) -> list[tuple[Path, str | None]]:
    """Give each path its format. RAISES (SapbertError): E531 there are several formats, but not one a path."""
    given: list[str | None] = [*formats] if formats else [None]
    if len(given) == 1:
        given *= len(paths)
    if len(given) != len(paths):
        raise SapbertError(Errors.E531.format(option=option, given=len(given), wanted=len(paths)))
    return list(zip(paths, given, strict=True))


def _table_options(columns: list[str] | None, separator: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {} if separator is None else {"separator": separator}
    pairs = [column.partition("=") for column in columns or []]
    if not all(equals for _, equals, _ in pairs):
        raise SapbertError(Errors.E532.format(given=columns))
    if pairs:
        options["columns"] = {field: column for field, _, column in pairs}
    return options


def _documents(
    path: Path, format: str | None, types: list[str] | None, strict: bool, builder: StoreBuilder
) -> Iterator[Any]:
    from ..corpora.reader import read_corpus
    from ..corpora.report import Report

    report = Report()
    for document in read_corpus(path, format, strict=strict, report=report):
        kept = tuple(mention for mention in document.mentions if not types or mention.label in types)
        builder.counts["mentions of other types"] += len(document.mentions) - len(kept)
        yield document._replace(mentions=kept)
    builder.counts["broken records of corpora"] += report.broken


def _manifest(files: list[tuple[Path, str | None]]) -> list[dict[str, str | None]]:
    # names without folders, so that the same files give the same store wherever they lie
    return [{"file": path.name, "format": format, "sha256": _sha256(path)} for path, format in files]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _counts(report: ReadReport, builder: StoreBuilder) -> dict[str, Any]:
    read = {key: value for key, value in vars(report).items() if key != "broken"}
    return {"read": read, "built": _nonzero(builder.counts)}


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: count for reason, count in sorted(counts.items()) if count}


def _show_report(report: ReadReport, builder: StoreBuilder, console: Console) -> None:
    table = Table("", "count", box=None)
    table.columns[1].justify = "right"
    rows = {"rows read": report.rows_read, "rows kept": report.rows_kept}
    rows |= {f"rows dropped: {reason}": count for reason, count in report.rows_dropped.items()}
    rows |= {f"names dropped: {reason}": count for reason, count in report.names_dropped.items()}
    removed = {"control characters taken out": report.control_characters}
    for label, count in {**rows, **_nonzero(removed), **_nonzero(builder.counts)}.items():
        table.add_row(escape(label), f"{count:,}")
    console.print(table)
    for path, line, reason in report.broken[:_SHOWN_BROKEN]:
        console.print(f"{path}, line {line}: {reason}", markup=False)
    if report.n_broken > _SHOWN_BROKEN:
        console.print(f"… and {report.n_broken - _SHOWN_BROKEN:,} more")
