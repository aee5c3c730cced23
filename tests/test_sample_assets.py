"""assets/sample: its files are read without a problem, and its vocabularies know what its corpora name."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Document, Record

SAMPLE = Path(__file__).parents[1] / "assets" / "sample"
VOCABULARIES = SAMPLE / "vocabularies"
MEDIC = SAMPLE / "dictionaries" / "medic" / "medic_06Jul2012.txt"
NCBI = ("corpora/ncbi_disease/NCBItrainset_corpus.txt", "corpora/ncbi_disease/NCBIdevelopset_corpus.txt")
CDR = ("corpora/bc5cdr/CDR_TrainingSet.PubTator.txt", "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt")

# as in project.yml
MESH = {"columns": {"id": "1", "name": "2", "synonyms": "3"}}
TREE = {"columns": {"id": "Desc Ui", "name": "Term", "types": "Tree Number"}}
CHEMICALS = {"columns": {"id": "2", "name": "3"}, "where": {"4": "CHEBI"}}
DRUGBANK = {"columns": {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"}, "separator": " | "}
OF_MESH = {"mesh/mesh_id_label_mappings.tsv": MESH, "mesh/2017MeshTree.tsv": TREE, "mesh/mesh_mappings.tsv": CHEMICALS}
GENES = {
    "columns": {
        "id": "HGNC ID",
        "name": ["Approved Symbol", "Approved Name"],
        "alternative_ids:NCBIGene": "Entrez Gene ID(supplied by NCBI)",
    },
    "where": {"Status": "Approved"},
}
NAMES = {"columns": {"id": "2", "name": "1"}}
FORMATS = {
    "doid/doid-2018-07-05.json.gz": "obograph", "ncit/ncit-disease-2018-06-08.json.gz": "obograph",
    "ordo/ordo-2_6-2018-07-12.json.gz": "obograph", "symp/symp.obo": "obo", "efo/efo.json": "json",
    "go/go_import.obo": "obo", "uberon/uberon_import.obo": "obo", "cl/cl.obo": "obo", "chebi/chebi_import.obo": "obo",
}  # fmt: skip


def documents(*paths: str) -> list[Document]:
    report = Report()
    found = [document for path in paths for document in read_corpus(SAMPLE / path, strict=True, report=report)]
    assert (report.broken, report.mismatched, report.duplicates) == (0, 0, 0)
    return found


def records(path: Path, format: str, **options: Any) -> list[Record]:
    report = ReadReport()
    found = list(read_vocabulary(path, format, report=report, strict=True, **options))
    assert report.broken == 0
    return found


def known_ids() -> set[str]:
    """Ids of the dictionary, with alternative ones, and of the chemicals of MeSH."""
    diseases = {one for record in records(MEDIC, "medic") for one in (record.concept_id, *record.alternative_ids)}
    tree = records(VOCABULARIES / "mesh/2017MeshTree.tsv", "table", **TREE)
    of_tree = {record.concept_id for record in tree if any(number.startswith("D") for number in record.types)}
    mapped = {record.concept_id for record in records(VOCABULARIES / "mesh/mesh_mappings.tsv", "table", **CHEMICALS)}
    return diseases | of_tree | mapped


@pytest.mark.parametrize("path", [*NCBI, *CDR])
def test_mentions_stand_where_they_are_said_to(path: str) -> None:
    for document in documents(path):
        assert document.mentions
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text


def test_most_annotated_ids_are_known() -> None:
    annotated = [one for document in documents(*NCBI, *CDR) for mention in document.mentions for one in mention.ids]
    known = known_ids()
    unknown = [one_id for one_id in annotated if one_id not in known]
    assert len(unknown) < 0.1 * len(annotated)


@pytest.mark.parametrize(("path", "options"), OF_MESH.items())
def test_tables_of_mesh_are_read(path: str, options: dict[str, Any]) -> None:
    assert len({record.concept_id for record in records(VOCABULARIES / path, "table", **options)}) > 40


@pytest.mark.parametrize(("path", "format"), FORMATS.items())
def test_ontologies_are_read(path: str, format: str) -> None:
    found = records(VOCABULARIES / path, format)
    assert len(found) >= 5
    assert not any(record.definition for record in found)


def test_genes_species_and_cell_lines_are_those_that_biored_annotates() -> None:
    genes = records(VOCABULARIES / "hgnc/hgnc_entries.tsv", "table", **GENES)
    human = {one for record in genes for one in record.alternative_ids}
    species = records(VOCABULARIES / "ncbi_taxonomy/Species_exhaustive.tsv.gz", "table", **NAMES, id_prefix="NCBITaxon")
    lines = records(VOCABULARIES / "cellosaurus/Cellosaurus.tsv.gz", "table", **NAMES)
    annotated: dict[str, set[str]] = {}
    for document in documents("corpora/biored/BioRED_TrainDev.PubTator"):
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text
            annotated.setdefault(mention.label, set()).update(mention.ids)
    assert set(annotated) == {"Disease", "Chemical", "Gene", "Species", "CellLine"}
    assert len(human & {f"NCBIGene:{one}" for one in annotated["Gene"]}) > 8
    assert len({f"NCBIGene:{one}" for one in annotated["Gene"]} - human) > 4  # genes of other species
    assert {f"NCBITaxon:{one}" for one in annotated["Species"]} <= {record.concept_id for record in species}
    assert annotated["CellLine"] <= {record.concept_id for record in lines}


@pytest.mark.parametrize(
    "folder", ["biored", "nlm_gene", "gnormplus", "s800", "linnaeus", "bioid", "tmvar3", "drugprot"]
)
def test_some_documents_are_for_development(folder: str) -> None:
    (path,) = (SAMPLE / "corpora" / folder).iterdir()
    found = documents(f"corpora/{folder}/{path.name}")
    ids = {document.doc_id for document in found}
    listed = set((SAMPLE / "development_ids.txt").read_text().split())
    assert ids & listed
    assert ids - listed == ids & set((SAMPLE / "training_ids.txt").read_text().split())
    assert all(document.mentions for document in found)


def test_drugbank_and_umls_are_read() -> None:
    drugs = records(VOCABULARIES / "drugbank/drugbank_vocabulary.csv", "table", **DRUGBANK)
    assert sum(len(record.names) > 1 for record in drugs) > 40
    concepts = records(SAMPLE / "umls", "umls")
    assert len(concepts) == 20
    assert all(len(record.names) > 1 and record.types for record in concepts)


def test_documents_are_read_and_are_none_of_the_corpora() -> None:
    problems = Problems(Console(quiet=True))
    found = list(read_documents(SAMPLE / "documents", ReadOptions(), problems))
    assert (len(found), problems.broken) == (12, 0)
    assert not {document.meta["pmid"] for document in found} & {document.doc_id for document in documents(*NCBI, *CDR)}
    assert all(document.text.startswith(f"{document.title} ") for document in found)
