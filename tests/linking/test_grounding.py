import os
import shutil

import pytest
import spacy

import spacy_sapbert
from spacy_sapbert.errors import ChoiceError, DamagedError, NotFoundError, OptionError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking import grounding
from spacy_sapbert.linking.grounding import MOST, ground
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.types import Name, Record

CONCEPTS = (
    ("Chronic Kidney Disease", "Disease"), ("Breast Neoplasms|breast cancer", "Disease"),
    ("Ovarian Neoplasms|ovarian cancer", "Disease"), ("Myocardial Infarction|heart attack", "Disease"),
    ("lithium", "Drug"), ("Aspirin", "Drug"), ("sleep apnea", "Symptom"), ("Hypertension", "Disease"), ("ER", "Gene"),
    *((f"kidney disorder {letter}", "Disease") for letter in "abcdefgh"),
)  # fmt: skip
KIDNEYS, LITHIUM, PRESSURE, RECEPTOR = (f"X:{number:02}" for number in (1, 5, 8, 9))
CONTEXT = "Chronic kidney disease (CKD) was found. The CKD progressed."


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        Record(f"X:{number:02}", tuple(Name(name, "exact", "test") for name in names.split("|")), types=(type,))
        for number, (names, type) in enumerate(CONCEPTS, start=1)
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("grounding") / "grounding.kb")


@pytest.fixture(scope="module")
def nlp(kb):
    nlp = spacy.blank("en")
    for name in ("abbreviation_resolver", "composite_splitter"):
        nlp.add_pipe(name)
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path)})
    return nlp


def parts_of(nlp, text, context):
    doc = nlp.make_doc(context or text)
    start = context.find(text) if context else 0
    doc.ents = [doc.char_span(start, start + len(text), label="X")]
    for _, component in nlp.pipeline[:2]:
        doc = component(doc)
    linker = nlp.get_pipe("sapbert_linker")
    (parts,) = linker.predict([doc])[0]
    return parts, linker.linker.links(parts)


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("heart attack", ""),
        ("Heart attacks", ""),
        ("aspirine", ""),
        ("night terrors", ""),
        ("CKD", CONTEXT),
        ("CKD patients", f"{CONTEXT} Some CKD patients died."),
        ("breast and ovarian cancer", ""),
    ],
)
def test_a_string_has_the_candidates_of_a_pipeline(nlp, kb, text, context):
    parts, links = parts_of(nlp, text, context)
    grounded = {candidate.concept_id: candidate for candidate in ground(text, context, kb=kb)}
    assert list(grounded)[: len(parts)] == [part.candidates[0].concept_id for part in parts]
    for part, link in zip(parts, links, strict=True):
        first = grounded[part.candidates[0].concept_id]
        assert first[:7] == part.candidates[0][:7]
        assert first.probability == link.probability
        assert first.refusal == link.reason
        assert (first.rewrite is None) == (part.text == text)
        assert part.text == text or part.text in first.rewrite


def test_the_candidates_of_one_part_are_in_the_order_of_the_pipeline(nlp, kb):
    (part,), _ = parts_of(nlp, "kidney disorder", "")
    ids = [candidate.concept_id for candidate in part.candidates]
    assert len(ids) > 5
    assert [candidate.concept_id for candidate in ground("kidney disorder", kb=kb)] == ids[:MOST]


def test_all_candidates_of_a_string_without_a_link_are_refused(kb):
    first, *others = ground("night terrors", kb=kb)
    assert "probability" in first.refusal
    assert {candidate.refusal for candidate in others} == {f"“{first.name}” is more likely, and is not linked"}


def test_a_string_that_is_not_in_its_context_has_the_abbreviations_of_it(kb):
    assert ground("CKD", "We treated chronic kidney disease (CKD)", kb=kb)[0].concept_id == KIDNEYS
    assert ground("CKD", "chronic kidney disease (CKD)", kb=kb, language="de")[0].concept_id == KIDNEYS
    assert ground("CKD", kb=kb)[0].refusal  # no name


