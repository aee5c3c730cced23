"""Join the records of one article: some files have a record for each passage, all with the id of the article.

An abbreviation is often defined in one passage and used in others, so the passages must be read as one document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..types import Document, Mention, Passage

BETWEEN = "\n"
"""The character between two passages in the text of their document."""


@dataclass
class PassageCounts:
    """How many records were joined to documents.

    Attributes:
        records: The joined records.
        documents: The documents that they became.
    """

    records: int = 0
    documents: int = 0

    def __str__(self) -> str:
        told = f"{self.records:,} records are passages of {self.documents:,} documents, since consecutive ids repeat"
        return f"{told}; `convert --no-join-passages` reads each record alone"


class _Record(Protocol):
    @property
    def doc_id(self) -> str: ...

    @property
    def text(self) -> str: ...


R = TypeVar("R", bound=_Record)


def runs(records: Iterable[R], counts: PassageCounts) -> Iterator[list[R]]:
    """Yield the records of each document: consecutive ones with the same id.

    A record with the text of the first one begins the same document again, so it is not a passage.

    Args:
        records: The records in the order of the file.
        counts: Takes the number of joined records.
    """
    run: list[R] = []
    failure: Exception | None = None
    try:
        for record in records:
            if run and (record.doc_id != run[0].doc_id or record.text == run[0].text):
                yield _counted(run, counts)
                run = []
            run.append(record)
    except Exception as error:  # what was read before the error is kept
        failure = error
    if run:
        yield _counted(run, counts)
    if failure:
        raise failure


def _counted(run: list[R], counts: PassageCounts) -> list[R]:
    if len(run) > 1:
        counts.records += len(run)
        counts.documents += 1
    return run


def place_passages(texts: Sequence[str], titles: Sequence[str] = ()) -> tuple[str, tuple[Passage, ...]]:
    """Return the text of a document, and the places of its passages.

    Args:
        texts: The texts of the passages.
        titles: The title of each passage.
    """
    passages = []
    start = 0
    for text, title in zip(texts, titles or [""] * len(texts), strict=True):
        passages.append(Passage(start, start + len(text), title))
        start += len(text) + len(BETWEEN)
    return BETWEEN.join(texts), tuple(passages)


def shifted(mention: Mention, by: int) -> Mention:
    """Return a mention of a passage with its offsets in the document.

    Args:
        mention: The mention, with offsets in its passage.
        by: The start of the passage.
    """
    offsets = tuple((start + by, end + by) for start, end in mention.offsets)
    return mention._replace(start=mention.start + by, end=mention.end + by, offsets=offsets)


def join_annotated(documents: Iterable[Document], counts: PassageCounts) -> Iterator[Document]:
    """Join consecutive records of annotated documents, see `runs`."""
    for run in runs(documents, counts):
        if len(run) == 1:
            yield run[0]
            continue
        text, passages = place_passages([record.text for record in run])
        placed = zip(run, passages, strict=True)
        mentions = tuple(shifted(mention, place.start) for record, place in placed for mention in record.mentions)
        yield Document(run[0].doc_id, text, mentions)
