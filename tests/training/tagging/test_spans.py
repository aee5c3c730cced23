import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.training.tagging.crf import N_TAGS, TAGS
from spacy_sapbert.training.tagging.spans import TokenSpan, allowed_tags, find_spans, padded

LABELS = ("Disease", "Gene")
NO_TRANSITIONS = np.zeros((2, N_TAGS, N_TAGS))


def allowed(n_tokens, *spans, annotated=LABELS, unsure=()):
    """The allowed tags of each label as text, such as "B L O"; "*" if all are allowed."""
    found = allowed_tags(
        n_tokens, LABELS, [TokenSpan(*span) for span in spans], annotated, map(TokenSpan._make, unsure)
    )
    texts = []
    for column in range(len(LABELS)):
        rows = [
            "".join(tag for tag, is_allowed in zip(TAGS, row, strict=True) if is_allowed) for row in found[:, column]
        ]
        texts.append(" ".join("*" if row == TAGS else row for row in rows))
    return texts


def test_annotated_labels_have_exactly_their_mentions():
    assert allowed(5, (1, 4, "Disease"), (4, 5, "Gene")) == ["O B I L O", "O O O O U"]


def test_another_label_is_unknown_except_on_mentions():
    assert allowed(4, (1, 3, "Disease"), annotated=["Disease"]) == ["O B L O", "* O O *"]


def test_an_unsure_span_is_open_unless_it_is_a_mention():
    assert allowed(3, (2, 3, "Gene"), unsure=[(0, 1, "Gene"), (2, 3, "Gene")]) == ["O O O", "* O U"]


def test_labels_of_other_kinds_are_left_out():
    assert allowed(2, (0, 1, "Plant"), unsure=[(1, 2, "Plant")]) == ["O O", "O O"]


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
