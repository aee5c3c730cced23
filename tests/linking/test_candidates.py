import sys
import threading
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.ngrams import NgramEncoder
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.files.values import hash64
from spacy_sapbert.kb.build import build_knowledge_base, new_knowledge_base
from spacy_sapbert.kb.filters import ALL, Filter
from spacy_sapbert.kb.ids import SUPPLEMENTARY_ID
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking import candidates as candidates_module
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS
from spacy_sapbert.types import SCORE_DIGITS, Candidate, Name, Record
from spacy_sapbert.vectors.flat import NameVectors, build_name_vectors
from spacy_sapbert.vectors.ngram_index import NgramIndex
from spacy_sapbert.vectors.on_demand import OnDemandVectors
from spacy_sapbert.vectors.postings_build import build_ngram_index

TEXTS = ["breast cancers", "cold", "seizure", "lithium", "zzz"]
LIMITS = [0, 5000]
"""The number of names up to which all are scored: none of the vocabularies here, or all of them."""


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


class FormEncoder:
    """Gives each normal form a random direction of its own, or one that a test writes down."""

    def __init__(self, vectors=(), *, text_normalizer="biosyn+greek"):
        self.text_normalizer = text_normalizer
        self.l2_normalized = True
        self.fingerprint = f"form-{text_normalizer}".ljust(16, "x")
        self.dim = 8
        self._vectors = dict(vectors)

    def encode(self, texts, *, fast=False):
        return np.array([self._vector(TEXT_NORMALIZERS[self.text_normalizer](text)) for text in texts])

    def _vector(self, form):
        vector = self._vectors.get(form)
        if vector is None:
            vector = np.random.default_rng(hash64(form)).normal(size=self.dim)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


def record(concept_id, *names, types=(), source="s"):
    return Record(concept_id, tuple(Name(name, "exact", source) for name in names), types=types)


def name_vectors(kb, encoder, folder):
    build_name_vectors(kb, encoder, folder, compression="float32")
    return NameVectors(folder, kb, encoder)


def ngram_index(kb, **settings):
    folder = kb.path.with_suffix(".ngrams")
    build_ngram_index(kb, NgramEncoder.fit(kb.names(), **settings), folder)
    return NgramIndex(folder, kb)


@pytest.fixture(scope="module")
def sparse_only(small_kb):
    return CandidateGenerator(small_kb, ngram_index(small_kb), None)


@pytest.fixture(scope="module")
def with_both(small_kb, tiny_encoder, tmp_path_factory):
    """A function that makes a generator with both scores."""
    ngrams = ngram_index(small_kb)
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
    generator = CandidateGenerator(kb, ngram_index(kb), vectors, sparse_weight=0.25)
    sparse = 1 / np.sqrt(3)
    b, a = generator(["x"], 5)[0]
    assert (a.concept_id, a.name, b.concept_id, b.name) == ("A", "xy", "B", "z")
    assert (a.dense, b.dense) == pytest.approx((0.6, 0.8))
    assert (a.sparse, b.sparse) == pytest.approx((sparse, 0))
    assert (a.score, b.score) == pytest.approx(((0.6 + 0.25 * sparse) / 1.25, 0.8 / 1.25), abs=1e-5)
    generator.sparse_weight = 1.0
    assert found(generator, "x") == ["A", "B"]
    assert CandidateGenerator(kb, None, vectors)(["x"], 5)[0] == [
        Candidate("B", pytest.approx(0.8), "z", pytest.approx(0.8), None, similarity=pytest.approx(0.8)),
        Candidate("A", pytest.approx(0.6), "xy", pytest.approx(0.6), None, similarity=pytest.approx(0.6)),
    ]
    assert CandidateGenerator(kb, generator.ngrams, None)(["x"], 5)[0] == [
        Candidate(
            "A",
            pytest.approx(sparse, abs=1e-5),
            "xy",
            None,
            pytest.approx(sparse),
            similarity=pytest.approx(sparse, abs=1e-5),
        )
    ]


def test_a_concept_has_the_score_of_its_best_name(sparse_only):
    best = sparse_only(["carcinoma of the breast"], 3)[0][0]
    assert (best.concept_id, best.score, best.name) == ("D001943", 1.0, "carcinoma of the breast")


