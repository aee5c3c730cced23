"""Make a data frame of linked documents, with one row per link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from spacy.tokens import Doc

from ..errors import Errors, MissingExtraError, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..kb.storage import load_knowledge_base
from ..pipeline.mentions import mentions_of
from ..pipeline.sapbert_linker import linkers_of
from .records import Record, doc_record
from .tables import COLUMNS, code_columns, table_rows

if TYPE_CHECKING:
    from ..kb.code_systems import CodeSystems

Library = Literal["pandas", "polars"]
_LIBRARIES: tuple[Library, ...] = ("pandas", "polars")


def to_dataframe(
    docs: Doc | Iterable[Doc],
    *,
    library: Library | None = None,
    kb: KnowledgeBase | Path | str | None = None,
    spans_key: str | None = None,
    codes: CodeSystems | None = None,
) -> Any:
    """Return a data frame of the links of documents, with the columns of the tables of `spacy-sapbert link`.

    Missing values are null. A pipeline that made the documents in this process gives the vocabulary and the mentions.

    Args:
        library: "pandas" or "polars". None takes the one that is installed, and pandas if both are.
        kb: The knowledge base of the linker or its path, for documents of another process.
        spans_key: Take the mentions of `doc.spans[spans_key]`. None takes those that the linkers of the pipeline link,
            or else `doc.ents`.
        codes: Adds a column for each of its code systems.

    Raises:
        SapbertError: E542 the library is not installed, E554 the vocabulary is unknown.
    """
    name, module = _library(library)
    records = _records([docs] if isinstance(docs, Doc) else docs, kb, spans_key, codes)
    kinds = COLUMNS | code_columns(codes.systems if codes else ())
    rows = list(table_rows(records))
    columns = {column: [row[column] for row in rows] for column in kinds}
    if name == "polars":
        types = {str: module.String, int: module.Int64, float: module.Float64, bool: module.Boolean}
        return module.DataFrame(columns, schema={column: types[kind] for column, kind in kinds.items()})
    dtypes = {str: object, int: "int64", float: "float64", bool: "bool"}
    dtype_of = {column: dtypes[kind] for column, kind in kinds.items()} | {"passage": "Int64"}  # it can be null
    return module.DataFrame({column: module.Series(columns[column], dtype=dtype_of[column]) for column in kinds})


def _records(
    docs: Iterable[Doc], kb: KnowledgeBase | Path | str | None, spans_key: str | None, codes: CodeSystems | None
) -> Iterator[Record]:
    given = kb if kb is None or isinstance(kb, KnowledgeBase) else load_knowledge_base(kb)
    for doc in docs:
        linkers = linkers_of(doc.vocab)
        if given is None and not linkers:
            raise SapbertError(Errors.E554)
        spans_keys = {linker.spans_key: None for linker in linkers} if spans_key is None else {spans_key: None}
        mentions = [mention for key in spans_keys or (None,) for mention in mentions_of(doc, key)]
        language = linkers[-1].display_language if linkers else ""
        shown = given or linkers[-1].kb
        mentions.sort(key=lambda mention: (mention.start_char, mention.end_char))
        yield doc_record(doc, mentions, shown, language=language, codes=codes)


def _library(asked: Library | None) -> tuple[Library, Any]:
    for name in (asked,) if asked else _LIBRARIES:
        try:
            return name, import_module(name)
        except ImportError:
            continue
    package = asked or " or ".join(_LIBRARIES)
    remedy = f"Install it: pip install {asked or _LIBRARIES[0]}."
    raise MissingExtraError(what="A data frame", package=package, remedy=remedy)
