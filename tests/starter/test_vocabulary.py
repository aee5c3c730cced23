"""The vocabulary in the package, as users get it."""

import gzip
from pathlib import Path

import pytest

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.starter import VOCABULARY

from ..cases import cases

SMALL = Path(__file__).with_name("vocabulary.jsonl")  # of the tests
KINDS = {"Disease": 8_600, "Chemical": 45_000, "Gene": 40_000, "Species": 9_900, "CellLine": 1_300}


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    return KnowledgeBase(VOCABULARY)


def test_size_and_kinds(kb: KnowledgeBase) -> None:
    assert VOCABULARY.stat().st_size < 70_000_000
    counts = kb.type_counts()
    assert counts.keys() == KINDS.keys()
    assert {kind for kind, least in KINDS.items() if not least <= counts[kind] <= 1.1 * least} == set()


def test_every_source_states_its_licence_and_release(kb: KnowledgeBase) -> None:
    licences = kb.meta["licence"].replace("ORDO", "Orphanet").replace("NCI Thesaurus", "NCIT")
    sources = {source.replace("NCBITaxon", "NCBI Taxonomy") for source in kb.source_counts()}
    assert {source for source in sources - {"spacy-sapbert"} if source not in licences} == set()


@pytest.mark.parametrize(*cases(__file__, "everyday_names_are_there"))
def test_everyday_names_are_there(kb: KnowledgeBase, name: str, concept_id: str) -> None:
    sql = "SELECT c.id FROM names n JOIN synonyms s ON s.name = n.row JOIN concepts c ON c.row = s.concept"
    assert (concept_id,) in kb.query(f"{sql} WHERE lower(n.text) = ?", name.lower())


@pytest.mark.parametrize(
    ("concept_id", "primary", "xref"),
    [("OMIM:219700", "D003550", "DOID:1485"), ("HGNC:1100", "NCBIGene:672", "UNIPROT:P38398")],
)
def test_other_ids_lead_to_the_concept(kb: KnowledgeBase, concept_id: str, primary: str, xref: str) -> None:
    assert kb.find_id(concept_id) == (primary,)
    assert xref in kb.xrefs(primary)


def test_parents_are_concepts(kb: KnowledgeBase) -> None:
    assert kb.query("SELECT count(*) FROM parents WHERE parent NOT IN (SELECT id FROM concepts)") == [(0,)]


def test_the_vocabulary_of_the_tests_is_a_part_of_it(kb: KnowledgeBase) -> None:
    records = [*read_vocabulary(SMALL, "scispacy", report=ReadReport())]
    known = {record.concept_id: kb.get(record.concept_id) for record in records}
    assert [concept_id for concept_id, concept in known.items() if concept is None] == []
    assert [record.concept_id for record in records if not {*record.types} <= {*known[record.concept_id].types}] == []


def test_no_disease_has_a_name_that_only_medic_gives_it(kb: KnowledgeBase, data_dir: Path) -> None:
    """MEDIC may not be distributed. Names that the package shares with it come from elsewhere."""
    with gzip.open(data_dir / "dictionaries/medic/medic_06Jul2012.txt.gz", "rt", encoding="utf-8") as lines:
        medic = {name for line in lines for name in line.rstrip("\n").partition("||")[2].split("|")}
    assert len(medic - {*kb.names()}) > 30_000