def test_a_name_itself_scores_one(with_both, small_kb):
    for candidates, name in zip(with_both()(list(small_kb.names()), 1), small_kb.names(), strict=True):
        assert candidates[0].score == pytest.approx(1.0, abs=2e-5)
        assert candidates[0].concept_id in small_kb.find_name(name)


@pytest.mark.parametrize("limit", LIMITS)
def test_nothing_similar(sparse_only, limit):
    generator = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, exact_limit=limit)
    assert generator(["", "жж", "cold"], 3)[:2] == [[], []]
    assert generator([], 3) == []


def test_all_scores_of_all_names(with_both, small_kb):
    generator = with_both()
    dense, sparse = generator.similarities(TEXTS)
    names, texts = list(small_kb.names()), np.arange(len(TEXTS))
    expected = generator.vectors.encode(TEXTS) @ np.array(generator.vectors.vectors[np.arange(len(names))]).T
    np.testing.assert_allclose(dense, expected, atol=1e-5)
    for candidates, of_text in zip(generator(TEXTS, 9), texts, strict=True):
        for candidate in candidates:
            row = names.index(candidate.name)
            expected = dense[of_text, row], sparse[of_text, row]
            assert (candidate.dense, candidate.sparse) == pytest.approx(expected, abs=1e-5)
    unused = CandidateGenerator(small_kb, generator.ngrams, None).similarities(TEXTS)[0]
    assert unused.shape == dense.shape
    assert not unused.any()


def test_names_that_pass(sparse_only, small_kb):
    assert sparse_only.names_that_pass(ALL) is None
    passing = sparse_only.names_that_pass(Filter(sources=("HPO",)))
    names = [name for name, passes in zip(small_kb.names(), passing, strict=True) if passes]
    assert sorted(names) == ["Seizure", "Seizures", "epileptic seizure"]


# --- raw vectors


