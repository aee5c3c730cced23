import json

import pytest
import spacy

from spacy_sapbert.assets import AssetWriter
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.retrieval import storage
from spacy_sapbert.retrieval.settings import ConceptVectorSettings
from spacy_sapbert.retrieval.signal_weights import SignalWeights
from spacy_sapbert.retrieval.storage import DOCUMENT_ENCODER, FITTED_FILE, open_retriever
from spacy_sapbert.retrieval.training_counts import TrainingCounts

NLP = spacy.blank("en")
SIGNALS = ["document", "phrases", "sentences"]
TEXTS = ["Mucoviscidosis and cold", "Seizures of men"]


@pytest.fixture
def retriever(small_kb, tiny_encoder, tmp_path):
    (tmp_path / "labels.txt").write_text("D003550\nD003139\nD012640\nD001241\n")
    encoder = TransformerEncoder(str(tiny_encoder), l2_normalized=True, device="cpu")
    labels, vectors = tmp_path / "labels.txt", ConceptVectorSettings(concept_text="mean")
    return open_retriever(small_kb, encoder, SIGNALS, labels=labels, types=["Disease"], vectors=vectors)


def save(retriever, folder):
    """RETURNS (dict[str, Path]): the assets by role, and "component" for the folder of the other files."""
    assets = AssetWriter(folder / "shared")
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
    retriever.counts = TrainingCounts({"D003550": 3}, {"cold": 2}, {"cold": 1}, 0.2)
    saved = save(retriever, tmp_path / "saved")
    again = load_retriever(saved, SIGNALS, types=["Disease"], device="cpu")
    assert ranked(again) == ranked(retriever)
    assert vars(again.counts) == vars(retriever.counts)
    assert again.stored_weights is None
    assert again.labels == retriever.labels
    assert DOCUMENT_ENCODER not in saved
    assert load_retriever(saved, ["prior"]).concepts.ids == [*retriever.concepts.ids, "D001241"]


def test_an_encoder_of_documents_is_saved_where_it_is_another(retriever, tmp_path):
    weights = SignalWeights((("phrases", 13),), (1.0,) * 13, (0.5,) * 13, -1.0, 0.4)
    retriever.stored_weights = weights
    retriever.separate_document_encoder().encoder.model.embeddings.word_embeddings.weight.data += 0.5
    saved = save(retriever, tmp_path / "saved")
    again = load_retriever(saved, SIGNALS, types=["Disease"], device="cpu")
    assert again.document_encoder.encoder is not again.encoder
    assert ranked(again) == ranked(retriever)
    assert again.stored_weights == weights


def test_without_an_encoder(small_kb, tmp_path):
    retriever = open_retriever(small_kb, None, ["mentions"])
    again = load_retriever(save(retriever, tmp_path), ["mentions"])
    assert again.encoder is again.name_vectors is again.concept_vectors is None
    assert len(again.concepts) == 15


def test_nothing_can_be_named(small_kb, tmp_path):
    (tmp_path / "labels.txt").write_text("D001943\n")
    with pytest.raises(SapbertError, match=r"E642.*labels\.txt.*Chemical"):
        open_retriever(small_kb, None, ["prior"], labels=tmp_path / "labels.txt", types=["Chemical"])


@pytest.mark.parametrize("damage", [{"counts": 3}, {"counts": None, "weights": {"signals": []}}, []])
def test_a_damaged_file(small_kb, tmp_path, damage):
    saved = save(open_retriever(small_kb, None, ["prior"]), tmp_path)
    (tmp_path / FITTED_FILE).write_text(json.dumps(damage))
    with pytest.raises(SapbertError, match=rf"E306.*{FITTED_FILE}"):
        load_retriever(saved, ["prior"])
