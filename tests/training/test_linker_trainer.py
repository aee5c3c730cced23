from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thinc.api import Adam

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.filters import Filter
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.training.linker_trainer import LinkerTrainer, NameCandidates, TrainingMention
from spacy_sapbert.training.losses import marginal_likelihood
from spacy_sapbert.training.settings import BioSyn
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.ngram_index import open_ngram_index
from spacy_sapbert.vectors.on_demand import OnDemandVectors

NO_FILTER = Filter()


@pytest.fixture
def generator(small_kb, make_encoder):
    return generator_of(small_kb, make_encoder(pooling="mean"))


def generator_of(kb, encoder, sparse=True):
    ngrams = open_ngram_index(kb, TEXT_NORMALIZER) if sparse else None
    return CandidateGenerator(
        kb, ngrams, cached_name_vectors(kb, TransformerEncoder(str(encoder)), compression="float32")
    )


def biosyn(**others):
    return BioSyn(marginal_likelihood, **{"k": 6, "dropout": False, **others})


def mention(kb, text, *ids, filter=NO_FILTER):
    return TrainingMention(text, frozenset(row for one in ids for row in kb.concept_rows(one)), filter)


def names_at(kb, rows):
    return [kb.name(int(row)) for row in rows]


def order(scores):
    return sorted(range(len(scores)), key=lambda row: (-scores[row], row))


# --- candidates


def test_scores_are_dense_and_weighted_sparse_similarity_by_temperature(float32, generator):
    trainer = LinkerTrainer(Linker(generator), biosyn(sparse_weight=0.7, temperature=0.1))
    texts = ["Breast Cancer", "a cold"]
    scores, _ = trainer.begin_update([mention(generator.kb, text, "D001943") for text in texts])
    dense, sparse = generator.similarities(texts)
    expected = np.take_along_axis((dense + 0.7 * sparse) / 0.1, scores.rows, axis=1)
    assert scores.scores == pytest.approx(expected, abs=1e-4)


def test_right_are_all_names_of_the_concepts(generator):
    kb = generator.kb
    trainer = LinkerTrainer(Linker(generator), biosyn(k=kb.n_names))
    scores, _ = trainer.begin_update([mention(kb, "breast cancer", "OMIM:114480")])  # an alternative id of D001943
    right = {name for name, is_right in zip(names_at(kb, scores.rows[0]), scores.right[0], strict=True) if is_right}
    assert right == {name.text for name in kb.names_of("D001943")}


def test_ids_are_compared_as_ids(small_vocabulary, tmp_path, tiny_encoder):
    """D001 is a part of D0010, and of nothing else."""
    records = [Record(one, (Name(f"name {one}", "preferred", "X"),)) for one in ("D001", "D0010", "X1")]
    kb = build_knowledge_base(records, tmp_path / "ids.kb")
    trainer = LinkerTrainer(Linker(generator_of(kb, tiny_encoder)), biosyn(k=3))
    scores, _ = trainer.begin_update([mention(kb, "name", "D001")])
    assert names_at(kb, scores.rows[0][scores.right[0]]) == ["name D001"]


@pytest.mark.parametrize("deduplicate_mentions", [True, False])
def test_each_mention_is_picked_once_until_names_are_encoded_anew(generator, deduplicate_mentions):
    trainer = LinkerTrainer(Linker(generator), biosyn(deduplicate_mentions=deduplicate_mentions))
    one, other = mention(generator.kb, "cold", "D003139"), mention(generator.kb, "cold", "D003080")
    assert trainer.pick([one, one, other]) == [one, other]
    assert trainer.pick([other, one]) == ([] if deduplicate_mentions else [other, one])
    trainer.count_documents(2)
    trainer.refresh()
    assert trainer.pick([other]) == [other]


def test_mentions_that_no_name_is_compared_with_are_not_picked(generator):
    nowhere = mention(generator.kb, "cold", "D003139", filter=Filter(types=("Nothing",)))
    assert LinkerTrainer(Linker(generator), biosyn()).pick([nowhere]) == []


def test_mentions_without_a_right_candidate_are_counted(generator):
    trainer = LinkerTrainer(Linker(generator), biosyn(k=1, dense_share=0.0, inject_gold=False))
    trainer.begin_update([mention(generator.kb, "cold", "D003139"), mention(generator.kb, "cold", "D008094")])
    assert trainer.counts == {"mentions": 2, "without a right candidate": 1}


def test_a_right_name_that_is_missing_becomes_the_last_candidate(generator):
    mentions = [mention(generator.kb, "cold", "D003139"), mention(generator.kb, "cold", "D008094")]
    trainer = LinkerTrainer(Linker(generator), biosyn(k=3, dense_share=0.0))
    without, _ = LinkerTrainer(Linker(generator), biosyn(k=3, dense_share=0.0, inject_gold=False)).begin_update(
        mentions
    )
    scores, _ = trainer.begin_update(mentions)
    assert scores.rows[0].tolist() == without.rows[0].tolist()
    assert scores.rows[1, :2].tolist() == without.rows[1, :2].tolist()
    assert scores.right[1].tolist() == [False, False, True]
    (dense,), _ = generator.similarities(["cold"])
    right = [row for row, name in enumerate(generator.kb.names()) if "D008094" in generator.kb.find_name(name)]
    assert scores.rows[1, 2] == max(right, key=lambda row: dense[row])
    assert trainer.counts == {"mentions": 2, "without a right candidate": 0, "right candidates added": 1}


