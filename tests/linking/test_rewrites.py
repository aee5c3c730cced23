"""Candidates whose names are another way to write a text."""

import pytest
import spacy

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

VOCABULARY = {
    "C:20": ["O2", "oxygen"],
    "C:21": ["superoxide"],
    "C:1": ["Lactic Acid"],
    "C:2": ["Lactates"],
    "C:3": ["Lidocaine"],
    "C:4": ["PROCAINE HYDROCHLORIDE"],
    "C:5": ["Carbon-14"],
    "C:6": ["carbon"],
    "C:7": ["Urea"],
    "C:8": ["urease"],
    "C:9": ["Nitric Oxide"],
    "C:10": ["NO(+)"],
    "C:11": ["valproate"],
    "C:12": ["valproic acid"],
    "C:13": ["VEGFC"],
    "C:14": ["VEGFA"],
    "C:15": ["GSK3B"],
    "C:16": ["GSK3A"],
    "C:17": ["KRAS"],
    "D:1": ["Hyponatremia"],
    "D:2": ["Kidney Cyst"],
    "D:3": ["Decreased CSF leucine level"],
    "D:4": ["Hypertension"],
}


@pytest.fixture(scope="module")
def nlp(tmp_path_factory):
    records = [Record(id, tuple(Name(name, "exact", "X") for name in names)) for id, names in VOCABULARY.items()]
    path = tmp_path_factory.mktemp("rewrites") / "chemicals.kb"
    build_knowledge_base(records, path)
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(path), "encoder": "none"})
    return nlp


def link_of(nlp, text):
    doc = nlp.make_doc(text)
    doc.ents = [doc.char_span(0, len(text), "CHEMICAL", alignment_mode="expand")]
    (link,) = nlp(doc).ents[0]._.links
    return link


@pytest.mark.parametrize(
    ("text", "concept_id", "name"),
    [
        ("lactate", "C:1", "Lactic Acid"),  # not the class with this plural
        ("lactates", "C:2", "Lactates"),
        ("lidocaine hydrochloride", "C:3", "Lidocaine"),
        ("procaine", "C:4", "PROCAINE HYDROCHLORIDE"),
        ("(14)C", "C:5", "Carbon-14"),  # the record of the isotope
        ("13C", "C:6", "carbon"),
        ("14C-urea", "C:7", "Urea"),
        ("NO", "C:9", "Nitric Oxide"),  # not an ion with these letters
        ("NO(+)", "C:10", "NO(+)"),
        ("O2", "C:20", "O2"),
        ("valproate", "C:11", "valproate"),  # a name is not rewritten
        ("VEGF-C", "C:13", "VEGFC"),
        ("GSK-3β", "C:15", "GSK3B"),
        ("k-ras", "C:17", "KRAS"),
        ("low serum sodium", "D:1", "Hyponatremia"),
        ("renal cysts", "D:2", "Kidney Cyst"),
        ("low csf leucine level", "D:3", "Decreased CSF leucine level"),  # in a case that is not looked up
        ("hypertensive", "D:4", "Hypertension"),
    ],
)
def test_another_way_to_write_a_text_is_looked_up(nlp, text, concept_id, name):
    link = link_of(nlp, text)
    assert (link.concept_id, link.name) == (concept_id, name)


def test_a_charge_makes_a_short_text_another_substance(nlp):
    link = link_of(nlp, "O2-")  # a text of three signs is less probable than others
    assert (link.name, link.score > 1) == ("superoxide", True)


def test_a_rewritten_text_scores_less_than_a_name_and_says_why(nlp):
    link = link_of(nlp, "lidocaine hydrochloride")
    assert link.score == 0.98
    assert link.reasons == ("“lidocaine hydrochloride” is a salt of this",)
    assert link_of(nlp, "lidocaine").reasons == ()


def test_what_the_vocabulary_does_not_have_changes_nothing(nlp):
    link = link_of(nlp, "malate")
    assert link.concept_id is None
    assert link.reasons == ()
