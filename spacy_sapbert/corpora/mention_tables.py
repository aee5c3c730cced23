"""Read mention tables: one mention with its concept per line, without context (COMETA, AskAPatient and similar)."""

from __future__ import annotations

from collections.abc import Iterator

from ..kb.ids import split_ids
from ..types import AnnotatedDocument, Mention
from .source import UNTYPED, Source

_HEADER = ("mention", "id")


def read_names(source: Source) -> Iterator[AnnotatedDocument]:
    """Read a table `mention<TAB>id` without quoting. A first line with exactly these two words is the header.

    Yields:
        One document per row. Its text is the mention. Its id joins file name and line number with a colon.
    """
    for number, line in source.lines():
        columns = tuple(column.strip() for column in line.split("\t"))
        if columns == ("",) or (number == 1 and columns == _HEADER):
            continue
        if len(columns) != len(_HEADER):
            source.broken(number, f"{len(columns)} columns instead of 2: mention and id")
        elif not columns[0]:
            source.broken(number, "no mention")
        else:
            text, ids = columns
            mention = Mention(0, len(text), text, UNTYPED, split_ids(ids))
            yield AnnotatedDocument(f"{source.path.name}:{number}", text, (mention,))
