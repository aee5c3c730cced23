from collections import Counter

import pytest

from spacy_sapbert.augmentation.documents import EvaluationSets
from spacy_sapbert.augmentation.search import FolderSearch, Hit, choose, primary_ids, rare_concepts, training_documents
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention

TEXTS = [
    "Cystic fibrosis is inherited.",
    "Lung fibrosis in mice.",
    'Fibrosis, "cystic" ones AND others, NEAR the lungs.',
    "Nothing of that.",
]


@pytest.fixture
def search(tmp_path):
    documents = [Document(f"d{number}", text) for number, text in enumerate(TEXTS)]
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
        Document("1", "Kept text.", meta={"pmid": "11"}),
        Document("2", "Other words.", meta={"pmid": "PMID:011"}),
        Document("3", "KEPT text"),
        Document("4", "In the set by number.", meta={"pmid": 99}),
        Document("5", "A title in the set. And more.", title="A title in the set."),
    ]
    exclude = EvaluationSets([Document("99", "A title in the set. Text.")])
    search = FolderSearch(tmp_path / "words.db", documents, exclude)
    assert search.counts == {"documents": 5, "duplicates": 2, "excluded_by_pmid": 1, "excluded_by_title": 1}
    assert [search.fetch([hit.key])[hit.key].doc_id for hit in search.find("text title number words", 9)] == ["1"]
    search.close()


@pytest.mark.parametrize("pmid", [10**30, ["1"], {"a": 1}, None, True])
def test_any_value_can_be_a_pmid(tmp_path, pmid):
    search = FolderSearch(tmp_path / "words.db", [Document("1", "Text.", meta={"pmid": pmid})], EvaluationSets())
    assert search.fetch(["1"])["1"].meta == {"pmid": str(pmid or "")}
    search.close()


def test_a_file_that_cannot_be_made_is_reported(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E507\].*unable to open"):
        FolderSearch(tmp_path / "none" / "words.db", [], EvaluationSets())


class Shelf:
    """A search whose answers are given; documents named "lost" have no text."""

    def __init__(self, answers):
        self.answers = answers
        self.counts = Counter()
        self.fetched = []

    def find(self, name, limit):
        return [Hit(key.strip("?"), "?" not in key) for key in self.answers.get(name, ())][:limit]

    def fetch(self, keys):
        self.fetched += keys
        return {key: Document(key, f"Text {key}.", meta={"pmid": key}) for key in keys if key != "lost"}


def taken(search, exclude=(), **settings):
    concepts = [(name.upper(), name) for name in search.answers]
    choice = choose(concepts, search, EvaluationSets(exclude), **settings)
    found = {
        name.upper(): [key for key in choice.documents if name.upper() in choice.concepts[key]]
        for name in search.answers
    }
    return found, choice


def test_documents_used_least_go_first():
    answers = {"a": ["1", "2"], "b": ["1", "2", "3", "4"], "c": ["1", "3", "5?"]}
    found, choice = taken(Shelf(answers), limit=2)
    assert found == {"A": ["1", "2"], "B": ["3", "4"], "C": ["1", "3"]}
    assert choice.counts["passed_over"] == 2
    found, choice = taken(Shelf(answers), limit=2, diverse=False)
    assert found == {"A": ["1", "2"], "B": ["1", "2"], "C": ["1", "3"]}
    assert choice.counts["passed_over"] == 0


def test_what_cannot_be_had_makes_room_for_the_next():
    search = Shelf({"a": ["lost", "7", "1", "2", "3"], "b": ["7"], "c": []})
    found, choice = taken(search, [Document("7", "")], limit=2)
    assert found == {"A": ["1", "2"], "B": [], "C": []}
    assert choice.counts == {"searched": 3, "found_nothing": 2, "passed_over": 1, "excluded_by_pmid": 1}
    assert search.fetched == ["lost", "7", "1", "2"]


def document(*ids):
    return Document("1", "text", tuple(Mention(0, 4, "text", "Disease", (one,)) for one in ids))


def test_training_documents_are_counted_by_primary_id(small_kb):
    counts = training_documents([document("OMIM:219700", "D003550"), document("D003550", "unknown")], small_kb)
    assert counts == {"D003550": 2}


def test_the_scarcest_come_first_unseen_ones_included(small_kb):
    counts = Counter({"D003550": 2, "D009369": 10, "D001943": 1})
    labels = ["D009369", "D003550", "D001943", "D010051"]
    found = rare_concepts(counts, labels, small_kb, 10)
    assert found == [("D010051", "Ovarian Neoplasms"), ("D001943", "Breast Neoplasms"), ("D003550", "Cystic Fibrosis")]
    assert [one for one, _ in rare_concepts(counts, None, small_kb, 2)] == ["D001943"]
    assert len(rare_concepts(counts, labels, small_kb, None)) == 4
    assert len(rare_concepts(Counter(), None, small_kb, None)) == len(small_kb)


def test_primary_ids_of_labels(small_kb):
    assert primary_ids(["D003550", "OMIM:219700", "C9"], small_kb) == (["D003550"], 1)
