"""Define the option groups of `spacy-sapbert kb build`, and turn them into reader settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ..errors import Errors, SapbertError
from .options import split_pairs

if TYPE_CHECKING:
    from ..kb.curation import Curation
    from ..kb.stop_names import StopNameRules

Files = Sequence[tuple[Path, str | None]]
"""Paths of files, each with its format or None."""


@dataclass(frozen=True)
class SourceOptions:
    """Options for reading the vocabulary files."""

    PANEL: ClassVar[str] = "Sources"

    format: Annotated[
        list[str] | None,
        typer.Option(help="Format of the sources: once for all, or once per source. Default: guessed from the file."),
    ] = None
    type: Annotated[list[str] | None, typer.Option(help="Semantic type of concepts that have none.")] = None
    source_name: Annotated[
        str | None,
        typer.Option(help="Source of the names. Default: the name of the file, or for UMLS the SAB of each name."),
    ] = None
    id_prefix: Annotated[str | None, typer.Option(help="Prefix to add to ids that are numbers only.")] = None
    encoding: Annotated[str, typer.Option(help="Encoding of the sources.")] = "utf-8"
    release: Annotated[str | None, typer.Option(help="Release of the sources, to record in the knowledge base.")] = None
    licence: Annotated[str | None, typer.Option(help="License of the sources, to record in the knowledge base.")] = None
    strict: Annotated[bool, typer.Option(help="Stop at the first broken row.")] = False

    def files(self, sources: list[Path]) -> Files:
        """Return the sources and their formats.

        Raises:
            SapbertError: E124 a format cannot be guessed.
        """
        from ..kb.readers import guess_format

        return [(path, known or guess_format(path)) for path, known in paired(sources, self.format, "--format")]

    def of_all_readers(self) -> dict[str, Any]:
        """Return the settings of every reader."""
        settings = {"source": self.source_name, "types": self.type, "id_prefix": self.id_prefix}
        return without_none({**settings, "encoding": self.encoding, "strict": self.strict})


@dataclass(frozen=True)
class TableOptions:
    """Options for reading tables with named columns."""

    PANEL: ClassVar[str] = "Tables"

    column: Annotated[
        list[str] | None, typer.Option(help="Column of a field, as FIELD=COLUMN: synonyms=Synonyms. Repeatable.")
    ] = None
    separator: Annotated[str | None, typer.Option(help="Separator between the values of one cell.")] = None
    delimiter: Annotated[
        str | None, typer.Option(help="Delimiter between cells. Default: a comma for .csv, a tab for .tsv and .tab.")
    ] = None
    where: Annotated[list[str] | None, typer.Option(help="Read only rows with COLUMN=CELL. Repeatable.")] = None
    quoted: Annotated[
        bool | None,
        typer.Option("--quoted/--not-quoted", help="Whether cells can be in double quotes. Default: only with commas."),
    ] = None
    skip: Annotated[int | None, typer.Option(help="Number of lines to skip before the table.")] = None

    def of_reader(self) -> dict[str, Any]:
        """Return the settings of the table reader.

        Raises:
            SapbertError: E532 an option has no `=` between two values.
        """
        by_field: defaultdict[str, list[str]] = defaultdict(list)
        for field, column in split_pairs("--column", self.column):
            by_field[field].append(column)
        cells = dict(split_pairs("--where", self.where))
        plain: dict[str, Any] = {"separator": self.separator, "delimiter": self.delimiter}
        plain |= {"quoted": self.quoted, "skip": self.skip}
        return without_none({"columns": dict(by_field) or None, "where": cells or None, **plain})


@dataclass(frozen=True)
class OntologyOptions:
    """Options for reading ontologies and clinical terminologies."""

    PANEL: ClassVar[str] = "Ontologies"

    prefix: Annotated[
        list[str] | None, typer.Option(help="obo, obograph, rdf: read only terms with this id prefix. Repeatable.")
    ] = None
    label_language: Annotated[
        list[str] | None,
        typer.Option(help="rdf, snomed: language of names, such as en, or 'all'. Repeatable. Default: en."),
    ] = None
    language_refset: Annotated[
        str | None,
        typer.Option(
            help="snomed: id of the reference set that selects preferred names. Default: US English, then GB."
        ),
    ] = None
    related_names: Annotated[
        bool | None, typer.Option("--related-names", help="loinc: also read the related names.")
    ] = None
    default_scope: Annotated[
        str | None, typer.Option(help="obo: scope of synonyms that have none. Default: related.")
    ] = None
    imports: Annotated[bool | None, typer.Option("--imports", help="obograph: also read imported terms.")] = None
    non_current: Annotated[
        bool | None, typer.Option("--non-current", help="meddra: also read terms that are no longer current.")
    ] = None

    def of_readers(self) -> dict[str, dict[str, Any]]:
        """Return the settings of each reader."""
        languages = [] if "all" in (self.label_language or ()) else self.label_language
        return {
            "obo": without_none({"prefixes": self.prefix, "default_scope": self.default_scope}),
            "obograph": without_none({"prefixes": self.prefix, "imports": self.imports}),
            "meddra": without_none({"non_current": self.non_current}),
            "rdf": without_none({"prefixes": self.prefix, "languages": languages}),
            "snomed": without_none({"languages": languages, "language_refset": self.language_refset}),
            "loinc": without_none({"related_names": self.related_names}),
        }


@dataclass(frozen=True)
class MappingOptions:
    """Options for merging concepts of several vocabularies."""

    PANEL: ClassVar[str] = "Mappings"

    mapping: Annotated[
        list[Path] | None,
        typer.Option(help="Merge concepts by this mapping of ids: SSSOM, or a table of two columns. Repeatable."),
    ] = None
    merge_xrefs: Annotated[
        list[str] | None,
        typer.Option(
            help="Merge concepts by their cross-references to this vocabulary: UMLS, MESH, OMIM, …. Repeatable."
        ),
    ] = None


@dataclass(frozen=True)
class CurationOptions:
    """Options for what to take from the sources, and for the names that must not be found in text."""

    PANEL: ClassVar[str] = "Curation"

    below: Annotated[
        list[str] | None, typer.Option(help="Take only this concept and those below it, by id. Repeatable.")
    ] = None
    without: Annotated[
        list[str] | None, typer.Option(help="Leave out this concept and those below it, by id. Repeatable.")
    ] = None
    only_type: Annotated[
        list[str] | None, typer.Option(help="Take only concepts of this semantic type. Repeatable.")
    ] = None
    without_type: Annotated[
        list[str] | None, typer.Option(help="Leave out concepts of this semantic type. Repeatable.")
    ] = None
    only_source: Annotated[list[str] | None, typer.Option(help="Take only names from this source. Repeatable.")] = None
    without_source: Annotated[list[str] | None, typer.Option(help="Leave out names from this source. Repeatable.")] = (
        None
    )
    stop_names: Annotated[
        list[Path] | None, typer.Option(help="List of further names that must not be found in text. Repeatable.")
    ] = None
    keep_names: Annotated[
        list[Path] | None, typer.Option(help="List of names that may always be found in text. Repeatable.")
    ] = None
    default_stop_names: Annotated[
        bool,
        typer.Option(
            "--default-stop-names/--no-default-stop-names",
            help="Do not find names in text that are words of general English, qualifiers, numbers and the like.",
        ),
    ] = True

    def curation(self) -> Curation:
        """Return what to take from the sources."""
        from ..kb.curation import Curation
        from ..kb.ids import canonical_id

        ids = (tuple(map(canonical_id, given or ())) for given in (self.below, self.without))
        others = (self.only_type, self.without_type, self.only_source, self.without_source)
        return Curation(*ids, *(tuple(given or ()) for given in others))

    def rules(self) -> StopNameRules:
        """Return which names must not be found in text.

        Raises:
            SapbertError: E173 a list has no name; E120 to E122 it cannot be read.
        """
        from ..kb.stop_names import StopNameRules, read_names

        return StopNameRules(
            self.default_stop_names, read_names(self.stop_names or ()), read_names(self.keep_names or ())
        )


@dataclass(frozen=True)
class TranslationOptions:
    """Options for names in several languages."""

    PANEL: ClassVar[str] = "Languages"

    names_language: Annotated[
        list[str] | None,
        typer.Option(
            help="Language of names whose file does not give it, such as en: once for all, or once per source."
        ),
    ] = None
    translation: Annotated[
        list[Path] | None,
        typer.Option(help="Add the names of this file to the concepts of the sources. Repeatable."),
    ] = None
    translation_format: Annotated[
        list[str] | None, typer.Option(help="Format of the translations: once for all, or once per translation.")
    ] = None
    translation_language: Annotated[
        list[str] | None,
        typer.Option(help="Language of translations that do not give it: once for all, or once per translation."),
    ] = None
    add_unknown: Annotated[
        bool, typer.Option("--add-unknown", help="Also take translated concepts that no other source has.")
    ] = False

    def languages(self, sources: list[Path]) -> list[str]:
        """Return the language of each source, empty if it is not given.

        Raises:
            SapbertError: E193 a language is no tag; E531 there are several, but not one per source.
        """
        return _tags(paired(sources, self.names_language, "--names-language"))

    def files(self) -> Files:
        """Return the translations and their formats.

        Raises:
            SapbertError: E124 a format cannot be guessed; E531 there are several formats, but not one per translation.
        """
        from ..kb.readers import guess_format

        given = paired(self.translation or [], self.translation_format, "--translation-format")
        return [(path, known or guess_format(path)) for path, known in given]

    def translation_languages(self) -> list[str]:
        """Return the language of each translation, empty if it is not given.

        Raises:
            SapbertError: E193 a language is no tag; E531 there are several, but not one per translation.
        """
        return _tags(paired(self.translation or [], self.translation_language, "--translation-language"))


@dataclass(frozen=True)
class CorpusOptions:
    """Options for the corpora with mentions to add as names."""

    PANEL: ClassVar[str] = "Corpora"

    mentions: Annotated[
        list[Path] | None,
        typer.Option(help="Add the mentions of this corpus as names of their concepts. Repeatable."),
    ] = None
    mentions_format: Annotated[
        list[str] | None, typer.Option(help="Format of the corpora: once for all, or once per corpus.")
    ] = None
    mentions_type: Annotated[list[str] | None, typer.Option(help="Add only mentions of this type. Repeatable.")] = None

    def files(self) -> Files:
        """Return the corpora and their formats.

        Raises:
            SapbertError: E531 there are several formats, but not one per corpus.
        """
        return paired(self.mentions or [], self.mentions_format, "--mentions-format")


@dataclass(frozen=True)
class UmlsOptions:
    """Options for reading a release of UMLS or RxNorm."""

    PANEL: ClassVar[str] = "UMLS and RxNorm"

    language: Annotated[
        list[str] | None, typer.Option(help="Language of names (LAT), or 'all'. Repeatable. Default: ENG.")
    ] = None
    sab: Annotated[list[str] | None, typer.Option(help="Read only this source (SAB). Repeatable. Default: all.")] = None
    without_sab: Annotated[list[str] | None, typer.Option(help="Leave out this source (SAB). Repeatable.")] = None
    drop_suppressed: Annotated[
        str | None, typer.Option(help="Leave out rows with these flags (SUPPRESS). Default: OEY.")
    ] = None
    term_type: Annotated[
        list[str] | None, typer.Option(help="Read only names of this term type (TTY). Repeatable. Default: all.")
    ] = None
    semantic_type: Annotated[
        list[str] | None,
        typer.Option(help="Read only concepts of this semantic type, by TUI (T047) or name. Repeatable."),
    ] = None
    semantic_group: Annotated[
        list[str] | None, typer.Option(help="Read only concepts of this semantic group: DISO, …. Repeatable.")
    ] = None
    code_source: Annotated[
        list[str] | None,
        typer.Option(help="Take the codes of this source (SAB) as cross-references, such as ICD10CM. Repeatable."),
    ] = None
    trade_names: Annotated[
        bool | None,
        typer.Option("--trade-names/--no-trade-names", help="Add brand names to drugs. Default: yes."),
    ] = None
    definitions: Annotated[
        bool | None, typer.Option("--definitions/--no-definitions", help="Read definitions. Default: yes.")
    ] = None
    parents: Annotated[bool | None, typer.Option("--parents", help="Read the parents of concepts.")] = None
    sort: Annotated[
        bool | None, typer.Option("--sort", help="Sort the rows by concept. Needed for unsorted releases only.")
    ] = None

    def of_reader(self) -> dict[str, Any]:
        """Return the settings of the UMLS reader, if any option is set."""
        from ..kb.readers.umls import UmlsSettings

        fields = {"sab": "sources", "without_sab": "without_sources", "term_type": "term_types"}
        fields |= {"semantic_type": "semantic_types", "semantic_group": "semantic_groups", "code_source": "codes"}
        settings = {fields.get(name, name): value for name, value in without_none(asdict(self)).items()}
        if languages := settings.pop("language", None):
            settings["languages"] = [] if "all" in languages else languages
        return {"umls": UmlsSettings(**settings)} if settings else {}


def paired(paths: list[Path], formats: list[str] | None, option: str) -> Files:
    """Pair each path with its format.

    Raises:
        SapbertError: E531 there are several formats, but not one per path.
    """
    all_formats: list[str | None] = [*formats] if formats else [None]
    if len(all_formats) == 1:
        all_formats *= len(paths)
    if len(all_formats) != len(paths):
        raise SapbertError(Errors.E531.format(option=option, given=len(all_formats), wanted=len(paths)))
    return list(zip(paths, all_formats, strict=True))


def _tags(given: Files) -> list[str]:
    from ..kb.languages import language_tag

    return [language_tag(tag or "") for _, tag in given]


def without_none(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in options.items() if value is not None}
