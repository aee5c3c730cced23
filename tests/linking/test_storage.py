import math
import shutil
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.encoders.ngrams import NGRAMS_FOLDER
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.filters import check_filters
from spacy_sapbert.kb.storage import KB, load_knowledge_base
from spacy_sapbert.linking import storage
from spacy_sapbert.linking.candidates import EXACT_LIMIT
from spacy_sapbert.linking.storage import load_generator, open_generator, save_generator, with_mentions
from spacy_sapbert.store.artifact import ArtifactWriter
from spacy_sapbert.vectors import ngram_index
from spacy_sapbert.vectors.faiss_index import AUTO
from spacy_sapbert.vectors.storage import FLAT, open_index

TEXTS = ["breast cancers", "cold", "CF", "zzz"]


@pytest.fixture
def generator(small_kb, tiny_encoder):
    return open_generator(small_kb, open_encoder(str(tiny_encoder)), sparse=True)


def save(generator, folder):
    """RETURNS (dict[str, Path]): the assets by role."""
    assets = ArtifactWriter(folder / "shared")
    save_generator(generator, assets)
    return {role: assets.folder / name for role, name in assets.names.items()}


@pytest.fixture
def saved(generator, tmp_path):
    return save(generator, tmp_path)


def test_knowledge_bases(small_kb):
    assert load_knowledge_base(str(small_kb.path)).fingerprint == small_kb.fingerprint
    starter = load_knowledge_base("starter")
    assert len(starter) > 100
    assert load_knowledge_base("starter").path == starter.path
    with pytest.raises(SapbertError, match="E504"):
        load_knowledge_base("missing.kb")


def test_filters(small_kb):
    check_filters(small_kb, ["Disease", "Drug"], {"MEDIC"})
    check_filters(small_kb, [], [])
    check_filters(SimpleNamespace(type_counts=None, source_counts=None), [], [])  # nothing is counted
    with pytest.raises(SapbertError, match=r"E125.*'Plant, Rock'.*: Chemical, Disease"):
        check_filters(small_kb, ["Rock", "Disease", "Plant"], [])
    with pytest.raises(SapbertError, match=r"E125.*'medic'.*: CTD, HPO, MEDIC"):
        check_filters(small_kb, ["Disease"], ["medic"])


def test_one_score_or_both(small_kb, generator, tiny_encoder):
    candidate = generator(["cold"], 1)[0][0]
    assert candidate.dense == pytest.approx(1, abs=1e-5)
    assert candidate.sparse == pytest.approx(1)
    assert open_generator(small_kb, None, sparse=True)(["cold"], 1)[0][0].dense is None
    assert open_generator(small_kb, open_encoder(str(tiny_encoder)), sparse=False)(["cold"], 1)[0][0].sparse is None


def test_normal_form_of_the_sparse_score(small_kb, tmp_path):
    lower = open_generator(small_kb, None, sparse=True, text_normalizer="lower")
    biosyn = open_generator(small_kb, None, sparse=True)
    assert (lower.ngram_encoder.text_normalizer, biosyn.ngram_encoder.text_normalizer) == ("lower", "biosyn+greek")
    assert biosyn(["cancer breast"], 1)[0][0].score > lower(["cancer breast"], 1)[0][0].score
    assert with_mentions(lower, [], tmp_path).ngram_encoder.text_normalizer == "lower"


def test_saved_ngrams_go_before_the_setting(saved, recwarn):
    assert load_generator(saved, sparse=True).ngram_encoder.text_normalizer == "biosyn+greek"
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"\[W401\].*text_normalizer biosyn.*text_normalizer \(lower\)"):
        loaded = load_generator(saved, sparse=True, text_normalizer="lower")
    assert loaded.ngram_encoder.text_normalizer == "biosyn+greek"
    del saved[NGRAMS_FOLDER]
    assert load_generator(saved, sparse=True, text_normalizer="lower").ngram_encoder.text_normalizer == "lower"


def test_a_knowledge_base_that_was_exchanged(saved):
    shutil.copyfile(load_knowledge_base("starter").path, saved[KB])
    with pytest.raises(SapbertError, match="E305"):
        load_generator(saved, sparse=True)


