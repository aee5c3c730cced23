import pickle

import pytest
import spacy

from spacy_sapbert.review.corrections import Correction, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile

TEXT = "Mucoviscidosis, cold and a flu"


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


@pytest.fixture
def make(small_kb):
    def make(path):
        nlp = spacy.blank("en")
        settings = {"kb": str(small_kb.path), "corrections": None if path is None else str(path)}
        nlp.add_pipe("concept_matcher", config={**settings, "min_length": 2})
        nlp.add_pipe("sapbert_linker", config={**settings, "encoder": "none"})
        return nlp

    return make


def correction(action, text, *ids, scope="occurrence", label="", of=TEXT):
    start = of.index(text)
    return Correction(action, scope, document_key(of), start, start + len(text), text, ids, label)


def linked(nlp, text=TEXT):
    return {ent.text: ent.kb_id_ for ent in nlp(text).ents}


def test_corrections_act(make, file):
    assert linked(make(None)) == {"Mucoviscidosis": "D003550", "cold": "D003080"}
    file.add(
        [
            correction("replace", "Mucoviscidosis", "D012640"),
            correction("no_mention", "cold"),
            correction("add", "flu", "D009369", label="Disease"),
        ]
    )
    nlp = make(file.path)
    doc = nlp(TEXT)
    assert {ent.text: ent.kb_id_ for ent in doc.ents} == {"Mucoviscidosis": "D012640", "flu": "D009369"}
    (link,) = doc.ents[0]._.links
    assert (link.score, link.reasons[0][:12]) == (1.0, "corrected on")
    assert linked(nlp, TEXT + ".") == linked(make(None), TEXT + ".")  # another document


def test_rejected_concepts_are_not_proposed(make, file):
    file.add([correction("reject", "cold", "D003080", scope="everywhere")])
    for ent in make(file.path)("A cold").ents:
        assert "D003080" not in dict(ent._.kb_ents)
        assert ent.kb_id_ != "D003080"


def test_the_linker_alone_says_what_is_no_mention(make, file):
    file.add([correction("no_mention", "cold", scope="everywhere")])
    nlp = make(file.path)
    nlp.remove_pipe("concept_matcher")
    doc = nlp.make_doc("cold")
    doc.ents = [doc.char_span(0, 4, label="Disease")]
    (link,) = nlp(doc).ents[0]._.links
    assert (link.concept_id, link.reason[:10]) == (None, "no mention")


def test_a_saved_pipeline_keeps_them_without_the_documents(make, file, tmp_path):
    file.add_documents([("1", "secret text"), ("2", TEXT)], "notes")
    file.add([correction("replace", "cold", "D012640", scope="corpus")])
    nlp = make(file.path)
    wanted = linked(nlp)
    assert wanted["cold"] == "D012640"
    nlp.to_disk(tmp_path / "saved")
    file.path.unlink()
    again = spacy.load(tmp_path / "saved")
    assert linked(again) == linked(pickle.loads(pickle.dumps(again))) == wanted
    assert b"secret text" not in b"".join(path.read_bytes() for path in (tmp_path / "saved").rglob("*.db"))
    again.to_disk(tmp_path / "second")
    assert linked(spacy.load(tmp_path / "second")) == wanted


def test_other_corrections_can_be_set(make, file):
    nlp = make(None)
    file.add([correction("replace", "cold", "D012640")])
    for name in nlp.pipe_names:
        nlp.get_pipe(name).set_corrections(str(file.path))
    assert linked(nlp)["cold"] == "D012640"
    file.undo(1)
    assert linked(nlp)["cold"] == "D012640"  # the file is read once
    nlp.get_pipe("sapbert_linker").set_corrections(None)
    assert linked(nlp)["cold"] == "D003080"


