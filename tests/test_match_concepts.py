"""scripts/match_concepts.py: what counts as a match of concepts, and what does not."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import typer

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.mapping import Equivalents
from spacy_sapbert.types import Name, Record

from .cases import cases

Match = Callable[..., set[tuple[str, str]]]


@pytest.fixture
def match_concepts(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("match_concepts")


@pytest.fixture
def match(match_concepts: ModuleType, tmp_path: Path) -> Match:
    """Matches of concepts, each written as "id | type | preferred name | synonym … > cross-reference …"."""

    def run(*concepts: str) -> set[tuple[str, str]]:
        kb, output = tmp_path / "concepts.kb", tmp_path / "matches.sssom.tsv"
        build_knowledge_base(map(record, concepts), kb)
        match_concepts.main([kb], output)
        rows = [line.split("\t") for line in output.read_text(encoding="utf-8").splitlines()[1:]]
        return {(min(row[0], row[2]), max(row[0], row[2])) for row in rows}

    return run


def record(written: str) -> Record:
    described, _, xrefs = written.partition(" > ")
    concept_id, type_, preferred, *synonyms = described.split(" | ")
    names = [Name(preferred, "preferred", "test"), *(Name(text, "exact", "test") for text in synonyms)]
    return Record(concept_id, tuple(names), types=(type_,) if type_ else (), xrefs=tuple(xrefs.split()))


@pytest.mark.parametrize(*cases(__file__, "matches"))
def test_matches(match: Match, one: str, other: str) -> None:
    ids = one.split(" ")[0], other.split(" ")[0]
    assert match(one, other) == {ids}


@pytest.mark.parametrize(*cases(__file__, "does_not_match"))
def test_does_not_match(match: Match, one: str, other: str) -> None:
    assert match(one, other) == set()


def test_a_name_that_a_vocabulary_has_twice_vouches_for_nothing(match: Match) -> None:
    assert match("A:1 | disease | gout | x1", "A:2 | disease | gout | x2", "B:1 | disease | gout") == set()


def test_a_class_takes_no_second_concept_of_a_vocabulary(match: Match) -> None:
    concepts = ["A:1 | disease | gout", "B:1 | disease | gout | podagra", "A:2 | disease | podagra"]
    assert match(*concepts) == {("A:1", "B:1")}


def test_kind_is_that_of_the_classes_above(match_concepts: ModuleType, tmp_path: Path) -> None:
    records = [record("NCIT:C12219 |  | anatomy"), record("NCIT:C1 |  | organ"), record("NCIT:C2 |  | liver")]
    records[1] = records[1]._replace(parents=("NCIT:C12219",))
    records[2] = records[2]._replace(parents=("NCIT:C1", "NCIT:C9"))
    build_knowledge_base(records, tmp_path / "ncit.kb")
    assert match_concepts.read_terms([tmp_path / "ncit.kb"])["NCIT:C2"].kind == "anatomy"


def test_mappings_of_gilda(match_concepts: ModuleType, tmp_path: Path) -> None:
    build_knowledge_base(
        [record("D001241 | D02.1 | Aspirin"), record("CHEBI:15365 | chemical | ASA")], tmp_path / "both.kb"
    )
    lines = ["MESH\tD001241\tAspirin\tCHEBI\tCHEBI:15365\tASA\n", "MESH\tD000001\tnone\tHP\tHP:1\tnone\n"]
    (tmp_path / "mappings.tsv").write_text("".join(lines), encoding="utf-8")
    terms = match_concepts.read_terms([tmp_path / "both.kb"])
    pairs = [
        (one.concept_id, other.concept_id) for one, other in match_concepts.mapped(terms, tmp_path / "mappings.tsv")
    ]
    assert pairs == [("D001241", "CHEBI:15365")]


def test_a_broken_row_of_mappings_is_reported(match_concepts: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "mappings.tsv").write_text("MESH\tD001241\tAspirin\tCHEBI\tCHEBI:15365\tASA\nMESH\tD1\n")
    with pytest.raises(typer.BadParameter, match=r"mappings\.tsv, line 2: 6 columns are wanted, there are 2"):
        list(match_concepts.mapped({}, tmp_path / "mappings.tsv"))


def test_cross_references_to_a_mapped_vocabulary(match_concepts: ModuleType, tmp_path: Path) -> None:
    build_knowledge_base(
        [record("A:1 | disease | gout | podagra > MONDO:1"), record("B:1 | disease | gouty | podagra > C0018099")],
        tmp_path / "both.kb",
    )
    terms = match_concepts.read_terms([tmp_path / "both.kb"])
    known = Equivalents([("MONDO:1", "C0018099")])
    assert [(one.concept_id, other.concept_id) for one, other in match_concepts.cross_referenced(terms, known)] == [
        ("A:1", "B:1")
    ]
