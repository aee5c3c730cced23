"""Gather what the vocabulary says of a concept, for the pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..kb.knowledge_base import KnowledgeBase
from ..outputs.pages import concept_url, display_type
from ..types import Concept


class Reference(NamedTuple):
    """A concept, or another code, with its web page, and with its preferred name, or else its id."""

    id: str
    url: str | None
    name: str


class ConceptCard(NamedTuple):
    """What the vocabulary says of a concept, with types as words. If the vocabulary lacks it, its name is the id."""

    id: str
    url: str | None
    name: str
    types: list[str]
    definition: str
    synonyms: tuple[str, ...]
    parents: list[Reference]
    codes: list[Reference]


def concept_card(kb: KnowledgeBase, concept_id: str) -> ConceptCard:
    """Return the card of a concept."""
    concept = kb.get(concept_id) or Concept(concept_id, concept_id)
    parents = dict.fromkeys(primary for parent in concept.parents for primary in kb.find_id(parent) or (parent,))
    codes = dict.fromkeys([*concept.alternative_ids, *kb.xrefs(concept_id)])
    return ConceptCard(
        concept_id,
        concept_url(concept_id),
        concept.canonical_name,
        list(map(display_type, concept.types)),
        concept.definition or "",
        concept.aliases,
        references(kb, parents),
        [Reference(code, concept_url(code), code) for code in codes],
    )


def references(kb: KnowledgeBase, concept_ids: Iterable[str]) -> list[Reference]:
    """Return concepts with their names."""
    ids = list(concept_ids)
    names = {id: label.preferred for id, label in kb.labels_of(ids).items()}
    return [Reference(id, concept_url(id), names.get(id) or id) for id in ids]
