import pytest

from spacy_sapbert.augmentation.documents import EvaluationSets, SourceDocument
from spacy_sapbert.augmentation.search import FolderSearch, Hit
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document

TEXTS = [
    "Cystic fibrosis is inherited.",
    "Lung fibrosis in mice.",
    'Fibrosis, "cystic" ones AND others, NEAR the lungs.',
    "Nothing of that.",
]


@pytest.fixture
def search(tmp_path):
    documents = [SourceDocument(f"d{number}", text) for number, text in enumerate(TEXTS)]
    found = FolderSearch(tmp_path / "words.db", documents, EvaluationSets())
    yield found
    found.close()


def test_documents_with_all_words_come_first(search):
    hits = search.find("Fibrosis, Cystic", 10)
    found = search.fetch([hit.key for hit in hits])
    assert [(found[hit.key].doc_id, hit.whole) for hit in hits] == [("d0", True), ("d2", True), ("d1", False)]
    assert search.find("Fibrosis, Cystic", 2) == hits[:2]


@pytest.mark.parametrize("name", ['a" OR "b', "NEAR/", "((", "*", "", "zebra"])
def test_any_name_can_be_searched_for(search, name):
    assert all(isinstance(hit, Hit) for hit in search.find(name, 3))


def test_overlaps_and_duplicates_are_left_out_and_counted(tmp_path):
    documents = [
        SourceDocument("1", "Kept text.", pmid="11"),
        SourceDocument("2", "Other words.", pmid="PMID:011"),
        SourceDocument("3", "KEPT text"),
        SourceDocument("4", "In the set by number.", pmid="99"),
        SourceDocument("5", "A title in the set. And more.", "A title in the set."),
    ]
    exclude = EvaluationSets([Document("99", "A title in the set. Text.")])
    search = FolderSearch(tmp_path / "words.db", documents, exclude)
    assert search.counts == {"documents": 5, "duplicates": 2, "excluded_by_pmid": 1, "excluded_by_title": 1}
    assert [search.fetch([hit.key])[hit.key].doc_id for hit in search.find("text title number words", 9)] == ["1"]
    search.close()


def test_a_file_that_cannot_be_made_is_reported(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E507\].*unable to open"):
        FolderSearch(tmp_path / "none" / "words.db", [], EvaluationSets())
