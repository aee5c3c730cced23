"""`spacy-sapbert kb build`: vocabulary files and annotated corpora in, a store out."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..errors import Errors, SapbertError
from .options import split_pairs

if TYPE_CHECKING:
    from ..kb.build import KnowledgeBaseBuilder
    from ..kb.readers import ReadReport
    from ..types import Record

_Files = Sequence[tuple[Path, str | None]]
"""Files and their formats."""

_SHOWN_BROKEN = 10
_TABLES, _ONTOLOGIES, _UMLS, _MAPPINGS, _CORPORA = "Tables", "Ontologies", "UMLS", "Mappings", "Corpora"


def build(
    sources: Annotated[list[Path], typer.Argument(help="Vocabulary files, plain or gzipped; of UMLS also a folder.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The store to write.")],
    format: Annotated[
        list[str] | None, typer.Option(help="Format of the sources: one for all, or one a source; guessed where plain.")
    ] = None,
    type: Annotated[list[str] | None, typer.Option(help="A semantic type for concepts that have none.")] = None,
    source_name: Annotated[
        str | None,
        typer.Option(help="Name of the source that the names are given; by default the file's, and in UMLS their own."),
    ] = None,
    id_prefix: Annotated[str | None, typer.Option(help="Prefix for ids that are bare numbers.")] = None,
    encoding: Annotated[str, typer.Option(help="Of the sources.")] = "utf-8",
    release: Annotated[str | None, typer.Option(help="Release of the sources, to be kept in the store.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the sources, to be kept in the store.")] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first broken row.")] = False,
    column: Annotated[
        list[str] | None, typer.Option(help="FIELD=COLUMN, for example synonyms=Synonyms.", rich_help_panel=_TABLES)
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates the values of a cell.", rich_help_panel=_TABLES)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What separates the cells; by default a comma in .csv.", rich_help_panel=_TABLES)
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Take rows with COLUMN=CELL only.", rich_help_panel=_TABLES)
    ] = None,
    skip: Annotated[int | None, typer.Option(help="Lines before the table.", rich_help_panel=_TABLES)] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(help="obo, obograph: take terms with this id prefix only.", rich_help_panel=_ONTOLOGIES),
    ] = None,
    default_scope: Annotated[
        str | None,
        typer.Option(help="obo: scope of synonyms without one; by default related.", rich_help_panel=_ONTOLOGIES),
    ] = None,
    imports: Annotated[
        bool | None, typer.Option("--imports", help="obograph: also what is imported.", rich_help_panel=_ONTOLOGIES)
    ] = None,
    non_current: Annotated[
        bool | None, typer.Option("--non-current", help="meddra: also old terms.", rich_help_panel=_ONTOLOGIES)
    ] = None,
    mapping: Annotated[
        list[Path] | None,
        typer.Option(
            help="Which ids mean the same, so that their concepts become one: SSSOM, or a table of two columns.",
            rich_help_panel=_MAPPINGS,
        ),
    ] = None,
    merge_xrefs: Annotated[
        list[str] | None,
        typer.Option(
            help="Merge concepts by their cross-references to a vocabulary, by its prefix: UMLS, MESH, OMIM, …",
            rich_help_panel=_MAPPINGS,
        ),
    ] = None,
    mentions: Annotated[
        list[Path] | None,
        typer.Option(help="A corpus whose mentions become names of their concepts.", rich_help_panel=_CORPORA),
    ] = None,
    mentions_format: Annotated[
        list[str] | None, typer.Option(help="Its format: one for all, or one a corpus.", rich_help_panel=_CORPORA)
    ] = None,
    mentions_type: Annotated[
        list[str] | None, typer.Option(help="Take mentions of this type only.", rich_help_panel=_CORPORA)
    ] = None,
    language: Annotated[
        list[str] | None,
        typer.Option(help="Language of names (LAT), or 'all'; by default ENG.", rich_help_panel=_UMLS),
    ] = None,
    sab: Annotated[
        list[str] | None, typer.Option(help="Take this source (SAB); by default all.", rich_help_panel=_UMLS)
    ] = None,
    without_sab: Annotated[list[str] | None, typer.Option(help="Leave this source out.", rich_help_panel=_UMLS)] = None,
    drop_suppressed: Annotated[
        str | None,
        typer.Option(help="Leave out rows with these flags (SUPPRESS); by default OEY.", rich_help_panel=_UMLS),
    ] = None,
    term_type: Annotated[
        list[str] | None, typer.Option(help="Take names of this type (TTY); by default all.", rich_help_panel=_UMLS)
    ] = None,
    semantic_type: Annotated[
        list[str] | None,
        typer.Option(help="Take concepts of this semantic type: T047, or its name.", rich_help_panel=_UMLS),
    ] = None,
    semantic_group: Annotated[
        list[str] | None,
        typer.Option(help="Take concepts of this group of semantic types: DISO, …", rich_help_panel=_UMLS),
    ] = None,
    trade_names: Annotated[
        bool | None,
        typer.Option(
            "--trade-names/--no-trade-names",
            help="Give a drug the names of its brands; by default yes.",
            rich_help_panel=_UMLS,
        ),
    ] = None,
    definitions: Annotated[
        bool | None,
        typer.Option("--definitions/--no-definitions", help="Read them; by default yes.", rich_help_panel=_UMLS),
    ] = None,
    parents: Annotated[
        bool | None, typer.Option("--parents", help="Read which concepts are above which.", rich_help_panel=_UMLS)
    ] = None,
    sort: Annotated[
        bool | None,
        typer.Option(
            "--sort",
            help="Sort the rows by concept, for files that are not sorted as a release is.",
            rich_help_panel=_UMLS,
        ),
    ] = None,
) -> None:
    """Build a store from vocabulary files, and say on standard error what was read and what was dropped."""
    from ..kb.build import new_knowledge_base
    from ..kb.knowledge_base import KnowledgeBase
    from ..kb.mapping import read_mappings
    from ..kb.readers import ReadReport, guess_format

    options = {
        "table": _table_options(column, where, separator=separator, delimiter=delimiter, skip=skip),
        "obo": _given(prefixes=prefix, default_scope=default_scope),
        "obograph": _given(prefixes=prefix, imports=imports),
        "meddra": _given(non_current=non_current),
        "umls": _umls_options(
            language,
            sources=sab,
            without_sources=without_sab,
            drop_suppressed=drop_suppressed,
            term_types=term_type,
            semantic_types=semantic_type,
            semantic_groups=semantic_group,
            trade_names=trade_names,
            definitions=definitions,
            parents=parents,
            sort=sort,
        ),
    }
    given: _Files = [(path, known or guess_format(path)) for path, known in _paired(sources, format, "--format")]
    corpora = _paired(mentions or [], mentions_format, "--mentions-format")
    console = Console(stderr=True)
    report, of_mappings = ReadReport(), ReadReport()
    equivalents = read_mappings(mapping or [], report=of_mappings, strict=strict)
    with new_knowledge_base(output, equivalents, merge_xrefs or []) as builder:
        settings = _given(source=source_name, types=type, id_prefix=id_prefix, encoding=encoding, strict=strict)
        for record in _shown(_records(given, options, report, **settings), report, console):
            builder.add(record)
        with console.status(f"writing {output}"):
            _add_mentions(builder, corpora, mentions_type, strict)
            files = {"mentions": corpora, "mappings": [(path, None) for path in mapping or []], "sources": given}
            manifests = {kind: _manifest(of, report.origins) for kind, of in files.items()}
            try:
                told = _given(release=release, licence=licence)
                builder.finish({**manifests, **told, "merge_xrefs": merge_xrefs or [], "read": report.counts()})
            finally:  # without a concept, the counts tell why
                _show_report(report, of_mappings, builder, console)
    kb = KnowledgeBase(output)
    console.print(f"{output}: {len(kb):,} concepts, {kb.n_names:,} names", highlight=False)


def _paired(paths: list[Path], formats: list[str] | None, option: str) -> _Files:
    """Give each path its format. RAISES (SapbertError): E531 there are several formats, but not one a path."""
    given: list[str | None] = [*formats] if formats else [None]
    if len(given) == 1:
        given *= len(paths)
    if len(given) != len(paths):
        raise SapbertError(Errors.E531.format(option=option, given=len(given), wanted=len(paths)))
    return list(zip(paths, given, strict=True))


def _given(**options: Any) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): options of a reader, without those that were not given."""
    return {name: value for name, value in options.items() if value is not None}