def test_no_right_name_is_added_that_does_not_pass_the_filter(generator):
    of_cold, of_lithium = (generator.kb.get(one).types for one in ("D003139", "D008094"))
    assert not set(of_cold) & set(of_lithium)
    trainer = LinkerTrainer(Linker(generator), biosyn(k=3))
    scores, _ = trainer.begin_update([mention(generator.kb, "cold", "D008094", filter=Filter(types=of_cold))])
    assert not scores.right.any()


# --- training


def loss_of(trainer, mentions):
    scores, _ = trainer.begin_update(mentions)
    return float(marginal_likelihood(scores.scores, scores.right)[0].sum())


def test_gradients_are_slopes_of_the_loss(generator):
    trainer = LinkerTrainer(Linker(generator), biosyn(temperature=0.2))
    mentions = [mention(generator.kb, "breast tumor", "D001943"), mention(generator.kb, "chill", "D003139")]
    scores, backprop = trainer.begin_update(mentions)
    backprop(marginal_likelihood(scores.scores, scores.right)[1])
    weights = trainer.encoder.model.encoder.layer[0].output.dense.weight
    result = [*trainer._gradient, float(weights.grad[2, 7])]

    def slope(move):
        step = 1e-2
        move(step)
        above = loss_of(trainer, mentions)
        move(-2 * step)
        below = loss_of(trainer, mentions)
        move(step)
        return (above - below) / (2 * step)

    def move_weight(step):
        weights.data[2, 7] += step

    def mover(position):
        def move(step):
            trainer._weights[position] += step

        return move

    expected = [slope(mover(0)), slope(mover(1)), slope(move_weight)]
    assert result == pytest.approx(expected, rel=0.03, abs=2e-3)


def test_training_brings_right_names_nearer(generator):
    kb = generator.kb
    mentions = [mention(kb, "mammary tumor", "D001943"), mention(kb, "salt of lithium", "D008094")]
    trainer = LinkerTrainer(Linker(generator), biosyn(score_learning_rate=0.0))
    before, optimizer = loss_of(trainer, mentions), Adam(3e-3, L2=0.0)
    for _ in range(20):
        scores, backprop = trainer.begin_update(mentions)
        backprop(marginal_likelihood(scores.scores, scores.right)[1] / 2)
        trainer.finish_update(optimizer)
    assert loss_of(trainer, mentions) < 0.5 * before
    assert (trainer.sparse_weight, trainer.temperature) == pytest.approx((0.2, 0.05))


def test_the_weight_of_the_sparse_score_is_trained_by_its_own_rate(generator):
    trainer = LinkerTrainer(Linker(generator), biosyn(dense_share=0.0, score_learning_rate=0.05))
    mentions = [mention(generator.kb, "breast cancers", "D001943")]
    for _ in range(3):
        scores, backprop = trainer.begin_update(mentions)
        backprop(marginal_likelihood(scores.scores, scores.right)[1])
        trainer.finish_update(Adam(0.0))
    assert trainer.sparse_weight == pytest.approx(0.35, abs=0.02)  # the nearest by n-grams are right
    assert trainer.temperature < 0.05


def test_the_weight_of_the_sparse_score_stays_0_or_more(generator):
    trainer = LinkerTrainer(Linker(generator), biosyn(sparse_weight=0.01, score_learning_rate=0.1, dense_share=0.0))
    for _ in range(3):
        scores, backprop = trainer.begin_update([mention(generator.kb, "breast cancer", "D003080")])
        backprop(np.where(scores.right, -1.0, 1.0).astype(np.float32) * 0.1)
        trainer._gradient[0] = 1.0
        trainer.finish_update(Adam(0.0))
    assert trainer.sparse_weight == 0


def test_without_a_sparse_score_all_candidates_are_dense(small_kb, tiny_encoder):
    generator = generator_of(small_kb, tiny_encoder, sparse=False)
    trainer = LinkerTrainer(Linker(generator), biosyn())
    scores, _ = trainer.begin_update([mention(small_kb, "tumor", "D009369")])
    (dense,), _ = generator.similarities(["tumor"])
    assert scores.rows[0].tolist() == order(dense)[:6]
    assert trainer.sparse_weight == 0


def test_without_an_encoder_nothing_can_be_trained(small_kb):
    generator = CandidateGenerator(small_kb, open_ngram_index(small_kb, TEXT_NORMALIZER), None)
    with pytest.raises(SapbertError, match="E342"):
        LinkerTrainer(Linker(generator), biosyn())


def test_training_encodes_all_names(small_kb, tiny_encoder):
    ngrams, encoder = open_ngram_index(small_kb, TEXT_NORMALIZER), TransformerEncoder(str(tiny_encoder))
    generator = CandidateGenerator(small_kb, ngrams, None, rescorer=OnDemandVectors(small_kb, encoder))
    trainer = LinkerTrainer(Linker(generator), biosyn())
    assert generator.rescorer is None
    assert (generator.vectors.encoder, len(generator.vectors.vectors)) == (trainer.encoder, small_kb.n_names)


# --- candidate names


@pytest.mark.parametrize(("dense_share", "n_sparse"), [(0.0, 6), (0.5, 3), (0.34, 4), (1.0, 0)])
def test_candidates_are_sparse_ones_topped_up_with_dense_ones(generator, dense_share, n_sparse):
    text = "tumours of the breast"
    candidates = NameCandidates(generator, biosyn(dense_share=dense_share, inject_gold=False), Counter())
    rows, _ = candidates([mention(generator.kb, text, "D001943")])
    (dense,), (sparse,) = generator.similarities([text])
    by_sparse = order(sparse)[:n_sparse]
    expected = by_sparse + [row for row in order(dense) if row not in by_sparse][: 6 - n_sparse]
    assert rows[0].tolist() == expected


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