def test_raw_scores_by_hand(tmp_path):
    """|q| = 5 and |b| = 2 is the longest, so that M is 10; q·a = 3, q·b = 8, and the n-grams as above."""
    kb = build_knowledge_base([record("A", "xy"), record("B", "z")], tmp_path / "a.kb")
    encoder = FixedEncoder({"xy": [1, 0], "z": [0, 2], "x": [3, 4]}, l2_normalized=False)
    vectors = name_vectors(kb, encoder, tmp_path)
    generator = CandidateGenerator(kb, ngram_index(kb), vectors, sparse_weight=2.0)
    sparse = 1 / np.sqrt(3)
    b, a = generator(["x"], 5)[0]
    assert (a.dense, b.dense) == pytest.approx((3, 8))
    assert (a.score, b.score) == pytest.approx(((3 + 2 * sparse) / 12, 8 / 12), abs=1e-5)
    generator.sparse_weight = 8.7  # 8 - 3 = 5 = 8.66 / √3
    assert found(generator, "x") == ["A", "B"]
    assert CandidateGenerator(kb, None, vectors)(["x"], 5)[0] == [
        Candidate("B", pytest.approx(0.8), "z", pytest.approx(8), None, similarity=pytest.approx(0.8)),
        Candidate("A", pytest.approx(0.3), "xy", pytest.approx(3), None, similarity=pytest.approx(0.3)),
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
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    for limit in LIMITS:
        generator = CandidateGenerator(kb, ngram_index(kb), None, exact_limit=limit)
        assert generator(["ab"], 5, Filter(sources=("t",)))[0] == [Candidate("B", 1.0, "ab", None, pytest.approx(1.0))]
        assert found(generator, "ab", 5) == ["A", "B"]


def test_nothing_passes(sparse_only, with_both):
    for generator in (sparse_only, with_both(), with_both(exact_limit=0)):
        assert found(generator, "cold", 5, Filter(types=("Plant",))) == []


# --- ties


@pytest.fixture(params=LIMITS)
def tied(tmp_path, request):
    """All of these own "x": C is annotated with it, A prefers it, and D to B have no claim."""
    with new_knowledge_base(tmp_path / "tied.kb") as builder:
        for concept_id in "DCB":
            builder.add(record(concept_id, f"name of {concept_id}", "x"))
        builder.add(record("A", "x"))
        builder.add_mention("C", Name("x", "mention", "corpus"))
        builder.finish({})
    kb = KnowledgeBase(tmp_path / "tied.kb")
    return CandidateGenerator(kb, ngram_index(kb), None, exact_limit=request.param)


def test_ties_go_to_the_annotated_then_the_preferred_then_by_id(tied):
    assert found(tied, "x") == ["C", "A", "B", "D"]
    for k in range(1, 5):
        assert found(tied, "x", k) == ["C", "A", "B", "D"][:k]


def test_the_best_claim_of_a_concept_on_names_of_one_score(tmp_path):
    """B owns both names, and prefers the second."""
    kb = build_knowledge_base([record("A", "ab"), record("B", "a.b", "ab")], tmp_path / "a.kb")
    generator = CandidateGenerator(kb, ngram_index(kb), None)
    assert [(c.concept_id, c.name) for c in generator(["AB"], 5)[0]] == [("A", "ab"), ("B", "ab")]
    assert [(c.concept_id, c.name) for c in generator(["A-B"], 5)[0]] == [("B", "a.b"), ("A", "ab")]


# --- all names and the nearest names


def reference(kb, generator, text, k, filter=ALL):
    """The candidates by looking at every name of every concept, one by one."""
    queries = generator.vectors.encode([text]) if generator.vectors else None
    dense = None if queries is None else generator.vectors.similarities(queries)[0]
    sparse = None
    if generator.ngrams:
        names = generator.ngram_encoder.encode(list(kb.names()))
        sparse = (generator.ngram_encoder.encode([text]) @ names.T).toarray()[0]
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
            total = sum(kb.annotations_of([(concept_id, name) for name in (concept.canonical_name, *concept.aliases)]))
            of_concept = bool(SUPPLEMENTARY_ID.fullmatch(concept_id)), -total, -len(concept.aliases)
            claim = (-score, -name_concepts.annotations[i], not name_concepts.preferred[i], *of_concept, row)
            claims[concept_id] = min(claim, claims.get(concept_id, claim))
    best = sorted(claims.items(), key=lambda item: (item[1][:-1], item[0]))[:k]
    return [(concept_id, last_digit(-claim[0]), kb.name(claim[-1])) for concept_id, claim in best]


def shown(candidates):
    return [(c.concept_id, last_digit(c.score), c.name) for c in candidates]


def last_digit(score):
    """The sums of a cosine come in another order in another batch, which can change the last digit of a score."""
    return pytest.approx(score, abs=1.1e-5)


UNIT = [*(np.array(signs) / 2 for signs in product((-1, 1), repeat=4)), *np.eye(4), *-np.eye(4)]
"""Vectors of unit length whose inner products are multiples of a quarter, without rounding: ties are many."""


def vocabulary(seed, n_names, *, l2_normalized):
    """RETURNS: records of several types and sources, and a vector of each name and of two texts."""
    rng = np.random.default_rng(seed)
    names = [f"{'abcd'[i % 4] * (1 + i % 3)}{i}" for i in range(n_names)]
    records = [
        record(f"C{rng.integers(n_names // 3 + 1)}", name, types=(str(rng.choice(["T", "U"])),), source=source)
        for part, source in ((names, "s"), (names[:: rng.integers(2, 9)], "t"))
        for name in part
    ]
    directions = [UNIT[i] for i in rng.integers(len(UNIT), size=n_names + 2)]
    if not l2_normalized:
        directions = rng.integers(-2, 3, (n_names + 2, 4)) / 2
    return records, dict(zip([*names, "query", "other"], directions, strict=True))


def check(generator, text, k, filter=ALL):
    """Check all that is promised of the candidates of a text, whatever the searches found."""
    kb = generator.kb
    candidates = generator([text], k, filter)[0]
    ids = [candidate.concept_id for candidate in candidates]
    assert len(set(ids)) == len(ids) <= k
    dense, sparse = (scores[0] for scores in generator.similarities([text]))
    highest = generator.vectors.highest(generator.vectors.encode([text]))[0] if generator.vectors else 1
    weight = generator.sparse_weight if generator.vectors and generator.ngrams else 0
    passing = kb.matching_entries(filter.types, filter.sources)
    names, order = list(kb.names()), []
    for candidate in candidates:
        row, (concept,) = names.index(candidate.name), kb.concept_rows(candidate.concept_id)
        entry = np.flatnonzero((kb.name_concepts.names == row) & (kb.name_concepts.concepts == concept))
        assert len(entry) == passing[entry].sum() == 1
        exact = (dense[row] + weight * sparse[row]) / (highest + weight) if generator.vectors else sparse[row]
        assert candidate.score == last_digit(exact)
        assert candidate.score == round(candidate.score, SCORE_DIGITS)
        assert candidate.dense == (pytest.approx(dense[row], abs=1e-5) if generator.vectors else None)
        assert candidate.sparse == (pytest.approx(sparse[row], abs=1e-5) if generator.ngrams else None)
        assert candidate.score > 0 or not generator.vectors.encoder.l2_normalized
        order.append((-candidate.score, kb.name_concepts.ranks[entry[0]]))
    assert order == sorted(order)
    return candidates


FILTERS = [ALL, Filter(types=("T",)), Filter(sources=("t",)), Filter(("U",), ("s",))]


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    n_names=st.integers(1, 150),
    k=st.integers(1, 30),
    weight=st.sampled_from([0.25, 1.0, 4.0]),
    used=st.sampled_from(["dense", "sparse", "both"]),
    l2_normalized=st.booleans(),
    complete=st.booleans(),
    filter=st.sampled_from(FILTERS),
)
def test_what_is_promised_of_candidates(seed, n_names, k, weight, used, l2_normalized, complete, filter):
    records, vectors = vocabulary(seed, n_names, l2_normalized=l2_normalized)
    with TemporaryDirectory() as folder:
        kb = build_knowledge_base(records, Path(folder) / "a.kb")
        dense = name_vectors(kb, FixedEncoder(vectors, l2_normalized=l2_normalized), Path(folder))
        scores = ngram_index(kb) if used != "dense" else None, dense if used != "sparse" else None
        exact, nearest = (
            CandidateGenerator(kb, *scores, sparse_weight=weight, exact_limit=limit) for limit in (10**6, 0)
        )
        nearest.complete = complete
        for text in ("query", "other", next(kb.names())):
            expected = check(exact, text, k, filter)
            assert shown(expected) == reference(kb, exact, text, k, filter)
            candidates = check(nearest, text, k, filter)
            if used != "sparse" and n_names <= 4 * k and (complete or not l2_normalized or used == "dense"):
                # the nearest names by the dense score are all names
                scores = [last_digit(candidate.score) for candidate in expected]
                assert [candidate.score for candidate in candidates] == scores
            for candidate, best in zip(candidates, expected, strict=False):
                assert candidate.score <= best.score + 1e-4


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A function that makes a generator for 3,000 names, of which the searches see few."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("many")
    parts = ["".join(rng.choice(list("abcdefghijklmnop"), 4)) for _ in range(400)]
    names = list(dict.fromkeys(" ".join(rng.choice(parts, 3)) for _ in range(3000)))
    kb = build_knowledge_base([record(f"C{i // 2}", name) for i, name in enumerate(names)], folder / "a.kb")
    ngrams, vectors = ngram_index(kb), name_vectors(kb, FormEncoder(), folder)

    def make(**settings):
        chosen = {"ngrams": ngrams, "vectors": vectors, **settings}
        return CandidateGenerator(kb, chosen.pop("ngrams"), chosen.pop("vectors"), **chosen)

    return make


