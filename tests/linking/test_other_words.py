from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.stop_names import StopNameRules
from spacy_sapbert.linking.other_words import LEAST_SCORE, OtherWords, worded_types
from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.types import Name, Record


def kb_of(folder, *concepts, types=()):
    records = [
        Record(f"D{number}", tuple(Name(name, "exact", "test") for name in names), types=types)
        for number, names in enumerate(concepts)
    ]
    return build_knowledge_base(records, Path(folder) / "names.kb", stop_names=StopNameRules(default=False))


@pytest.fixture
def said(tmp_path):
    """A function that returns what of a text says one of some names: (text, name)."""

    def find(text, *names):
        finder = OtherWords.build(kb_of(tmp_path, *([name] for name in names)))
        return [(text[match.start : match.end], finder.kb.name(match.row)) for match in finder.find(text)]

    return find


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("renal anomalies", "Abnormality of the kidney"),
        ("anomalies of the kidneys", "Kidney abnormality"),
        ("reduced muscle mass", "Decreased muscle mass"),
        ("elbow deformity", "Abnormality of the elbow"),
        ("small hippocampi", "Small hippocampus"),
        ("abnormal roving eye movement", "Abnormal eye movement"),
        ("elevated hepatic enzymes", "Increased liver enzymes"),
    ],
)
def test_a_name_in_other_words(said, text, name):
    assert said(f"She had {text}, and so on.", name) == [(text, name)]


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("es", "anomalías del riñón", "Anomalía renal"),
        ("es", "neoplasia hepática", "Tumor del hígado"),
        ("fr", "malformations du rein", "Anomalie du rein"),
        ("de", "Fehlbildungen der Nieren", "Anomalie der Niere"),
    ],
)
def test_other_languages(tmp_path, language, text, name):
    finder = OtherWords.build(kb_of(tmp_path, [name]), rules_of(language))
    assert [text[match.start : match.end] for match in finder.find(text)] == [text]
    assert not finder.find(f"{text.split()[0]}, {text.split()[-1]}")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("reduced muscle mass", "Increased muscle mass"),  # the opposite
        ("lower renal pole", "Upper kidney pole"),
        ("renal disease type 2", "Kidney disease type 3"),
        ("renal, anomalies", "Kidney anomalies"),
        ("pain (renal) anomalies", "Kidney anomalies pain"),
        ("hepatic. Enzymes", "Liver enzymes"),
        ("renal pain without anomalies of a heart", "Heart kidney anomalies"),
        ("renal and heart anomalies", "Kidney anomalies"),
        ("eye without abnormal roving movement", "Abnormal movement of eye"),
        ("had renal anomalies", "HAD kidney anomalies"),  # a word is not an acronym
        ("tumor-derived kidney cells", "Kidney neoplasm"),
        ("exon 13 deletion", "Monosomy 13"),
        ("anomaly", "Abnormality"),  # a single word
        ("tumor site", "Neoplasms by Site"),  # another head
        ("low immunoglobulin A level", "Decreased immunoglobulin level"),
        ("loss of visual field", "Visual loss"),
        ("abnormal cerebellar development", "Abnormality of the cerebellum"),  # an adjective of another word
        ("several infections", "Severe infection"),  # words of general English
        ("early cancer", "Cancer of Ear"),
        ("normal platelet count", "Low platelet count"),
        ("reduced normal muscle mass", "Decreased muscle mass"),
        ("unremarkable hepatic enzymes", "Abnormal liver enzymes"),
        ("family history of colonic cancer", "Family history of cancer"),  # a cue
        ("absence of left kidney function", "Absence of kidney function"),
        ("renal anomalies long ago in the whole large left hand", "Hand anomalies"),
    ],
)
def test_other_things(said, text, name):
    assert said(text, name) == []


def test_equal_words_are_learned_from_the_vocabulary(tmp_path):
    concepts = [[f"wub {noun}", f"flim {noun}"] for noun in ("pain", "rash", "itch", "swelling", "cyst")]
    finder = OtherWords.build(kb_of(tmp_path, *concepts, ["flim ulcer"], ["glorp ulcer"]))
    (match,) = finder.find("A wub ulcer.")
    assert finder.kb.name(match.row) == "flim ulcer"
    assert match.equal == (("wub", "flim"),)
    assert LEAST_SCORE <= match.score < 1
    assert match.evidence == (match.score, "“wub” is “flim”")
    assert not finder.find("A glorp rash.")


def test_a_vocabulary_does_not_teach_what_is_normal(tmp_path):
    concepts = [[f"normal {noun}", f"low {noun}"] for noun in ("pain", "rash", "itch", "swelling", "cyst")]
    assert not OtherWords.build(kb_of(tmp_path, *concepts, ["low ulcer"])).find("normal ulcer")


def test_the_vocabulary_decides_against_the_table(tmp_path):
    distinct = [[f"{word} {noun}"] for word in ("renal", "kidney") for noun in ("pain", "rash", "cyst")]
    finder = OtherWords.build(kb_of(tmp_path, *distinct, ["kidney ulcer"]))
    assert not finder.find("renal ulcer")


def test_saved_and_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    kb = kb_of(tmp_path, ["Abnormality of the kidney"], ["Eye pain"])
    cached = OtherWords.cached(kb)
    artifact = cached.artifact()
    artifact.write(tmp_path / "saved")
    loaded = OtherWords.load(kb, tmp_path / "saved")
    for finder in (cached, loaded, OtherWords.cached(kb)):
        assert finder.find("ocular pain, renal anomalies") == OtherWords.build(kb).find("ocular pain, renal anomalies")
    assert {path.name for path in artifact.source.iterdir()} == set(artifact.parts)


def test_an_empty_vocabulary(tmp_path):
    assert OtherWords.build(kb_of(tmp_path, ["pain"])).find("renal pain") == []


@pytest.mark.parametrize(
    ("names", "types"),
    [(("kidney pain", "increased weight"), {"CONCEPT"}), (("2-butoxyethanol", "sodium chlorate"), set())],
)
def test_types_with_ordinary_words(tmp_path, names, types):
    assert worded_types(kb_of(tmp_path, names)) == types
    assert worded_types(kb_of(tmp_path / "typed", names, types=("Thing",))) == {"Thing"} & {
        t and "Thing" for t in types
    }


@pytest.fixture(scope="module")
def of_kidneys(tmp_path_factory):
    names = ["abnormality of the left kidney"], ["kidney abnormality"], ["2 eye left"]
    return OtherWords.build(kb_of(tmp_path_factory.mktemp("kidneys"), *names))


WORDS = (
    "renal",
    "kidney",
    "anomaly",
    "abnormality",
    "of",
    "left",
    "right",
    "and",
    ",",
    ".",
    "(",
    ")",
    "-",
    "2",
    "no",
    "eye",
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(WORDS)))
def test_every_match_has_the_words_of_its_name(of_kidneys, words):
    text = " ".join(words)
    for match in of_kidneys.find(text):
        inside = text[match.start : match.end].split()
        assert inside[0] not in {"of", "the", "and", "no"}
        assert ("left" in inside) == ("left" in of_kidneys.kb.name(match.row))
        assert not set(inside) & {",", ".", "(", ")", "no", "and", "right"}


def test_arrays_are_consistent(tmp_path):
    index = OtherWords.build(kb_of(tmp_path, ["kidney pain"], ["pain of the eye"], ["eye kidney pain pain"]))._index
    assert len(index.firsts) == len(index.rows) + 1 == index.names[-1] + 1
    assert np.all(np.diff(index.words.astype(object)) > 0)
