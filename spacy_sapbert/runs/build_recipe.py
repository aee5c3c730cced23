"""Build a knowledge base as a recipe says: from vocabularies, translations and annotated corpora."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from rich.console import Console

from ..documents.reader import read_corpus
from ..documents.source import Report
from ..files.console import track
from ..files.opening import sha256_of
from ..files.output import refuse_input
from ..kb.build import KnowledgeBaseBuilder, new_knowledge_base
from ..kb.curation import curate
from ..kb.knowledge_base import KnowledgeBase
from ..kb.mapping import read_mappings
from ..kb.readers import ReadReport, read_vocabulary
from ..kb.recipe import TRANSLATIONS, File, Recipe, parse_recipe, read_recipe_values
from ..types import Document, Record, has_type


@dataclass
class BuildReport:
    """What was read and built.

    Attributes:
        rows: The rows of vocabularies.
        mappings: Those of mappings.
        builder: Has the counts, when all is read.
    """

    rows: ReadReport = field(default_factory=ReadReport)
    mappings: ReadReport = field(default_factory=ReadReport)
    builder: KnowledgeBaseBuilder | None = None


def build_recipe(
    recipe: Recipe | str | Path,
    output: str | Path,
    *,
    origin: Mapping[str, Any] | None = None,
    report: BuildReport | None = None,
) -> KnowledgeBase:
    """Build a knowledge base as a recipe says, and show the progress on standard error.

    Args:
        recipe: The recipe, or its file.
        output: The file to write.
        origin: What the knowledge base records of a download, see `download`.
        report: Gets the counts, also if there is no concept.

    Raises:
        SapbertError: The recipe has an error, a source cannot be read, or the output cannot be written.
    """
    if not isinstance(recipe, Recipe):
        recipe = parse_recipe(str(recipe), read_recipe_values(Path(recipe)))
    output, report, console = Path(output), report or BuildReport(), Console(stderr=True)
    refuse_input(output, recipe.inputs)
    rows = report.rows
    # without another source, a translation is the vocabulary
    base = [file for file in recipe.sources if file.format not in TRANSLATIONS] or [*recipe.sources]
    translated = [*(file for file in recipe.sources if file not in base), *recipe.translations]
    if recipe.add_unknown:
        base, translated = [*base, *translated], []
    equivalents = None
    if recipe.mappings:
        equivalents = read_mappings(recipe.mappings, report=report.mappings, strict=recipe.strict)
    rules = recipe.stop_name_rules()
    merge_sources = recipe.merge_sources and len(base) > 1
    with new_knowledge_base(output, equivalents, recipe.merge_xrefs, merge_sources) as builder:
        read = partial(_read, strict=recipe.strict)
        records: Iterator[Record] = chain.from_iterable(map(partial(read, report=rows), base))
        if any(recipe.curation):
            sources = [lambda report, file=file: read(file, report=report) for file in base]
            records = curate(recipe.curation, sources, rows, builder.counts)
        for record in track(records, console, "concepts", share=lambda: rows.bytes_read / max(1, rows.bytes_total)):
            builder.add(record)
        with console.status(f"writing {output}"):
            for file in translated:
                warning = builder.add_translation(read(file, report=rows), file.path)
                if warning:
                    console.print(warning, markup=False, soft_wrap=True)
            _add_corpora(recipe, builder)
            report.builder = builder
            builder.finish(_meta(recipe, rows, origin or {}), rules)
    return KnowledgeBase(output)


def _read(file: File, report: ReadReport, strict: bool) -> Iterator[Record]:
    settings: dict[str, Any] = {"language": file.language, "strict": strict, **file.settings}
    return read_vocabulary(file.path, file.format, report=report, **settings)


def _add_corpora(recipe: Recipe, builder: KnowledgeBaseBuilder) -> None:
    """Add the mentions of annotated corpora as names."""
    if recipe.mentions:
        from ..kb.mentions import add_mentions
    for corpus in recipe.mentions:
        documents = _documents(corpus, recipe.strict, builder)
        add_mentions(builder, documents, source=corpus.path.name.split(".")[0])


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
