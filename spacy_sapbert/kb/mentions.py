"""Add the mentions of an annotated corpus to a knowledge base as names.

This is BioSyn's protocol (Sung et al. 2020, section 4.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path

from ..text.abbreviations import expand, find_definitions, find_occurrences
from ..text.composites import composite_splits
from ..text.normalize import biosyn
from ..types import Document, Mention, Name, Record
from .build import KnowledgeBaseBuilder, new_knowledge_base
from .knowledge_base import KnowledgeBase
from .stop_names import StopNameRules

SCOPE = "mention"
TRAINING_SOURCE = "training"
"""The source of names that are mentions in training data."""
_ANNOTATED = (
    "SELECT s.concept, s.annotations, n.text, s.scope, s.source, s.language FROM synonyms s "
    "JOIN names n ON n.row = s.name WHERE s.annotations > 0 ORDER BY s.name, s.concept, s.source, s.language"
)
Order = Callable[[Sequence[str], Sequence[str]], Sequence[str]]
MAX_PERMUTED = 4  # parts of a composite: with more, there are too many orders of ids to try


def add_mentions(builder: KnowledgeBaseBuilder, documents: Iterable[Document], source: str) -> None:
    """Add every annotated mention as a name of its concept, with the abbreviations of its document expanded.

    If a composite has as many parts as concepts, each part becomes a name of one concept. Otherwise the whole mention
    becomes a name of each. `builder.counts` counts the mentions that are left out.
    """
    for document in documents:
        builder.counts += Counter({"mentions without an id": sum(not mention.ids for mention in document.mentions)})
        for text, concept_id in mention_names(document, partial(_in_order_of_parts, builder)):
            builder.add_mention(concept_id, Name(text, SCOPE, source))


def mention_names(document: Document, in_order: Order = lambda parts, ids: ids) -> Iterator[tuple[str, str]]:
    """Yield the names that the mentions of a document become, each with the id that it belongs to.

    Args:
        in_order: Takes the parts of a composite and as many ids, and returns the ids in the order of the parts.
    """
    occurrences = find_occurrences(document.text, find_definitions(document.text))
    for mention in document.mentions:
        expanded = expand(document.text, mention.start, mention.end, occurrences)
        for text, concept_id in _name_id_pairs(mention, expanded, in_order):
            yield " ".join(text.split()), concept_id


def add_training_mentions(
    kb: KnowledgeBase,
    documents: Iterable[Document],
    source: str,
    path: Path,
    *,
    new_ids: Collection[str] = (),
    new_types: Sequence[str] = (),
    without: Iterable[Document] = (),
) -> KnowledgeBase:
    """Write a copy of a knowledge base in which the mentions of documents are names; see `add_mentions`.

    Args:
        new_ids: Ids that become concepts if they are annotated but not in the vocabulary. Other unknown ids are left
            out.
        new_types: The types of these concepts. If the label of their mentions is one of them, it is the only one. If
            there are none, the label is the type.
        without: Documents whose mentions were added before, and are left out now.

    Returns:
        The new knowledge base. The key "mentions" of its `meta` counts the mentions.
    """
    documents = list(documents)
    with new_knowledge_base(path) as builder:
        from .export import stream_records

        for record in stream_records(kb):
            names = tuple(name for name in record.names if name.scope != SCOPE)
            builder.add(record._replace(names=names or record.names))  # a concept may have no other names
        unknown = {concept_id for concept_id in new_ids if not kb.find_id(concept_id)}
        for record in _new_records(documents, unknown, new_types, source):
            builder.add(record)
        left_out = _annotations(without, kb, partial(_in_order_of_parts, builder))
        for concept, annotations, text, *name in kb.query(_ANNOTATED):
            n = min(annotations, left_out[concept, text])
            left_out[concept, text] -= n
            if annotations > n:
                builder.add_annotations(concept, Name(text, *name), annotations - n)
        add_mentions(builder, documents, source)
        meta = {key: value for key, value in kb.meta.items() if key not in ("built", "fingerprint")}
        meta["mentions"] = dict(sorted((+builder.counts).items()))
        builder.finish(meta, StopNameRules.from_json(kb.meta["stop_names"]))
    return KnowledgeBase(path)


def _annotations(documents: Iterable[Document], kb: KnowledgeBase, in_order: Order) -> Counter[tuple[int, str]]:
    """Count how often documents annotate the concept in a row by a name."""
    return Counter(
        (row, text)
        for document in documents
        for text, concept_id in mention_names(document, in_order)
        for row in kb.concept_rows(concept_id)
    )


def _new_records(documents: Iterable[Document], ids: set[str], types: Sequence[str], source: str) -> Iterator[Record]:
    """Yield a record for each annotated id of these. Its names are its mentions, the most frequent first."""
    names: dict[str, Counter[str]] = {}
    labels: dict[str, Counter[str]] = {}
    for document in documents:
        for text, concept_id in mention_names(document):
            if concept_id in ids:
                names.setdefault(concept_id, Counter())[text] += 1
        for mention in document.mentions:
            for concept_id in mention.ids:
                labels.setdefault(concept_id, Counter())[mention.label] += 1
    for concept_id, counts in names.items():
        texts = [Name(text, SCOPE, source) for text, _ in counts.most_common()]
        ((label, _),) = labels[concept_id].most_common(1)
        fitting = (label,) if label in types or not types else tuple(types)
        yield Record(concept_id, tuple(texts), types=tuple(filter(None, fitting)))


def _name_id_pairs(mention: Mention, expanded: str, in_order: Order) -> Iterator[tuple[str, str]]:
    """Yield each name of a mention with the id that it belongs to."""
    for parts in (mention.parts, *composite_splits(expanded)):
        if len(parts) == len(mention.ids) > 1:
            yield from zip(parts, in_order(parts, mention.ids), strict=True)
            return
    for concept_id in mention.ids:
        yield expanded, concept_id


def _in_order_of_parts(builder: KnowledgeBaseBuilder, parts: Sequence[str], ids: Sequence[str]) -> Sequence[str]:
    """Return the ids in the order in which most parts are already names of their concepts.

    Annotators do not always follow the order of the text. "gastric and colorectal cancer" may list the id of colorectal
    cancer first. If several orders are equally good, the annotated order is kept.
    """
    if len(parts) > MAX_PERMUTED:
        return ids
    names = {concept_id: set(map(biosyn, builder.names_of(concept_id))) for concept_id in ids}
    forms = [biosyn(part) for part in parts]
    return max(
        permutations(ids), key=lambda order: sum(form in names[id_] for form, id_ in zip(forms, order, strict=True))
    )
