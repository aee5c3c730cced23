"""The encoder in the package."""

import json

import numpy as np
import pytest

from spacy_sapbert.encoders.compression import describe
from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.starter import VOCABULARY

FOLDER = VOCABULARY.with_name("encoder")


@pytest.fixture(scope="module")
def starter():
    return TransformerEncoder("starter-transformer", device="cpu")


def test_it_is_small(starter):
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) < 25_000_000
    found = describe(starter)
    assert (found["layers"], found["dim"], found["vocabulary"], found["dtype"]) == (2, 384, 20000, "float16")


def test_it_comes_with_its_licence_and_card():
    assert "Apache License" in (FOLDER / "LICENSE").read_text()
    card = (FOLDER / "README.md").read_text()
    for source in ("MeSH", "DOID", "NCIT", "ORDO", "SYMP", "EFO", "GO", "Uberon", "ChEBI", "DrugBank"):
        assert source in card


def test_it_tells_how_it_was_made_and_not_where(starter):
    assert starter.trained["base"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert [step["step"] for step in starter.trained["history"]] == [
        "prune",
        "self-alignment",
        "self-alignment",
        "quantize",
    ]
    assert "/" not in json.dumps(starter.trained["history"])


def test_it_knows_more_synonyms_than_spelling_tells(starter):
    """Is the name nearest to a name of the starter vocabulary, but for itself, one of the same concept?"""
    kb = load_knowledge_base("starter")
    names = [(name.text, concept_id) for concept_id in kb.concept_ids() for name in kb.names_of(concept_id)]
    texts, owners = [text for text, _ in names], np.array([concept_id for _, concept_id in names])
    ngrams = NgramEncoder.fit(texts).encode(texts)

    def accuracy(scores):
        np.fill_diagonal(scores, -1)
        return np.mean(owners[scores.argmax(1)] == owners)

    vectors = starter.encode(texts)
    assert accuracy(vectors @ vectors.T) > accuracy((ngrams @ ngrams.T).toarray()) + 0.15


def test_british_and_american_spelling_are_one(starter):
    vectors = starter.encode(["Ischaemic oedema", "ischemic edema"])
    np.testing.assert_array_equal(vectors[0], vectors[1])


@pytest.mark.parametrize("loader", ["transformers", "sentence_transformers"])
def test_others_load_it(starter, loader):
    if loader == "transformers":
        import torch
        import transformers

        tokens = transformers.AutoTokenizer.from_pretrained(FOLDER)(["heart attack"], return_tensors="pt")
        with torch.inference_mode():
            hidden = transformers.AutoModel.from_pretrained(FOLDER, torch_dtype=torch.float32)(**tokens)[0]
        vector = torch.nn.functional.normalize(hidden.mean(1), dim=-1).numpy()
    else:
        vector = pytest.importorskip(loader).SentenceTransformer(str(FOLDER), device="cpu").encode(["heart attack"])
    np.testing.assert_allclose(vector, starter.encode(["heart attack"]), atol=2e-3)
