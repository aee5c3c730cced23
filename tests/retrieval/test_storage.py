import json
import shutil
from collections import Counter

import pytest
import spacy

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.retrieval import storage
from spacy_sapbert.retrieval.settings import ConceptVectorSettings
from spacy_sapbert.retrieval.signals import SignalWeights
from spacy_sapbert.retrieval.storage import DOCUMENT_ENCODER, FITTED_FILE, open_retriever
from spacy_sapbert.retrieval.training_counts import FEATURES as MENTION_FEATURES
from spacy_sapbert.retrieval.training_counts import MentionModel, TrainingCounts, WordCounts
from spacy_sapbert.store.artifact import ArtifactWriter
from spacy_sapbert.types import Document, Mention
from spacy_sapbert.vectors.ngram_index import open_ngram_index

NLP = spacy.blank("en")
SIGNALS = ["document", "phrases"]
TEXTS = ["Mucoviscidosis and cold", "Seizures of men"]


@pytest.fixture
def retriever(small_kb, tiny_encoder, tmp_path):
    (tmp_path / "labels.txt").write_text("D003550\nD003139\nD012640\nD001241\n")
    encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
    labels, vectors = tmp_path / "labels.txt", ConceptVectorSettings(concept_text="mean")
    return open_retriever(small_kb, encoder, SIGNALS, labels=labels, types=["Disease"], vectors=vectors)


def save(retriever, folder):
    """RETURNS (dict[str, Path]): the assets by role, and "component" for the folder of the other files."""
    assets = ArtifactWriter(folder / "shared")
    storage.save_retriever(retriever, folder, assets)
    return {"component": folder, **{role: assets.folder / name for role, name in assets.names.items()}}


def load_retriever(saved, signals, **settings):
    return storage.load_retriever(saved["component"], saved, signals, **settings)


def ranked(retriever):
    return [
        [(one.concept_id, round(one.score, 4)) for one in of_doc]
        for of_doc in retriever.rank([NLP.make_doc(text) for text in TEXTS], 9)
    ]


def test_labels_and_types_choose_the_concepts(retriever):
    assert retriever.concepts.ids == ["D003550", "D003139", "D012640"]
    assert retriever.concept_vectors.kind == "mean"


def test_what_was_saved_ranks_as_before(retriever, tmp_path):
    words = WordCounts(*(Counter(cold=n) for n in (4, 2, 1, 1)))
    model = MentionModel((0.5,) * len(MENTION_FEATURES), -1.0)
    retriever.set_counts(TrainingCounts({"D003550": 3}, {"cold": 2}, {"cold": 1}, 0.2, words), model)
    saved = save(retriever, tmp_path / "saved")
    again = load_retriever(saved, SIGNALS, types=["Disease"], device="cpu")
    assert ranked(again) == ranked(retriever)
    assert again.counts.as_json() == retriever.counts.as_json()
    assert again.mention_model == model
    assert again.stored_weights is None
    assert again.labels == retriever.labels
    assert DOCUMENT_ENCODER not in saved
    assert load_retriever(saved, ["prior"]).concepts.ids == [*retriever.concepts.ids, "D001241"]


@pytest.fixture
def large(small_kb, tiny_encoder, monkeypatch, tmp_path):
    """A retriever that compares phrases by their n-grams first, with a cache of its own."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("spacy_sapbert.retrieval.retriever.FEW_NAMES", 3)
    encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
    return open_retriever(small_kb, encoder, ["phrases"], index="auto")


def test_the_ngrams_are_saved(large, small_kb, tmp_path):
    assert large.ngrams.fingerprint == open_ngram_index(small_kb, TEXT_NORMALIZER).fingerprint  # as a linker has them
    saved = save(large, tmp_path / "saved")
    shutil.rmtree(tmp_path / "cache")
    again = load_retriever(saved, ["phrases"], index="auto", device="cpu")
    assert again.ngrams.folder == saved["ngrams"]
    assert ranked(again) == ranked(large)
    assert not (tmp_path / "cache").exists()
    assert load_retriever(saved, ["phrases"], index="Flat", device="cpu").ngrams is None


def test_the_ngrams_of_training_mentions_are_saved(large, tmp_path):
    before = sorted((tmp_path / "cache" / "ngrams").iterdir())
    mention = Mention(0, 11, "Poppy juice", "X", ("D009020",))
    large.add_training_mentions([Document("1", "Poppy juice", (mention,))])
    assert "Poppy juice" in large.ngrams.kb.names()
    saved = save(large, tmp_path / "saved")
    again = load_retriever(saved, ["phrases"], index="auto", device="cpu")
    assert again.ngrams.folder == saved["ngrams"]
    assert again.ngrams.fingerprint == large.ngrams.fingerprint
    assert sorted((tmp_path / "cache" / "ngrams").iterdir()) == before
    large.add_training_mentions([])
    assert "Poppy juice" not in large.ngrams.kb.names()


def test_only_phrases_need_ngrams(small_kb, tiny_encoder, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.retrieval.retriever.FEW_NAMES", 3)
    encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
    assert open_retriever(small_kb, encoder, ["document"], index="auto").ngrams is None
    raw = TransformerEncoder(str(tiny_encoder), l2_normalized=False, device="cpu")
    assert open_retriever(small_kb, raw, ["phrases"], index="auto").ngrams is None


def test_without_an_encoder(small_kb, tmp_path):
    retriever = open_retriever(small_kb, None, ["mentions"])
    again = load_retriever(save(retriever, tmp_path), ["mentions"])
    assert again.encoder is again.name_vectors is again.concept_vectors is None
    assert len(again.concepts) == 15


def test_a_retriever_without_a_mention_model(small_kb, tmp_path):
    saved = save(open_retriever(small_kb, None, ["prior"]), tmp_path)
    (tmp_path / FITTED_FILE).write_text(json.dumps({"counts": None, "weights": None}))
    assert load_retriever(saved, ["prior"]).mention_model is None


def test_weights_of_other_features(small_kb, tmp_path):
    retriever = open_retriever(small_kb, None, ["prior"])
    retriever.stored_weights = SignalWeights((("prior", 9),), (1.0,) * 9, (0.5,) * 9, -1.0, 0.4)
    saved = save(retriever, tmp_path)
    with pytest.raises(SapbertError, match=r"E121.*another version.*train it again"):
        load_retriever(saved, ["prior"])
