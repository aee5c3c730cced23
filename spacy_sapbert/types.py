"""The plain data that travels between the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spacy.tokens import Span

NIL = "NIL"
SCORE_DIGITS = 5
"""Scores are rounded, so that rounding errors of the hardware never decide between two names."""


class Name(NamedTuple):
    """One name of a concept.

    Attributes:
        text: the name as its source writes it.
        scope: "preferred", "exact", "narrow", "broad", "related" or "mention".
        source: where the name comes from, e.g. "MEDIC".
    """

    text: str
    scope: str
    source: str


class Concept(NamedTuple):
    """A concept of a vocabulary; the first five fields are those of scispaCy's `Entity`.

    Attributes:
        concept_id: primary id in canonical form (see `spacy_sapbert.kb.ids`).
        canonical_name: the preferred name.
        aliases: the other names, each once.
        types: semantic types.
        definition: what the concept is, where the vocabulary says it.
        alternative_ids: other ids of the same concept.
        parents: ids of the concepts right above it in the hierarchy.
    """

    concept_id: str
    canonical_name: str
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    definition: str | None = None
    alternative_ids: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()


class Record(NamedTuple):
    """One concept as a reader found it, on its way into a store.

    Attributes:
        concept_id: primary id in canonical form (see `spacy_sapbert.kb.ids`).
        names: the preferred name first, where the source tells it.
        alternative_ids: as in `Concept`.
        types: as in `Concept`.
        definition: as in `Concept`.
        parents: as in `Concept`.
        xrefs: ids of the same or a like concept in other vocabularies, in canonical form.
    """

    concept_id: str
    names: tuple[Name, ...]
    alternative_ids: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    definition: str | None = None
    parents: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A concept proposed for a text.

    Attributes:
        concept_id: its primary id.
        score: combined similarity of the best name, at most 1.
        name: that best name.
        dense: its two similarities; None where that score is not used. They are cosines, but the dense one is an inner
            product where the encoder does not normalise its vectors.
        sparse: see `dense`.
        prior: how often annotators meant the concept, from 0 to 1; None where that does not count.
    """

    concept_id: str
    score: float
    name: str
    dense: float | None = None
    sparse: float | None = None
    prior: float | None = None


class LinkedPart(NamedTuple):
    """One part of a mention with its candidates; a mention that is not split has one part.

    Attributes:
        text: what was looked up.
        long_form: the mention with its abbreviations expanded, where that is what was looked up.
        candidates: best first, before any threshold.
        tie: why the first candidate goes before others with the same score, or whose names are equally like the text,
            where there are any.
    """

    text: str
    long_form: str | None
    candidates: tuple[Candidate, ...]
    tie: str | None = None


class Link(NamedTuple):
    """What became of one part of a mention.

    Attributes:
        text: the text that was linked, after expansion and splitting.
        concept_id: None where nothing was linked.
        score: the best candidate's score, also where it stayed below the threshold.
        name: the vocabulary's name that matched best.
        long_form: the mention with its abbreviations expanded, if that form won.
        split: whether the text is one part of a composite mention.
        reason: why there is no link.
        probability: that the best candidate is right; None where the linker is not calibrated.
        tie: which other concepts have the same score, and why this one was chosen.
    """

    text: str
    concept_id: str | None
    score: float | None
    name: str | None
    long_form: str | None = None
    split: bool = False
    reason: str | None = None
    probability: float | None = None
    tie: str | None = None


class DocumentConcept(NamedTuple):
    """A concept of a whole document, as `doc._.concepts` gives it.

    Attributes:
        concept_id: its primary id.
        score: by which concepts are ranked, from 0 to 1.
        name: the preferred name.
        evidence: the mentions that are linked to it, or else the text that is most like one of its names; best first.
            Empty where only the document as a whole speaks for it.
        contributions: what each signal adds to the score before it is squeezed between 0 and 1; empty where there is
            but one signal.
    """

    concept_id: str
    score: float
    name: str
    evidence: tuple[Span, ...] = ()
    contributions: tuple[tuple[str, float], ...] = ()


class Mention(NamedTuple):
    """An annotated mention of a corpus: characters `start:end` of its document's text.

    Attributes:
        start: the offsets of its first character, and of the one after its last.
        end: see `start`.
        text: what stands there.
        label: its type, as the corpus calls it.
        ids: all gold ids in canonical form, in the order of the annotation; empty for a mention without a concept.
        parts: the single mentions of a composite, where the corpus writes them.
    """

    start: int
    end: int
    text: str
    label: str
    ids: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class AnnotatedDocument(NamedTuple):
    """A document of a corpus.

    Attributes:
        doc_id: its id in the corpus.
        text: the whole text, titles included.
        mentions: in order of their offsets.
    """

    doc_id: str
    text: str
    mentions: tuple[Mention, ...] = ()
