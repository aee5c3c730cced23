"""Link documents in bounded memory and time: documents in, Arrow record batches of links out.

This is what every engine runs. A process loads the pipeline once. No `Doc` and no pipeline leaves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
from rich.console import Console

from ..documents.input_documents import Problems, ReadOptions
from ..documents.table_files import batch_documents
from ..kb.code_systems import CodeSystems
from ..kb.knowledge_base import KnowledgeBase
from ..kb.languages import display_tag
from ..outputs.records import Record, record_of
from ..outputs.tables import CODES, COLUMNS, arrow_schema, table_rows
from ..types import Document
from .pipelines import DOCUMENTS_PER_BATCH, LinkingPipeline
from .time_limit import TookTooLong, time_limit

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

CHARACTERS_PER_BATCH = 1_000_000
"""The most characters of the documents that are linked together, unless one document has more."""
CHARACTERS_PER_SECOND = 1000
"""The speed in characters per second that no pipeline should fall below."""
MAX_CHARACTERS = 1_000_000
SECONDS = 60.0
YEAR, FAILURE = "year", "failure"
"""The columns of a corpus that other tables of links lack."""

_YEARS = range(1000, 10_000)


class LinkSettings(NamedTuple):
    """How to link. This travels to the processes, so it holds no pipeline.

    Attributes:
        pipeline: Folder or package of the pipeline.
        given: The documents have their mentions, see `LinkingPipeline`.
        corrections: A file of corrections, which replaces that of the pipeline.
        language: The language of preferred names; None for that of the pipeline.
        codes: Opens the codes of links in other vocabularies.
        max_characters: A longer document fails.
        seconds: Documents that are linked together may take this time in seconds, plus one second for each
            `CHARACTERS_PER_SECOND` of their characters.
    """

    pipeline: str
    given: bool = False
    corrections: str | None = None
    language: str | None = None
    codes: Callable[[KnowledgeBase], CodeSystems] | None = None
    max_characters: int = MAX_CHARACTERS
    seconds: float = SECONDS


def link_batches(
    pipeline: str | Path,
    batches: Iterable[RecordBatch],
    *,
    reading: ReadOptions | None = None,
    **settings: Any,
) -> Iterator[RecordBatch]:
    """Link the documents of Arrow record batches.

    Args:
        pipeline: Folder or package of a pipeline with a `sapbert_linker`. A process loads it at the first call.
        batches: Documents, with the columns "id" and "text", or as `reading` names them. A column "title" comes before
            the text. A column "year" is copied.
        reading: The names of the columns.
        settings: Other values of `LinkSettings`.

    Yields:
        The links, with the columns of `links_schema`. Each document has at least one row. One without mentions has a
        row without a mention. One that fails, takes too long or is too long has a row with the reason in "failure".

    Raises:
        SapbertError: E134, E137, E139 the batches have other columns; E501, E502, E503 the pipeline cannot be loaded.
    """
    linker = linker_of(LinkSettings(str(pipeline), **settings))
    options = reading or ReadOptions(None)
    quiet = Problems(Console(quiet=True))
    yield from linker(document for batch in batches for document in batch_documents(batch, options, quiet))


@lru_cache(maxsize=1)
def linker_of(settings: LinkSettings) -> CorpusLinker:
    """Return the linker of this process. It loads the pipeline when the first document comes."""
    return CorpusLinker(settings)


def links_schema(code_systems: Iterable[str] = ()) -> Schema:
    """Return the columns of links: those of every table of links, "year" and "failure"."""
    return arrow_schema({**COLUMNS, **{f"{CODES}{one}": str for one in code_systems}, YEAR: int, FAILURE: str})


class CorpusLinker:
    """Links documents in batches that are bounded by documents, characters and time.

    Args:
        settings: How to link.
    """

    def __init__(self, settings: LinkSettings) -> None:
        self.settings = settings
        self._loaded: _Loaded | None = None

    @property
    def schema(self) -> Schema:
        """The columns of the links, see `links_schema`."""
        codes = self._load().codes
        return links_schema(codes.systems if codes else ())

    def __call__(self, documents: Iterable[Document]) -> Iterator[RecordBatch]:
        """Link documents as a stream, see `link_batches`."""
        for chunk in _chunks(documents, self.settings.max_characters):
            rows = [
                row
                for document, result in zip(chunk, self._link(chunk), strict=True)
                for row in _rows(document, result)
            ]
            yield pyarrow.RecordBatch.from_pylist(rows, self.schema)

    def failure(self, doc_id: str, reason: str) -> RecordBatch:
        """Return the row of a document, or of a file, that could not be read."""
        return pyarrow.RecordBatch.from_pylist([{"doc_id": doc_id, FAILURE: reason}], self.schema)

    def _load(self) -> _Loaded:
        if not self._loaded:
            self._loaded = _Loaded(self.settings)
        return self._loaded

    def _link(self, documents: Sequence[Document]) -> list[Record | str]:
        """Return the record of each document, or why it failed."""
        if len(documents) == 1 and len(documents[0].text) > self.settings.max_characters:
            most = f"at most {self.settings.max_characters:,} are allowed"
            return [f"the text has {len(documents[0].text):,} characters, and {most}"]
        characters = sum(len(document.text) for document in documents)
        loaded = self._load()
        limit = self.settings.seconds + characters / CHARACTERS_PER_SECOND
        try:
            with time_limit(limit):
                return loaded.link(documents)
        except TookTooLong:
            self._loaded = None  # a component may have stopped in the middle of a change
        if len(documents) == 1:
            return [f"it took longer than {limit:,.0f} seconds"]
        return [result for document in documents for result in self._link([document])]


class _Loaded:
    """A pipeline, and what the records of its links need."""

    def __init__(self, settings: LinkSettings) -> None:
        self._failures = _Failures()
        self._linking = LinkingPipeline(settings.pipeline, self._failures, given=settings.given)
        if settings.corrections:
            self._linking.set_corrections(settings.corrections)
        kb = self._linking.kb
        self._language = (
            self._linking.display_language if settings.language is None else display_tag(kb, settings.language)
        )
        self.codes = settings.codes(kb) if settings.codes else None

    def link(self, documents: Sequence[Document]) -> list[Record | str]:
        """Return the record of each document, or why it failed."""
        numbered = [document._replace(position=str(number)) for number, document in enumerate(documents)]
        results = self._linking(numbered, batch_size=len(numbered), short_lived=True, independent_batches=True)
        records = {
            item.document.position: record_of(item, self._linking.kb, language=self._language, codes=self.codes)
            for item in results
        }
        failures = self._failures.take()
        return [records.get(document.position) or failures[document.position] for document in numbered]


class _Failures(Problems):
    """Keeps why documents failed, by their places."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self._reasons: dict[str, str] = {}

    def report(self, place: str, reason: object) -> None:
        self._reasons[place] = str(reason)

    def take(self) -> dict[str, str]:
        """Return what was kept, and begin anew."""
        taken, self._reasons = self._reasons, {}
        return taken


def _chunks(documents: Iterable[Document], max_characters: int) -> Iterator[list[Document]]:
    """Yield documents that are linked together, in order. A document that is too long is alone."""
    most = min(max_characters, CHARACTERS_PER_BATCH)
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        size = len(document.text)
        if chunk and (len(chunk) == DOCUMENTS_PER_BATCH or characters + size > most):
            yield chunk
            chunk, characters = [], 0
        chunk.append(document)
        characters += size
    if chunk:
        yield chunk


def _rows(document: Document, result: Record | str) -> list[dict[str, Any]]:
    """Return the rows of a document, at least one."""
    found = [] if isinstance(result, str) else list(table_rows([result]))
    common = {YEAR: _year(document), FAILURE: result if isinstance(result, str) else None}
    return [{**row, **common} for row in found or [{"doc_id": document.doc_id}]]


def _year(document: Document) -> int | None:
    """Return the year of a document, if its record has one."""
    year = document.meta.get(YEAR)
    if isinstance(year, str) and year.isascii() and year.isdecimal():
        year = int(year[:5])
    return year if isinstance(year, int) and year in _YEARS else None
