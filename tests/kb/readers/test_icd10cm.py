import gzip

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Name, Record

# invented diseases, in the elements of the tabular list
TABULAR = """\
<?xml version="1.0" encoding="utf-8"?>
<!-- made for a test -->
<ICD10CM.tabular>
  <version>2099</version>
  <introduction><introSection type="title"><title>How to use it</title></introSection></introduction>
  <chapter>
    <name>1</name>
    <desc>Diseases of colour (A00-B99)</desc>
    <includes><note>all that is coloured</note></includes>
    <excludes2><note>grey diseases (Z00)</note><note>white diseases (Z01)</note></excludes2>
    <sectionIndex><sectionRef first="A00" last="A09" id="A00-A09">Fevers</sectionRef></sectionIndex>
    <section id="A00-A09">
      <desc>Fevers (A00-A09)</desc>
      <diag>
        <name>A00</name>
        <desc>Red fever</desc>
        <useAdditionalCode><note>code for the shade</note></useAdditionalCode>
        <diag>
          <name>A00.0</name>
          <desc>Red fever, &amp; rash</desc>
          <inclusionTerm><note>Febris rubra</note><note>Scarlet rash fever</note></inclusionTerm>
          <excludes1><note>pink fever (A00.8)</note></excludes1>
          <sevenChrDef><extension char="A">first visit</extension></sevenChrDef>
        </diag>
        <diag placeholder="true">
          <name>A00.8</name>
          <desc>Other red fever</desc>
          <inclusionTerm><note>Pink fever</note></inclusionTerm>
        </diag>
      </diag>
    </section>
    <section id="B99">
      <desc>Blue fever (B99)</desc>
      <diag><name>B99</name><desc>Blue fever</desc></diag>
    </section>
  </chapter>
</ICD10CM.tabular>
"""


def test_chapters_sections_and_codes(read, tmp_path):
    records, report = read(tmp_path / "icd.xml", TABULAR, source="ICD", strict=True)
    by_id = {record.concept_id.removeprefix("ICD10CM:"): record for record in records}
    assert list(by_id) == ["A00-B99", "A00-A09", "A00", "A00.0", "A00.8", "B99-B99", "B99"]
    names = (
        Name("Red fever, & rash", "preferred", "ICD"),
        Name("Febris rubra", "exact", "ICD"),
        Name("Scarlet rash fever", "exact", "ICD"),
    )
    assert by_id["A00.0"] == Record("ICD10CM:A00.0", names, parents=("ICD10CM:A00",))
    assert by_id["A00-B99"] == Record(
        "ICD10CM:A00-B99", (Name("Diseases of colour", "preferred", "ICD"),), types=("chapter",)
    )
    assert (by_id["A00-A09"].names[0].text, by_id["A00-A09"].types) == ("Fevers", ("section",))
    parents = {code: record.parents for code, record in by_id.items()}
    assert parents["A00-A09"] == ("ICD10CM:A00-B99",)
    assert parents["A00"] == ("ICD10CM:A00-A09",)
    # the section has the code of its category
    assert parents["B99"] == ("ICD10CM:B99-B99",)
    assert (report.rows_read, report.rows_kept) == (7, 7)


def test_excludes_are_no_names_and_other_conditions_are_narrower(read, tmp_path):
    records, _ = read(tmp_path / "icd.xml", TABULAR)
    texts = {name.text: name.scope for record in records for name in record.names}
    assert texts["Pink fever"] == "narrow"
    assert not [text for text in texts if "grey" in text or "pink fever (" in text or "all that" in text]


def test_settings_and_guessing(read, tmp_path):
    packed = tmp_path / "tabular.xml.gz"
    data = gzip.compress(TABULAR.replace("utf-8", "utf-16").encode("utf-16"))
    records, _ = read(packed, data, format="icd10cm", types=("Disease",), id_prefix="X")
    assert records[3].concept_id == "X:A00.0"
    assert (records[0].types, records[3].types) == (("chapter",), ("Disease",))


def test_broken_elements_are_counted(read, tmp_path):
    text = TABULAR.replace("<desc>Red fever</desc>", "").replace("<name>A00.8</name>", "")
    records, report = read(tmp_path / "icd.xml", text)
    assert [record.concept_id for record in records] == [
        f"ICD10CM:{code}" for code in ("A00-B99", "A00-A09", "A00.0", "B99-B99", "B99")
    ]
    assert records[2].parents == ("ICD10CM:A00-A09",)
    assert [(problem.line, problem.reason) for problem in report.problems] == [
        (14, "<diag> A00 has no description"),
        (25, "no id"),
    ]
    assert report.rows_dropped == {"broken": 2}
    with pytest.raises(SapbertError, match=r"E127.*line 14"):
        read(tmp_path / "icd.xml", text, strict=True)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("</section>", ""), r"E127.*line \d+"),
        (("<ICD10CM.tabular>", '<!DOCTYPE x [<!ENTITY a "b">]><ICD10CM.tabular>'), r"E206.*line 3"),
        (("ICD10CM.tabular>", "other>"), r"E121.*<other>.*<ICD10CM\.tabular>"),
    ],
)
def test_what_cannot_be_read(read, tmp_path, change, error):
    with pytest.raises(SapbertError, match=error):
        read(tmp_path / "icd.xml", TABULAR.replace(*change), format="icd10cm")


def test_deep_nesting_is_no_problem(read, tmp_path):
    n = 3_000  # deeper than functions can call each other
    opened = "".join(f"<diag><name>A{level}</name><desc>fever</desc>" for level in range(n))
    records, _ = read(
        tmp_path / "a.xml",
        f"<ICD10CM.tabular><chapter><desc>x</desc>{opened}{'</diag>' * n}</chapter></ICD10CM.tabular>",
    )
    assert records[-1].parents == (f"ICD10CM:A{n - 2}",)
