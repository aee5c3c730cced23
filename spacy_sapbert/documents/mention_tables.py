"""Read mention tables: one mention with its concept per line, and perhaps the sentence in which it occurs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..kb.ids import split_ids
from ..types import Document, Mention
from .source import UNTYPED, BrokenRecord, Source
from .term_search import find_term

COLUMNS = ("mention", "id", "sentence")
"""The columns in their order without a header. A table can lack the last one."""


def read_names(source: Source) -> Iterator[Document]:
    """Read a table `mention<TAB>id` or `mention<TAB>id<TAB>sentence` without quoting.

    A first line with exactly these words is the header, in any order. The text of a document is the sentence. Without
    one, it is the mention. The mention is searched in its sentence as a whole word, in upper or lower case, and else as
    a part of a word. Of several places, the first counts.

    Yields:
        One document per row. Its id joins file name and line number with a colon.
    """
    columns: tuple[str, ...] = COLUMNS
    wanted: tuple[int, ...] = (len(COLUMNS) - 1, len(COLUMNS))
    for number, line in source.lines():
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if number == 1 and is_header(cells):
            columns, wanted = cells, (len(cells),)
        elif cells == ("",):
            continue
        elif len(cells) not in wanted:
            found = f"{len(cells)} columns instead of {' or '.join(map(str, wanted))}"
            source.broken(number, f"{found}: {', '.join(columns[: wanted[-1]])}")
        else:
            try:
                text, mention = _place(dict(zip(columns, cells, strict=False)), source)
            except BrokenRecord as reason:
                source.broken(number, reason)
            else:
                yield Document(f"{source.path.name}:{number}", text, (mention,))


def is_header(cells: tuple[str, ...]) -> bool:
    """Return whether a line names the columns of a mention table."""
    return len(set(cells)) == len(cells) and set(COLUMNS[:2]) <= set(cells) <= set(COLUMNS)


def _place(row: dict[str, str], source: Source) -> tuple[str, Mention]:
    """Return the text of a document and its mention, and count mentions with several places.

    Raises:
        BrokenRecord: There is no mention, or it does not occur in its sentence.
    """
    name, sentence = row["mention"], row.get("sentence", "")
    if not name:
        raise BrokenRecord("no mention")
    text = sentence or name
    found = list(islice(find_term(name, text), 2)) or list(islice(find_term(name, text, whole=False), 2))
    if not found:
        raise BrokenRecord(f"the mention {name!r} does not occur in its sentence")
    source.report.repeated += len(found) > 1 and bool(sentence)
    end = found[0] + len(name)
    return text, Mention(found[0], end, text[found[0] : end], UNTYPED, split_ids(row["id"]))
