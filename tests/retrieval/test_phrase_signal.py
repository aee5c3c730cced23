from collections import Counter

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.mentions import add_training_mentions
from spacy_sapbert.retrieval.concepts import ConceptSet, LikelyNames, NearNames
from spacy_sapbert.retrieval.phrase_signal import REFUTED, PhrasesSignal, _NameSpans, _without_overlaps
from spacy_sapbert.retrieval.training_counts import FEATURES as MENTION_FEATURES
from spacy_sapbert.retrieval.training_counts import DocumentCounts, TrainingCounts, count_document
from spacy_sapbert.types import Document, Mention

NLP = spacy.blank("en")
FEATURES = {name: position for position, name in enumerate(PhrasesSignal.features)}
TABLE = {
    "chill": {"cold": 0.9, "Common Cold": 0.6},
    "cold": {"cold": 1.0, "Common Cold": 0.7},
    "spasm": {"fits": 0.7},
    "fitting": {"fits": 0.8, "epileptic seizure": 0.95},
    "winter": {"Cold Temperature": 0.8},
}


def read(index, concepts, text, counts=None, own=None):
    (view,) = PhrasesSignal(NearNames(index, concepts), counts).read([NLP.make_doc(text)], own and [own])
    return view


def features(view, concepts, concept_id):
    row = view.features(np.array(concepts.positions_of(concept_id)))[0]
    return {name: float(row[position]) for name, position in FEATURES.items()}


# --- views


def test_a_phrase_speaks_for_the_concepts_whose_name_is_most_like_it(table_index, concepts):
    view = read(table_index(TABLE), concepts, "fitting")
    # the nearest name is of one concept; a further one, "fits", is of another
    assert features(view, concepts, "HP:0001250")["likeness"] == pytest.approx(0.95)
    assert features(view, concepts, "D012640")["likeness"] == pytest.approx(0.4)
    assert [concepts.ids[position] for position in view.nearest(5)] == ["HP:0001250", "D012640"]
    assert [concepts.ids[position] for position in view.nearest(1)] == ["HP:0001250"]


def test_a_homonym_speaks_for_both(table_index, concepts):
    view = read(table_index(TABLE), concepts, "cold")
    assert {concepts.ids[position] for position in view.nearest(2)} == {"D003139", "D003080"}
    for one in ("D003139", "D003080"):
        assert features(view, concepts, one)["a name"] == 1
        assert features(view, concepts, one)["likeness"] == 1


def test_features_by_hand(table_index, concepts):
    seen = features(read(table_index(TABLE), concepts, "Seen a chill. Cold, chill, winter"), concepts, "D003139")
    assert seen == pytest.approx(
        {
            "likeness": 1.0,
            "near": 0.5,
            "nearer": 1.0,
            "a name": 1.0,
            "often": np.log(4),  # "cold" once, "chill" twice: both are surely names
            "in the beginning": 1.0,
            "marked": 0.0,
            "known": 0.0,
            "a name but unknown": 0.0,
            "often and marked": 0.0,
            "words": 1.0,
            "length": np.log(4),
            "inside another": 0.0,
            "a mention": 0.0,  # without a mention model
            "a near mention": 0.0,
            "near mentions": 0.0,
        }
    )
    unlike = features(read(table_index(TABLE), concepts, "winter"), concepts, "D003080")
    assert unlike == pytest.approx({**dict.fromkeys(FEATURES, 0.0), "likeness": 0.8, "near": 0.3, "in the beginning": 1,
                                    "words": 1.0, "length": np.log(6)})  # fmt: skip


def test_what_is_inside_a_longer_name(table_index, concepts):
    table = {"cold": {"cold": 1.0}, "cold fits": {"epileptic seizure": 0.96}, "cold weather": {"Cold Temperature": 0.9}}
    view = read(table_index(table), concepts, "Cold fits. Cold weather. Cold")
    assert features(view, concepts, "D003139")["inside another"] == pytest.approx(1 / 3)
    assert features(view, concepts, "HP:0001250")["inside another"] == 0


def test_what_is_not_seen_has_no_features(table_index, concepts):
    view = read(table_index(TABLE), concepts, "chill")
    assert not view.features(np.array(concepts.positions_of("D009369"))).any()
    assert view.evidence(concepts.positions_of("D009369")[0]) == []
    assert view.features(np.zeros(0, np.int64)).shape == (0, len(FEATURES))
    empty = read(table_index(TABLE), concepts, "")
    assert len(empty.nearest(5)) == 0


def test_evidence(table_index, concepts):
    view = read(table_index(TABLE), concepts, "Chill and cold and chill. Winter, spasm")
    position = {one: concepts.positions_of(one)[0] for one in ("D003139", "D003080", "D012640")}
    assert view.evidence(position["D003139"]) == [(10, 14), (0, 5), (19, 24)]  # the best first
    assert view.evidence(position["D003080"]) == [(10, 14), (0, 5), (19, 24)]  # "winter" is not like enough
    assert view.evidence(position["D012640"]) == [(34, 39)]  # for want of a better one


