"""The gold concepts of whole documents, and the set of concepts that may be named."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import Errors, SapbertError
from ..files import open_text
from ..kb.ids import NO_ID, canonical_id
from ..kb.store import ConceptStore
from ..types import NIL, AnnotatedDocument, Mention

_ONE_ID = re.compile(r"[^\s|+,;]+")


def primary_id(concept_id: str, store: ConceptStore) -> str:
    """RETURNS (str): the primary id that an alternative one stands for; an id that the store lacks stays as it is."""
    return next(iter(store.find_id(concept_id)), concept_id)


def gold_of(
    document: AnnotatedDocument, primary: Callable[[str], str], type: str | None = None
) -> dict[str, list[Mention]]:
    """Each mention of a composite's concepts is one of them all.

    primary (Callable[[str], str]): gives the primary id for any id.
    type (str | None): only mentions with this label.
    RETURNS (dict[str, list[Mention]]): the concepts of a document, by primary id, each with its mentions.
    """
    gold: dict[str, list[Mention]] = defaultdict(list)
    for mention in document.mentions:
        if type in (None, mention.label):
            for concept_id in dict.fromkeys(primary(one) for one in mention.ids if one != NIL):
                gold[concept_id].append(mention)
    return dict(gold)


def documents_by_concept(documents: Iterable[AnnotatedDocument], primary: Callable[[str], str]) -> Counter[str]:
    """RETURNS (Counter[str]): how many documents hold each concept."""
    return Counter(concept_id for document in documents for concept_id in gold_of(document, primary))


def read_labels(path: Path) -> list[str]:
    """Read the ids of the concepts that may be named, one a line.

    RETURNS (list[str]): each id once, in canonical form.
    RAISES (SapbertError): E632 there is none, E633 a line that is no id, E120 to E122 the file cannot be read.
    """
    labels: dict[str, None] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            label = canonical_id(line)
            if label and (label in NO_ID or not _ONE_ID.fullmatch(label)):
                raise SapbertError(Errors.E633.format(path=path, line=number, text=repr(line.strip())))
            if label:
                labels[label] = None
    if not labels:
        raise SapbertError(Errors.E632.format(path=path))
    return list(labels)


def is_named(concept_id: str, mentions: Iterable[Mention], store: ConceptStore) -> bool:
    """Whether any of a concept's mentions is one of its names, whatever the case.

    Names that the concept has from annotated corpora do not count, as the vocabulary does not have them.
    """
    names = {name.text.lower() for name in store.names_of(concept_id) if name.scope != "mention"}
    return any(mention.text.lower() in names for mention in mentions)
