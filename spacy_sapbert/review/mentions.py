"""`ReviewMention`: a mention that a person reviews, made from the record of a linked document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BadRecordError
from ..files.opening import open_text
from ..files.values import parse_json
from .correction import ProposedLink, document_key, text_key

Record = Mapping[str, Any]


class ReviewMention(NamedTuple):
    """A mention to review.

    Attributes:
        doc_id: The id of its document in the corpus.
        link: What the pipeline made of it.
        entity: The entity of the record, with candidates and reasons.
        best: The linked concepts. If there are none, the best candidate, if any.
    """

    doc_id: str
    link: ProposedLink
    entity: Record
    best: tuple[str, ...]

    @property
    def text_key(self) -> str:
        """The form in which texts count as the same."""
        return text_key(self.link.text)


def review_mentions(record: Record) -> Iterator[ReviewMention]:
    """Yield the mentions of a linked document, in order of their places.

    Args:
        record: The record, see `outputs.records.record_of`.
    """
    key = document_key(record["text"])
    for entity in record["entities"]:
        links = entity["links"]
        linked = tuple(dict.fromkeys(link["concept_id"] for link in links if link["concept_id"]))
        rejected = tuple(dict.fromkeys(link["rejected"]["concept_id"] for link in links if link["rejected"]))
        proposed = ProposedLink(
            key,
            entity["start"],
            entity["end"],
            entity["text"],
            entity["label"],
            linked,
            _lowest(link["probability"] for link in links),
            _lowest(link["score"] for link in links),
        )
        yield ReviewMention(record["id"], proposed, entity, linked or rejected)


def _lowest(values: Iterator[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def read_links(path: Path) -> Iterator[Record]:
    """Read the records that `spacy-sapbert link` wrote as JSON lines."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _record(path, number, line)


def _record(path: Path, number: int, line: str) -> Record:
    try:
        record = parse_json(line)
        for mention in review_mentions(record):
            link = mention.link
            if not link.text or link.start < 0 or record["text"][link.start : link.end] != link.text:
                raise ValueError(f"the text has no {link.text!r} at {link.start}")
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        reason = f"there is no {error}" if isinstance(error, KeyError) else error
        remedy = "Give the JSON lines that `spacy-sapbert link` wrote, or a pipeline and documents."
        raise BadRecordError(remedy, path=path, line=number, reason=reason) from error
    return dict(record)