def test_the_nearest_of_many_names_by_the_dense_score(many):
    exact, nearest = many(ngrams=None), many(ngrams=None, exact_limit=0)
    for text in ("query", "other", next(exact.kb.names())):
        assert shown(check(nearest, text, 5)) == shown(exact([text], 5)[0]) == reference(exact.kb, exact, text, 5)


def test_the_nearest_of_many_names_by_the_sparse_score(many):
    exact, nearest = many(vectors=None), many(vectors=None, exact_limit=0)
    for name in list(exact.kb.names())[:40]:
        for text in (name, f"{name}s", " ".join(reversed(name.split())), name[1:-1]):
            assert shown(check(nearest, text, 5)[:1]) == shown(exact([text], 1)[0])


def test_the_best_name_is_first_by_neither_score(tmp_path):
    like_dense = {f"xyz {i}": [0.9, np.sqrt(0.19), 0] for i in range(25)}
    like_sparse = {f"abc abc {i}": [0, 0, 1] for i in range(70)}
    vectors = {**like_dense, **like_sparse, "abcxyz": [0.85, 0, np.sqrt(1 - 0.85**2)], "abc": [1, 0, 0]}
    kb = build_knowledge_base([record(name, name) for name in vectors if name != "abc"], tmp_path / "a.kb")
    ngrams, known = ngram_index(kb), name_vectors(kb, FixedEncoder(vectors), tmp_path)
    exact, nearest = (
        CandidateGenerator(kb, ngrams, known, sparse_weight=1.0, exact_limit=limit) for limit in (1000, 0)
    )
    sparse = ngrams.similarities(["abc"])[0]
    assert (sparse > sparse[-1]).sum() == 70
    assert found(exact, "abc", 1) == found(nearest, "abc", 1) == ["abcxyz"]


