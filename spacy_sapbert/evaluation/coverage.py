"""Check that a corpus and a vocabulary have the same kind of ids."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence

from ..documents.mention_types import has_type
from ..errors import Errors, SapbertError, Warnings
from ..kb.ids import some_ids
from ..kb.knowledge_base import KnowledgeBase
from ..types import Document, Mention


def with_known_ids(documents: Iterable[Document], kb: KnowledgeBase, type: str | None = None) -> Iterator[Document]:
    """Yield the documents of a corpus, if any of its concept ids is in the vocabulary.

    No document is yielded before the first id that the vocabulary has. So the error comes before any other work. A
    corpus without ids passes.

    Args:
        documents: The corpus. Documents before that id are kept in memory.
        kb: The vocabulary.
        type: Only mentions with this label count.

    Raises:
        SapbertError: E572 the corpus has ids, but none of them is in the vocabulary.
    """
    stream = iter(documents)
    waiting: list[Document] = []
    unknown: dict[str, None] = {}
    for document in stream:
        waiting.append(document)
        ids = dict.fromkeys(_ids(document, type))
        if any(one not in unknown and kb.find_id(one) for one in ids):
            break
        unknown.update(ids)
    else:
        if unknown:
            raise SapbertError(
                Errors.E572.format(
                    n=len(unknown), path=kb.path, corpus=some_ids(unknown), known=some_ids(kb.concept_ids())
                )
            )
    yield from waiting
    yield from stream


def warn_of_unknown_ids(documents: Sequence[Document], kb: KnowledgeBase) -> None:
    """Warn with the share of mentions whose concept ids are all missing in the vocabulary, if there are any.

    Args:
        documents: The corpus.
        kb: The vocabulary.
    """
    mentions = [mention for document in documents for mention in document.mentions if mention.ids]
    missing = [mention for mention in mentions if not has_known_id(mention, kb)]
    if missing:
        share = 100 * len(missing) / len(mentions)
        example = some_ids(one for mention in missing for one in mention.ids)
        message = Warnings.W571.format(unknown=len(missing), total=len(mentions), share=share, example=example)
        warnings.warn(message, stacklevel=2)


def has_known_id(mention: Mention, kb: KnowledgeBase) -> bool:
    """Whether the vocabulary has any of the ids of a mention, as a primary or an alternative id."""
    return any(map(kb.find_id, mention.ids))


def _ids(document: Document, type: str | None) -> Iterator[str]:
    for mention in document.mentions:
        if type is None or has_type(mention.label, [type]):
            yield from mention.ids
