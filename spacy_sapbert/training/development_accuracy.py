"""A quick development measure of an encoder: do the nearest names of mentions belong to the right concepts?"""

# no postponed annotations here: spaCy could not check the settings of a registered class

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..documents.reader import read_corpus
from ..encoders.encoder import Encoder
from ..errors import EmptyError
from ..kb.knowledge_base import KnowledgeBase
from ..text.normalize import TEXT_NORMALIZERS
from ..types import has_type
from ..vectors.stored import StoredVectors

CANDIDATES = 20
_MENTIONS_AT_ONCE = 128  # limits the rows of the matrix of cosines


class NearestName:
    """Measures whether the nearest names of a corpus's mentions belong to their concepts.

    Mentions are used as written: no abbreviation is expanded, no mention is split, and no sparse score is used. The
    figures are therefore lower than those of `evaluate linking`, but they show which encoder is better. Each occurrence
    of a mention counts. Mentions with several ids, or with an id that is not in the vocabulary, are left out.

    Args:
        corpus: The file or folder of the corpus.
        kb: The path of the vocabulary, a knowledge base.
        format: The format of the corpus; None guesses it.
        types: Only mentions of these types; empty for all.
        fast: Encode in bfloat16 if the hardware supports it.
    """

    def __init__(
        self, corpus: str, kb: str, format: str | None = None, types: Sequence[str] = (), fast: bool = True
    ) -> None:
        self._fast = fast
        knowledge_base = KnowledgeBase(kb)
        self._names = list(knowledge_base.names())
        mentions = [mention for document in read_corpus(Path(corpus), format) for mention in document.mentions]
        self._gold: list[tuple[str, set[str]]] = []
        for mention in mentions:
            if len(mention.ids) == 1 and (not types or has_type(mention.label, types)):
                concepts = map(knowledge_base.names_of, knowledge_base.find_id(mention.ids[0]))
                if right := {name.text for names in concepts for name in names}:
                    self._gold.append((mention.text, right))
        if not self._gold:
            what = f"mention with a concept of the vocabulary among the {len(mentions)} of {corpus}"
            remedy = "Check that the ids belong to the vocabulary."
            raise EmptyError(remedy, what=what, consequence="nothing can be measured")

    def __call__(self, encoder: Encoder) -> dict[str, float]:
        """Return "acc@1" and "recall@20", in percent of the mentions."""
        # names with the same normal form count as one, since their order would be arbitrary
        normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
        names = list(dict.fromkeys(map(normalize, self._names)))
        texts = list(dict.fromkeys(text for text, _ in self._gold))
        vectors, queries = (encoder.encode(given, fast=self._fast) for given in (names, texts))
        index = StoredVectors(vectors, vectors.shape[1])
        batches = (queries[start : start + _MENTIONS_AT_ONCE] for start in range(0, len(texts), _MENTIONS_AT_ONCE))
        rows = (row[row >= 0] for batch in batches for row in index.nearest(batch, CANDIDATES)[1])
        nearest = dict(zip(texts, rows, strict=True))
        gold = [(text, set(map(normalize, right))) for text, right in self._gold]
        hits = [[names[row] in right for row in nearest[text]] for text, right in gold]
        return {
            "acc@1": 100 * float(np.mean([is_right[0] for is_right in hits])),
            f"recall@{CANDIDATES}": 100 * float(np.mean(list(map(any, hits)))),
        }
