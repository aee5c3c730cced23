"""New names of a vocabulary's concepts: texts that were linked to a concept, but are none of its names.

That is what kg-aligned-entity-linker was made for (https://github.com/sujitpal/kg-aligned-entity-linker). A text counts
as a name that is known where it is one but for case, plural, spelling, word order and function words ("of"), as for
the `concept_matcher`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import log2
from typing import NamedTuple

from ..text.words import word_keys
from .knowledge_base import KnowledgeBase
from .name_index import NameIndex
from .readers.discovered import COLUMNS

# What twice as many documents count beside the similarity. Chosen on the training part of BC5CDR: as many of the first
# 50 or 200 names are right as without, and they stand for more mentions (`benchmarks/discovery.py`).
PER_DOUBLING = 0.02


class LinkedOccurrence(NamedTuple):
    """A text in a document that was linked.

    Attributes:
        name: the name of the concept that is most like the text.
        similarity: the score of that name, at most 1.
        example: the text around it.
        written: as the document has it, where the text is its correction; else empty.
        short_form: whether there is a short form in the text whose long form is known.
    """

    text: str
    concept_id: str
    name: str
    similarity: float
    example: str = ""
    written: str = ""
    short_form: bool = False


class NewName(NamedTuple):
    """A candidate: texts of the same words that were linked to the same concept.

    Attributes:
        name: the most frequent of the texts; what follows is that of its first sighting.
        matched_name: the known name that is most like it, and its score.
        occurrences: how often, and in how many documents, any of the texts was linked so.
        other_concepts: primary ids of the concepts that have the name already.
        written: what the document has, where the name is a correction of it; else empty.
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
    """What was seen of texts with the same words, all linked to one concept."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.first: dict[str, tuple[str, LinkedOccurrence]] = {}
        self.documents = 0

    def add(self, doc_id: str, occurrence: LinkedOccurrence) -> None:
        text = " ".join(occurrence.text.split())
        self.texts[text] += 1
        self.first.setdefault(text, (doc_id, occurrence))

    def new_name(self, other_concepts: tuple[str, ...]) -> NewName:
        """Of texts that are as frequent, the one with the fewest capitals goes first, then by alphabet."""
        text = min(self.texts, key=lambda text: (-self.texts[text], sum(map(str.isupper, text)), text))
        doc_id, seen = self.first[text]
        counts = self.texts.total(), self.documents
        matched = seen.name, seen.similarity
        return NewName(text, seen.concept_id, *matched, *counts, other_concepts, seen.written, doc_id, seen.example)


class Discovery:
    """Collects new names from linked documents, one after the other; what is known already is only counted.

    Args:
        kb: the vocabulary that was linked to.

    Attributes:
        counts: of sightings, `gazetteer_features`, `short_forms` (which the document explains), `without_words`
            (punctuation or function words alone) and `occurrences` of new names; of different new names, `candidates`.
    """

    def __init__(self, kb: KnowledgeBase) -> None:
        names = NameIndex(kb, lambda name: " ".join(word_keys(name)))
        self.counts: Counter[str] = Counter()
        self._owners = lru_cache(maxsize=1 << 16)(names.owners)
        self._groups: defaultdict[tuple[tuple[str, ...], str], _Group] = defaultdict(_Group)

    def add(self, doc_id: str, linked_occurrences: Iterable[LinkedOccurrence]) -> None:
        """Add all that was linked in one document."""
        seen = set()
        for occurrence in linked_occurrences:
            kind = self._kind(occurrence)
            self.counts[kind] += 1
            if kind == "occurrences":
                key = word_keys(occurrence.text), occurrence.concept_id
                self._groups[key].add(doc_id, occurrence)
                seen.add(key)
        for key in seen:
            self._groups[key].documents += 1
        self.counts["candidates"] = len(self._groups)

    def _kind(self, occurrence: LinkedOccurrence) -> str:
        if not word_keys(occurrence.text):
            return "without_words"
        if occurrence.concept_id in self._owners(occurrence.text):
            return "gazetteer_features"
        return "short_forms" if occurrence.short_form else "occurrences"

    def ranked(self, min_documents: int = 1) -> list[NewName]:
        """Return `list[NewName]`: those seen in so many documents, in the order of `rank`."""
        frequent = (group for group in self._groups.values() if group.documents >= min_documents)
        return rank(group.new_name(tuple(self._owners(next(iter(group.texts))))) for group in frequent)


def rank(names: Iterable[NewName]) -> list[NewName]:
    """Sort new names by similarity + 0.02 · log2(documents), the highest first; equals by alphabet.

    Returns:
        the same order for any order of the input.
    """
    return sorted(names, key=lambda new: (-new.similarity - PER_DOUBLING * log2(new.documents), *new))


def table_lines(names: Iterable[NewName], kb: KnowledgeBase) -> Iterator[str]:
    """Write new names as a table that people review and the reader "discovered" takes back.

    Yields:
        the lines, tab-separated, each with its end; first the headings.
    """
    yield _line(COLUMNS)
    for new in names:
        similarity, others = f"{new.similarity:.4f}", "|".join(new.other_concepts)
        known = kb.names_of(new.concept_id)[0].text, new.matched_name
        counts = new.occurrences, new.documents
        yield _line(("", new.name, new.concept_id, *known, similarity, *counts, others, *new[-3:]))


def _line(cells: Iterable[object]) -> str:
    return "\t".join(" ".join(str(cell).split()) for cell in cells) + "\n"
