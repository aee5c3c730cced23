import pytest

from spacy_sapbert.augmentation.annotations import Annotation, IdMapping, MatcherAnnotator
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.mapping import Equivalents
from spacy_sapbert.types import Name, Record

from ..cases import cases


@pytest.fixture(scope="module")
def annotator(small_kb):
    return MatcherAnnotator(small_kb)


@pytest.mark.parametrize(*cases(__file__, "names_of_the_vocabulary"))
def test_names_of_the_vocabulary(annotator, text, expected):
    (found,) = annotator.annotate([text])
    longest = [one for one in found if not any(one.start > other.start and one.end <= other.end for other in found)]
    assert [(text[one.start : one.end], one.ids) for one in longest] == expected


def test_each_text_has_its_own(annotator):
    assert [len(found) for found in annotator.annotate(["nothing", "aspirin, lithium", "morphine"])] == [0, 2, 1]


def build(path, *records):
    made = (
        Record(concept_id, (Name(name, "preferred", "s"),), alternative_ids=ids, xrefs=xrefs)
        for concept_id, name, ids, xrefs in records
    )
    return build_knowledge_base(list(made), path)


@pytest.fixture(scope="module")
def kbs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapping")
    target = build(
        folder / "target.kb",
        ("D000001", "Big Disease", ("OMIM:1",), ("C0000001",)),
        ("D000002", "Small-Disease", (), ("C0000001",)),
        ("D000003", "Flu", (), ()),
    )
    umls = build(folder / "umls.kb", ("C0000002", "Influenza", ("D000003",), ("OMIM:1",)), ("C0000003", "x", (), ()))
    return target, umls


@pytest.mark.parametrize(*cases(__file__, "targets"))
def test_targets(kbs, concept_id, text, found):
    mapping = IdMapping(kbs[0], Equivalents([("DOID:7", "D000003"), ("DOID:8", "DOID:9")]), kbs[1])
    mapped = mapping.map(text, Annotation(0, 1, (concept_id,)))
    assert mapped == (found and Annotation(0, 1, (found,)))


def test_a_composite_is_mapped_as_a_whole(kbs):
    mapping = IdMapping(kbs[0])
    assert mapping.map("", Annotation(0, 1, ("OMIM:1", "D000001", "D000003"))).ids == ("D000001", "D000003")
    assert mapping.map("", Annotation(0, 1, ("OMIM:1", "C0000009"))) is None