# --- texts that are names


EQUAL = 100
"""Names that equal "cold": more than any search proposes."""


@pytest.fixture(scope="module")
def equal_names(tmp_path_factory):
    """A generator of nearest names, and an exact one. Every second "cold" is from "t" and of type "U"."""
    folder = tmp_path_factory.mktemp("equal")
    records = [record(f"C{999 - i}", f"cold{'!' * i}", source="st"[i % 2], types=("TU"[i % 2],)) for i in range(EQUAL)]
    records += [record(f"D{i}", f"cold {i}", source="v", types=("V",)) for i in range(200)]
    records += [record("E0", "rhinitis", source="v", types=("V",))]
    kb = build_knowledge_base(records, folder / "a.kb")
    axis = np.eye(8)
    near = {"cold": axis[0], "colds": axis[0] + axis[1], "rhinitis": 0.9 * axis[0] + 0.4 * axis[1]}
    others = {f"cold {i}": axis[2 + i % 5] + axis[7] * i / 200 for i in range(200)}
    ngrams, vectors = ngram_index(kb), name_vectors(kb, FormEncoder({**near, **others}), folder)
    return [CandidateGenerator(kb, ngrams, vectors, exact_limit=limit) for limit in LIMITS]


@pytest.mark.parametrize("filter", [ALL, Filter(sources=("t",)), Filter(types=("T",)), Filter(("V", "U"), ("v", "t"))])
@pytest.mark.parametrize("text", ["cold", "COLD", "cold!!", "?cold"])
def test_all_names_that_equal_a_text_are_candidates(equal_names, filter, text):
    nearest, exact = equal_names
    n = EQUAL if filter == ALL else EQUAL // 2
    for k in (1, 5, n):
        expected = exact([text], k, filter)[0]
        assert {candidate.score for candidate in expected} == {1.0}
        candidates = check(nearest, text, k, filter)
        assert [candidate.concept_id for candidate in candidates] == [best.concept_id for best in expected]


def test_a_text_whose_equal_names_do_not_pass_is_searched(equal_names):
    nearest, exact = equal_names
    filter = Filter(sources=("v",))
    assert found(nearest, "cold", 1, filter) == found(exact, "cold", 1, filter) == ["E0"]


def test_a_text_that_is_a_name_skips_the_dense_search(equal_names):
    """No 4-gram of "rhinitis" is in "cold": only the dense search finds it."""
    nearest, exact = equal_names
    k = EQUAL + 1
    assert found(exact, "cold", k)[-1] == "E0"
    assert "E0" not in found(nearest, "cold", 400)
    nearest.complete = True
    try:
        assert "E0" in found(nearest, "cold", 400)  # what is known for the other setting is not used
    finally:
        nearest.complete = False
    assert "E0" not in found(nearest, "cold", 400)
    assert "E0" in found(nearest, "colds", 400)


