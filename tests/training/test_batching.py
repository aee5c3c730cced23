from __future__ import annotations

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_sapbert.documents.docs import PROVENANCE
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.pair_files import Pair
from spacy_sapbert.training.pair_table import PairTable, shuffled_batches
from spacy_sapbert.training.retriever_trainer import mixed_batches

PAIRS = PairTable(Pair(f"C{number}", f"a{number}", f"b{number}") for number in range(23))


def batches(seed, size=5):
    return [batch.tolist() for batch in shuffled_batches(size)(PAIRS, np.random.default_rng(seed))]


def test_every_pair_comes_once_an_epoch():
    result = batches(0)
    assert [len(batch) for batch in result] == [5, 5, 5, 5, 3]
    assert sorted(number for batch in result for number in batch) == list(range(23))


def test_chance_decides_the_order():
    assert batches(0) == batches(0)
    assert batches(0) != batches(1)
    assert batches(0, size=23)[0] != list(range(23))


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_has_to_be_above_0(size):
    with pytest.raises(SapbertError, match=rf"E406.*size.*{size}"):
        shuffled_batches(size)


# --- documents annotated by people and by rules

NLP = spacy.blank("en")


def example(name):
    doc = Doc(NLP.vocab, words=[name])
    if name.startswith("rule"):
        doc.user_data[PROVENANCE] = {}
    return Example(doc.copy(), doc)


def document_batches(names, **sizes):
    result = mixed_batches(**sizes)([example(name) for name in names])
    return [[one.reference.text.strip() for one in batch] for batch in result]


def test_every_batch_has_its_share_of_both():
    names = ["rule1", "a", "b", "rule2", "c", "rule3", "d", "e"]
    assert document_batches(names, manual=2, augmented=1) == [["a", "b", "rule1"], ["c", "d", "rule2"], ["e", "rule3"]]


def test_few_documents_by_rule_come_again():
    assert document_batches(["rule1", "a", "b", "c"], manual=1, augmented=1) == [
        ["a", "rule1"],
        ["b", "rule1"],
        ["c", "rule1"],
    ]


def test_more_of_them_than_fit_do_not_make_an_epoch_longer():
    names = ["a", *(f"rule{number}" for number in range(50))]
    assert document_batches(names, manual=4, augmented=2) == [["a", "rule0", "rule1"]]


@pytest.mark.parametrize("kind", ["rule", "manual"])
def test_documents_of_one_kind_alone(kind):
    names = [f"{kind}{number}" for number in range(5)]
    assert document_batches(names, manual=2, augmented=3) == [names[:2], names[2:4], names[4:]]


@pytest.mark.parametrize("sizes", [{"manual": 0}, {"augmented": 0}, {"augmented": -1}])
def test_sizes_have_to_be_above_0(sizes):
    with pytest.raises(SapbertError, match=rf"E406.*{next(iter(sizes))}"):
        mixed_batches(**sizes)
