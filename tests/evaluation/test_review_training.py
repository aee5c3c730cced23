"""A pipeline that learns from a review, and what it does on decisions that were held out."""

import io
from functools import partial

import pytest
import spacy
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.evaluation.review_training import HeldOut, held_out_decisions, review_gain, train_on_review
from spacy_sapbert.review.corrections import Correction, ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile

OVARIAN, CF, ASPIRIN, LITHIUM = "D010051", "D003550", "D001241", "D008094"
UNSEEN = "Aspirin, cystic fibrosis, ASA and salicylates."


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "corrections.db", create=True)


@pytest.fixture
def decide(file):
    """A function that writes a document of a corpus, and decisions about its texts: action, text, ids, scope."""

    def write(doc_id, text, *decisions, corpus="notes"):
        key = document_key(text)
        places = [(text.index(part), part) for _, part, *_ in decisions]
        file.add_documents([(doc_id, text)], corpus)
        file.set_links([key], [ProposedLink(key, start, start + len(part), part) for start, part in places])
        file.add(
            Correction(action, scope or "corpus", key, start, start + len(part), part, tuple(ids))
            for (start, part), (action, _, ids, scope) in zip(places, decisions, strict=True)
        )

    return write


@pytest.fixture(scope="module")
def pipeline(small_kb, tmp_path_factory):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(small_kb.path)})
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    folder = tmp_path_factory.mktemp("matching") / "pipeline"
    nlp.to_disk(folder)
    return partial(spacy.load, folder)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "learned").mkdir()
    return tmp_path / "learned"


def links(nlp, text=UNSEEN):
    return {ent.text: ent.kb_id_ for ent in nlp(text).ents}


def test_it_does_the_same_in_other_documents(pipeline, file, decide, folder, tmp_path):
    assert links(pipeline()) == {"Aspirin": ASPIRIN, "cystic fibrosis": CF, "ASA": ASPIRIN}
    text = "aspirin; cystic fibrosis; salicylates; ASA"
    decide(
        "1",
        text,
        ("replace", "aspirin", [LITHIUM], None),  # it is the preferred name of another concept
        ("no_mention", "cystic fibrosis", [], None),
        ("add", "salicylates", [ASPIRIN], None),
        ("replace", "ASA", [LITHIUM], None),  # a short form can mean something else elsewhere
    )
    nlp = pipeline()
    assert train_on_review(nlp, file, folder) == {"corrections": 4, "names": 2}
    wanted = {"Aspirin": LITHIUM, "ASA": ASPIRIN, "salicylates": ASPIRIN}
    assert links(nlp) == wanted
    assert links(nlp, text)["ASA"] == LITHIUM
    nlp.to_disk(tmp_path / "saved")
    saved = spacy.load(tmp_path / "saved")
    assert links(saved) == wanted
    assert links(saved, "A salicylate.") == {"salicylate": ASPIRIN}  # a name, so also in other forms
    assert len(list((tmp_path / "saved" / "shared").glob("kb-*"))) == 1
    assert str(folder) not in (tmp_path / "saved" / "config.cfg").read_text()


def test_a_rejected_concept_stays_rejected(pipeline, file, decide, folder):
    decide("1", "Aspirin.", ("reject", "Aspirin", [ASPIRIN], None))
    nlp = pipeline()
    train_on_review(nlp, file, folder)
    assert links(nlp)["Aspirin"] != ASPIRIN


def test_held_out_decisions(pipeline, file, decide):
    # ten documents say the same for their corpus, and ten have a place that only they know
    for number in range(10):
        decide(f"a{number}", f"aspirin for case {number}", ("replace", "aspirin", [LITHIUM], None))
        decide(f"b{number}", f"CF of case {number}", ("replace", "CF", [LITHIUM], "occurrence"))
    decide("c", "Ovarian cancer, and no more", ("accept", "Ovarian cancer", [OVARIAN], None))
    decide("d", "an unknown concept", ("add", "an unknown concept", ["X9"], "occurrence"))
    problems = Problems(Console(file=io.StringIO()))
    decisions = held_out_decisions(pipeline, file, problems)
    figures = {(one.text, one.is_new, one.before, one.after) for one in decisions}
    assert figures == {
        ("aspirin", False, False, True),
        ("CF", False, False, False),
        ("Ovarian cancer", True, True, True),
    }
    assert len(decisions) == 21
    assert review_gain(decisions) is None


def test_nothing_of_a_held_out_document_is_learned(pipeline, file, decide):
    """Each document is a corpus of its own, so that no decision holds in another one."""
    for number in range(8):
        decide(
            str(number),
            f"aspirin for case {number}",
            ("replace", "aspirin", [(LITHIUM, CF)[number % 2]], None),
            corpus=str(number),
        )
    decisions = held_out_decisions(pipeline, file, Problems(Console(file=io.StringIO())))
    assert [one.after for one in decisions] == [False] * 8


def test_a_pipeline_that_learned_before_has_no_advantage(pipeline, file, decide, folder, tmp_path):
    for number in range(5):
        decide(str(number), f"tablet {number}", ("add", f"tablet {number}", [ASPIRIN], None))
    nlp = pipeline()
    train_on_review(nlp, file, folder)
    nlp.to_disk(tmp_path / "saved")
    again = partial(spacy.load, tmp_path / "saved")
    assert links(again(), "tablet 3") == {"tablet 3": ASPIRIN}
    decisions = held_out_decisions(again, file, Problems(Console(file=io.StringIO())))
    assert [(one.before, one.is_new) for one in decisions] == [(False, True)] * 5


def test_too_few_documents(pipeline, file, decide):
    decide("1", "Aspirin.", ("accept", "Aspirin", [ASPIRIN], None))
    assert held_out_decisions(pipeline, file, Problems(Console(file=io.StringIO()))) == []


def test_gain():
    """Of 40 decisions in 4 documents, 10 are mended and 2 broken."""
    kinds = [(False, True)] * 10 + [(True, False)] * 2 + [(True, True)] * 28
    decisions = [
        HeldOut(f"d{number % 4}", f"t{number}", "accept" if number < 20 else "add", ("D1",), number < 12, *kind)
        for number, kind in enumerate(kinds)
    ]
    gain = review_gain(decisions)
    # documents gain 3 - 0, 3 - 0, 2 - 1 and 2 - 1 of 10 each, so the error is 100 * sqrt(4 / 3 * 4) / 40
    assert gain["all"] == {
        "n": 40,
        "before": 75.0,
        "after": 95.0,
        "difference": 20.0,
        "se": 5.77,
        "mended": 10,
        "broken": 2,
    }
    assert (gain["accept"]["n"], gain["add"]["difference"], gain["new_texts"]["n"]) == (20, 0.0, 12)
    assert gain["broken"] == [{"text": f"t{n}", "action": "accept", "concept_ids": ("D1",)} for n in (10, 11)]


def test_concepts_of_another_vocabulary_are_reported(pipeline, file, decide, folder):
    decide("1", "glorkness", ("add", "glorkness", ["ZZZ:2"], None))
    with pytest.warns(UserWarning, match=r"W417.*corrections\.db.*ZZZ:2"):
        assert train_on_review(pipeline(), file, folder)["names"] == 0