def test_a_text_that_is_a_name_for_the_encoder_only_is_searched(tmp_path):
    """The encoder leaves punctuation out, but the n-grams do not: "cold!" is the name "cold" for the encoder only."""
    records = [record("A", "cold"), record("B", "rhinitis"), record("C", "bold old! ale")]
    kb = build_knowledge_base(records, tmp_path / "a.kb")
    axis = np.eye(8)
    encoder = FormEncoder({"cold": axis[0], "rhinitis": axis[0] + axis[1], "bold old ale": axis[2]})
    ngrams = ngram_index(kb, text_normalizer="lower")
    generator = CandidateGenerator(kb, ngrams, name_vectors(kb, encoder, tmp_path), exact_limit=0)
    assert found(generator, "cold!") == ["A", "B", "C"]
    assert found(generator, "cold") == ["A", "C"]


def test_raw_vectors_are_always_searched(tmp_path):
    """The longest vector, not that of the name itself, has the highest inner product."""
    vectors = {"cold": [1, 0], "rhinitis": [5, 1], "flu": [0, 1]}
    kb = build_knowledge_base([record(name, name) for name in vectors], tmp_path / "a.kb")
    known = name_vectors(kb, FixedEncoder(vectors, l2_normalized=False), tmp_path)
    for limit in LIMITS:
        generator = CandidateGenerator(kb, ngram_index(kb), known, exact_limit=limit)
        assert found(generator, "cold") == ["rhinitis", "cold", "flu"]
        together = CandidateGenerator(kb, ngram_index(kb), known, exact_limit=limit)(["rhinitis", "cold", "flu"], 3)
        alone = [generator([text], 3)[0] for text in ("rhinitis", "cold", "flu")]  # each text has its own upper bound
        assert list(map(shown, together)) == list(map(shown, alone))


def test_an_encoder_without_ngrams_always_searches(tmp_path):
    kb = build_knowledge_base([record("A", "cold"), record("B", "rhinitis")], tmp_path / "a.kb")
    vectors = name_vectors(kb, FixedEncoder({"cold": [1, 0], "rhinitis": [0.8, 0.6]}), tmp_path)
    assert found(CandidateGenerator(kb, None, vectors, exact_limit=0), "cold") == ["A", "B"]


def test_at_least_as_many_names_are_proposed_as_candidates_are_wanted(tmp_path):
    """All 400 names are similar to the text. The sparse search alone proposes as many as are wanted."""
    kb = build_knowledge_base([record(f"C{i}", f"cold {i}") for i in range(400)], tmp_path / "a.kb")
    generator = CandidateGenerator(kb, ngram_index(kb), None, exact_limit=0)
    assert len(check(generator, "cold", 350)) == 350


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
    generator.vectors, removed = None, generator.vectors
    generator.complete = True
    assert generator(["colds"], 2)[0][0].dense is None  # what is known for the other setting is not used
    generator.vectors, generator.complete = removed, False
    generator(["colds"], 2)[0].clear()
    assert generator(["colds"], 2)[0] == first


def test_known_candidates_do_not_pile_up(sparse_only):
    generator = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, cache_size=3)
    for number in range(20):
        generator([f"cold {number}", "cold"], 2)
    assert len(generator._cache) == 3


@pytest.mark.parametrize("limit", LIMITS)
def test_threads(sparse_only, limit):
    generator = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, cache_size=2, exact_limit=limit)
    expected = CandidateGenerator(sparse_only.kb, sparse_only.ngrams, None, exact_limit=limit)(TEXTS, 3)
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


# --- two stages


class AskedEncoder(FormEncoder):
    """A `FormEncoder` that remembers what it was asked."""

    def __init__(self, *settings, **named):
        super().__init__(*settings, **named)
        self.fingerprint = f"asked-{self.text_normalizer}".ljust(16, "x")
        self.asked = []

    def encode(self, texts, *, fast=False):
        self.asked += texts
        return super().encode(texts, fast=fast)