def test_clinical_short_forms_count_with_a_context_if_the_vocabulary_has_their_sense(kb):
    assert ground("HTN", "PMH: HTN", kb=kb)[0].concept_id == PRESSURE
    assert ground("HTN", kb=kb)[0].refusal
    in_cells = ground("ER", "ER stress in hepatocytes", kb=kb)[0]  # no emergency room
    assert in_cells.concept_id == RECEPTOR
    assert in_cells.refusal is None


def test_types_filter_before_the_search(kb):
    assert LITHIUM in {candidate.concept_id for candidate in ground("lithium", types=["Drug"], kb=kb)}
    assert ground("lithium", types=None, kb=kb) == ground("lithium", kb=kb)
    assert LITHIUM not in {candidate.concept_id for candidate in ground("lithium", types="Disease", kb=kb)}
    assert ground("lithium", types=("Symptom", "Drug"), kb=kb) == ground("lithium", types=["Drug", "Symptom"], kb=kb)


@pytest.mark.parametrize("wrong", [{"types": ["Metal"]}, {"language": "it"}])
def test_what_there_is_not_is_named(kb, wrong):
    with pytest.raises(ChoiceError, match=next(iter(wrong)).rstrip("s")):
        ground("lithium", kb=kb, **wrong)


@pytest.mark.parametrize(
    "wrong", [{"text": None}, {"context": float("nan")}, {"types": [3]}, {"types": 3}, {"kb": None}]
)
def test_arguments_of_other_types_are_named(kb, wrong):
    with pytest.raises(OptionError, match=f"argument {next(iter(wrong))} "):
        ground(**{"text": "lithium", "kb": kb, **wrong})


def test_a_string_is_linked_once(monkeypatch, kb):
    before = ground("heart pains", CONTEXT, kb=kb)
    monkeypatch.setattr(Linker, "link", None)
    again = ground("heart pains", CONTEXT, kb=kb)
    assert again == before
    again.clear()  # the list is the caller's
    assert ground("heart pains", CONTEXT, kb=kb) == before


def test_vocabularies_are_given_by_path_or_open(small_kb):
    expected = ground("cystic fibrosis", kb=small_kb)
    assert ground("cystic fibrosis", kb=small_kb.path) == ground("cystic fibrosis", kb=str(small_kb.path)) == expected
    assert ground("asthma", kb="starter") == spacy_sapbert.ground("asthma")


def test_a_vocabulary_that_was_built_again_is_read_again(tmp_path):
    path = tmp_path / "changing.kb"
    for id in ("X:1", "X:2"):
        built = build_knowledge_base([Record(id, (Name("asthma", "preferred", "test"),))], tmp_path / f"{id[2]}.kb")
        shutil.copy(built.path, tmp_path / "copy")
        os.replace(tmp_path / "copy", path)
        pipeline = spacy.blank("en")
        pipeline.add_pipe("sapbert_linker", config={"kb": str(path), "encoder": "none"})
        pipeline.to_disk(tmp_path / "pipeline")
        for given in (path, tmp_path / "pipeline"):
            assert [candidate.concept_id for candidate in ground("asthma", kb=given)] == [id]


def test_files_that_are_no_vocabularies_are_named(tmp_path):
    with pytest.raises(NotFoundError, match="missing"):
        ground("asthma", kb=tmp_path / "missing.kb")
    broken = tmp_path / "broken.kb"
    broken.write_text("no database")
    with pytest.raises(DamagedError, match="broken"):
        ground("asthma", kb=broken)


@pytest.mark.parametrize("text", ["", " ", "(", "\0", "\udcff", "𝛃" * 3, "a" * 5000, "(" * 3000, "and, " * 500])
def test_any_string_is_read(kb, text):
    assert len(ground(text, f"about {text} and more", kb=kb)) <= MOST


def test_caches_are_bounded():
    names = ("_ground", "_opened", "_generator", "starter_linker", "_occurrences")
    caches = [getattr(grounding, name) for name in names]
    assert all(cache.cache_info().maxsize for cache in caches)
