"""A file of documents: how it is read, what is reported about it, and how mentions are checked against its text."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..errors import BadRecordError, SapbertError, Warnings
from ..files.opening import OpenedFile
from ..files.source import BrokenRecord, Problem, Source, counter, excerpt, keep_problem
from ..files.source import Report as FileReport
from ..text.normalize import spell_out_greek
from ..types import Document, Mention, Passage, types_of

if TYPE_CHECKING:
    from rich.console import Console

UNTYPED = "Mention"
"""The label of mentions without a type in their corpus."""
NEAR = 20
"""If the text of a mention is not at its offsets, it is searched within this number of characters."""
LIKE = 0.5
"""The least ratio of `SequenceMatcher` for the text of a mention and another text at its offsets."""
BETWEEN = "\n"
"""The character between two passages in the text of their document."""

Item = TypeVar("Item")

_COMPARED = 100  # characters of the texts of a mention; the comparison takes quadratic time
_SHOWN_DUPLICATES = 10
_SHOWN_UNREAD = 8


class ReadOptions(NamedTuple):
    """How to read documents.

    A column is named by its header in CSV, TSV and Parquet, by its key in JSON lines, and by its number, from 1, in
    tables without a header.

    Attributes:
        format: The name of the format. None if the name of each file shows it.
        text_column: The column of the text. Default: "text", or 1 for names.
        id_column: The column of the id. Default: "id", if there is one.
        title_column: The column of the title. Default: "title", if there is one.
        encoding: The encoding of text files. Default: UTF-8, or the one that a byte order mark shows.
        gold: Keep the annotated mentions of the documents.
    """

    format: str | None = None
    text_column: str | None = None
    id_column: str | None = None
    title_column: str | None = None
    encoding: str | None = None
    gold: bool = False


# --- what is reported


@dataclass
class Report(FileReport):
    """Counts over all files that were read with this report.

    The label of each field describes what it counts.

    Attributes:
        labels: Mentions of each type. A mention with several types counts for each of them.
        broken (int): Broken records, which are left out.
        problems (list[Problem]): The first 1,000 broken records. `broken` counts all of them.
        mismatches: The first 1,000 mentions that differ from the text at their offsets. `mismatched` counts all of
            them.
        unread: Annotations that are no mentions, by the key, type or layer that has them.
        joined: Records that were joined to documents, since consecutive ids repeat.
        documents_of_joined: The documents that they became.
    """

    documents: int = counter("documents")
    duplicates: int = counter("… with the id of an earlier document")
    unlisted: int = counter("documents outside the split, left out")
    missing: int = counter("ids of the split without a document")
    mentions: int = counter("mentions")
    without_id: int = counter("… without a concept id")
    discontinuous: int = counter("… in several pieces, read from the first to the last")
    mismatched: int = counter("… that differ from the text at their offsets")
    moved: int = counter("… … moved to the same text nearby")
    repeated: int = counter("… that occur several times in their sentence, read at the first place")
    relations: int = counter("relations, attributes and notes, left out")
    rejected: int = counter("mentions that no person accepted, left out")
    shifted: int = counter("passages with overlapping or widely separated offsets, moved")
    filtered: int = counter("mentions of other types, left out")
    misaligned: int = counter("mentions inside a token: in the gold list, but without a span")
    overlapping: int = counter("spans that overlap a longer span: without an entity")
    labels: Counter[str] = field(default_factory=Counter)
    mismatches: list[Problem] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    joined: int = 0
    documents_of_joined: int = 0
    _ids: set[int] = field(default_factory=set, repr=False)

    def add(self, document: Document) -> None:
        """Count a document and its mentions."""
        self.documents += 1
        self.mentions += len(document.mentions)
        for mention in document.mentions:
            self.without_id += not mention.ids
            self.labels.update(types_of(mention.label))
        n_ids = len(self._ids)
        self._ids.add(hash(document.doc_id))  # 64 bits, which take less memory than the ids
        self.duplicates += len(self._ids) == n_ids

    def warn_of_broken(self) -> None:
        """Warn of broken records, if there are any."""
        if self.broken:
            first = self.problems[0]
            message = Warnings.W201.format(path=first.path, n=self.broken, line=first.line, reason=first.reason)
            warnings.warn(message, stacklevel=3)

    def joined_message(self) -> str:
        """Return how many records were joined to documents."""
        counts = f"{self.joined:,} records are passages of {self.documents_of_joined:,} documents"
        return f"{counts}, since consecutive ids repeat"


class Problems(Report):
    """Shows records that are left out, and ids that occur twice, as soon as they are read.

    Args:
        strict: Raise an error at the first broken record.

    Attributes:
        total_bytes: The bytes of all inputs; 0 if their number is not known.
    """

    def __init__(self, console: Console, *, strict: bool = False) -> None:
        super().__init__(show=lambda problem: self._show(str(problem)))
        self.console = console
        self.strict = strict
        self.total_bytes = 0
        self._bytes_before = 0
        self._opened: OpenedFile | None = None

    @contextmanager
    def reading(self, file: OpenedFile) -> Iterator[None]:
        """Count the bytes of a file while it is read."""
        self._opened = file
        try:
            yield
        finally:
            self._opened = None
            with suppress(ValueError):  # the file is closed, because the reader was given up
                self._bytes_before += file.position()

    def share(self) -> float:
        """Return the share of the inputs that was read, from 0 to 1; 0 if it is not known."""
        read = self._bytes_before + (self._opened.position() if self._opened else 0)
        return min(1.0, read / self.total_bytes) if self.total_bytes else 0.0

    def report(self, position: str, reason: object) -> None:
        """Report a record that is left out, by its position."""
        if self.strict:
            raise BadRecordError(position=position, reason=reason)
        self.broken += 1
        self._show(f"{position}: {reason}")

    def show_passages(self) -> None:
        """Show how many records were joined to documents, if any. Call it once, after all documents are read."""
        if self.joined:
            self.console.print(self.joined_message())

    def check_id(self, document: Document) -> None:
        """Count a document, and show that an earlier one has its id. Only the first ones are shown."""
        n_duplicates = self.duplicates
        self.add(document)
        if n_duplicates < self.duplicates <= _SHOWN_DUPLICATES:
            rest = "; further ones are not shown" if self.duplicates == _SHOWN_DUPLICATES else ""
            reason = f"an earlier document has the same id {document.doc_id!r}; both are linked{rest}"
            self.console.print(f"{document.position}: {reason}")

    def _show(self, message: str) -> None:
        self.console.print(f"{message}; left out")


def told(documents: Iterable[Document], source: DocumentSource) -> Iterator[Document]:
    """Yield the documents of a file. At the end, warn if it has annotations, but none of them is a mention."""
    report, n_mentions = source.report, 0
    before, n_before = report.unread.copy(), (report.relations, report.rejected)
    for document in documents:
        n_mentions += len(document.mentions)
        yield document
    unread = report.unread - before
    relations, rejected = report.relations - n_before[0], report.rejected - n_before[1]
    unread |= Counter({"relations, attributes and notes": relations, "mentions that no person accepted": rejected})
    if not n_mentions and +unread:
        found = ", ".join(f"{name} ({n:,})" for name, n in unread.most_common(_SHOWN_UNREAD) if n)
        warnings.warn(Warnings.W204.format(path=source.file, found=found), stacklevel=3)


# --- files and their mentions


@dataclass(frozen=True, kw_only=True)
class DocumentSource(Source):
    """A file of documents, or standard input.

    Attributes:
        report: Takes the counts and the problems.
        name: The id of the file's only document, and the beginning of the ids of documents without an id.
        options: How to read it.
        left_out: The numbers of the records of PubMed to leave out, from 0. See `pubmed.superseded`.
    """

    report: Report = field(default_factory=Report)
    name: str = ""
    options: ReadOptions = field(default_factory=ReadOptions)
    left_out: Collection[int] = ()

    def numbered(self, number: int) -> str:
        """Return the id of a document that has none, from the number of its line."""
        return f"{self.name}:{number}"

    def mentions(
        self, line: int, document: Document, annotations: Iterable[Item], read: Callable[[Item], Mention]
    ) -> Document:
        """Return a document with the mentions that `read` makes of its annotations, sorted, and report broken ones.

        `read` may fail as in a block of `demanded`.
        """
        mentions = []
        for number, annotation in enumerate(annotations, start=1):
            try:
                with demanded():
                    mentions.append(self.placed(line, document.text, read(annotation)))
            except BrokenRecord as reason:
                self.broken(line, f"document {excerpt(document.doc_id)}, annotation {number}: {reason}")
        return document._replace(mentions=tuple(sorted(mentions, key=lambda mention: mention[:2])))

    def placed(self, line: int, text: str, mention: Mention) -> Mention:
        """Return the mention at its position in the text of its document (see `locate`), and report a mismatch.

        An empty text of the mention is not compared. That of a discontinuous mention is compared with its pieces.

        Raises:
            BrokenRecord: The offsets are outside the text, or at another text.
        """
        if mention.offsets:  # the text of the pieces is not the text from first to last
            pieces = " ".join(text[start:end] for start, end in mention.offsets)
            if mention.text and pieces and not is_like(pieces, mention.text):
                given = excerpt(mention.text)
                raise BrokenRecord(f"{given!r} is not at its offsets; there is {excerpt(pieces)!r}")
            mention = mention._replace(text="")
        span = locate(text, mention)
        if span is None:
            raise BrokenRecord(_misplaced(text, mention))
        placed = mention._replace(start=span[0], end=span[1], text=text[span[0] : span[1]])
        if not placed.text.strip():
            raise BrokenRecord(f"only blanks at {placed.start}-{placed.end}")
        if mention.text and placed[:3] != mention[:3]:
            annotated, used = (f"{item.start}-{item.end} {excerpt(item.text)!r}" for item in (mention, placed))
            reason = f"offsets and text disagree: {annotated}; used: {used}"
            self.report.mismatched += 1
            self.report.moved += placed[:2] != mention[:2]
            keep_problem(self.report.mismatches, Problem(self.path, line, reason))
        self.report.discontinuous += bool(mention.offsets)
        return placed


@contextmanager
def demanded() -> Iterator[None]:
    """Raise a `BrokenRecord` where Python fails, in the block, on values of JSON that have not the types demanded."""
    try:
        yield
    except SapbertError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {excerpt(str(error))}"
        raise BrokenRecord(f"it is not as the format demands ({reason})") from error


def locate(text: str, mention: Mention) -> tuple[int, int] | None:
    """Find a mention in the text of its document.

    The offsets of the mention count. But if another text is there, the mention's own text is searched at most 20
    characters away. If it occurs there exactly once, that position is returned. If not, the text at the offsets must be
    like it: another case, spelling or encoding.

    Returns:
        Start and end, or None if the offsets are outside the text, or if another text is there.
    """
    start, end, surface = mention[:3]
    inside = 0 <= start < end <= len(text)
    if inside and surface in ("", text[start:end]):
        return start, end
    low = max(0, start - NEAR)
    window = text[low : max(0, start + len(surface) + NEAR)]
    first = window.find(surface)
    if surface and first >= 0 and first == window.rfind(surface):
        return low + first, low + first + len(surface)
    return (start, end) if inside and is_like(text[start:end], surface) else None


def is_like(text: str, surface: str) -> bool:
    """Return whether two texts share half of their characters, in the same order, or the first is an acronym.

    Greek letters are their names.
    """
    if "".join(word[0] for word in surface[:_COMPARED].split()).lower() == text.lower():
        return True
    first, second = (spell_out_greek(piece[:_COMPARED]).lower() for piece in (text, surface))
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= LIKE


def _misplaced(text: str, mention: Mention) -> str:
    start, end = mention[:2]
    if not 0 <= start < end <= len(text):
        return f"offsets {start}-{end} are outside the text of {len(text)} characters"
    return f"{excerpt(mention.text)!r} is not at its offsets {start}-{end}; there is {excerpt(text[start:end])!r}"


# --- passages


def join_passages(records: Iterable[Document], report: Report) -> Iterator[Document]:
    """Join consecutive records with the same id to one document.

    Some files have a record for each passage of an article, all with the id of the article. An abbreviation is often
    defined in one passage and used in others. A record with the text of the first one begins the same document again,
    so it is not a passage.
    """
    run: list[Document] = []
    failure: Exception | None = None
    try:
        for record in records:
            if run and (record.doc_id != run[0].doc_id or record.text == run[0].text):
                yield _joined(run, report)
                run = []
            run.append(record)
    except Exception as error:  # what was read before the error is kept
        failure = error
    if run:
        yield _joined(run, report)
    if failure:
        raise failure


def _joined(records: list[Document], report: Report) -> Document:
    if len(records) == 1:
        return records[0]
    report.joined += len(records)
    report.documents_of_joined += 1
    passages: list[Passage] = []
    mentions: list[Mention] = []
    start = 0
    for record in records:
        passages.append(Passage(start, start + len(record.text), record.title))
        for mention in record.mentions:
            offsets = tuple((first + start, last + start) for first, last in mention.offsets)
            mentions.append(mention._replace(start=mention.start + start, end=mention.end + start, offsets=offsets))
        start += len(record.text) + len(BETWEEN)
    text = BETWEEN.join(record.text for record in records)
    return records[0]._replace(text=text, mentions=tuple(mentions), passages=tuple(passages))
