"""Read and write brat standoff (Stenetorp et al. 2012): a text in `NAME.txt` and its annotations in `NAME.ann`.

A line of `.ann` is a mention, `T1<TAB>Disease 0 6;19 25<TAB>breast cancer`, a concept of a mention,
`N1<TAB>Reference T1 MESH:D001943<TAB>Breast Neoplasms`, or a relation, event, attribute or note. Offsets count
characters. No piece of a mention contains a line end. What a name, a label or an id must not contain becomes codes such
as `%20`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from ..files.opening import without_gz
from ..files.source import BrokenRecord, excerpt
from ..files.values import ONE_LINE, parse_int
from ..kb.ids import canonical_id, curie_of
from ..types import Document, Mention
from .annotation_tools import Names, mention_of
from .source import UNTYPED, DocumentSource

_OTHERS = re.compile(r"([A-Z]\S*|#\S*|\*)\t")
_FILE_NAME, _WORD = re.compile(r"^[.]|[^\w. -]"), re.compile(r"[\s%;]")
"""What becomes codes in names of files, and in labels and ids."""
_NO_PREFIX = "_:"  # since brat refuses an id without a prefix


def read_brat(source: DocumentSource) -> Iterator[Document]:
    """Read the document of a file of annotations, whose text is the file `.txt` beside it. Its name is the id."""
    mentions: dict[str, Mention] = {}
    concepts: list[tuple[int, str]] = []
    try:
        text = replace(source, path=without_gz(source.path).with_suffix(".txt"), opened=None).text()
    except BrokenRecord as reason:
        source.broken(1, f"its text cannot be read: {reason}")
        return
    for number, line in source.lines():
        name, _, rest = line.partition("\t")
        try:
            if name in mentions:
                raise BrokenRecord(f"a second mention {name}")
            if name.startswith("T"):
                mentions[name] = source.placed(number, text, _mention(text, rest))
            elif name.startswith("N"):
                concepts.append((number, rest.partition("\t")[0]))
            elif _OTHERS.match(line):
                source.report.relations += 1
            elif line.strip():
                raise BrokenRecord("this is no annotation of brat")
        except BrokenRecord as reason:
            source.broken(number, reason)
    ids: dict[str, dict[str, None]] = {name: {} for name in mentions}
    for number, concept in concepts:
        words = concept.split(" ")
        if len(words) == 3 and words[1] in mentions:
            ids[words[1]][canonical_id(unquote(words[2]).removeprefix(_NO_PREFIX))] = None
        else:
            source.broken(number, f"{excerpt(concept)!r} is no concept of a mention")
    doc_id = unquote(without_gz(Path(source.name)).with_suffix("").as_posix())
    linked = (mention._replace(ids=tuple(ids[name])) for name, mention in mentions.items())
    yield Document(doc_id, text, tuple(sorted(linked, key=lambda mention: mention[:2])), position=source.file)


def _mention(text: str, row: str) -> Mention:
    head, _, words = row.partition("\t")
    label, _, spans = head.partition(" ")
    try:
        pieces = [tuple(map(parse_int, span.split(" "))) for span in spans.split(";")]
        mention = mention_of(((start, end) for start, end in pieces), unquote(label), text=words)
    except ValueError:
        raise BrokenRecord(f"{spans!r} are not pairs of offsets") from None
    between = (text[end:start] for (_, end), (start, _) in zip(mention.offsets, mention.offsets[1:], strict=False))
    if not any(gap.strip() for gap in between):  # pieces of a mention in several lines
        mention = mention._replace(offsets=())
    same = not mention.offsets and text[mention.start : mention.end].split() == words.split()
    return mention._replace(text="") if same else mention


def brat_files(document: Document, names: Names) -> dict[str, str]:
    """Return the text and the annotations of a document, by the ending of their file."""
    text, lines, n_concepts = document.text, [], 0
    for number, mention in enumerate(document.mentions, start=1):
        pieces = [
            (start + line.start(), start + line.end())
            for start, end in mention.offsets or [mention[:2]]
            for line in re.finditer(r"[^\n]+", text[start:end])
        ]
        label = _coded(_WORD, "_".join(mention.label.split()) or UNTYPED)
        spans = ";".join(f"{start} {end}" for start, end in pieces)
        words = " ".join(text[start:end] for start, end in pieces)
        lines.append(f"T{number}\t{label} {spans}\t{words.translate(ONE_LINE)}\n")
        for concept_id in mention.ids:
            n_concepts += 1
            curie = curie_of(concept_id)
            written = _coded(_WORD, curie if ":" in curie[1:-1] else _NO_PREFIX + curie)
            name = (names.get(concept_id) or "").translate(ONE_LINE)
            lines.append(f"N{n_concepts}\tReference T{number} {written}\t{name}\n")
    return {".txt": text, ".ann": "".join(lines)}


def file_name_of(doc_id: str) -> str:
    """Return the name of a file for a document, without its ending. `unquote` gives back the id."""
    return _coded(_FILE_NAME, doc_id) or "document"


def _coded(unsafe: re.Pattern[str], text: str) -> str:
    return unsafe.sub(lambda match: quote(match[0], safe="").replace(".", "%2E").replace("~", "%7E"), text)
