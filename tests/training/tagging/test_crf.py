"""The CRFs, compared with sums and maxima over all sequences of tags."""

import itertools

import numpy as np
import pytest

from spacy_sapbert.training.tagging.crf import (
    BEGIN,
    INSIDE,
    LAST,
    N_TAGS,
    OUTSIDE,
    TAGS,
    UNIT,
    VALID,
    best_tags,
    expectations,
)

N_TOKENS, N_TYPES, N_TEXTS = 4, 2, 3


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def scores(random):
    return random.normal(scale=2, size=(N_TOKENS, N_TYPES, N_TEXTS, N_TAGS))


@pytest.fixture
def transitions(random):
    return random.normal(size=(N_TYPES, N_TAGS, N_TAGS))


def sequences(allowed=None):
    """Every sequence of tags that a text of mentions can have, among the allowed ones."""
    for tags in itertools.product(range(N_TAGS), repeat=N_TOKENS):
        text = "".join(TAGS[tag] for tag in tags)
        mentions = text.replace("U", "").replace("O", "").replace("I", "")
        complete = mentions == "BL" * (len(mentions) // 2)
        # an I stands only after a B or an I
        unbroken = all(before in "BI" for before, after in itertools.pairwise("O" + text) if after in "IL")
        closed = all(after in "IL" for before, after in itertools.pairwise(text) if before in "BI")
        if complete and unbroken and closed and (allowed is None or all(allowed[range(N_TOKENS), tags])):
            yield tags


def score(tags, scores, transitions):
    return scores[range(N_TOKENS), tags].sum() + sum(transitions[pair] for pair in itertools.pairwise(tags))


@pytest.mark.parametrize("partial", [False, True])
def test_expectations_are_those_of_all_sequences(scores, transitions, random, partial):
    allowed = random.random(scores.shape) < 0.7 if partial else np.ones(scores.shape, dtype=bool)
    allowed[..., OUTSIDE] = True
    found = expectations(scores, transitions, allowed if partial else None)
    for kind, text in itertools.product(range(N_TYPES), range(N_TEXTS)):
        of_text = scores[:, kind, text]
        weights = {tags: np.exp(score(tags, of_text, transitions[kind])) for tags in sequences(allowed[:, kind, text])}
        total = sum(weights.values())
        tags_expected, pairs_expected = np.zeros((N_TOKENS, N_TAGS)), np.zeros((N_TAGS, N_TAGS))
        for tags, weight in weights.items():
            tags_expected[range(N_TOKENS), tags] += weight / total
            for pair in itertools.pairwise(tags):
                pairs_expected[pair] += weight / total
        assert found.log_weight[kind, text] == pytest.approx(np.log(total))
        np.testing.assert_allclose(found.tags[:, kind, text], tags_expected, atol=1e-9)
        np.testing.assert_allclose(found.pairs[kind, text], pairs_expected, atol=1e-9)


def test_the_best_tags_are_those_of_the_best_sequence(scores, transitions):
    found = best_tags(scores, transitions)
    for kind, text in itertools.product(range(N_TYPES), range(N_TEXTS)):
        best = max(sequences(), key=lambda tags: score(tags, scores[:, kind, text], transitions[kind]))
        assert tuple(found[:, kind, text]) == best


def test_expectations_are_the_gradient_of_the_log_weight(scores, transitions):
    found, step = expectations(scores, transitions), 1e-5
    more = scores.copy()
    more[1, 0, 2, BEGIN] += step
    change = expectations(more, transitions).log_weight[0, 2] - found.log_weight[0, 2]
    assert change / step == pytest.approx(found.tags[1, 0, 2, BEGIN], abs=1e-4)
    steeper = transitions.copy()
    steeper[1, BEGIN, LAST] += step
    change = expectations(scores, steeper).log_weight[1] - found.log_weight[1]
    np.testing.assert_allclose(change / step, found.pairs[1, :, BEGIN, LAST], atol=1e-4)


def test_if_all_tags_are_allowed_nothing_is_learned(scores, transitions):
    free, open_text = expectations(scores, transitions), expectations(scores, transitions, np.ones_like(scores, bool))
    np.testing.assert_array_equal(free.tags, open_text.tags)


def test_padding_changes_nothing_if_it_must_be_outside(scores, transitions):
    transitions[:, OUTSIDE, OUTSIDE] = 0
    exists = np.ones((N_TOKENS + 2, N_TYPES, N_TEXTS, N_TAGS), dtype=bool)
    exists[N_TOKENS:, ..., BEGIN:] = False
    for before in (OUTSIDE, LAST, UNIT):
        transitions[:, before, OUTSIDE] = 0
    padded = np.concatenate([scores, np.zeros((2, *scores.shape[1:]))])
    long, short = expectations(padded, transitions, exists), expectations(scores, transitions)
    np.testing.assert_allclose(long.log_weight, short.log_weight)
    np.testing.assert_allclose(long.tags[:N_TOKENS], short.tags)


def test_long_texts_do_not_overflow(random):
    scores = random.normal(scale=50, size=(3000, 1, 1, N_TAGS))
    found = expectations(scores, np.zeros((1, N_TAGS, N_TAGS)))
    assert np.isfinite(found.log_weight).all()
    np.testing.assert_allclose(found.tags.sum(axis=-1), 1)


def test_a_mention_begins_and_ends():
    followers = {TAGS[tag]: {TAGS[after] for after in np.flatnonzero(VALID[tag])} for tag in range(N_TAGS)}
    assert followers["B"] == followers["I"] == {"I", "L"}
    assert followers["O"] == followers["L"] == followers["U"] == {"O", "B", "U"}
    assert TAGS[INSIDE] == "I"
