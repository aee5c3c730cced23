from __future__ import annotations

import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.filters import ALL, Filter
from spacy_sapbert.kb.ids import is_supplementary
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.types import Candidate, Name, Record
from spacy_sapbert.vectors.flat import NameVectors, build_name_vectors

TEXTS = ["breast cancers", "cold", "seizure", "lithium", "zzz"]


class FixedEncoder:
    """Gives texts the vectors that a test writes down."""

    text_normalizer = "none"

    def __init__(self, vectors, *, l2_normalized=True):
        self.l2_normalized = l2_normalized
        self.fingerprint = "fixed".ljust(16, "x")
        self._vectors = vectors
        self.dim = len(next(iter(vectors.values())))

    def encode(self, texts, *, fast=False):
        return np.array([self._vectors[text] for text in texts], dtype=np.float32)


def record(concept_id, *names, types=(), source="s"):
    return Record(concept_id, tuple(Name(name, "exact", source) for name in names), types=types)


def name_vectors(kb, encoder, folder):
    build_name_vectors(kb, encoder, folder, compression="float32")
    return NameVectors(folder, kb, encoder)


@pytest.fixture(scope="module")
def sparse_only(small_kb):
    return CandidateGenerator(small_kb, NgramEncoder.fit(small_kb.names()), None)


@pytest.fixture(scope="module")
def with_both(small_kb, tiny_encoder, tmp_path_factory):
    """A function that makes a generator with both scores."""
    ngrams = NgramEncoder.fit(small_kb.names())
    vectors = name_vectors(small_kb, TransformerEncoder(str(tiny_encoder)), tmp_path_factory.mktemp("vectors"))
    return lambda **settings: CandidateGenerator(small_kb, ngrams, vectors, **settings)


def found(generator, text, k=10, filter=ALL):
    return [candidate.concept_id for candidate in generator([text], k, filter)[0]]


# --- scores


def test_scores_by_hand(tmp_path):
    """cos(q, a) = 0.6, cos(q, b) = 0.8; "x" is the first half of "xy", of which all n-grams are as frequent."""
    kb = build_knowledge_base([record("A", "xy"), record("B", "z")], tmp_path / "a.kb")
    encoder = FixedEncoder({"xy": [1, 0], "z": [0, 1], "x": [0.6, 0.8]})
    vectors = name_vectors(kb, encoder, tmp_path)
    generator = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), vectors, sparse_weight=0.25)
    sparse = 1 / np.sqrt(3)
    b, a = generator(["x"], 5)[0]
    assert (a.concept_id, a.name, b.concept_id, b.name) == ("A", "xy", "B", "z")
    assert (a.dense, b.dense) == pytest.approx((0.6, 0.8))
    assert (a.sparse, b.sparse) == pytest.approx((sparse, 0))
    assert (a.score, b.score) == pytest.approx(((0.6 + 0.25 * sparse) / 1.25, 0.8 / 1.25), abs=1e-5)
    generator.sparse_weight = 1.0
    assert found(generator, "x") == ["A", "B"]
    assert CandidateGenerator(kb, None, vectors)(["x"], 5)[0] == [
        Candidate("B", pytest.approx(0.8), "z", pytest.approx(0.8), None),
        Candidate("A", pytest.approx(0.6), "xy", pytest.approx(0.6), None),
    ]
    assert CandidateGenerator(kb, generator.ngrams, None)(["x"], 5)[0] == [
        Candidate("A", pytest.approx(sparse, abs=1e-5), "xy", None, pytest.approx(sparse))
    ]


def test_a_concept_has_the_score_of_its_best_name(sparse_only):
    best = sparse_only(["carcinoma of the breast"], 3)[0][0]
    assert (best.concept_id, best.score, best.name) == ("D001943", 1.0, "carcinoma of the breast")


def test_a_name_itself_scores_one(with_both, small_kb):
    for candidates, name in zip(with_both()(list(small_kb.names()), 1), small_kb.names(), strict=True):
        assert candidates[0].score == pytest.approx(1.0, abs=2e-5)
        assert candidates[0].concept_id in small_kb.find_name(name)


def test_nothing_similar(sparse_only):
    assert sparse_only(["", "жж", "cold"], 3)[:2] == [[], []]
    assert sparse_only([], 3) == []