def test_generators_share_the_index_of_the_ngrams(small_kb, generator, saved):
    assert open_generator(small_kb, None, sparse=True).ngrams is generator.ngrams
    assert load_generator(saved, sparse=True).ngrams is not generator.ngrams  # its files may be deleted later
    first = load_generator(saved, sparse=True)
    assert load_generator(saved, sparse=True).ngrams is first.ngrams


def test_another_process_indexes_the_ngrams_of_a_large_vocabulary(small_kb, tiny_encoder, monkeypatch, generator):
    """The process is simulated. It may also fail."""
    encoder = open_encoder(str(tiny_encoder))
    monkeypatch.setattr(ngram_index, "NAMES_FOR_A_PROCESS", small_kb.n_names)
    for fails in (False, True):
        started = []

        @contextmanager
        def popen(command, started=started, fails=fails, **_):
            started.append(command[3:])
            monkeypatch.setattr(sys, "argv", command[1:2] + command[3:])
            yield fails or exec(command[2])

        shutil.rmtree(generator.ngrams.folder)
        monkeypatch.setattr(ngram_index.subprocess, "Popen", popen)
        for _ in range(2):  # the second time, it is in the cache folder
            again = open_generator(small_kb, encoder, sparse=True)
        assert started == [[str(small_kb.path), generator.ngrams.ngrams.text_normalizer, *sys.path]]
        assert again(TEXTS, 3) == generator(TEXTS, 3)


def test_the_kind_of_index_decides_whether_all_names_are_scored(small_kb, generator, tiny_encoder, tmp_path):
    assert generator.exact_limit == math.inf
    encoder = open_encoder(str(tiny_encoder))
    nearest = open_generator(small_kb, encoder, sparse=True, index="HNSW")
    assert nearest.exact_limit == EXACT_LIMIT
    assert with_mentions(nearest, [], tmp_path).exact_limit == EXACT_LIMIT
    assert nearest(TEXTS, 5) == generator(TEXTS, 5)  # the vocabulary is small


@pytest.fixture
def large(monkeypatch):
    """Let small vocabularies count as large."""
    monkeypatch.setattr(storage, "EXACT_LIMIT", 0)


@pytest.mark.parametrize("proposes", [True, False])
def test_an_encoder_rescores_the_names_of_a_large_vocabulary(
    small_kb, tiny_encoder, large, proposes, tmp_path, monkeypatch
):
    encoder = open_encoder(str(tiny_encoder))
    proposer = open_index(small_kb, StaticEncoder(dim=8, words=64, ngrams=64), FLAT) if proposes else None
    monkeypatch.setattr(storage, "open_proposer", lambda kb, saved: proposer)
    generator = open_generator(small_kb, encoder, sparse=True, index=AUTO)
    assert (generator.vectors, generator.rescorer.encoder, generator.encoder) == (proposer, encoder, encoder)
    saved = save(generator, tmp_path)
    assert ("vectors" not in saved, "proposer-vectors" in saved) == (True, proposes)
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "another cache"))
    loaded = load_generator(saved, sparse=True, index=AUTO)
    assert bool(loaded.vectors) == proposes
    assert loaded(TEXTS, 5) == generator(TEXTS, 5)
    joined = with_mentions(loaded, [], tmp_path / "joined")
    assert joined(TEXTS, 5) == generator(TEXTS, 5)
    exact = load_generator(saved, sparse=True, index=FLAT)
    assert (exact.rescorer, exact.exact_limit) == (None, math.inf)
    assert [best.concept_id for (best,) in exact(TEXTS[:3], 1)] == [best.concept_id for (best,) in loaded(TEXTS[:3], 1)]


def test_who_encodes_all_names(small_kb, tiny_encoder, large, tmp_path):
    """Raw vectors need the longest one. Without n-grams, nothing else proposes names. Saved vectors are used."""
    raw, encoder = open_encoder(str(tiny_encoder), l2_normalized=False), open_encoder(str(tiny_encoder))
    assert open_generator(small_kb, raw, sparse=True, index=AUTO).vectors
    assert open_generator(small_kb, encoder, sparse=False, index=AUTO).vectors
    assert open_generator(small_kb, encoder, sparse=True, index=FLAT).vectors
    saved = save(open_generator(small_kb, encoder, sparse=True, index=FLAT), tmp_path)
    assert load_generator(saved, sparse=True, index=AUTO).vectors
    assert open_generator(load_knowledge_base(str(tmp_path)), encoder, sparse=True, index=AUTO).vectors
