"""Read documents from text: whole files, lines, JSON lines, columns of names, and tables of mentions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..files.source import BrokenRecord, excerpt
from ..files.values import check_writable, parse_json
from ..kb.ids import split_ids
from ..types import Document, Mention
from .source import UNTYPED, DocumentSource, ReadOptions

TEXT, ID, TITLE = "text", "id", "title"
"""The columns of a document, unless others are named."""


def read_text(source: DocumentSource) -> Iterator[Document]:
    """Read a whole file as one document, whose id is the name of the file."""
    try:
        text = source.text()
    except BrokenRecord as reason:
        source.broken(1, reason)
    else:
        yield Document(source.name, text, position=source.file)


def read_lines(source: DocumentSource) -> Iterator[Document]:
    """Read each line as a document, except blank lines."""
    for number, line in source.filled_lines():
        yield Document(source.numbered(number), line, position=source.place(number))


def read_numbered_names(source: DocumentSource) -> Iterator[Document]:
    """Read a column of tab-separated lines without a header. Each cell is a document and its only mention."""
    text_column = int(source.options.text_column or 1)
    id_column = int(source.options.id_column or 0)

    def read(number: int, line: str) -> Document:
        cells = ["", *(cell.strip() for cell in line.split("\t"))]
        name, doc_id = (cells[column] if column < len(cells) else "" for column in (text_column, id_column))
        if not name:
            raise BrokenRecord(f"no name in column {text_column}")
        document = Document(doc_id or source.numbered(number), name, position=source.place(number))
        return with_whole_mention(document)

    yield from source.each(source.filled_lines(), read)


def with_whole_mention(document: Document) -> Document:
    """Return a document with its whole text as the only mention."""
    text = document.text
    return document._replace(mentions=(Mention(0, len(text), text, UNTYPED),))


def read_jsonl(source: DocumentSource) -> Iterator[Document]:
    """Read each line as a JSON object, except blank lines."""

    def read(number: int, line: str) -> Document:
        try:
            value = parse_json(line)
        except ValueError as error:
            raise _not_json(error) from error
        document = value_document(value, source.numbered(number), source.options)
        return document._replace(position=source.place(number))

    yield from source.each(source.filled_lines(), read)


def value_document(value: object, name: str, options: ReadOptions) -> Document:
    """Read a document from a JSON object. `name` is its id, if the object has none."""
    try:
        check_writable(value, allow_nan=False)
    except ValueError as error:
        raise _not_json(error) from error
    if not isinstance(value, dict):
        raise BrokenRecord("this is not a JSON object")
    text_key, id_key = options.text_column or TEXT, options.id_column or ID
    title_key = options.title_column or TITLE
    text = _string(value, text_key)
    title = _string(value, title_key) if title_key != text_key and value.get(title_key) is not None else ""
    doc_id = value.get(id_key)
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int, type(None))):
        raise BrokenRecord(f"the value of {id_key!r} must be a string or a whole number")
    meta = {key: value for key, value in value.items() if key not in (text_key, id_key)}
    return Document(name if doc_id in (None, "") else str(doc_id), with_title(title, text), title=title, meta=meta)


def with_title(title: str, text: str) -> str:
    """Return the text of a document with a title."""
    return " ".join(part for part in (title, text) if part)


def _not_json(error: ValueError) -> BrokenRecord:
    return BrokenRecord(f"this is not JSON in Unicode ({error})")


def _string(record: dict[str, Any], key: str) -> str:
    if key not in record:
        keys = excerpt(", ".join(map(repr, record)))
        raise BrokenRecord(f"there is no key {key!r}; the keys are: {keys or 'none'}")
    value = record[key]
    if not isinstance(value, str):
        raise BrokenRecord(f"the value of {key!r} is not a string")
    return value


# --- tables with one mention and its concept in each row: `names`, and AskAPatient with TwADR-L
#
# AskAPatient and TwADR-L: Limsopatham & Collier 2016, doi:10.18653/v1/P16-1096.

COLUMNS = ("mention", "id", "sentence")
"""The columns of `names` in their order without a header. A table can lack the last one."""

_SNOMED = "SNOMEDCT"


def read_mention_table(source: DocumentSource) -> Iterator[Document]:
    """Read a table `mention<TAB>id` or `mention<TAB>id<TAB>sentence` without quoting.

    A first line with exactly these words is the header, in any order. The text of a document is the sentence. Without
    one, it is the mention. The mention is searched in its sentence as a whole word, in upper or lower case, and else as
    a part of a word. Of several occurrences, the first counts.

    Yields:
        One document per row. Its id joins file name and line number with a colon.
    """
    columns: tuple[str, ...] = COLUMNS
    widths: tuple[int, ...] = (len(COLUMNS) - 1, len(COLUMNS))

    def read(number: int, line: str) -> Document | None:
        nonlocal columns, widths
        cells = tuple(cell.strip() for cell in line.split("\t"))
        if number == 1 and is_header(cells):
            columns, widths = cells, (len(cells),)
            return None
        if len(cells) not in widths:
            n_columns = f"{len(cells)} columns instead of {' or '.join(map(str, widths))}"
            raise BrokenRecord(f"{n_columns}: {', '.join(columns[: widths[-1]])}")
        text, mention = _mention(dict(zip(columns, cells, strict=False)), source)
        return Document(source.numbered(number), text, (mention,), position=source.place(number))

    yield from filter(None, source.each(source.filled_lines(), read))


def is_header(cells: tuple[str, ...]) -> bool:
    """Return whether a line names the columns of a mention table."""
    return len(set(cells)) == len(cells) and set(COLUMNS[:2]) <= set(cells) <= set(COLUMNS)


def _mention(row: dict[str, str], source: DocumentSource) -> tuple[str, Mention]:
    """Return the text of a document and its mention, and count mentions that occur several times."""
    name, sentence = row["mention"], row.get("sentence", "")
    if not name:
        raise BrokenRecord("no mention")
    text = sentence or name
    starts = list(islice(find_term(name, text), 2)) or list(islice(find_term(name, text, whole=False), 2))
    if not starts:
        raise BrokenRecord(f"the mention {excerpt(name)!r} does not occur in its sentence")
    source.report.repeated += len(starts) > 1 and bool(sentence)
    return text, _mention_at(starts[0], name, text, split_ids(row["id"]))


def _mention_at(start: int, term: str, text: str, ids: tuple[str, ...]) -> Mention:
    end = start + len(term)
    return Mention(start, end, text[start:end], UNTYPED, ids)


def read_askapatient(source: DocumentSource) -> Iterator[Document]:
    """Read one file of a fold, e.g. `AskAPatient.fold-0.test.txt`: `concept id<TAB>name<TAB>mention`, without a header.

    Numeric ids are those of SNOMED CT or its Australian extension for medicines (AMT): `SNOMEDCT:22253000`. Their
    numbers do not overlap. Ids of TwADR-L are CUIs. The name is that of the concept, so it is ignored.

    Yields:
        One document per row. Its text is the mention. Its id joins file name and line number with a colon.
    """

    def read(number: int, line: str) -> Document:
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 3:
            raise BrokenRecord(f"{len(cells)} columns instead of 3: concept id, its name and the mention")
        concept_id, _, text = cells
        if not text:
            raise BrokenRecord("no mention")
        mention = _mention_at(0, text, text, split_ids(concept_id, _SNOMED))
        return Document(source.numbered(number), text, (mention,), position=source.place(number))

    yield from source.each(source.filled_lines(), read)


def find_term(term: str, text: str, *, whole: bool = True) -> Iterator[int]:
    """Yield the positions of a term in a text, in upper or lower case, from left to right.

    Args:
        whole: Only whole words: the characters before and after are neither letters, nor digits, nor underscores.
    """
    term, text = _lower(term), _lower(text)
    start = text.find(term)
    while start >= 0:
        end = start + len(term)
        is_match = not (whole and (_in_word(text[start - 1 : start]) or _in_word(text[end : end + 1])))
        if is_match:
            yield start
        start = text.find(term, end if is_match else start + 1)


def _lower(text: str) -> str:
    # İ is the only character that becomes two in lower case
    return text.replace("İ", "i").lower()


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_"
