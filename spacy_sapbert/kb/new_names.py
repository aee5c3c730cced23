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
from typing import Any, NamedTuple

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

    Attributes:
        name: The most frequent of the texts. Of equally frequent ones, that with the fewest capitals, then the first in
            the alphabet.
        first: The first occurrence of this text.
        doc_id: Id of its document.
        occurrences: How often any of the texts was linked to the concept.
        documents: In how many documents any of the texts was linked to the concept.
        other_concepts: Primary ids of the concepts that already have the name.
    """

    name: str
    first: LinkedOccurrence
    doc_id: str
    occurrences: int
    documents: int
    other_concepts: tuple[str, ...]


class _Group:
    """The occurrences of texts with the same words, all linked to one concept."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.first: dict[str, tuple[LinkedOccurrence, str]] = {}
        self.documents = 0


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
                key, text = (word_keys(occurrence.text), occurrence.concept_id), " ".join(occurrence.text.split())
                self._groups[key].texts[text] += 1
                self._groups[key].first.setdefault(text, (occurrence, doc_id))
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
        names = []
        for group in self._groups.values():
            if group.documents >= min_documents:
                texts = group.texts
                name = min(texts, key=lambda text: (-texts[text], sum(map(str.isupper, text)), text))
                others = tuple(self._concepts_with_name(next(iter(texts))))
                names.append(NewName(name, *group.first[name], texts.total(), group.documents, others))
        return rank(names)


def rank(names: Iterable[NewName]) -> list[NewName]:
    """Sort new names by similarity + 0.02 · log2(documents), the highest first.

    Ties are sorted by alphabet, so the result does not depend on the order of the input.
    """

    def key(new: NewName) -> tuple[Any, ...]:
        return -new.first.similarity - PER_DOUBLING * log2(new.documents), new.name, new.first.concept_id

    return sorted(names, key=key)


def table_lines(names: Iterable[NewName], kb: KnowledgeBase) -> Iterator[str]:
    """Write new names as a table for review; the reader "discovered" reads the reviewed table.

    Returns:
        Tab-separated lines with their line ends. The first line is the header.
    """
    rows = ([" ".join(str(value).split()) for value in _values(new, kb)] for new in names)
    return write_table(chain([DISCOVERED_COLUMNS], rows), quoted=False)


def _values(new: NewName, kb: KnowledgeBase) -> Iterator[Any]:
    """Yield the values of `DISCOVERED_COLUMNS`."""
    seen = new.first
    yield from ("", new.name, seen.concept_id, kb.names_of(seen.concept_id)[0].text, seen.name)
    yield from (f"{seen.similarity:.4f}", new.occurrences, new.documents, "|".join(new.other_concepts))
    yield from (seen.written, new.doc_id, seen.example)
