import json
import math
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.retrieval.phrases import phrases
from spacy_sapbert.retrieval.training_counts import (
    FEATURES,
    DocumentCounts,
    MentionModel,
    TrainingCounts,
    WordCounts,
    count_document,
    phrase_features,
)
from spacy_sapbert.types import Document, Mention

WORDS = ["cold", "fits", "cancer", "the", "of"]


def counts(concepts="", texts="", marked=""):
    return DocumentCounts(frozenset(concepts.split()), Counter(texts.split()), Counter(marked.split()))


@st.composite
def documents(draw):
    texts = Counter(draw(st.lists(st.sampled_from(WORDS), max_size=8)))
    marked = Counter({text: draw(st.integers(0, n)) for text, n in texts.items()})
    return DocumentCounts(frozenset(draw(st.sets(st.sampled_from("ABC")))), texts, +marked)


def test_documents_are_added_up():
    summed = TrainingCounts.of([counts("A B", "cold cold fits rare", "cold"), counts("B", "cold lone fits", "lone")])
    assert summed.concepts == {"A": 1, "B": 2}
    assert summed.texts == {"cold": 3, "fits": 2, "lone": 1}  # "rare" comes once and is not marked
    assert summed.marked == {"cold": 1, "lone": 1}
    assert summed.share == (2 + 1) / (7 + 2)


def test_log_odds():
    summed = TrainingCounts.of([counts("", "cold cold cold fits fits fits", "cold cold cold")])
    share = 4 / 8
    marked, unmarked = (3 + 3 * share) / 6, (0 + 3 * share) / 6
    assert summed.log_odds("cold") == pytest.approx(math.log(marked / (1 - marked)))
    assert summed.log_odds("fits") == pytest.approx(math.log(unmarked / (1 - unmarked)))
    assert summed.log_odds("other") == 0.0


@settings(max_examples=50)
@given(st.lists(documents(), min_size=1, max_size=6))
def test_a_document_can_be_left_out(given_documents):
    own, others = given_documents[0], given_documents[1:]
    summed = TrainingCounts.of(given_documents)
    for text in own.texts:
        n, marked = (sum(other[position][text] for other in others) for position in (1, 2))
        assert summed.occurrences(text, own) == n
        without = TrainingCounts({}, {text: n}, {text: marked}, summed.share)
        assert summed.log_odds(text, own) == without.log_odds(text)


@settings(max_examples=20)
@given(st.lists(documents(), min_size=1, max_size=3))
def test_counts_survive_as_json(given_documents):
    summed = TrainingCounts.of(given_documents)
    again = TrainingCounts.from_json(json.loads(json.dumps(summed.as_json())))
    assert replace(again, names=summed.names) == summed


def test_words_by_hand():
    text = "Cold fits and cold feet. A cold"
    counted = WordCounts.of(text, [(0, 9), (5, 9), (14, 23), (15, 23), (14, 22), (0, 9)])
    assert counted.seen == {"cold": 3, "fits": 1, "and": 1, "feet": 1, "a": 1}
    assert counted.inside == {"cold": 2, "fits": 1, "feet": 1}  # the mentions that cut a word do not count
    assert counted.first == {"cold": 2, "fits": 1}
    assert counted.last == {"fits": 2, "feet": 1}


def test_signs_at_the_ends_of_mentions():
    text = "(+)-naloxone and Na+ and Ca(2+), co-factor"
    spans = [(0, 12), (17, 20), (25, 31), (36, 42), (33, 37)]
    counted = WordCounts.of(text, spans)
    assert counted.inside == {"naloxone": 1, "na": 1, "ca": 1, "2": 1, "factor": 1}
    assert counted.first == {"naloxone": 1, "na": 1, "ca": 1, "factor": 1}
    assert WordCounts.of("++", [(0, 2)]).inside == {}


def test_names_that_mentions_become():
    text = "Acute liver failure (ALF), breast and ovarian cancer"
    spans = [(0, 19, ("N3",)), (21, 24, ("N3",)), (27, 52, ("N1", "N2"))]
    mentions = tuple(Mention(start, end, text[start:end], "Disease", ids) for start, end, ids in spans)
    counted = count_document(spacy.blank("en").make_doc(text), Document("1", text, mentions))
    assert counted.names == {"acute liver failure", "breast cancer", "ovarian cancer"}
    assert TrainingCounts.of([counted, counted]).names == dict.fromkeys(counted.names, 2)


def test_a_document_is_counted():
    text = "Cold. A cold and fits of the"
    spans = [(0, 4, "D1"), (8, 12, "D2"), (17, 28, "D1"), (6, 7, "")]
    mentions = [Mention(start, end, text[start:end], "Disease", (id,) if id else ()) for start, end, id in spans]
    counted = count_document(spacy.blank("en").make_doc(text), Document("1", text, tuple(mentions)))
    assert counted.concepts == {"D1", "D2"}
    assert counted.texts == {"cold": 2, "cold and fits": 1, "fits": 1, "fits of the": 1}
    assert counted.marked == {"cold": 2, "fits of the": 1}
    assert counted.words.inside == {"cold": 2, "fits": 1, "of": 1, "the": 1}


