"""Mention tables: one mention with its concept a line, no text around it (COMETA, AskAPatient and the like)."""

from __future__ import annotations

from collections.abc import Iterator

from ..kb.ids import split_ids
from ..types import AnnotatedDocument, Mention
from .source import UNTYPED, Source

_HEADER = ("mention", "id")


def read_names(source: Source) -> Iterator[AnnotatedDocument]:
    """Read a table `mention<TAB>id` without quoting; a first line of just these two words is its header.

    Yields:
        AnnotatedDocument: one document a row; its text is the mention, its id is "file name:line".
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
