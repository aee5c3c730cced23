"""The CRFs, compared with sums and maxima over all sequences of tags."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.training.tagging.crf import (
    BEGIN,
    INSIDE,
    LAST,
    N_TAGS,
    OUTSIDE,
    TAGS,
    UNIT,
    VALID,
    TokenSpan,
    allowed_tags,
    best_tags,
    expectations,
    find_spans,
    padded,
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
    result = expectations(scores, transitions, allowed if partial else None)
    for kind, text in itertools.product(range(N_TYPES), range(N_TEXTS)):
        of_text = scores[:, kind, text]
        weights = {tags: np.exp(score(tags, of_text, transitions[kind])) for tags in sequences(allowed[:, kind, text])}
        total = sum(weights.values())
        tags_expected, pairs_expected = np.zeros((N_TOKENS, N_TAGS)), np.zeros((N_TAGS, N_TAGS))
        for tags, weight in weights.items():
            tags_expected[range(N_TOKENS), tags] += weight / total
            for pair in itertools.pairwise(tags):
                pairs_expected[pair] += weight / total
        assert result.log_weight[kind, text] == pytest.approx(np.log(total))
        np.testing.assert_allclose(result.tags[:, kind, text], tags_expected, atol=1e-9)
        np.testing.assert_allclose(result.pairs[kind, text], pairs_expected, atol=1e-9)


def test_the_best_tags_are_those_of_the_best_sequence(scores, transitions):
    result = best_tags(scores, transitions)
    for kind, text in itertools.product(range(N_TYPES), range(N_TEXTS)):
        best = max(sequences(), key=lambda tags: score(tags, scores[:, kind, text], transitions[kind]))
        assert tuple(result[:, kind, text]) == best


def test_expectations_are_the_gradient_of_the_log_weight(scores, transitions):
    result, step = expectations(scores, transitions), 1e-5
    more = scores.copy()
    more[1, 0, 2, BEGIN] += step
    change = expectations(more, transitions).log_weight[0, 2] - result.log_weight[0, 2]
    assert change / step == pytest.approx(result.tags[1, 0, 2, BEGIN], abs=1e-4)
    steeper = transitions.copy()
    steeper[1, BEGIN, LAST] += step
    change = expectations(scores, steeper).log_weight[1] - result.log_weight[1]
    np.testing.assert_allclose(change / step, result.pairs[1, :, BEGIN, LAST], atol=1e-4)


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
    result = expectations(scores, np.zeros((1, N_TAGS, N_TAGS)))
    assert np.isfinite(result.log_weight).all()
    np.testing.assert_allclose(result.tags.sum(axis=-1), 1)


def test_a_mention_begins_and_ends():
    followers = {TAGS[tag]: {TAGS[after] for after in np.flatnonzero(VALID[tag])} for tag in range(N_TAGS)}
    assert followers["B"] == followers["I"] == {"I", "L"}
    assert followers["O"] == followers["L"] == followers["U"] == {"O", "B", "U"}
    assert TAGS[INSIDE] == "I"


LABELS = ("Disease", "Gene")
NO_TRANSITIONS = np.zeros((2, N_TAGS, N_TAGS))


def allowed(n_tokens, *spans, annotated=LABELS, unsure=()):
    """The allowed tags of each label as text, such as "B L O"; "*" if all are allowed."""
    result = allowed_tags(
        n_tokens, LABELS, [TokenSpan(*span) for span in spans], annotated, map(TokenSpan._make, unsure)
    )
    texts = []
    for column in range(len(LABELS)):
        rows = [
            "".join(tag for tag, is_allowed in zip(TAGS, row, strict=True) if is_allowed) for row in result[:, column]
        ]
        texts.append(" ".join("*" if row == TAGS else row for row in rows))
    return texts


@pytest.mark.parametrize(
    ("n_tokens", "spans", "settings", "expected"),
    [
        (5, [(1, 4, "Disease"), (4, 5, "Gene")], {}, ["O B I L O", "O O O O U"]),
        # another label is unknown except on mentions
        (4, [(1, 3, "Disease")], {"annotated": ["Disease"]}, ["O B L O", "* O O *"]),
        # an unsure span is open unless it is a mention
        (3, [(2, 3, "Gene")], {"unsure": [(0, 1, "Gene"), (2, 3, "Gene")]}, ["O O O", "* O U"]),
        # labels of other kinds are left out
        (2, [(0, 1, "Plant")], {"unsure": [(1, 2, "Plant")]}, ["O O", "O O"]),
    ],
)
def test_allowed_tags(n_tokens, spans, settings, expected):
    assert allowed(n_tokens, *spans, **settings) == expected


def test_an_empty_document_has_no_tags():
    assert allowed_tags(0, LABELS, [], LABELS).shape == (0, 2, N_TAGS)


def scores_for(*tags_of_labels):
    """Scores that prefer these tags, one text of tags per label."""
    scores = np.zeros((len(tags_of_labels[0]), len(tags_of_labels), N_TAGS))
    for column, tags in enumerate(tags_of_labels):
        for token, tag in enumerate(tags):
            scores[token, column, TAGS.index(tag)] = 5
    return scores


def find(*documents):
    return [[tuple(span) for span in spans] for spans in find_spans(documents, NO_TRANSITIONS, LABELS)]


def test_spans_of_the_best_tags():
    assert find(scores_for("OBILU", "UOOOO")) == [[(0, 1, "Gene"), (1, 4, "Disease"), (4, 5, "Disease")]]


def test_of_overlapping_spans_the_surer_one_counts():
    scores = scores_for("BLO", "OUO")
    assert find(scores) == [[(0, 2, "Disease")]]
    scores[1, 1] *= 3
    assert find(scores) == [[(1, 2, "Gene")]]


def test_each_document_has_its_own_spans():
    documents = [scores_for("UO", "OU"), np.zeros((0, 2, N_TAGS)), scores_for("OOOBL", "OOOOO")]
    assert find(*documents) == [[(0, 1, "Disease"), (1, 2, "Gene")], [], [(3, 5, "Disease")]]


def test_no_mention_goes_beyond_the_end():
    # the last token of the shorter document would like to begin a mention; it has no score for one of its own
    shorter = scores_for("OB", "OO")
    shorter[1, 0, TAGS.index("U")] = -1
    assert find(shorter, scores_for("OOOOO", "OOOOO")) == [[], []]


@given(st.lists(st.integers(0, 12), max_size=6), st.integers(0, 2**16))
def test_documents_do_not_influence_each_other(lengths, seed):
    random = np.random.default_rng(seed)
    documents = [random.normal(scale=3, size=(length, 2, N_TAGS)) for length in lengths]
    together = find_spans(documents, NO_TRANSITIONS, LABELS)
    assert together == [find_spans([document], NO_TRANSITIONS, LABELS)[0] for document in documents]
    for spans, document in zip(together, documents, strict=True):
        taken = [token for span in spans for token in range(span.start, span.end)]
        assert len(taken) == len(set(taken))
        assert all(token < len(document) for token in taken)


def test_padding_is_outside():
    joined = padded([np.ones((1, 2, N_TAGS)), np.ones((3, 2, N_TAGS))], outside_only=True)
    assert joined.shape == (3, 2, 2, N_TAGS)
    assert joined[2, :, 0].argmax(axis=-1).tolist() == [0, 0]
    assert joined[2, 0, 1] == pytest.approx(1)
