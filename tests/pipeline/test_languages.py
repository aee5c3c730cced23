"""Pipelines in other languages than English: which rules the components use, and that saved pipelines keep them."""

import pickle
import warnings

import pytest
import spacy

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.pipeline.mentions import queries_of
from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.types import Name, Record

NAMES = {
    "D1": ["cáncer de mama"],
    "D2": ["cáncer de ovario"],
    "D3": ["raíz"],
    "D4": ["enfermedad"],
    "D5": ["virus de la inmunodeficiencia humana"],
    "D6": ["Chronische Niereninsuffizienz"],
}
TEXT = "Cáncer de mama y de ovario. RAICES, enfermedades y el virus de la inmunodeficiencia humana (VIH). VIH."
FOUND = ["Cáncer de mama y de ovario", "RAICES", "virus de la inmunodeficiencia humana", "VIH", "VIH"]
COMPONENTS = ("abbreviation_resolver", "concept_matcher", "composite_splitter")


@pytest.fixture
def spanish(tmp_path, monkeypatch):
    """The path of a vocabulary with Spanish names, in a cache folder of its own."""
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    records = [Record(one, tuple(Name(text, "exact", "") for text in texts)) for one, texts in NAMES.items()]
    return str(build_knowledge_base(records, tmp_path / "names.kb").path)


def make(kb, lang="es", **config):
    nlp = spacy.blank(lang)
    for name in COMPONENTS:
        nlp.add_pipe(name, config={**config, **({"kb": kb} if name == "concept_matcher" else {})})
    return nlp


def found(nlp, text=TEXT):
    return [ent.text for ent in nlp(text).ents]


def test_the_language_of_the_pipeline_chooses_the_rules(spanish):
    doc = make(spanish)(TEXT)
    assert [ent.text for ent in doc.ents] == FOUND
    assert doc.ents[0]._.composite_splits[0] == ("Cáncer de mama", "Cáncer de ovario")
    assert [short._.long_form.text for short in doc._.abbreviations] == ["virus de la inmunodeficiencia humana"] * 2


def test_english_rules_find_less(spanish):
    english = found(make(spanish, "en"))
    assert "RAICES" not in english
    assert "enfermedades" in english  # no general name there
    assert FOUND[0] not in english


def test_a_setting_chooses_other_rules(spanish):
    assert found(make(spanish, "xx", language="es")) == FOUND
    with pytest.raises(SapbertError, match="E125"):
        make(spanish, "es", language="fi")


def test_general_names_are_those_of_the_language(spanish):
    assert "enfermedades" not in found(make(spanish))
    nlp = spacy.blank("es")
    nlp.add_pipe("concept_matcher", config={"kb": spanish, "stop_names": []})
    assert "enfermedades" in found(nlp)


def test_german_endings(spanish):
    assert found(make(spanish, "de"), "bei chronischer Niereninsuffizienz") == ["chronischer Niereninsuffizienz"]


@pytest.mark.parametrize("storage", ["inside", "external"])
@pytest.mark.parametrize(("lang", "language"), [("es", None), ("en", "es"), ("xx", "es")])
def test_disk(spanish, tmp_path, lang, language, storage):
    nlp = make(spanish, lang, language=language)
    nlp.remove_pipe("concept_matcher")
    settings = {"kb": spanish, "language": language, "storage": storage}
    nlp.add_pipe("concept_matcher", config=settings, after="abbreviation_resolver")
    assert found(nlp) == FOUND
    nlp.to_disk(tmp_path / "saved")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no warning of the language
        again = spacy.load(tmp_path / "saved")
    assert found(again) == FOUND
    assert again.get_pipe("concept_matcher").matcher.rules is rules_of("es")


def test_bytes_and_pickle(spanish):
    nlp = make(spanish)
    assert found(make("/not/there.kb").from_bytes(nlp.to_bytes())) == FOUND
    assert found(pickle.loads(pickle.dumps(nlp))) == FOUND


def test_another_language_on_loading_makes_new_keys(spanish, tmp_path):
    make(spanish).to_disk(tmp_path / "saved")
    config = {"components": {"concept_matcher": {"language": "en"}}}
    again = spacy.load(tmp_path / "saved", config=config)
    assert again.get_pipe("concept_matcher").matcher.rules is rules_of("en")
    assert "RAICES" not in found(again)
    again.to_disk(tmp_path / "english")
    assert found(spacy.load(tmp_path / "english")) == found(again)


def test_keys_of_two_languages_stay_apart_in_the_cache(spanish):
    folders = set()
    for code in ("es", "en", "de"):
        matcher = NameMatcher.cached(make(spanish).get_pipe("concept_matcher").kb, rules_of(code))
        folders.add(NameMatcher.cache_of(matcher.kb, matcher.rules))
        assert matcher.hashes.tolist() == NameMatcher.build(matcher.kb, rules_of(code)).hashes.tolist()
    assert len(folders) == 3


def test_keys_that_an_earlier_version_saved_are_english(spanish, tmp_path):
    kb = make(spanish).get_pipe("concept_matcher").kb
    NameMatcher.build(kb).save(tmp_path)
    (NameMatcher.manifest(tmp_path)).unlink()
    assert NameMatcher.load(kb, tmp_path).rules is rules_of("en")


def test_the_linker_looks_up_long_forms_by_the_rules_of_the_pipeline(spanish):
    doc = make(spanish)("El virus de la inmunodeficiencia humana (VIH). El virus VIH.")
    doc.ents = [doc.char_span(50, 59, label="Virus")]
    ((variants, _),) = queries_of(doc, None)
    assert (variants.text, variants.long_form) == ("virus VIH", "virus de la inmunodeficiencia humana")