def _table_options(columns: list[str] | None, where: list[str] | None, **given: Any) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): options of the reader of tables, without those that were not given."""
    by_field: defaultdict[str, list[str]] = defaultdict(list)
    for field, column in split_pairs("--column", columns):
        by_field[field].append(column)
    cells = dict(split_pairs("--where", where))
    return _given(columns=dict(by_field) or None, where=cells or None, **given)


def _umls_options(languages: list[str] | None, **given: Any) -> dict[str, Any]:
    """RETURNS (dict[str, Any]): options of the reader of UMLS, without those that were not given."""
    from ..kb.readers.umls import UmlsSettings

    settings = _given(**given)
    if languages:
        settings["languages"] = [] if "all" in languages else languages
    return {"umls": UmlsSettings(**settings)} if settings else {}


def _records(
    given: _Files, options: Mapping[str, dict[str, Any]], report: ReadReport, **settings: Any
) -> Iterator[Record]:
    """Read the sources. options (Mapping[str, dict[str, Any]]): the options of formats that have some."""
    from ..kb.readers import read_vocabulary

    formats = {format for _, format in given}
    taken = {name for format in formats for name in options.get(format or "", ())}
    # options that no source takes: the first reader refuses them
    left = {name: value for of in options.values() for name, value in of.items() if name not in taken}
    for path, format in given:
        own = options.get(format or "", {})
        yield from read_vocabulary(path, format, report=report, **settings, **own, **left)


def _shown(records: Iterable[Record], report: ReadReport, console: Console) -> Iterator[Record]:
    """Pass records on, and show on a terminal how far the reading has come."""
    columns = (SpinnerColumn(), TextColumn("{task.completed:,} concepts"), _ShareRead(report), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        yield from progress.track(records)


class _ShareRead(ProgressColumn):
    """How much of a source has been read, by the bytes that its reader counts; also before its first record."""

    def __init__(self, report: ReadReport) -> None:
        super().__init__()
        self._report = report

    def render(self, task: Task) -> Text:
        total = self._report.bytes_total
        return Text(f"{self._report.bytes_read / total:.0%}" if total else "")


def _add_mentions(builder: KnowledgeBaseBuilder, corpora: _Files, types: list[str] | None, strict: bool) -> None:
    from ..kb.mentions import add_mentions

    for path, format in corpora:
        documents = _documents(path, format, types, strict, builder)
        add_mentions(builder, documents, source=path.name.split(".")[0])


def _documents(
    path: Path, format: str | None, types: list[str] | None, strict: bool, builder: KnowledgeBaseBuilder
) -> Iterator[Any]:
    from ..corpora.mention_types import has_type
    from ..corpora.reader import read_corpus
    from ..corpora.report import Report

    report = Report()
    for document in read_corpus(path, format, strict=strict, report=report):
        kept = tuple(mention for mention in document.mentions if not types or has_type(mention.label, types))
        builder.counts["mentions of other types"] += len(document.mentions) - len(kept)
        yield document._replace(mentions=kept)
    builder.counts["broken records of corpora"] += report.broken


def _manifest(files: _Files, origins: Mapping[Path, dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read, with checksums.

    origins (Mapping[Path, dict[str, Any]]): what readers themselves tell of their sources.
    """
    # names without folders, so that the same files give the same store wherever they lie
    return [
        {"file": path.name or path.resolve().name, "format": format, **(origins.get(path) or {"sha256": _sha256(path)})}
        for path, format in files
    ]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _show_report(report: ReadReport, of_mappings: ReadReport, builder: KnowledgeBaseBuilder, console: Console) -> None:
    table = Table("", "count", box=None)
    table.columns[1].justify = "right"
    rows = _rows_read(report)
    rows |= {f"names dropped: {reason}": count for reason, count in report.names_dropped.items()}
    rows |= {"control characters taken out": report.control_characters, **report.notes}
    rows |= {f"mappings: {label}": count for label, count in _rows_read(of_mappings).items()}
    for label, count in {**rows, **builder.counts}.items():
        if count or label in ("rows read", "rows kept"):
            table.add_row(escape(label), f"{count:,}")
    console.print(table)
    for path, line, reason in [*of_mappings.broken, *report.broken][:_SHOWN_BROKEN]:
        console.print(f"{path}, line {line}: {reason}", markup=False, soft_wrap=True)
    n_broken = of_mappings.n_broken + report.n_broken
    if n_broken > _SHOWN_BROKEN:
        console.print(f"… and {n_broken - _SHOWN_BROKEN:,} more")
    for path, origin in report.origins.items():
        if origin.get("absent"):
            console.print(f"{path}: there is no {', '.join(origin['absent'])}", markup=False, soft_wrap=True)


def _rows_read(report: ReadReport) -> dict[str, int]:
    rows = {"rows read": report.rows_read, "rows kept": report.rows_kept}
    return rows | {f"rows dropped: {reason}": count for reason, count in report.rows_dropped.items()}
