"""The mentions of an annotated corpus as names of a vocabulary (BioSyn's protocol: Sung et al. 2020, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..text.abbreviations import expand, find_definitions, find_uses
from ..text.composites import readings
from ..types import AnnotatedDocument, Mention, Name
from .build import StoreBuilder

SCOPE = "mention"


def add_mentions(builder: StoreBuilder, documents: Iterable[AnnotatedDocument], source: str) -> None:
    """Make every annotated mention a name of its concept, with the abbreviations of its document expanded.

    The parts of a composite go to its concepts in order, where their numbers agree; else the whole is a name of each.
    What is left out is counted in `builder.counts`.

    source (str): the `source` of the new names.
    """
    for document in documents:
        uses = find_uses(document.text, find_definitions(document.text))
        for mention in document.mentions:
            if not mention.ids:
                builder.counts["mentions without an id"] += 1
            for text, concept_id in _named(mention, expand(document.text, mention.start, mention.end, uses)):
                added = builder.add_mention(concept_id, Name(" ".join(text.split()), SCOPE, source))
                builder.counts["mentions added" if added else "mentions whose id is not in the vocabulary"] += 1


def _named(mention: Mention, expanded: str) -> Iterator[tuple[str, str]]:
    """YIELDS (tuple[str, str]): names and the ids that they belong to."""
    for parts in (mention.parts, *readings(expanded)):
        if len(parts) == len(mention.ids) > 1:
            yield from zip(parts, mention.ids, strict=True)
            return
    for concept_id in mention.ids:
        yield expanded, concept_id
