"""Negatives of a small vocabulary whose vectors are set by hand."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.values import hash64
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS
from spacy_sapbert.training.hard_negatives import MINED_COUNTS, HardNegatives
from spacy_sapbert.training.pair_files import Pair, SharedName
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors.flat import cached_name_vectors


class Plane:
    """Vectors of names: unit vectors at given angles, or at one that hangs on the normal form."""

    def __init__(self, names, degrees=None, text_normalizer="lower", l2_normalized=True):
        self.encoder = SimpleNamespace(name="plane", text_normalizer=text_normalizer, l2_normalized=l2_normalized)
        self.degrees = degrees or {}
        self.vectors = self.encode(list(names))
        self.asked = []

    def encode(self, texts):
        forms = map(TEXT_NORMALIZERS[self.encoder.text_normalizer], texts)
        angles = np.deg2rad([self.degrees.get(form, hash64(form) % 360) for form in forms])
        return np.stack((np.cos(angles), np.sin(angles)), axis=1).astype(np.float32)

    def nearest(self, queries, n):
        self.asked.append((len(queries), n))
        scores = queries @ self.vectors.T
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        return np.take_along_axis(scores, rows, axis=1), rows

    def similarities(self, queries, rows):
        return queries @ self.vectors[rows].T


def make_kb(path, **names):
    return build_knowledge_base(
        (
            Record(concept_id, tuple(Name(text, "exact", "s") for text in texts.split("|")))
            for concept_id, texts in names.items()
        ),
        path,
    )


DEGREES = {"cold": 0, "chill": 5, "common cold": 10, "flu": 15, "cool": 20, "heat": 40, "low heat": 30, "far": 200}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """C1 and C2 share "cold" (in another case); "Flu" and "flu" are two names of two concepts that read alike."""
    return make_kb(
        tmp_path_factory.mktemp("kb") / "a.kb",
        C1="cold|common cold|chill",
        C2="Cold|low heat",
        C3="Flu",
        C4="flu|cool",
        C5="Heat|far",
    )


def mine(kb, *pairs, neighbors=3, shared=(), **settings):
    counts = Counter()
    vectors = Plane(kb.names(), DEGREES, **settings)
    triples = HardNegatives(kb, vectors, neighbors=neighbors, shared=shared).mine(pairs, counts)
    assert counts.keys() <= set(MINED_COUNTS)
    return triples, counts


def negatives(triples):
    return [triple.negative for triple in triples]


def test_the_names_nearest_to_the_positive(kb):
    """None of C1, and of C2 none since "cold" belongs to it as well; "Flu" and "flu" are one name of two concepts."""
    triples, counts = mine(kb, Pair("C1", "cold", "common cold"))
    assert [triple[:4] for triple in triples] == [
        ("C1", "cold", "common cold", name) for name in ("flu", "cool", "heat")
    ]
    assert [triple.negative_ids for triple in triples] == [("C3", "C4"), ("C4",), ("C5",)]
    expected = [np.cos(np.deg2rad(degrees - 10)) for degrees in (15, 20, 40)]
    assert [triple.similarity for triple in triples] == pytest.approx(expected, abs=1e-4)
    # nearer than "heat" are "chill" and "low heat"; and "common cold", "cold" and "Cold" read like the pair
    assert counts == {
        "pairs": 1, "pairs_of_unknown_concepts": 0, "triples": 3, "pairs_with_fewer_negatives": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "shared", "expected"),
    [
        # no name of the pair is shared, so that the other concept of "cold" may be a negative by "low heat"
        (Pair("C1", "chill", "common cold"), [], ["flu", "cool", "low heat"]),
        # a mention that is not a name of the vocabulary
        (Pair("C1", "shivers", "common cold"), [], ["flu"]),
        (Pair("C1", "common cold", "Common  COLD"), [], ["flu"]),
        # a mention may be annotated with several concepts, and a name with another one than the vocabulary says
        (Pair("C1", "shivers", "chill"), [SharedName("shivers", ("C1", "C4"))], ["low heat", "heat", "far"]),
        (Pair("C1", "chill", "common cold"), [SharedName("cool", ("C1", "C4"))], ["flu", "low heat", "heat"]),
    ],
)
def test_what_the_concepts_of_both_names_exclude(kb, pair, shared, expected):
    assert negatives(mine(kb, pair, neighbors=len(expected), shared=shared)[0]) == expected


def test_fewer_than_asked_for(kb):
    triples, counts = mine(kb, Pair("C1", "cold", "chill"), Pair("C5", "heat", "far"), neighbors=5)
    assert negatives(triples)[:4] == ["flu", "cool", "heat", "far"]
    assert len(negatives(triples)) == 9
    assert counts["pairs_with_fewer_negatives"] == 1


def test_pairs_whose_concept_is_not_there(kb):
    triples, counts = mine(kb, Pair("C9", "cold", "chill"), Pair("C3", "flu", "grippe"))
    assert {triple.concept_id for triple in triples} == {"C3"}
    assert (counts["pairs"], counts["pairs_of_unknown_concepts"]) == (2, 1)


def test_the_normal_form_of_the_encoder_decides_what_reads_alike(tmp_path):
    kb = make_kb(tmp_path / "b.kb", C1="tumour a", C2="Tumor A", C3="tumor b")
    pair = Pair("C1", "tumour a", "ta")
    assert negatives(mine(kb, pair)[0]) != ["tumor b"]
    assert negatives(mine(kb, pair, text_normalizer="american")[0]) == ["tumor b"]


def test_cased_encoders_read_names_of_another_case_as_others(kb):
    """But what only differs in case is no negative all the same."""
    triples, _ = mine(kb, Pair("C1", "cold", "chill"), neighbors=4, text_normalizer="none")
    assert sorted(negatives(triples)) == ["cool", "far", "flu", "heat"]


def test_more_neighbours_are_asked_for_where_too_many_are_skipped(tmp_path):
    names = {f"name {number}": number / 10 for number in range(120)}
    kb = make_kb(tmp_path / "c.kb", C1="|".join(names), C2="other", C3="third")
    vectors = Plane(kb.names(), {**names, "other": 20, "third": 30})
    result = HardNegatives(kb, vectors, neighbors=1).mine(
        [Pair("C1", "name 1", "name 0"), Pair("C1", "name 2", "name 0"), Pair("C2", "a", "other")], Counter()
    )
    assert negatives(result) == ["other", "other", "name 119"]
    assert vectors.asked == [(2, 21), (1, 84), (1, 122)]


def test_vectors_that_are_not_of_unit_length_are_refused(kb):
    with pytest.raises(SapbertError, match=r"E345.*plane.*l2_normalized = true"):
        HardNegatives(kb, Plane(kb.names(), l2_normalized=False))


VOCABULARIES = st.lists(st.lists(st.text("aAbB ", min_size=1, max_size=3), min_size=1), min_size=2, max_size=6)


@settings(max_examples=25, deadline=None)
@given(VOCABULARIES, st.data(), st.integers(1, 4))
def test_a_negative_shares_no_concept_with_the_pair(tmp_path_factory, vocabulary, data, neighbors):
    """Compared with going through all names, one by one."""
    names = {f"C{i}": [f"x{text}" for text in texts] for i, texts in enumerate(vocabulary)}
    kb = make_kb(tmp_path_factory.mktemp("any") / "a.kb", **{key: "|".join(one) for key, one in names.items()})
    forms = {key: {" ".join(text.lower().split()) for text in texts} for key, texts in names.items()}
    concept_id = data.draw(st.sampled_from(sorted(forms)))
    anchor, positive = (data.draw(st.sampled_from(sorted(forms[concept_id]))) for _ in range(2))
    triples, counts = mine(kb, Pair(concept_id, anchor, positive), neighbors=neighbors)
    excluded = {key for key, texts in forms.items() if texts & {anchor, positive}}
    allowed = {text for texts in forms.values() for text in texts if not any(text in forms[key] for key in excluded)}
    assert set(negatives(triples)) <= allowed
    assert len(triples) == len(set(negatives(triples))) == min(neighbors, len(allowed))
    assert counts["pairs_with_fewer_negatives"] == (len(allowed) < neighbors)
    nearest = sorted(-angle_cosine(positive, text) for text in allowed)[:neighbors]
    assert [triple.similarity for triple in triples] == pytest.approx([-value for value in nearest], abs=1e-4)
    for triple in triples:
        assert triple.negative_ids == tuple(sorted(key for key, texts in forms.items() if triple.negative in texts))


def angle_cosine(left, right):
    return np.cos(np.deg2rad(hash64(left) % 360 - hash64(right) % 360))


def test_with_a_real_encoder(small_kb, tiny_encoder):
    vectors = cached_name_vectors(small_kb, TransformerEncoder(str(tiny_encoder), device="cpu"))
    pairs = [Pair("D012640", "seizures", "fits"), Pair("D003080", "cold", "cold temperature")]
    triples = HardNegatives(small_kb, vectors, neighbors=5).mine(pairs, Counter())
    assert len(triples) == 10
    assert not {"seizure", "epileptic seizure"} & {triple.negative for triple in triples[:5]}  # of HP:0001250
    assert "common cold" not in negatives(triples[5:])  # of D003139, which "cold" belongs to as well
    first = vectors.encode([triple.positive for triple in triples])
    other = vectors.encode([triple.negative for triple in triples])
    assert [triple.similarity for triple in triples] == pytest.approx((first * other).sum(1).tolist(), abs=1e-4)
