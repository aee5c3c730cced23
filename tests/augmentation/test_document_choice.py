from collections import Counter

from spacy_sapbert.augmentation.document_choice import choose
from spacy_sapbert.augmentation.documents import SourceDocument
from spacy_sapbert.augmentation.exclusion import EvaluationSets
from spacy_sapbert.augmentation.search import Hit
from spacy_sapbert.types import Document


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
        return {key: SourceDocument(key, f"Text {key}.", pmid=key) for key in keys if key != "lost"}


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


def test_a_document_without_all_words_goes_last_though_it_was_never_used():
    found, _ = taken(Shelf({"a": ["1"], "b": ["1", "2?"]}), limit=1)
    assert found == {"A": ["1"], "B": ["1"]}


def test_what_cannot_be_had_makes_room_for_the_next():
    search = Shelf({"a": ["lost", "7", "1", "2", "3"], "b": ["7"], "c": []})
    found, choice = taken(search, [Document("7", "")], limit=2)
    assert found == {"A": ["1", "2"], "B": [], "C": []}
    assert choice.counts == {"searched": 3, "found_nothing": 2, "passed_over": 1, "excluded_by_pmid": 1}
    assert search.fetched == ["lost", "7", "1", "2"]
