"""Define `spacy-sapbert kb build`, which builds a knowledge base from vocabulary files and annotated corpora."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..files.console import track
from ..files.opening import sha256_of
from ..files.output import refuse_input
from .kb_build_options import (
    CorpusOptions,
    CurationOptions,
    Files,
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
    from ..kb.build import KnowledgeBaseBuilder
    from ..kb.curation import Curation, Curator
    from ..kb.readers import ReadReport
    from ..types import Record

_SHOWN_BROKEN = 10


@grouped
def build(
    sources: Annotated[
        list[Path], typer.Argument(help="Vocabulary files, plain or gzipped, or the folder of a release.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Knowledge base file to write.")],
    source_options: SourceOptions,
    tables: TableOptions,
    ontologies: OntologyOptions,
    mappings: MappingOptions,
    curating: CurationOptions,
    translations: TranslationOptions,
    corpora: CorpusOptions,
    umls: UmlsOptions,
) -> None:
    """Build a knowledge base from vocabulary files.

    The command shows how many rows were read and dropped, and why.
    """
    build_from_files(
        sources,
        output,
        source_options=source_options,
        tables=tables,
        ontologies=ontologies,
        mappings=mappings,
        curating=curating,
        translations=translations,
        corpora=corpora,
        umls=umls,
    )


def build_from_files(
    sources: list[Path],
    output: Path,
    *,
    source_options: SourceOptions,
    tables: TableOptions,
    ontologies: OntologyOptions,
    mappings: MappingOptions,
    curating: CurationOptions,
    translations: TranslationOptions,
    corpora: CorpusOptions,
    umls: UmlsOptions,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Build a knowledge base, and show the progress and the report.

    Args:
        sources: The vocabulary files.
        output: The knowledge base file to write.
        source_options: How to read the files.
        tables: How to read tables.
        ontologies: How to read ontologies.
        mappings: How to merge concepts.
        curating: What to take from the files.
        translations: The languages of names, and files that only add names.
        corpora: Corpora with mentions to add.
        umls: How to read UMLS.
        about: Further facts to record in the knowledge base.
    """
    from ..kb.build import new_knowledge_base
    from ..kb.curation import Curator
    from ..kb.knowledge_base import KnowledgeBase
    from ..kb.mapping import read_mappings
    from ..kb.readers import ReadReport

    of_umls = umls.of_reader()
    options = {"table": tables.of_reader(), "umls": of_umls, "rxnorm": of_umls, **ontologies.of_readers()}
    files: dict[str, Files] = {
        "mentions": corpora.files(),
        "mappings": [(path, None) for path in mappings.mapping or []],
        "sources": source_options.files(sources),
        "translations": translations.files(),
    }
    lists = [*(curating.stop_names or ()), *(curating.keep_names or ())]
    refuse_input(output, [*(path for group in files.values() for path, _ in group), *lists])
    reading = _Reading(
        [*files["sources"], *files["translations"]], options, report := ReadReport(), source_options.of_all_readers()
    )
    base, translated = _split(files, translations, sources)
    console = Console(stderr=True)
    of_mappings = ReadReport()
    equivalents = read_mappings(mappings.mapping or [], report=of_mappings, strict=source_options.strict)
    curator, rules = Curator(curating.curation()), curating.rules()
    with new_knowledge_base(output, equivalents, mappings.merge_xrefs or []) as builder:
        records = _curated(base, reading, curator)
        for record in _with_progress(records, report, console):
            builder.add(record)
        with console.status(f"writing {output}"):
            for file in translated:
                _add_translation(builder, file, reading, console)
            _add_mentions(builder, files["mentions"], corpora.mentions_type, source_options.strict)
            try:
                builder.counts += curator.counts
                meta = _meta(files, source_options, mappings, curator.curation, translations, report)
                builder.finish({**meta, **(about or {})}, rules)
            finally:  # if there is no concept, the counts show why
                _show_report(report, of_mappings, builder, console)
    kb = KnowledgeBase(output)
    stop_names = f", {kb.n_stop_names:,} of them stop names" if kb.n_stop_names else ""
    console.print(f"{output}: {len(kb):,} concepts, {kb.n_names:,} names{stop_names}", markup=False, highlight=False)


def _meta(
    files: Mapping[str, Files],
    source_options: SourceOptions,
    mappings: MappingOptions,
    curation: Curation,
    translations: TranslationOptions,
    report: ReadReport,
) -> dict[str, Any]:
    """Return what the knowledge base records about how it was built."""
    manifests = {kind: _manifest(of, report.origins) for kind, of in files.items()}
    about = without_none({"release": source_options.release, "licence": source_options.licence})
    languages = {"names_language": translations.names_language or [], "add_unknown": translations.add_unknown}
    curated = {"curation": curation.as_json()} if any(curation) else {}
    others = {"merge_xrefs": mappings.merge_xrefs or [], "read": report.counts()}
    return {**manifests, **about, **curated, **languages, **others}


class _File(NamedTuple):
    """A source or a translation, with the language of names that do not give it."""

    path: Path
    format: str | None
    language: str


