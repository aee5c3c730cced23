"""Join the records of one article: some files have a record for each passage, all with the id of the article.

An abbreviation is often defined in one passage and used in others, so the passages must be read as one document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..types import Document, Mention, Passage
from .report import Report

BETWEEN = "\n"
"""The character between two passages in the text of their document."""


def join_passages(records: Iterable[Document], report: Report) -> Iterator[Document]:
    """Join consecutive records with the same id to one document.

    A record with the text of the first one begins the same document again, so it is not a passage.

    Args:
        records: The records in the order of the file.
        report: Takes the number of joined records.
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
        mentions += (shifted(mention, start) for mention in record.mentions)
        start += len(record.text) + len(BETWEEN)
    text = BETWEEN.join(record.text for record in records)
    return records[0]._replace(text=text, mentions=tuple(mentions), passages=tuple(passages))


def shifted(mention: Mention, by: int) -> Mention:
    """Return a mention of a passage with its offsets in the document.

    Args:
        mention: The mention, with offsets in its passage.
        by: The start of the passage.
    """
    offsets = tuple((start + by, end + by) for start, end in mention.offsets)
    return mention._replace(start=mention.start + by, end=mention.end + by, offsets=offsets)