def test_known_texts():
    summed = TrainingCounts.of([counts("", "cold cold fits", "cold")])
    assert summed.known("cold") == (summed.log_odds("cold"), True)
    assert summed.known("fits") == (0.0, False)  # once and not annotated
    assert summed.known("cold", counts("", "cold cold", "cold")) == (pytest.approx(0.0), False)
    assert summed.known("other") == (0.0, False)


NLP = spacy.blank("en")


def counted(text, *mentions):
    found = [Mention(text.index(one), text.index(one) + len(one), one, "Disease", ("D1",)) for one in mentions]
    return count_document(NLP.make_doc(text), Document("1", text, tuple(found)))


def features_of(text, counts, **own):
    found = phrases(NLP.make_doc(text))
    rows = phrase_features(text, found, counts, **own)
    assert rows.shape == (len(found), len(FEATURES))
    return {one.text: dict(zip(FEATURES, row.tolist(), strict=True)) for one, row in zip(found, rows, strict=True)}


def log_odds(share):
    return math.log(share / (1 - share))


TRAINING = [
    counted("Eye anomalies of mice. Mice ran", "Eye anomalies"),
    counted("Mice had skin lesions and nails", "skin lesions"),
]


def test_features_by_hand():
    counts = TrainingCounts.of(TRAINING)
    seen = features_of("Severe skin anomalies (rare)", counts)["skin anomalies"]
    inside, last = (4 + 1) / (12 + 2), (2 + 1) / (12 + 2)  # four of twelve words are in a mention, two are its last
    assert seen["highest"] == seen["lowest"] == seen["last inside"]
    assert seen["highest"] == pytest.approx(log_odds((1 + 3 * inside) / (1 + 3)) - log_odds(inside))
    assert seen["last"] == pytest.approx(log_odds((1 + 3 * last) / (1 + 3)) - log_odds(last))
    assert (seen["words"], seen["has a new word"], seen["last seen"]) == (2, 0, pytest.approx(math.log(2)))
    assert (seen["before"], seen["after a sign"], seen["before a sign"]) == (0, 0, 1)  # "severe" is a new word
    assert (seen["known"], seen["often"]) == (0, pytest.approx(math.log(2)))
    assert features_of("Severe skin", counts)["severe skin"]["has a new word"] == 1


def test_neighbors():
    seen = features_of("The anomalies of mice", TrainingCounts.of(TRAINING))["anomalies"]
    assert (seen["after a stop word"], seen["before a stop word"]) == (1, 1)
    mice = features_of("anomalies mice", TrainingCounts.of(TRAINING))
    assert mice["mice"]["before"] == mice["anomalies"]["highest"]
    assert mice["anomalies"]["after"] == mice["mice"]["highest"] < 0


def test_probabilities_stay_finite():
    model = MentionModel((1e6,) * len(FEATURES), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.probabilities(np.full((1, len(FEATURES)), -1.0))[0] < 1e-12


def test_parts_of_composites_have_their_own_words():
    seen = features_of("Breast and ovarian cancer", TrainingCounts.of(TRAINING))
    assert (seen["breast cancer"]["words"], seen["breast and ovarian cancer"]["words"]) == (2, 4)


def test_a_document_leaves_out_its_own_counts():
    counts, own = TrainingCounts.of(TRAINING), TRAINING[0]
    others = TrainingCounts.of(TRAINING[1:])
    text = "Eye anomalies of mice. Mice ran"
    without, other = features_of(text, counts, own=own), features_of(text, others)
    assert without["eye anomalies"]["known"] == 0
    assert without["anomalies"]["has a new word"] == 1
    assert without["mice"]["last seen"] == other["mice"]["last seen"]
    assert without["anomalies"]["highest"] == other["anomalies"]["highest"] == 0


def test_what_is_like_a_mention_is_more_likely():
    texts = {
        "Eye anomalies were seen. Nobody knew it": ["Eye anomalies"],
        "Lung anomalies were rare. Authors wrote this": ["Lung anomalies"],
        "Authors knew skin lesions. Results follow": ["skin lesions"],
        "Results of heart lesions were new": ["heart lesions"],
    }
    own = {text: counted(text, *mentions) for text, mentions in texts.items()}
    counts = TrainingCounts.of(own.values())
    rows, right = [], []
    for text, of_text in own.items():
        found = phrases(NLP.make_doc(text))
        rows.append(phrase_features(text, found, counts, of_text))
        right += [of_text.marked[one.text] > 0 for one in found]
    model = MentionModel.fit(np.concatenate(rows), np.array(right))
    text = "Authors saw heart anomalies"
    found = phrases(NLP.make_doc(text))
    likely = dict(
        zip((one.text for one in found), model.probabilities(phrase_features(text, found, counts)), strict=True)
    )
    assert max(likely, key=likely.__getitem__) == "heart anomalies"
    assert MentionModel.from_json(model._asdict()) == model
    with pytest.raises(ValueError, match="another version"):
        MentionModel.from_json({"weights": [1.0], "bias": 0})


@pytest.mark.parametrize("right", [False, True])
def test_nothing_to_learn(right):
    assert MentionModel.fit(np.zeros((3, len(FEATURES))), np.full(3, right)) is None
