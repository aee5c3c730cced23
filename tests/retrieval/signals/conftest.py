"""Fixtures for the signals."""

from collections.abc import Callable

import numpy as np
import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.retrieval.concept_set import ConceptSet


class TableIndex:
    """Gives the names that a table has for a text, with their cosines, in place of an encoder's.

    asked (list[list[str]]): the texts that were to be encoded.
    """

    exact = local = True

    def __init__(self, kb: KnowledgeBase, table: dict[str, dict[str, float]]) -> None:
        self.rows = {name: row for row, name in enumerate(kb.names())}
        self.table = table
        self.asked: list[list[str]] = []

    def encode(self, texts):
        self.asked.append(list(texts))
        vectors = np.zeros((len(texts), len(self.rows)), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for name, cosine in self.table.get(text, {}).items():
                vector[self.rows[name]] = cosine
        return vectors

    def nearest(self, queries, n, passing=None):
        scores = np.where(np.isin(np.arange(queries.shape[1]), passing.rows), queries, -1) if passing else queries
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        cosines = np.take_along_axis(scores, rows, axis=1)
        return cosines, np.where(cosines > 0, rows, -1)


@pytest.fixture
def table_index(small_store: KnowledgeBase) -> Callable[..., TableIndex]:
    """A function that makes an index of what it is told."""
    return lambda table: TableIndex(small_store, table)


@pytest.fixture(scope="session")
def concepts(small_store: KnowledgeBase) -> ConceptSet:
    return ConceptSet(small_store)
