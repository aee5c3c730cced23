"""A quick measure of an encoder while it is trained: are the nearest names of mentions those of their concepts?"""

# no postponed annotations here: the settings of a registered class could not be checked

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..corpora.mention_types import has_type
from ..corpora.reader import read_corpus
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..text.normalize import TEXT_NORMALIZERS

CANDIDATES = 20
_MENTIONS_AT_ONCE = 128  # a matrix of scores, of which two more copies are made, has a row for each


class NearestName:
    """Whether the nearest names of a corpus's mentions, as they stand there, belong to their concepts.

    No abbreviation is expanded, no mention split, no sparse score taken, so the figures lie below those of
    `evaluate linking`; they tell which encoder is better. A mention counts each time it occurs; left out are those with
    several ids, and those whose id is not in the vocabulary.

    Args:
        corpus: where the mentions are.
        format: its format, guessed where plain.
        kb: the vocabulary.
        types: take mentions of these types only; empty for all.
        fast: encode in bfloat16 where the hardware has it.

    Raises:
        SapbertError: E340 no mention can be used, or what `read_corpus` and `KnowledgeBase` raise.
    """

    def __init__(
        self, corpus: str, kb: str, format: str | None = None, types: Sequence[str] = (), fast: bool = True
    ) -> None:
        self._fast = fast
        knowledge_base = KnowledgeBase(kb)
        self._names = list(knowledge_base.names())
        mentions = [mention for document in read_corpus(Path(corpus), format) for mention in document.mentions]
        used = [one for one in mentions if len(one.ids) == 1 and (not types or has_type(one.label, types))]
        gold = [(one.text, _names_of(knowledge_base, one.ids[0])) for one in used]
        self._gold = [(text, names) for text, names in gold if names]
        if not self._gold:
            raise SapbertError(Errors.E340.format(mentions=len(mentions), path=corpus))

    def __call__(self, encoder: TransformerEncoder) -> dict[str, float]:
        """Return "acc@1" and "recall@20", in percent of the mentions."""
        # names that the encoder reads alike are one: which of them comes first would say nothing
        normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
        names = list(dict.fromkeys(map(normalize, self._names)))
        texts = list(dict.fromkeys(text for text, _ in self._gold))
        vectors, queries = (encoder.encode(some, fast=self._fast) for some in (names, texts))
        nearest = dict(zip(texts, _nearest(queries, vectors), strict=True))
        gold = [(text, set(map(normalize, right))) for text, right in self._gold]
        found = [[names[row] in right for row in nearest[text]] for text, right in gold]
        return {
            "acc@1": 100 * float(np.mean([hits[0] for hits in found])),
            f"recall@{CANDIDATES}": 100 * float(np.mean([any(hits) for hits in found])),
        }


def _nearest(queries: np.ndarray, vectors: np.ndarray) -> Iterator[np.ndarray]:
    """Yield `int64, shape (CANDIDATES,)`: the rows of the nearest vectors of each query, best first."""
    for start in range(0, len(queries), _MENTIONS_AT_ONCE):
        scores = queries[start : start + _MENTIONS_AT_ONCE] @ vectors.T
        rows = np.argpartition(-scores, min(CANDIDATES, len(vectors) - 1), axis=1)[:, :CANDIDATES]
        order = np.argsort(-np.take_along_axis(scores, rows, axis=1), axis=1, kind="stable")
        yield from np.take_along_axis(rows, order, axis=1)


def _names_of(knowledge_base: KnowledgeBase, concept_id: str) -> set[str]:
    """Return all names of the concepts that have this id, which may be an alternative one."""
    return {name.text for primary in knowledge_base.find_id(concept_id) for name in knowledge_base.names_of(primary)}