def test_opposite_vectors_are_no_candidates(tmp_path):
    kb = build_knowledge_base([record("A", "a"), record("B", "b"), record("C", "c")], tmp_path / "a.kb")
    encoder = FixedEncoder({"a": [1, 0], "b": [0, 1], "c": [-1, 0], "q": [1, 0]})
    generator = CandidateGenerator(kb, None, name_vectors(kb, encoder, tmp_path))
    assert found(generator, "q") == ["A"]


def test_all_concepts_where_k_is_larger(with_both, small_kb):
    assert sorted(found(with_both(), "cancer", 1000)) == sorted(small_kb.concept_ids())


# --- raw vectors


def test_raw_scores_by_hand(tmp_path):
    """|q| = 5 and |b| = 2 is the longest, so that M is 10; q·a = 3, q·b = 8, and the n-grams as above."""
    kb = build_knowledge_base([record("A", "xy"), record("B", "z")], tmp_path / "a.kb")
    encoder = FixedEncoder({"xy": [1, 0], "z": [0, 2], "x": [3, 4]}, l2_normalized=False)
    vectors = name_vectors(kb, encoder, tmp_path)
    generator = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), vectors, sparse_weight=2.0)
    sparse = 1 / np.sqrt(3)
    b, a = generator(["x"], 5)[0]
    assert (a.dense, b.dense) == pytest.approx((3, 8))
    assert (a.score, b.score) == pytest.approx(((3 + 2 * sparse) / 12, 8 / 12), abs=1e-5)
    generator.sparse_weight = 8.7  # 8 - 3 = 5 = 8.66 / √3
    assert found(generator, "x") == ["A", "B"]
    assert CandidateGenerator(kb, None, vectors)(["x"], 5)[0] == [
        Candidate("B", pytest.approx(0.8), "z", pytest.approx(8), None),
        Candidate("A", pytest.approx(0.3), "xy", pytest.approx(3), None),
    ]


def test_raw_scores_below_zero_are_scores(tmp_path):
    kb = build_knowledge_base([record("A", "a"), record("B", "b"), record("C", "c")], tmp_path / "a.kb")
    encoder = FixedEncoder({"a": [-1, 0], "b": [-3, 9], "c": [-2, 0], "q": [2, 0]}, l2_normalized=False)
    vectors = name_vectors(kb, encoder, tmp_path)
    for limit in (0, 1000):
        candidates = CandidateGenerator(kb, None, vectors, exact_limit=limit)(["q"], 5)[0]
        assert [(c.concept_id, c.dense) for c in candidates] == [("A", -2), ("C", -4), ("B", -6)]
        assert all(-1 <= c.score < 0 for c in candidates)


def test_raw_vectors_of_length_zero(tmp_path):
    kb = build_knowledge_base([record("A", "a"), record("B", "b")], tmp_path / "a.kb")
    encoder = FixedEncoder({"a": [0, 0], "b": [0, 0], "q": [0, 0]}, l2_normalized=False)
    generator = CandidateGenerator(kb, None, name_vectors(kb, encoder, tmp_path), sparse_weight=0.0)
    assert [(c.concept_id, c.score) for c in generator(["q"], 5)[0]] == [("A", 0), ("B", 0)]


# --- filters


def test_types_are_filtered_before_the_best_are_taken(sparse_only):
    assert found(sparse_only, "breast cancer", 1, Filter(types=("Chemical",))) == ["D001241"]
    assert set(found(sparse_only, "cold", 99, Filter(types=("Chemical", "Drug")))) <= {"D008094", "D001241", "D009020"}
    assert found(sparse_only, "cold", 1, Filter(types=("Phenomenon",))) == ["D003080"]
    assert found(sparse_only, "cold", 1, Filter(types=("Disease",))) == ["D003139"]


def test_sources_filter_the_names_of_each_concept(sparse_only):
    assert found(sparse_only, "Seizures", 1) == ["D012640"]
    assert found(sparse_only, "Seizures", 99, Filter(sources=("HPO",))) == ["HP:0001250"]
    assert set(found(sparse_only, "Seizures", 99, Filter(("Phenotype", "Chemical"), ("HPO",)))) == {"HP:0001250"}