def test_concepts_of_another_vocabulary_are_told(make, file):
    file.add([correction("replace", "cold", "X999"), correction("replace", "cold", "D012640", scope="everywhere")])
    nlp = make(file.path)
    nlp.remove_pipe("concept_matcher")
    doc = nlp.make_doc(TEXT)
    doc.ents = [doc.char_span(16, 20, label="Disease")]
    with pytest.warns(UserWarning, match=r"W417.*1 of 2 concepts.*X999"):
        assert nlp(doc).ents[0].kb_id_ == "D003139"


def test_an_added_mention_wins_over_a_longer_match(make, file):
    text = "A common cold."
    assert linked(make(None), text) == {"common cold": "D003139"}
    file.add([correction("add", "cold", "D003080", of=text, label="Phenomenon")])
    assert linked(make(file.path), text) == {"cold": "D003080"}


@pytest.mark.parametrize(
    ("label", "start", "expected"),
    [
        ("Disease", 7, "Disease"),
        ("Disease", 11, "Disease"),
        ("", 7, "CONCEPT"),
        ("", 11, "Entity"),  # the entity has the same place, so its label stays
    ],
)
def test_an_added_mention_wins_over_an_entity(make, file, label, start, expected):
    text = "He has bad flu."
    file.add([correction("add", "flu", "D009369", of=text, label=label)])
    nlp = make(file.path)
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(start, 14, label="Entity")]
    assert [(ent.text, ent.label_, ent.kb_id_) for ent in nlp(doc).ents] == [("flu", expected, "D009369")]


def test_an_added_text_is_marked_everywhere(make, file):
    file.add([correction("add", "flu", "D009369", scope="everywhere", label="Disease")])
    nlp = make(file.path)
    assert linked(nlp, "A Flu, not influenza; (flu)") == {"Flu": "D009369", "flu": "D009369"}
    file.add([correction("no_mention", "flu", scope="everywhere")])
    assert linked(make(file.path), "A flu") == {}


def test_added_mentions_in_a_span_group(make, file):
    text = "A common cold."
    file.add([correction("add", "cold", "D003080", of=text, scope="everywhere", label="Phenomenon")])
    nlp = make(file.path)
    for name in nlp.pipe_names:
        nlp.get_pipe(name).spans_key = "mine"
    for each in (text, "The common cold"):
        doc = nlp(each)
        found = {(span.text, span.label_) for span in doc.spans["mine"]}
        assert found >= {("common cold", "Disease"), ("cold", "Phenomenon")}


@pytest.mark.parametrize("is_first", [False, True])
def test_mended_flags(make, file, is_first):
    text = "No sentence. She had no cold. Mucoviscidosis."
    file.add([correction("flag", "cold", label="historical", of=text)])
    nlp = make(file.path)
    nlp.add_pipe("sentencizer", first=True)
    nlp.add_pipe("assertion_detector", before="sapbert_linker" if is_first else None)
    ents = nlp(text).ents
    assert [(ent._.assertion, ent._.links[0].assertion) for ent in ents] == [(("historical",),) * 2, ((), ())]
    assert nlp(text + " ").ents[0]._.assertion == ("negated",)


def test_inflections(make, file):
    taught = [
        correction("add", "dizziness", "D012640", scope="everywhere", of="dizziness"),
        correction("reject", "cold", "D003080", scope="everywhere"),
    ]
    file.add(taught)
    nlp = make(file.path)
    assert linked(nlp, "Dizzy today") == {"Dizzy": "D012640"}
    assert "D003080" not in linked(nlp, "Two colds").values()
    assert linked(nlp, "A dizzy cystic fibrosis") == {"dizzy": "D012640", "cystic fibrosis": "D003550"}


def test_an_inflection_of_an_added_mention_is_less_than_a_longer_match(make, file):
    text = "cystic fibrosis"
    file.add([correction("add", "fibroses", "D009369", scope="everywhere", of="fibroses")])
    assert linked(make(file.path), text) == {text: "D003550"}
    assert linked(make(file.path), "a fibrosis") == {"fibrosis": "D009369"}
