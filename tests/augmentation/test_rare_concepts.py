from collections import Counter

from spacy_sapbert.augmentation.rare_concepts import primary_ids, rare_concepts, training_documents
from spacy_sapbert.kb.ids import read_labels
from spacy_sapbert.types import Document, Mention


def document(*ids):
    return Document("1", "text", tuple(Mention(0, 4, "text", "Disease", (one,)) for one in ids))


def test_training_documents_are_counted_by_primary_id(small_kb):
    counts = training_documents([document("OMIM:219700", "D003550"), document("D003550", "unknown")], small_kb)
    assert counts == {"D003550": 2}


def test_the_scarcest_come_first_unseen_ones_included(small_kb):
    counts = Counter({"D003550": 2, "D009369": 10, "D001943": 1})
    labels = ["D009369", "D003550", "D001943", "D010051"]
    found = rare_concepts(counts, labels, small_kb, 10)
    assert found == [
        ("D010051", "Ovarian Neoplasms"),
        ("D001943", "Breast Neoplasms"),
        ("D003550", "Cystic Fibrosis"),
    ]
    assert [one for one, _ in rare_concepts(counts, None, small_kb, 2)] == ["D001943"]
    assert len(rare_concepts(counts, labels, small_kb, None)) == 4
    assert len(rare_concepts(Counter(), None, small_kb, None)) == len(small_kb)


def test_labels_are_read(tmp_path, small_kb):
    path = tmp_path / "labels.txt"
    path.write_text("MESH:D003550\n\nOMIM:219700\nC9\n")
    assert read_labels(path) == ["D003550", "OMIM:219700", "C9"]
    assert primary_ids(read_labels(path), small_kb) == (["D003550"], 1)
