"""Read translations of an ontology from Babelon tables (https://github.com/monarch-initiative/babelon).

Each row is one translation. A translated label or synonym is a name of its concept. The Disease Ontology's tables of
translations, which have other headings for the same columns, are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...errors import MissingColumnError
from ...types import Record
from ..languages import known_tag
from .context import ReaderContext
from .ontology import curie

_COLUMNS = {
    "id": ("subject_id", "source_id"),
    "property": ("predicate_id", "predicate"),
    "language": ("translation_language", "translation_lang"),
    "text": ("translation_value", "translation_text"),
    "status": ("translation_status", "status"),
}
_OPTIONAL = ("status",)

# The scope of a name by the last part of its predicate: rdfs:label, oboInOwl:hasBroadSynonym, …
_SCOPES = {
    "label": "preferred",
    "prefLabel": "preferred",
    "altLabel": "exact",
    "hasExactSynonym": "exact",
    "hasNarrowSynonym": "narrow",
    "hasBroadSynonym": "broad",
    "hasRelatedSynonym": "related",
}


def read_babelon(context: ReaderContext, *, languages: Sequence[str] = ()) -> Iterator[Record]:
    """Read the translated names. The source of a name ends with its language: "HPO-es".

    A translated label is the preferred name in its language.

    Translations of definitions, and rows marked as not translated, are counted and skipped.

    Args:
        context: The file and the settings.
        languages: Read only these languages ("es").

    Yields:
        One record per row.
    """
    with context.open(newline="") as lines:
        # notes of several lines are in quotation marks
        rows = context.cells(lines, "\t", quoted=True)
        header = next((cells for _, cells in rows if not cells[0].startswith("#")), [])
        columns = _columns(context, header)
        for line, row in context.named_cells(rows, header):
            cells = {name: row[column].strip() for name, column in columns.items()}
            reason = _reason_to_drop(cells, languages)
            if reason:
                context.drop(reason)
            else:
                name = (cells["text"], _SCOPES[_last_part(cells["property"])])
                yield from _with_language(context, cells["language"]).record(line, curie(cells["id"]), [name])


def _reason_to_drop(cells: dict[str, str], languages: Sequence[str]) -> str | None:
    if _last_part(cells["property"]) not in _SCOPES:
        return "not a name"
    if languages and cells["language"] not in languages:
        return "other language"
    if not cells["text"] or cells.get("status") == "NOT_TRANSLATED":
        return "not translated"
    return None


def is_babelon(header: Sequence[str]) -> bool:
    """Return whether a table with these headings holds translations."""
    needed = (headings for name, headings in _COLUMNS.items() if name not in _OPTIONAL)
    return all(any(heading in header for heading in headings) for headings in needed)


def _columns(context: ReaderContext, header: Sequence[str]) -> dict[str, str]:
    """Return the heading of each column that the reader needs."""
    columns = {}
    for name, headings in _COLUMNS.items():
        heading = next((heading for heading in headings if heading in header), None)
        if heading:
            columns[name] = heading
        elif name not in _OPTIONAL:
            raise MissingColumnError(path=context.file, column=" or ".join(headings), columns=header)
    return columns


def _with_language(context: ReaderContext, language: str) -> ReaderContext:
    source = context.source.removesuffix(".babelon")
    if language and not source.endswith(f"-{language}"):
        source = f"{source}-{language}"
    return replace(context, source=source, language=known_tag(language) or context.language)


def _last_part(iri: str) -> str:
    return re.split(r"[:#/]", iri)[-1]
