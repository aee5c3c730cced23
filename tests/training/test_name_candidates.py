from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.filters import Filter
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.training.linker_trainer import NameCandidates, TrainingMention
from spacy_sapbert.training.losses import marginal_likelihood
from spacy_sapbert.training.settings import BioSyn
from spacy_sapbert.types import Name
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.ngram_index import cached_ngram_index

NO_FILTER = Filter()


@pytest.fixture
def generator(small_kb, make_encoder):
    return generator_of(small_kb, make_encoder(pooling="mean"))


def generator_of(kb, encoder, sparse=True):
    ngrams = cached_ngram_index(kb, TEXT_NORMALIZER) if sparse else None
    return CandidateGenerator(kb, ngrams, cached_name_vectors(kb, TransformerEncoder(str(encoder))))


def biosyn(**others):
    return BioSyn(marginal_likelihood, **{"k": 6, "dropout": False, **others})


def mention(kb, text, *ids, filter=NO_FILTER):
    return TrainingMention(text, frozenset(row for one in ids for row in kb.concept_rows(one)), filter)


def names_at(kb, rows):
    return [kb.name(int(row)) for row in rows]


def order(scores):
    return sorted(range(len(scores)), key=lambda row: (-scores[row], row))


@pytest.mark.parametrize(("dense_share", "n_sparse"), [(0.0, 6), (0.5, 3), (0.34, 4), (1.0, 0)])
def test_candidates_are_sparse_ones_topped_up_with_dense_ones(generator, dense_share, n_sparse):
    text = "tumours of the breast"
    candidates = NameCandidates(generator, biosyn(dense_share=dense_share, inject_gold=False), Counter())
    rows, _ = candidates([mention(generator.kb, text, "D001943")])
    (dense,), (sparse,) = generator.similarities([text])
    by_sparse = order(sparse)[:n_sparse]
    wanted = by_sparse + [row for row in order(dense) if row not in by_sparse][: 6 - n_sparse]
    assert rows[0].tolist() == wanted


def test_a_mention_is_never_among_its_own_candidates(small_vocabulary, tmp_path, tiny_encoder):
    with new_knowledge_base(tmp_path / "annotated.kb") as builder:
        for record in small_vocabulary:
            builder.add(record)
        for text in ("Mammary-Cancer", "mammary tumour"):
            builder.add_mention("D001943", Name(text, "mention", "corpus"))
        builder.finish({})
    generator = generator_of(KnowledgeBase(tmp_path / "annotated.kb"), tiny_encoder)
    kb = generator.kb
    candidates = NameCandidates(generator, biosyn(k=kb.n_names), Counter())
    texts = ["mammary cancer", "mammary tumour", "breast cancer"]
    (annotated, tumour, known), _ = candidates([mention(kb, text, "D001943") for text in texts])
    # the same but for case and punctuation; a name of the vocabulary itself stays
    assert "Mammary-Cancer" not in names_at(kb, annotated)
    assert "mammary tumour" in names_at(kb, annotated)
    assert "mammary tumour" not in names_at(kb, tumour)
    assert "breast cancer" in names_at(kb, known)


def test_candidates_pass_the_filter(generator):
    kb = generator.kb
    candidates = NameCandidates(generator, biosyn(k=4), Counter())
    rows, _ = candidates([mention(kb, "cold", "D003139", filter=Filter(("Chemical",))), mention(kb, "cold", "D003139")])
    chemicals = {name.text for one in ("D008094", "D001241", "D009020") for name in kb.names_of(one)}
    assert set(names_at(kb, rows[0])) <= chemicals
    assert "cold" in names_at(kb, rows[1])


def test_a_narrow_filter_makes_fewer_candidates(generator):
    candidates = NameCandidates(generator, biosyn(k=6), Counter())
    filter = Filter(("Phenomenon",))  # one concept with two names
    rows, _ = candidates([mention(generator.kb, "cold", "D003080", filter=filter)])
    assert rows.shape == (1, 2)


@settings(max_examples=15, deadline=None)
@given(k=st.integers(1, 12), share=st.floats(0, 1), text=st.text("abcdeor nst", min_size=1, max_size=12))
def test_candidates_are_always_k_different_names(small_generator, k, share, text):
    candidates = NameCandidates(small_generator, biosyn(k=k, dense_share=share), Counter())
    rows, sparse = candidates([TrainingMention(text, frozenset([0]))])
    assert rows.shape == sparse.shape == (1, k)
    assert len(set(rows[0].tolist())) == k


@pytest.fixture(scope="module")
def small_generator(small_kb, tiny_encoder):
    return generator_of(small_kb, tiny_encoder)