@pytest.fixture
def two_stages(small_kb, with_both, tmp_path, monkeypatch):
    """A function that makes a generator in two stages, and one that scores all names by the second encoder."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "vectors").mkdir()

    def make(limit, *, proposes):
        first, encoder = with_both(), AskedEncoder(text_normalizer="lower")
        rescorer = OnDemandVectors(small_kb, encoder, "float32")
        proposer = first.vectors if proposes else None
        vectors = name_vectors(small_kb, FormEncoder(text_normalizer="lower"), tmp_path / "vectors")
        return (
            CandidateGenerator(small_kb, first.ngrams, proposer, rescorer=rescorer, exact_limit=limit),
            CandidateGenerator(small_kb, first.ngrams, vectors),
        )

    return make


@pytest.mark.parametrize("proposes", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
def test_the_second_encoder_decides_between_the_proposed_names(two_stages, proposes, limit, monkeypatch):
    monkeypatch.setattr(candidates_module, "RESCORED", 3)
    monkeypatch.setattr(candidates_module, "SPELLED", 1)
    generator, exact = two_stages(limit, proposes=proposes)
    for text in ["breast cancers", "seizing", "lithium ions"]:
        generator.rescorer.encoder.asked.clear()
        candidates = generator([text], 10)[0]
        assert 0 < len(candidates) <= 3
        assert len(generator.rescorer.encoder.asked) <= 1 + 3
        names, ((dense,), _) = list(exact.kb.names()), exact.similarities([text])
        for candidate in candidates:
            assert candidate.dense == pytest.approx(dense[names.index(candidate.name)], abs=1e-5)
            score = (candidate.dense + generator.sparse_weight * candidate.sparse) / (1 + generator.sparse_weight)
            assert candidate.score == last_digit(score)
        scores = [candidate.score for candidate in candidates]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("proposes", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
def test_a_name_is_not_encoded_unless_all_candidates_must_be_complete(two_stages, proposes, limit):
    generator, exact = two_stages(limit, proposes=proposes)
    assert generator.named(["cold"]) == exact.named(["cold"])
    best, *others = generator(["cystic fibrosis"], 5)[0]
    assert (best.concept_id, best.score, best.dense) == ("D003550", 1.0, 1.0)
    assert {candidate.dense for candidate in others} <= {None}
    assert not generator.rescorer.encoder.asked
    generator.complete = True
    best, *others = generator(["cystic fibrosis"], 5)[0]
    assert (best.concept_id, best.score) == ("D003550", last_digit(1.0))
    assert None not in {candidate.dense for candidate in others}


@pytest.mark.parametrize("limit", LIMITS)
def test_the_names_spelled_like_a_text_are_always_rescored(tmp_path, monkeypatch, limit):
    """For the first encoder, all other names are nearer. The second one decides for the plural."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path))
    names = [f"ethyl ester {i}" for i in range(40)]
    kb = build_knowledge_base([record(name, name) for name in [*names, "alcohols"]], tmp_path / "a.kb")
    axis = np.eye(8)
    first = FormEncoder(
        {"alcohol": axis[0], **dict.fromkeys(names, axis[0]), "alcohols": axis[1]}, text_normalizer="lower"
    )
    second = AskedEncoder(
        {"alcohol": axis[0], **dict.fromkeys(names, axis[1]), "alcohols": axis[0]}, text_normalizer="lower"
    )
    generator = CandidateGenerator(
        kb, ngram_index(kb), name_vectors(kb, first, tmp_path), exact_limit=limit, rescorer=OnDemandVectors(kb, second)
    )
    assert found(generator, "alcohol", 100)[0] == "alcohols"


def test_a_name_for_the_first_stage_only_is_encoded(tmp_path, monkeypatch):
    """The n-grams leave punctuation out, but the second encoder does not: it decides which name "cold!" is nearer."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path))
    kb = build_knowledge_base([record("A", "cold"), record("B", "cold?"), record("C", "cold!!")], tmp_path / "a.kb")
    axis = np.eye(8)
    encoder = AskedEncoder({"cold!": axis[0], "cold?": axis[0] + axis[1]}, text_normalizer="lower")
    generator = CandidateGenerator(kb, ngram_index(kb), None, rescorer=OnDemandVectors(kb, encoder, "float32"))
    assert found(generator, "cold!")[0] == "B"
    assert found(generator, "cold?")[0] == "B"
    assert generator(["cold?"], 3)[0][1].score < 1
