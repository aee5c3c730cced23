"""Fixtures for the signals."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.retrieval.concepts import ConceptSet
from spacy_sapbert.vectors.ngram_index import NgramIndex, open_ngram_index


class TableIndex:
    """An index with cosines from a table of texts and names, instead of an encoder's.

    Attributes:
        encoded: The texts that were encoded, by call.
    """

    exact = local = True

    def __init__(self, kb: KnowledgeBase, table: dict[str, dict[str, float]]) -> None:
        self.rows = {name: row for row, name in enumerate(kb.names())}
        self.table = table
        self.encoded: list[list[str]] = []
        self.encoder = SimpleNamespace(dim=len(self.rows))

    def encode(self, texts):
        self.encoded.append(list(texts))
        vectors = np.zeros((len(texts), len(self.rows)), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for name, cosine in self.table.get(text, {}).items():
                vector[self.rows[name]] = cosine
        return vectors

    def nearest(self, queries, n, mask=None):
        scores = np.where(np.isin(np.arange(queries.shape[1]), mask.rows), queries, -1) if mask else queries
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        cosines = np.take_along_axis(scores, rows, axis=1)
        return cosines, np.where(cosines > 0, rows, -1)

    def equal_names(self, texts):
        pairs = [(i, self.rows[text]) for i, text in enumerate(texts) if text in self.rows]
        return tuple(np.array(pairs, dtype=np.int64).reshape(-1, 2).T)

    def products(self, queries, which, rows):
        return queries[which, rows]


@pytest.fixture
def table_index(small_kb: KnowledgeBase) -> Callable[..., TableIndex]:
    """A function that creates an index from a table."""
    return lambda table: TableIndex(small_kb, table)


@pytest.fixture(scope="session")
def concepts(small_kb: KnowledgeBase) -> ConceptSet:
    return ConceptSet(small_kb)


@pytest.fixture(scope="session")
def ngrams(small_kb: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> NgramIndex:
    """The n-grams of the names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path_factory.mktemp("ngrams")))
        return open_ngram_index(small_kb, "lower")