def test_a_name_that_passes_for_one_concept_only(tmp_path):
    """A has the name "ab" from another source than B has it."""
    records = [record("A", "ab", source="s"), record("A", "zz", source="t"), record("B", "ab", source="t")]
    generator = CandidateGenerator(
        build_knowledge_base(records, tmp_path / "a.kb"), NgramEncoder.fit(["ab", "zz"]), None
    )
    assert generator(["ab"], 5, Filter(sources=("t",)))[0] == [Candidate("B", 1.0, "ab", None, pytest.approx(1.0))]
    assert found(generator, "ab", 5) == ["A", "B"]


def test_nothing_passes(sparse_only, with_both):
    for generator in (sparse_only, with_both(), with_both(exact_limit=0)):
        assert found(generator, "cold", 5, Filter(types=("Plant",))) == []


# --- ties


@pytest.fixture
def tied(tmp_path):
    """All of these own "x": C is annotated with it, A prefers it, and D to B have no claim."""
    with new_knowledge_base(tmp_path / "tied.kb") as builder:
        for concept_id in "DCB":
            builder.add(record(concept_id, f"name of {concept_id}", "x"))
        builder.add(record("A", "x"))
        builder.add_mention("C", Name("x", "mention", "corpus"))
        builder.finish({})
    kb = KnowledgeBase(tmp_path / "tied.kb")
    return CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)


def test_ties_go_to_the_annotated_then_the_preferred_then_by_id(tied):
    assert found(tied, "x") == ["C", "A", "B", "D"]
    for k in range(1, 5):
        assert found(tied, "x", k) == ["C", "A", "B", "D"][:k]


def test_the_best_claim_of_a_concept_on_names_of_one_score(tmp_path):
    """B owns both names, and prefers the second."""
    kb = build_knowledge_base([record("A", "ab"), record("B", "a.b", "ab")], tmp_path / "a.kb")
    generator = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)
    assert [(c.concept_id, c.name) for c in generator(["AB"], 5)[0]] == [("A", "ab"), ("B", "ab")]
    assert [(c.concept_id, c.name) for c in generator(["A-B"], 5)[0]] == [("B", "a.b"), ("A", "ab")]


# --- all names and the nearest names


def reference(kb, generator, text, k, filter=ALL):
    """The candidates by looking at every name of every concept, one by one."""
    queries = generator.vectors.encode([text]) if generator.vectors else None
    dense = None if queries is None else generator.vectors.similarities(queries)[0]
    sparse = None
    if generator.ngrams:
        names = generator.ngrams.encode(list(kb.names()))
        sparse = (generator.ngrams.encode([text]) @ names.T).toarray()[0]
    weight, highest = generator.sparse_weight, 1
    if generator.vectors and not generator.vectors.encoder.l2_normalized:
        longest = max(np.linalg.norm(vector) for vector in generator.vectors.vectors)
        highest = max(np.linalg.norm(queries[0]) * longest, 1e-30)
    if dense is None:
        scores = sparse
    else:
        scores = dense / highest if sparse is None else (dense + weight * sparse) / (highest + weight)
    claims = {}
    name_concepts = kb.name_concepts
    for i, passes in enumerate(kb.matching_entries(filter.types, filter.sources)):
        row, concept_id = int(name_concepts.names[i]), kb.concept_id(int(name_concepts.concepts[i]))
        score = round(float(scores[row]), 5)
        if passes and (score > 0 or (generator.vectors and not generator.vectors.encoder.l2_normalized)):
            concept = kb.get(concept_id)
            total = sum(kb.annotations(concept_id, name) for name in (concept.canonical_name, *concept.aliases))
            of_concept = is_supplementary(concept_id), -total, -len(concept.aliases)
            claim = (-score, -name_concepts.annotations[i], not name_concepts.preferred[i], *of_concept, row)
            claims[concept_id] = min(claim, claims.get(concept_id, claim))
    best = sorted(claims.items(), key=lambda item: (item[1][:-1], item[0]))[:k]
    return [(concept_id, last_digit(-claim[0]), kb.name(claim[-1])) for concept_id, claim in best]


def shown(candidates):
    return [(c.concept_id, last_digit(c.score), c.name) for c in candidates]


def last_digit(score):
    """The sums of a cosine come in another order in another batch, which can change the last digit of a score."""
    return pytest.approx(score, abs=1.1e-5)


