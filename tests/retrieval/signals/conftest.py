"""Fixtures for the signals."""

from collections.abc import Callable

import numpy as np
import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.retrieval.concept_set import ConceptSet


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


@pytest.fixture
def table_index(small_kb: KnowledgeBase) -> Callable[..., TableIndex]:
    """A function that creates an index from a table."""
    return lambda table: TableIndex(small_kb, table)


@pytest.fixture(scope="session")
def concepts(small_kb: KnowledgeBase) -> ConceptSet:
    return ConceptSet(small_kb)
