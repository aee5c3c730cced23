from __future__ import annotations

from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mapping import Equivalents
from spacy_sapbert.kb.translations import add_translation
from spacy_sapbert.types import Name, Record

BASE = [
    Record("D1", (Name("fever", "preferred", "s", "en"),), ("D9", "D8")),
    Record("D2", (Name("rash", "preferred", "s", "en"),), ("D8",)),
]


def spanish(concept_id, *texts):
    return Record(concept_id, tuple(Name(text, "preferred", "s-es", "es") for text in texts))


def build(path, translation, equivalents=None):
    """RETURNS: the knowledge base of the base and a translation, and the warning."""
    with new_knowledge_base(path, equivalents) as builder:
        for record in BASE:
            builder.add(record)
        warning = add_translation(builder, translation, Path("es.tsv"))
        builder.finish({})
    return KnowledgeBase(path), warning


def test_names_are_added_to_known_concepts_only(tmp_path):
    records = [spanish("D1", "fiebre"), spanish("D9", "calentura"), spanish("D2", "erupción"), spanish("D7", "tos")]
    records += [spanish("D1", f"fiebre {n}") for n in range(8)]
    kb, warning = build(tmp_path / "a.kb", records)
    assert list(kb.concept_ids()) == ["D1", "D2"]
    assert [name[:2] + name[3:] for name in kb.names_of("D1")[:3]] == [
        ("fever", "preferred", "en"),
        ("fiebre", "preferred", "es"),
        ("calentura", "preferred", "es"),
    ]
    assert kb.language_counts() == {"en": 2, "es": 11}
    assert kb.meta["built"] == {"translations added": 11, "translations of unknown concepts": 1}
    assert warning is None  # one of twelve


def test_an_id_of_several_concepts_is_translated_for_none_of_them(tmp_path):
    kb, _ = build(tmp_path / "a.kb", [spanish("D8", "fiebre con erupción"), spanish("D1", "fiebre")])
    assert kb.find_name("fiebre con erupción") == ()
    assert kb.meta["built"]["translations whose id belongs to several concepts"] == 1


def test_an_equivalent_id_belongs_to_the_concept(tmp_path):
    kb, _ = build(tmp_path / "a.kb", [spanish("X:1", "fiebre"), spanish("X:2", "tos")], Equivalents([("X:1", "D1")]))
    assert kb.find_name("fiebre") == ("D1",)
    assert kb.find_name("tos") == ()


def test_a_translation_of_another_release(tmp_path):
    records = [spanish("D1", "fiebre"), spanish("D5", "tos", "tos seca"), spanish("D6", "gripe")]
    _, warning = build(tmp_path / "a.kb", records)
    assert "[W576] The vocabulary lacks the concepts of 3 of the 4 names in the translation es.tsv" in warning


def test_a_translation_of_another_vocabulary(tmp_path):
    with pytest.raises(SapbertError, match=r"E196.*es\.tsv.*Ids such as: HP:1, HP:2, HP:3\. "):
        build(tmp_path / "a.kb", [spanish(f"HP:{n}", "x") for n in range(1, 9)])
    assert not list(tmp_path.iterdir())


def test_an_empty_translation_changes_nothing(tmp_path):
    kb, warning = build(tmp_path / "a.kb", [])
    assert (len(kb), kb.n_names, warning) == (2, 2, None)
