from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name, Record

SEEDS = Path(__file__).parents[2] / "fuzz" / "seeds" / "vocabularies" / "claml"  # invented classes
CLASS = '<Class code="{code}" kind="category">{more}<Rubric kind="preferred"><Label>a</Label></Rubric></Class>'
MODIFIER = (
    '<ModifierClass code="{code}" modifier="M"><Rubric kind="preferred"><Label>b</Label></Rubric></ModifierClass>'
)


def test_classes(read):
    path = SEEDS / "1" / "gm.xml"
    assert guess_format(path) == "claml"
    records, _ = read(path, source="GM", strict=True)
    chapter, block, red, *_ = records
    assert chapter == Record("ICD10GM:I", (Name("Rote Krankheiten", "preferred", "GM", "de"),), types=("chapter",))
    assert (block.types, block.parents) == (("block",), ("ICD10GM:I",))
    names = (Name("Rotes Fieber", "preferred", "GM", "de"), Name("Scharlach der Haut", "exact", "GM", "de"))
    assert red == Record("ICD10GM:A00", names, parents=("ICD10GM:A00-A09",))
    # inclusion terms of what is left over are narrower
    assert [name.scope for name in records[4].names] == ["preferred", "narrow"]


def test_modifiers_add_codes(read):
    records, _ = read(SEEDS / "1" / "gm.xml")
    added = {record.concept_id: (record.names[0].text, record.parents) for record in records[3:]}
    assert added["ICD10GM:A00.0"] == ("Rotes Fieber: Mit Koma", ("ICD10GM:A00",))  # A00.1 is not valid
    assert added["ICD10GM:A01.11"] == ("Sonstiges Fieber: Ohne Koma: Entgleist", ("ICD10GM:A01.1",))
    # what excludes the fourth digit 0 does not follow it
    assert added.keys() == {f"ICD10GM:A0{code}" for code in ["0.0", "1", "1.0", "1.1", "1.01", "1.10", "1.11"]}
    records, _ = read(SEEDS / "2" / "ops.xml")
    assert [record.concept_id for record in records] == ["OPS:5-433.3", "OPS:5-433.31"]


@pytest.mark.parametrize(
    ("title", "prefix"),
    [("ICD-10-EN-2019", "ICD10"), ("CIM10", "ICD10"), ("ICD10GM2020", "ICD10GM"), ("ICF", "ICF"), ("OPS", "OPS")],
)
def test_the_title_gives_the_prefix(read, tmp_path, title, prefix):
    text = f'<ClaML><Title name="{title}"/>{CLASS.format(code="b1", more="")}</ClaML>'
    assert read(tmp_path / "a.xml", text)[0][0].concept_id == f"{prefix}:b1"
    assert read(tmp_path / "a.xml", text, id_prefix="X")[0][0].concept_id == "X:b1"


def test_hostile_modifiers_are_bounded(read, tmp_path):
    modified = '<ModifiedBy code="M"/>' * 50
    classes = "".join(CLASS.format(code=f"A{i}", more=modified) for i in range(3))
    modifiers = "".join(MODIFIER.format(code=i) for i in range(200))
    records, report = read(tmp_path / "a.xml", f"<ClaML>{modifiers}{classes}</ClaML>", "claml")
    assert len(records) < 10_000
    assert report.broken
    with pytest.raises(SapbertError, match="more than 100 classes"):
        read(tmp_path / "a.xml", f"<ClaML>{modifiers}{classes}</ClaML>", "claml", strict=True)
