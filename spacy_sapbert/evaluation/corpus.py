"""What all measurements do with a corpus: choose the mentions that count, check their ids, and write predictions."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import EmptyError, Errors, SapbertError, Warnings
from ..files.output import open_output
from ..kb.ids import some_ids
from ..kb.knowledge_base import KnowledgeBase
from ..types import Document, Mention, has_type, types_of


class GoldMentions:
    """Chooses the mentions of a corpus that are measured.

    Args:
        type: The label of these mentions, or one of its types. None is any label.
        with_ids: Whether mentions without a concept id are left out.

    Attributes:
        labels: How many mentions with a concept id have each label, whether or not they are chosen.
    """

    def __init__(self, type: str | None, *, with_ids: bool = False) -> None:
        self._type = type
        self._with_ids = with_ids
        self.labels: Counter[str] = Counter()

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield all documents with the chosen mentions alone."""
        for document in documents:
            self.labels.update(name for mention in document.mentions if mention.ids for name in types_of(mention.label))
            yield document._replace(mentions=tuple(filter(self._is_chosen, document.mentions)))

    def _is_chosen(self, mention: Mention) -> bool:
        right_label = self._type is None or has_type(mention.label, [self._type])
        return right_label and (bool(mention.ids) or not self._with_ids)

    def check(self) -> None:
        """Check, after the last document, that a mention with a concept id was chosen."""
        if not (self.labels if self._type is None else self.labels[self._type]):
            raise no_mentions(self._type and [self._type], self.labels)


def no_mentions(types: Sequence[str] | None, labels: Counter[str]) -> EmptyError:
    """Return the error that a corpus has no mention with a concept id and one of these types."""
    wanted = "mention with a concept id" if types is None else f"mention of type {', '.join(types)} with a concept id"
    found = ", ".join(sorted(+labels)) or "none"
    remedy = f"The types of the mentions with a concept id are: {found}. Check the file, its format and the type."
    return EmptyError(remedy, what=f"{wanted} in the corpus", consequence="nothing can be measured")


def with_known_ids(documents: Iterable[Document], kb: KnowledgeBase) -> Iterator[Document]:
    """Yield the documents of a corpus, if any of its concept ids is in the vocabulary.

    No document is yielded before the first id that the vocabulary has. So the error comes before any other work. A
    corpus without ids passes.

    Args:
        documents: The corpus. Documents before that id are kept in memory.
        kb: The vocabulary.
    """
    stream = iter(documents)
    waiting: list[Document] = []
    unknown: dict[str, None] = {}
    for document in stream:
        waiting.append(document)
        ids = dict.fromkeys(concept_id for mention in document.mentions for concept_id in mention.ids)
        if any(concept_id not in unknown and kb.find_id(concept_id) for concept_id in ids):
            break
        unknown.update(ids)
    else:
        if unknown:
            examples = {"corpus": some_ids(unknown), "known": some_ids(kb.concept_ids())}
            raise SapbertError(Errors.E572.format(n=len(unknown), path=kb.path, **examples))
    yield from waiting
    yield from stream


def warn_of_unknown_ids(documents: Sequence[Document], kb: KnowledgeBase) -> None:
    """Warn with the share of mentions whose concept ids are all missing in the vocabulary, if there are any."""
    mentions = [mention for document in documents for mention in document.mentions if mention.ids]
    missing = [mention for mention in mentions if not has_known_id(mention, kb)]
    if missing:
        share = 100 * len(missing) / len(mentions)
        example = some_ids(concept_id for mention in missing for concept_id in mention.ids)
        message = Warnings.W571.format(unknown=len(missing), total=len(mentions), share=share, example=example)
        warnings.warn(message, stacklevel=2)


def has_known_id(mention: Mention, kb: KnowledgeBase) -> bool:
    """Return whether the vocabulary has any of the ids of a mention, as a primary or an alternative id."""
    return any(map(kb.find_id, mention.ids))


@contextmanager
def predictions_file(path: Path | None) -> Iterator[Callable[[Mapping[str, Any]], object]]:
    """Open a file of predictions, which appears when the block ends without an error.

    Yields:
        A function that writes a prediction as a line of JSON. Without a path, it does nothing.
    """
    if path is None:
        yield lambda prediction: None
        return
    with open_output(path) as write:
        yield lambda prediction: write(json.dumps(prediction, ensure_ascii=False) + "\n")
