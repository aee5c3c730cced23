"""Discover new names: texts that were linked to a concept but are not among its names.

kg-aligned-entity-linker was made for this task (https://github.com/sujitpal/kg-aligned-entity-linker). A text counts as
a known name if it equals one, as `concept_matcher` compares names. That comparison ignores case, plural, spelling, word
order and function words ("of").
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from math import log2
from typing import NamedTuple

from ..files.values import table_lines as write_table
from ..text.words import word_keys
from .knowledge_base import KnowledgeBase
from .readers.known_tables import DISCOVERED_COLUMNS
from .search import NameIndex

PER_DOUBLING = 0.02
"""Added to the similarity each time the number of documents doubles.

Chosen on the training part of BC5CDR (`benchmarks/discovery.py`). Of the first 50 or 200 names, as many are right as
without it, and they have more mentions.
"""


class LinkedOccurrence(NamedTuple):
    """A text in a document that was linked to a concept.

    Attributes:
        text: The linked text. If `written` is set, this is its correction.
        concept_id: Primary id of the concept.
        name: The name of the concept that is most similar to the text.
        similarity: The score of that name, at most 1.
        example: The text around the occurrence.
        written: The text as the document has it, if it was corrected; else empty.
        short_form: Whether the text contains a short form with a known long form.
    """

    text: str
    concept_id: str
    name: str
    similarity: float
    example: str = ""
    written: str = ""
    short_form: bool = False


class NewName(NamedTuple):
    """A candidate for a new name: texts with the same words, linked to the same concept.

    `matched_name`, `similarity`, `written`, `doc_id` and `example` are those of the first occurrence of the name.

    Attributes:
        name: The most frequent of the texts.
        concept_id: Primary id of the concept.
        matched_name: The known name that is most similar to it.
        similarity: The score of `matched_name`.
        occurrences: How often any of the texts was linked to the concept.
        documents: In how many documents any of the texts was linked to the concept.
        other_concepts: Primary ids of the concepts that already have the name.
        written: The text as the document has it, if it was corrected; else empty.
        doc_id: Id of the document.
        example: The text around the occurrence.
    """

    name: str
    concept_id: str
    matched_name: str
    similarity: float
    occurrences: int
    documents: int
    other_concepts: tuple[str, ...]
    written: str
    doc_id: str
    example: str


class _Group:
    """The occurrences of texts with the same words, all linked to one concept."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.first: dict[str, tuple[str, LinkedOccurrence]] = {}
        self.documents = 0

    def add(self, doc_id: str, occurrence: LinkedOccurrence) -> None:
        text = " ".join(occurrence.text.split())
        self.texts[text] += 1
        self.first.setdefault(text, (doc_id, occurrence))

    def new_name(self, other_concepts: tuple[str, ...]) -> NewName:
        """Return the group as a `NewName`, named by its most frequent text.

        Of equally frequent texts, the one with the fewest capitals takes precedence, then the first in the alphabet.
        """
        text = min(self.texts, key=lambda text: (-self.texts[text], sum(map(str.isupper, text)), text))
        doc_id, seen = self.first[text]
        counts = self.texts.total(), self.documents
        matched = seen.name, seen.similarity
        return NewName(text, seen.concept_id, *matched, *counts, other_concepts, seen.written, doc_id, seen.example)


class Discovery:
    """Collects new names from linked documents, one document after the other.

    Args:
        kb: The knowledge base that the documents were linked to.

    Attributes:
        counts: Linked occurrences by kind. `known_names` are names of the concept already. `short_forms` are explained
            in the document. `without_words` have only punctuation or function words. `occurrences` are those of new
            names. `candidates` is the number of different new names.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        names = NameIndex(kb, lambda name: " ".join(word_keys(name)))
        self.counts: Counter[str] = Counter()
        self._concepts_with_name = lru_cache(maxsize=1 << 16)(names.owners)
        self._groups: defaultdict[tuple[tuple[str, ...], str], _Group] = defaultdict(_Group)

    def add(self, doc_id: str, linked_occurrences: Iterable[LinkedOccurrence]) -> None:
        """Add all linked occurrences of one document."""
        seen = set()
        for occurrence in linked_occurrences:
            kind = self.kind(occurrence)
            self.counts[kind] += 1
            if kind == "occurrences":
                key = word_keys(occurrence.text), occurrence.concept_id
                self._groups[key].add(doc_id, occurrence)
                seen.add(key)
        for key in seen:
            self._groups[key].documents += 1
        self.counts["candidates"] = len(self._groups)

    def kind(self, occurrence: LinkedOccurrence) -> str:
        """Return the kind of a linked occurrence, one of those in `counts`."""
        if not word_keys(occurrence.text):
            return "without_words"
        if occurrence.concept_id in self._concepts_with_name(occurrence.text):
            return "known_names"
        return "short_forms" if occurrence.short_form else "occurrences"

    def ranked(self, min_documents: int = 1) -> list[NewName]:
        """Return the new names that occur in at least `min_documents` documents, sorted by `rank`."""
        frequent = (group for group in self._groups.values() if group.documents >= min_documents)
        return rank(group.new_name(tuple(self._concepts_with_name(next(iter(group.texts))))) for group in frequent)


def rank(names: Iterable[NewName]) -> list[NewName]:
    """Sort new names by similarity + 0.02 · log2(documents), the highest first.

    Ties are sorted by alphabet, so the result does not depend on the order of the input.
    """
    return sorted(names, key=lambda new: (-new.similarity - PER_DOUBLING * log2(new.documents), *new))


def table_lines(names: Iterable[NewName], kb: KnowledgeBase) -> Iterator[str]:
    """Write new names as a table for review; the reader "discovered" reads the reviewed table.

    Returns:
        Tab-separated lines with their line ends. The first line is the header.
    """
    return write_table(chain([DISCOVERED_COLUMNS], (_cells(new, kb) for new in names)), quoted=False)


def _cells(new: NewName, kb: KnowledgeBase) -> Iterator[str]:
    similarity, others = f"{new.similarity:.4f}", "|".join(new.other_concepts)
    known = kb.names_of(new.concept_id)[0].text, new.matched_name
    counts = new.occurrences, new.documents
    for value in ("", new.name, new.concept_id, *known, similarity, *counts, others, *new[-3:]):
        yield " ".join(str(value).split())