@pytest.mark.parametrize("filter", [ALL, Filter(types=("Disease",)), Filter(sources=("MEDIC", "HPO"))])
@pytest.mark.parametrize("k", [1, 3, 10])
def test_every_name_is_looked_at(sparse_only, with_both, small_kb, k, filter):
    for generator in (sparse_only, with_both(), with_both(sparse_weight=2.0)):
        for text in TEXTS:
            assert shown(generator([text], k, filter)[0]) == reference(small_kb, generator, text, k, filter)


def vocabulary(seed, n_names):
    """Names whose vectors have coordinates that are multiples of a half: sums of them are exact, and ties are many."""
    rng = np.random.default_rng(seed)
    names = [f"{'abcd'[i % 4] * (1 + i % 3)}{i}" for i in range(n_names)]
    records = [record(f"C{rng.integers(n_names // 3 + 1)}", name) for name in names]
    records += [record(f"C{rng.integers(n_names // 3 + 1)}", name) for name in names[:: rng.integers(2, 9)]]
    vectors = dict(zip([*names, "query", "other"], rng.integers(-2, 3, (n_names + 2, 3)) / 2, strict=True))
    return records, vectors


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_names=st.integers(1, 500),
    k=st.integers(1, 30),
    weight=st.sampled_from([0.25, 1.0, 4.0]),
    sparse=st.booleans(),
    l2_normalized=st.booleans(),
)
def test_the_nearest_names_give_the_same_candidates_as_all_names(seed, n_names, k, weight, sparse, l2_normalized):
    records, vectors = vocabulary(seed, n_names)
    with TemporaryDirectory() as folder:
        kb = build_knowledge_base(records, Path(folder) / "a.kb")
        known = name_vectors(kb, FixedEncoder(vectors, l2_normalized=l2_normalized), Path(folder))
        ngrams = NgramEncoder.fit(kb.names()) if sparse else None
        exact, nearest = (
            CandidateGenerator(kb, ngrams, known, sparse_weight=weight, exact_limit=limit) for limit in (10**6, 0)
        )
        for text in ("query", "other", next(kb.names())):
            expected = exact([text], k)[0]
            assert nearest([text], k)[0] == expected
            assert shown(expected) == reference(kb, exact, text, k)


