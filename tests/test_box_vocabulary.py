"""scripts/box_vocabulary.py: which names and ids a concept of the vocabulary in the package gets."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from spacy_sapbert.kb.mapping import Equivalents
from spacy_sapbert.types import Name, Record

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture
def box(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return script("box_vocabulary")


def record(concept_id: str, name: str, *xrefs: str) -> Record:
    return Record(concept_id, (Name(name, "preferred", "test"),), xrefs=xrefs)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([(0, "D1", "Gout"), (2, "D2", "gout")], {"D1": ["Gout"]}),
        ([(2, "D1", "Gout"), (2, "D2", "gout")], {}),
        ([(0, "D1", "Gout"), (0, "D2", "gout")], {"D1": ["Gout"], "D2": ["gout"]}),
        ([(4, "D1", "podagra"), (2, "D1", "Gout"), (2, "D1", "gout")], {"D1": ["Gout", "podagra"]}),
    ],
)
def test_a_name_goes_to_the_best_claim(
    box: ModuleType, claims: list[tuple[int, str, str]], expected: dict[str, list[str]]
) -> None:
    granted = box.granted([box.Claim(*claim, "X") for claim in claims], str.lower, {"D1", "D2"})
    assert {concept_id: names["X"] for concept_id, names in granted} == expected


def test_records_match_by_class_or_by_a_reference_that_only_they_have(box: ModuleType) -> None:
    records = {
        one.concept_id: one
        for one in (
            record("DOID:1", "gout"),
            record("DOID:2", "gout of the toe", "D000001"),
            record("DOID:3", "rickets", "D000002"),
            record("DOID:4", "rickets, mild", "D000003"),
            record("DOID:5", "rickets, severe", "D000003"),
            record("DOID:6", "rare rickets", "C000001"),
        )
    }
    matching = box.matching({"D000001", "D000002", "D000003"}, records, Equivalents([("D000001", "DOID:1")]), {})
    found = {id: [one.concept_id for one in of_concept] for id, of_concept in matching.items()}
    assert found == {"D000001": ["DOID:1"], "D000002": ["DOID:3"], "C000001": ["DOID:6"]}


def test_an_omim_id_belongs_to_one_concept(box: ModuleType) -> None:
    others = {
        "D000001": [record("DOID:1", "gout", "OMIM:100001"), record("Orphanet:1", "gout", "OMIM:100002")],
        "D000002": [record("Orphanet:2", "rickets", "OMIM:100001"), record("DOID:2", "rickets", "OMIM:PS100003")],
    }
    assert box.omim_ids(others) == {"D000001": ["OMIM:100001", "OMIM:100002"]}


def test_inverted_names_are_left_out(box: ModuleType) -> None:
    names = ["Acids, Fatty", "Fatty Acids", "Acid, Stearic", "Stearic Acid"]
    assert box.without_inversions(names) == ["Acids, Fatty", "Stearic Acid"]


def test_names_of_model_organisms_are_theirs_alone(box: ModuleType, tmp_path: Path) -> None:
    table, own, output = (tmp_path / name for name in ("table.tsv", "own.tsv", "species.tsv"))
    table.write_text("id\tname\tsynonyms\n1\tMus longus\tM. longus|M.longus\n2\tMyrtus longus\tM. longus\n")
    own.write_text("NCBITaxon:1\tm. longus\nNCBITaxon:1\tlong mouse\n")
    box.species(table, [own], output)
    assert output.read_text().splitlines() == ["1\tMus longus\tM. longus|long mouse", "2\tMyrtus longus\t"]


def test_cell_lines_are_mentioned_outside_of_some_documents(box: ModuleType, tmp_path: Path) -> None:
    table, left_out, output = (tmp_path / name for name in ("table.tsv", "without.txt", "ids.txt"))
    table.write_text("id\tname\tsynonyms\nCVCL_1\tXY-7 b\t\nCVCL_2\tQR9\t\nCVCL_3\tK\tK1Z\nCVCL_4\tnone\t\n")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "K and XY-7 b cells"}\n{"id": 2, "text": "QR9 cells"}\n')
    (tmp_path / "b.txt").write_text("3|t|Cells\n3\t0\t5\tCells\tCellLine\tCVCL_4\n")
    left_out.write_text("2")
    box.mentioned(table, [tmp_path / "a.jsonl", tmp_path / "b.txt"], left_out, output)
    assert output.read_text().split() == ["CVCL_1", "CVCL_4"]


def test_rare_diseases_that_mesh_lacks(box: ModuleType) -> None:
    records = {id: record(id, name) for id, name in (("DOID:1", "gout"), ("Orphanet:1", "gout"), ("EFO:1", "ache"))}
    classes = Equivalents([("DOID:1", "Orphanet:1")])
    assert list(box.rare_diseases(records, classes, {})) == ["DOID:1"]
    assert not box.rare_diseases(records, classes, {"D000001": [records["DOID:1"], records["Orphanet:1"]]})
    names = [("gout", "related"), ("gout", "exact"), ("gout type 2", "exact"), ("gouty toe", "related")]
    kept = {(*name, in_gard) for name in names for in_gard in (0, 1) if box.is_usable(Name(*name, "X"), in_gard, False)}
    assert kept == {("gout", "exact", 0), ("gout type 2", "exact", 0), ("gouty toe", "related", 1)}


def test_ids_that_documents_give_to_chemicals(box: ModuleType, tmp_path: Path) -> None:
    corpus, left_out, output = (tmp_path / name for name in ("corpus.txt", "without.txt", "ids.tsv"))
    text = "{0}|t|Colchicine, acetate.\n{0}|a|\n{0}\t0\t10\tColchicine\tChemical\tC00000{0}\n"
    corpus.write_text("\n".join(map(text.format, (1, 2))))
    left_out.write_text("2")
    box.annotated([corpus], left_out, output)
    assert output.read_text() == "C000001\tcolchicine\n"


UNII = """\
name\ttype\tunii\tdisplay_name
GOUTMAB [INN]\tcn\tA000000001\tGOUTMAB
GOUTMABUM\tcn\tA000000001\tGOUTMAB
AB-101\tcd\tA000000001\tGOUTMAB
GOUTMAB SODIUM\tof\tA000000002\tGOUTMAB SODIUM
TOEZIRA\tbn\tA000000002\tGOUTMAB SODIUM
COLCHICINE [INN]\tcn\tA000000003\tCOLCHICINE
COLCRYS\tbn\tA000000003\tCOLCHICINE
PEACH LEAF\tcn\tA000000004\tPEACH LEAF
OLD DRUG [USAN]\tcn\tA000000005\tOLD DRUG
BLUE PAINT\tbn\tA000000006\tPAINT
"""
DRUGBANK = """\
DrugBank ID,Common name,CAS,UNII,Synonyms
DB1,Goutmab,1-00-0,A000000001,Goutmab | Gouty antibody
DB4,Peach leaf,,A000000004,Peach leaf
"""


def test_drugs_of_two_lists_and_mesh(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A salt belongs to its drug. The id is that of MeSH if there is one, by name, CAS number or documents."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    files = {
        "chemicals.tsv": "D000001\tColchicine\t\nD000002\tPaint\tblue\n",
        "drugbank.csv": DRUGBANK,
        "unii.tsv": UNII,
        "cas.tsv": "C000009\t1-00-0\n",
        "ids.tsv": "C000005\told drug\nC000001\tcolchicine\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    script("box_drugs").main(*(tmp_path / name for name in files), tmp_path / "drugs.tsv")
    _, *lines = (tmp_path / "drugs.tsv").read_text().splitlines()
    assert [line.split("\t") for line in lines] == [
        ["C000005", "Old drug", "", "", "Chemical", "", "UNII:A000000005", "UNII"],
        ["C000009", "Goutmab", "Goutmab sodium|Toezira|AB-101", "", "Chemical", "",
         "UNII:A000000001|DRUGBANK:DB1|UNII:A000000002", "UNII"],
        ["C000009", "Gouty antibody", "", "", "Chemical", "", "", "DrugBank"],
        ["D000001", "Colcrys", "", "C000001", "Chemical", "", "UNII:A000000003", "UNII"],
    ]  # fmt: skip