def test_counts(table_index, concepts):
    counts = TrainingCounts({}, {"cold": 40, "chill": 2}, {"cold": 30}, share=0.05)
    seen = features(read(table_index(TABLE), concepts, "cold, chill", counts), concepts, "D003139")
    assert seen["marked"] == pytest.approx(counts.log_odds("cold"))
    assert seen["known"] == 1
    assert seen["a name but unknown"] == 0
    assert seen["often and marked"] == pytest.approx(np.log(3))
    own = DocumentCounts(frozenset(), Counter(cold=40, chill=2), Counter(cold=30))
    left_out = features(read(table_index(TABLE), concepts, "cold, chill", counts, own), concepts, "D003139")
    assert (left_out["marked"], left_out["known"], left_out["a name but unknown"]) == (0, 0, 1)


# --- a large vocabulary


def test_what_annotators_never_mark_is_not_searched_for(table_index, concepts, ngrams):
    table = {"the common cold": {"Common Cold": 0.9}, "common colds": {"Common Cold": 0.9}, "cold": {"cold": 1.0}}
    texts = {"common colds": REFUTED, "cold": 50}

    def found(counts, own=None):
        signal = PhrasesSignal(LikelyNames(table_index(table), concepts, ngrams), counts)
        (view,) = signal.read([NLP.make_doc("Common colds and cold")], own and [own])
        return {phrase.text for phrase in view._phrases}

    wanted = {"common colds", "cold"}
    assert found(None) & wanted == wanted
    assert found(TrainingCounts({}, texts, {}, 0.1)) & wanted == {"cold"}  # a name needs no search
    assert found(TrainingCounts({}, texts, {"common colds": 1}, 0.1)) & wanted == wanted
    own = DocumentCounts(frozenset(), Counter({"common colds": 1}), Counter())
    assert found(TrainingCounts({}, texts, {}, 0.1), own) & wanted == wanted  # too few without the document
    own = DocumentCounts(frozenset(), Counter({"common colds": 1}), Counter({"common colds": 1}))
    more = {**texts, "common colds": REFUTED + 1}
    assert found(TrainingCounts({}, more, {"common colds": 1}, 0.1), own) & wanted == {"cold"}


class Likely:
    """A mention model for which phrases of two words are mentions."""

    def probabilities(self, features):
        return np.where(features[:, MENTION_FEATURES.index("words")] == 2, 0.8, 0.01)


def test_what_is_likely_a_mention_is_searched_for(table_index, concepts, ngrams):
    table = {"grim chills": {"cold": 0.9}, "shivers": {"fits": 0.9}}  # no name has similar n-grams

    def view(model):
        signal = PhrasesSignal(
            LikelyNames(table_index(table), concepts, ngrams), TrainingCounts({}, {}, {}, 0.1), model
        )
        return signal.read([NLP.make_doc("Grim chills. Grim chills; shivers")])[0]

    assert {phrase.text for phrase in view(None)._phrases} == set()
    found = view(Likely())
    assert {phrase.text for phrase in found._phrases} == {"grim chills"}
    seen = features(found, concepts, "D003139")
    assert seen["a mention"] == pytest.approx(0.8)
    assert seen["a near mention"] == pytest.approx(0.8 * 0.8)
    assert seen["near mentions"] == pytest.approx(np.log(1 + 2 * 0.8 * 0.8))


# --- what the training data knows from the document itself


def test_names_that_come_from_the_document_alone_are_left_out(small_kb, table_index, tmp_path):
    """As a name, a mention of the very document would speak for its concept with a likeness of 1."""
    texts = ["Sniffles.", "Sniffles and grippe"]
    mentions = [("Sniffles",), ("Sniffles", "grippe")]

    def mention(text, name):
        return Mention(text.index(name), text.index(name) + len(name), name, "", ("D003139",))

    documents = [
        Document("", text, tuple(mention(text, name) for name in names))
        for text, names in zip(texts, mentions, strict=True)
    ]
    kb = add_training_mentions(small_kb, documents, "training", tmp_path / "joined.kb")
    concepts = ConceptSet(kb)
    index = type(table_index(TABLE))(kb, {"sniffles": {"Sniffles": 1.0}, "grippe": {"grippe": 1.0}})
    own = [count_document(NLP.make_doc(one.text), one) for one in documents]
    counts = TrainingCounts.of(own)

    def names(text, own=None):
        view = read(index, concepts, text, counts, own)
        return [concepts.ids[position] for position in view.nearest(5)]

    assert names("grippe") == names("Sniffles") == ["D003139"]
    assert names("Sniffles", own[0]) == ["D003139"]  # another document has it as well
    assert names("grippe", own[1]) == []


positions = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda one: (one[0], one[0] + one[1])))


@given(positions, positions)
def test_what_longer_names_hide_and_what_overlaps(names, spans):
    name_spans = _NameSpans(names)
    for start, end in spans:
        longer = any(first <= start and end <= last and (first, last) != (start, end) for first, last in names)
        assert name_spans.contain_longer((start, end)) == longer
    kept = []
    for start, end in spans:
        if all(last <= start or end <= first for first, last in kept):
            kept.append((start, end))
    assert _without_overlaps(spans) == kept