def test_the_nearest_of_many_names(tmp_path):
    """Here the lists stay short: of 3,000 names, the 64 nearest hold the candidates."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(3001, 16))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    names = [f"name {i}" for i in range(3000)]
    kb = build_knowledge_base([record(f"C{i // 2}", name) for i, name in enumerate(names)], tmp_path / "a.kb")
    encoder = FixedEncoder(dict(zip([*names, "query"], directions, strict=True)))
    vectors = name_vectors(kb, encoder, tmp_path)
    exact = CandidateGenerator(kb, None, vectors)
    nearest = CandidateGenerator(kb, None, vectors, exact_limit=0)
    assert shown(nearest(["query"], 5)[0]) == shown(exact(["query"], 5)[0]) == reference(kb, exact, "query", 5)
    (scored,) = nearest._union(vectors.encode(["query"]), [None], 5, None)
    assert len(scored.rows) == 64


def test_the_best_name_is_among_the_nearest_by_neither_score(tmp_path):
    like_dense = {f"xyz {i}": [0.9, np.sqrt(0.19), 0] for i in range(70)}
    like_sparse = {f"abc abc {i}": [0, 0, 1] for i in range(70)}
    vectors = {**like_dense, **like_sparse, "abcxyz": [0.85, 0, np.sqrt(1 - 0.85**2)], "abc": [1, 0, 0]}
    kb = build_knowledge_base([record(name, name) for name in vectors if name != "abc"], tmp_path / "a.kb")
    ngrams, known = NgramEncoder.fit(kb.names()), name_vectors(kb, FixedEncoder(vectors), tmp_path)
    exact, nearest = (
        CandidateGenerator(kb, ngrams, known, sparse_weight=1.0, exact_limit=limit) for limit in (1000, 0)
    )
    sparse = (ngrams.encode(["abc"]) @ ngrams.encode(list(kb.names())).T).toarray()[0]
    assert (sparse > sparse[-1]).sum() == 70
    assert found(exact, "abc", 1) == found(nearest, "abc", 1) == ["abcxyz"]


# --- again and again


def test_same_candidates_alone_in_any_order_and_again(with_both, small_kb):
    texts = [*TEXTS, *(f"{name} of mice" for name in small_kb.names())] * 2  # more than a batch
    together = with_both()(texts, 4)
    generator = with_both(cache_size=3)
    for text, expected in zip(texts, together, strict=True):
        assert shown(generator([text], 4)[0]) == shown(expected)
    assert with_both()(texts, 4) == together
    for candidates, expected in zip(with_both()(texts[::-1], 4)[::-1], together, strict=True):
        assert shown(candidates) == shown(expected)


def test_known_candidates_are_of_the_same_question(with_both):
    generator = with_both()
    first = generator(["colds"], 2)[0]
    assert len(generator(["colds"], 3)[0]) == 3
    assert found(generator, "colds", 2, Filter(types=("Chemical",))) != found(generator, "colds", 2)
    generator.sparse_weight = 3.0
    assert generator(["colds"], 2)[0][0].score != first[0].score
    generator.sparse_weight = 0.2
    generator(["colds"], 2)[0].clear()
    assert generator(["colds"], 2)[0] == first


def test_known_candidates_do_not_pile_up(sparse_only):
    generator = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, cache_size=3)
    for number in range(20):
        generator([f"cold {number}", "cold"], 2)
    assert len(generator._cache) == 3


def test_threads(sparse_only):
    generator = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, cache_size=2)
    expected = sparse_only(TEXTS, 3)
    results = []
    threads = [
        threading.Thread(target=lambda: results.extend(generator(TEXTS, 3) for _ in range(20))) for _ in range(4)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(interval)
    assert results == [expected] * 80


# --- names of several concepts

TIED = {
    "C000001": ("x", 0, ["a", "b", "c", "d"]),
    "C0000001": ("x1", 0, ["x"]),
    "D000002": ("x2", 0, ["x"]),
    "D000003": ("x3", 0, ["x", "e"]),
    "D000004": ("x4", 1, ["x"]),
}
"""Concepts that own "x": id → preferred name, how often "elsewhere" was annotated with it, its other names."""


@pytest.fixture
def tied_kb(tmp_path):
    def build(*ids, annotated=()):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.kb"
        with new_knowledge_base(path) as builder:
            for concept_id in ids:
                preferred, _, others = TIED[concept_id]
                names = (Name(preferred, "preferred", "s"), *(Name(name, "exact", "s") for name in others))
                builder.add(Record(concept_id, names))
            for concept_id in ids:
                for _ in range(TIED[concept_id][1]):
                    builder.add_mention(concept_id, Name("elsewhere", "mention", "corpus"))
            for concept_id in annotated:
                builder.add_mention(concept_id, Name("x", "mention", "corpus"))
            builder.finish({})
        return KnowledgeBase(path)

    return build


def test_what_decides_between_owners_of_a_name(tied_kb):
    ids = sorted(TIED)
    expected = ["C000001", "D000004", "D000003", "C0000001", "D000002"]  # preferred, annotated, names, id, id
    for order in (ids, ids[::-1]):
        kb = tied_kb(*order)
        for k in range(1, len(ids) + 1):
            found = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)(["x"], k)[0]
            assert [one.concept_id for one in found if one.score == 1] == expected[:k]


def test_annotations_of_the_name_go_before_all_else(tied_kb):
    kb = tied_kb(*sorted(TIED), annotated=["D000002"])
    (found,) = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)(["x"], 1)
    assert found[0].concept_id == "D000002"


@pytest.mark.parametrize("supplementary", ["C565588", "C000592577"])
def test_a_main_descriptor_goes_before_a_supplementary_record(tmp_path, supplementary):
    records = [record(supplementary, "own", "x", "y", "z"), record("D000001", "other", "x")]
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    (found,) = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)(["x"], 1)
    assert found[0].concept_id == "D000001"


def test_a_concept_of_the_metathesaurus_is_no_supplementary_record(tmp_path):
    kb = build_knowledge_base([record("D000001", "other", "x"), record("C0012634", "own", "x", "y")], tmp_path / "a.kb")
    (found,) = CandidateGenerator(kb, NgramEncoder.fit(kb.names()), None)(["x"], 1)
    assert found[0].concept_id == "C0012634"
