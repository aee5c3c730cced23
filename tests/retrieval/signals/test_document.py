import numpy as np
import pytest
import spacy

from spacy_sapbert.retrieval.concept_set import ConceptSet
from spacy_sapbert.retrieval.concept_vectors import ConceptVectors, build_concept_vectors
from spacy_sapbert.retrieval.signals.document import DocumentSignal


class Corners:
    """Gives each concept of a set the vector of a corner."""

    dim = 15

    def encode(self, texts, *, fast):
        return np.eye(self.dim, dtype=np.float32)[: len(texts)]


@pytest.fixture(scope="module")
def vectors(small_kb, tmp_path_factory):
    concepts, folder = ConceptSet(small_kb), tmp_path_factory.mktemp("corners")
    build_concept_vectors(concepts, Corners(), "packed", folder)
    return ConceptVectors(folder, concepts)


def test_the_nearest_segment_counts(vectors):
    segments = np.zeros((2, 15), dtype=np.float32)
    segments[0, [3, 5]] = 0.8, 0.6
    segments[1, [5, 7]] = 0.96, 0.28
    (view,) = DocumentSignal(lambda docs: [segments], vectors).read([spacy.blank("en").make_doc("x")])
    assert view.nearest(3).tolist() == [5, 3, 7]
    assert view.nearest(1).tolist() == [5]
    assert view.features(np.array([7, 3, 0])) == pytest.approx(
        np.array([[0.28, 0.28 - 0.96], [0.8, 0.8 - 0.96], [0.0, -0.96]]), abs=1e-6
    )
    assert view.evidence(5) == []
