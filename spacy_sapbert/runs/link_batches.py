"""Link Arrow record batches of documents, also those of a Ray dataset or a Spark data frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow
from rich.console import Console

from ..documents.input_documents import Problems, ReadOptions
from ..documents.table_files import batch_documents
from ..outputs.records import Record
from ..outputs.tables import COLUMNS, arrow_schema, candidate_columns, code_columns, table_rows
from ..types import Document
from .document_linker import LIMITS, Failure, LinkingPipeline, LinkSettings, cut, linker_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema, Table

YEAR, FAILURE = "year", "failure"
"""The columns of a corpus that other tables of links lack."""
_YEARS = range(1000, 10_000)
_SPARK_TYPES = {"string": "string", "int64": "bigint", "double": "double", "bool": "boolean"}


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
        settings: Other values of `LinkSettings`. By default, a text may have a million characters, and take 60 seconds.

    Yields:
        The links, with the columns of `links_schema`. Each document has at least one row. One without mentions has a
        row without a mention. One that fails, takes too long or is too long has a row with the reason in "failure".

    Raises:
        SapbertError: The batches have other columns, or the pipeline cannot be loaded.
    """
    linker = linker_of(LinkSettings(str(pipeline), **LIMITS | settings))
    options = reading or ReadOptions(None)
    quiet = Problems(Console(quiet=True))
    yield from linked_batches(
        linker, (document for batch in batches for document in batch_documents(batch, options, quiet))
    )


class RayLinker:
    """Links the batches of a Ray dataset of documents.

    Give the class to `Dataset.map_batches` with `batch_format="pyarrow"` and `concurrency`. Each actor loads the
    pipeline once, by its path. So no pipeline is in the object store, whose buffers are read-only.

    Args:
        pipeline: Folder or package of a pipeline, which each machine can read.
    """

    def __init__(self, pipeline: str | Path, **settings: Any) -> None:
        self._pipeline = pipeline
        self._settings = settings

    def __call__(self, documents: Table) -> Iterator[Table]:
        """Link a batch of documents; see `link_batches`."""
        for batch in link_batches(self._pipeline, documents.to_batches(), **self._settings):
            yield pyarrow.Table.from_batches([batch])


def spark_linker(
    pipeline: str | Path, **settings: Any
) -> tuple[Callable[[Iterable[RecordBatch]], Iterator[RecordBatch]], str]:
    """Return the two arguments of `DataFrame.mapInArrow`: a function that links documents, and the columns of links.

    Each Python process of Spark loads the pipeline once. Spark gives it batches of
    `spark.sql.execution.arrow.maxRecordsPerBatch` documents, by default 10,000. Set a smaller number for long texts.

    Args:
        pipeline: Folder or package of a pipeline, which each machine can read.
    """
    columns = ", ".join(f"`{field.name}` {_SPARK_TYPES[str(field.type)]}" for field in links_schema())
    return partial(link_batches, str(pipeline), **settings), columns


def links_schema(code_systems: Iterable[str] = (), candidates: int = 0) -> Schema:
    """Return the columns of links: those of every table of links, "year" and "failure"."""
    more = code_columns(code_systems) | candidate_columns(candidates)
    return arrow_schema({**COLUMNS, **more, YEAR: int, FAILURE: str})


def schema_of(linker: LinkingPipeline) -> Schema:
    """Return the columns of the links of a linker, with those of its code systems and candidates."""
    return links_schema(linker.codes.systems if linker.codes else (), linker.settings.candidates)


def linked_batches(linker: LinkingPipeline, documents: Iterable[Document]) -> Iterator[RecordBatch]:
    """Link documents as a stream, see `link_batches`."""
    for chunk in cut(documents, linker.settings.max_characters):
        rows = list(chain.from_iterable(map(_rows, chunk, linker.link(chunk))))
        yield pyarrow.RecordBatch.from_pylist(rows, schema_of(linker))


def _rows(document: Document, result: Record | Failure) -> list[dict[str, Any]]:
    """Return the rows of a document, at least one."""
    rows = [] if isinstance(result, Failure) else list(table_rows([result]))
    common = {YEAR: _year(document), FAILURE: result.reason if isinstance(result, Failure) else None}
    return [{**row, **common} for row in rows or [{"doc_id": document.doc_id}]]


def _year(document: Document) -> int | None:
    """Return the year of a document, if its record has one."""
    year = document.meta.get(YEAR)
    if isinstance(year, str) and year.isascii() and year.isdecimal():
        year = int(year[:5])
    return year if isinstance(year, int) and year in _YEARS else None