class _Reading:
    """Reads sources and translations.

    Args:
        files: All of them, with their formats.
        options: The options of the formats with options of their own.
        report: Counts rows and problems.
        settings: The settings of all readers.
    """

    def __init__(
        self, files: Files, options: Mapping[str, dict[str, Any]], report: ReadReport, settings: dict[str, Any]
    ) -> None:
        formats = {format for _, format in files}
        used = {name for format in formats for name in options.get(format or "", ())}
        # no source uses these options, so the first reader raises an error
        self._unused = {name: value for of in options.values() for name, value in of.items() if name not in used}
        self._options, self._report, self._settings = options, report, settings

    def records(self, file: _File, report: ReadReport | None = None) -> Iterator[Record]:
        """Yield the records of one file. Rows are counted in `report` if it is given."""
        from ..kb.readers import read_vocabulary

        settings = {**self._settings, **self._options.get(file.format or "", {}), **self._unused}
        return read_vocabulary(
            file.path, file.format, report=report or self._report, language=file.language, **settings
        )


def _curated(files: list[_File], reading: _Reading, curator: Curator) -> Iterator[Record]:
    """Yield what a curator takes from the files. For a part of a hierarchy, all are read twice."""
    from ..kb.readers import ReadReport

    if curator.curation.needs_hierarchy:
        for file in files:
            curator.read_hierarchy(reading.records(file, ReadReport()))
        curator.check_ids()
    for source, file in enumerate(files):
        yield from curator.take(reading.records(file), source)
    curator.check_filters()


def _split(
    files: Mapping[str, Files], options: TranslationOptions, sources: list[Path]
) -> tuple[list[_File], list[_File]]:
    """Return the files that give concepts, and those that give only names to them."""
    from ..kb.translations import FORMATS

    given = [
        _File(path, format, language)
        for (path, format), language in zip(files["sources"], options.languages(sources), strict=True)
    ]
    base = [file for file in given if file.format not in FORMATS]
    # without another source, the translation is the vocabulary
    translated = [file for file in given if file.format in FORMATS] if base else []
    base = base or given
    translated += [
        _File(path, format, language)
        for (path, format), language in zip(files["translations"], options.translation_languages(), strict=True)
    ]
    return ([*base, *translated], []) if options.add_unknown else (base, translated)


def _add_translation(builder: KnowledgeBaseBuilder, file: _File, reading: _Reading, console: Console) -> None:
    from ..kb.translations import add_translation

    warning = add_translation(builder, reading.records(file), file.path)
    if warning:
        console.print(warning, markup=False, soft_wrap=True)


def _with_progress(records: Iterable[Record], report: ReadReport, console: Console) -> Iterator[Record]:
    """Pass records on, and show the progress: by the bytes of the sources that their readers have read."""

    def share() -> float:
        return report.bytes_read / report.bytes_total if report.bytes_total else 0.0

    yield from track(records, console, "concepts", share=share)


def _add_mentions(builder: KnowledgeBaseBuilder, corpora: Files, types: list[str] | None, strict: bool) -> None:
    from ..kb.mentions import add_mentions

    for path, format in corpora:
        documents = _documents(path, format, types, strict, builder)
        add_mentions(builder, documents, source=path.name.split(".")[0])


def _documents(
    path: Path, format: str | None, types: list[str] | None, strict: bool, builder: KnowledgeBaseBuilder
) -> Iterator[Any]:
    from ..documents.mention_types import has_type
    from ..documents.reader import read_corpus
    from ..documents.report import Report

    report = Report()
    for document in read_corpus(path, format, strict=strict, report=report):
        kept = tuple(mention for mention in document.mentions if not types or has_type(mention.label, types))
        builder.counts["mentions of other types"] += len(document.mentions) - len(kept)
        yield document._replace(mentions=kept)
    builder.counts["broken records of corpora"] += report.broken


def _manifest(files: Files, origins: Mapping[Path, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files that were read, with checksums.

    Args:
        files: The files and their formats.
        origins: The origin of each source, as its reader reports it.
    """
    # without folders, so that the same files give the same knowledge base anywhere
    return [
        {
            "file": path.name or path.resolve().name,
            "format": format,
            **(origins.get(path) or {"sha256": sha256_of(path)}),
        }
        for path, format in files
    ]


def _show_report(report: ReadReport, of_mappings: ReadReport, builder: KnowledgeBaseBuilder, console: Console) -> None:
    table = Table("", "count", box=None)
    table.columns[1].justify = "right"
    rows = _rows_read(report)
    rows |= {f"names dropped: {reason}": count for reason, count in report.names_dropped.items()}
    rows |= {"control characters removed": report.control_characters, **report.notes}
    rows |= {f"mappings: {label}": count for label, count in _rows_read(of_mappings).items()}
    for label, count in {**rows, **builder.counts}.items():
        if count or label in ("rows read", "rows kept"):
            table.add_row(escape(label), f"{count:,}")
    console.print(table)
    for problem in [*of_mappings.problems, *report.problems][:_SHOWN_BROKEN]:
        console.print(str(problem), markup=False, soft_wrap=True)
    n_broken = of_mappings.broken + report.broken
    if n_broken > _SHOWN_BROKEN:
        console.print(f"… and {n_broken - _SHOWN_BROKEN:,} more")
    for path, origin in report.origins.items():
        if origin.get("absent"):
            console.print(f"{path}: there is no {', '.join(origin['absent'])}", markup=False, soft_wrap=True)


def _rows_read(report: ReadReport) -> dict[str, int]:
    rows = {"rows read": report.rows_read, "rows kept": report.rows_kept}
    return rows | {f"rows dropped: {reason}": count for reason, count in report.rows_dropped.items()}
