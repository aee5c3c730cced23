import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record

# diagnoses as clinicians write them, with the first characters of the code that a coder takes
EVERYDAY = Path(__file__).with_name("everyday_diagnoses.tsv")

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
    assert list(by_id) == ["A00-B99", "A00-A09", "A00", "A00.0", "A00.0XXA", "A00.8", "B99-B99", "B99"]
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
    seventh = (Name("Red fever, & rash, first visit", "preferred", "ICD"),)
    assert by_id["A00.0XXA"] == Record("ICD10CM:A00.0XXA", seventh, parents=("ICD10CM:A00.0",))
    # the section has the code and the name of its category
    assert by_id["B99-B99"].names[0].text == "Blue fever (B99-B99)"
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
        f"ICD10CM:{code}" for code in ("A00-B99", "A00-A09", "A00.0", "A00.0XXA", "B99-B99", "B99")
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
    n = 900
    opened = "".join(f"<diag><name>A{level}</name><desc>fever</desc>" for level in range(n))
    records, _ = read(
        tmp_path / "a.xml",
        f"<ICD10CM.tabular><chapter><desc>x</desc>{opened}{'</diag>' * n}</chapter></ICD10CM.tabular>",
    )
    assert records[-1].parents == (f"ICD10CM:A{n - 2}",)


CODES = """\
<ICD10CM.tabular><chapter><name>1</name><desc>Fevers (A00-A09)</desc><section id="A00-A09"><desc>Fevers (A00-A09)</desc>
{codes}</section></chapter></ICD10CM.tabular>"""


def code(number, title, *inner, **notes):
    kinds = "".join(f"<{kind}><note>{note}</note></{kind}>" for kind, note in notes.items())
    return f"<diag><name>{number}</name><desc>{title}</desc>{kinds}{''.join(inner)}</diag>"


@pytest.fixture
def names(read, tmp_path):
    """A function that returns the names of each code."""

    def run(*codes):
        records, _ = read(tmp_path / "icd.xml", CODES.format(codes="".join(codes)), strict=True)
        return {record.concept_id.removeprefix("ICD10CM:"): [name.text for name in record.names] for record in records}

    return run


def test_seventh_characters(names):
    """They belong to the codes without codes below, and some do not follow each sixth character."""
    made = names(
        code(
            "A06",
            "Fever",
            "<sevenChrDef><extension char='A'>first visit</extension><extension char='S'>sequela</extension>"
            "<note>old fever</note></sevenChrDef>",
            code("A06.1", "Red fever"),
            code("A06.2X7", "Deadly fever"),
            code("A06.3", "Late", "<sevenChrDef><extension char='1'>left eye</extension></sevenChrDef>"),
            notes="7th characters D and S do not apply to codes in A06 with 6th character 7 - death, or 8 - more",
        )
    )
    seventh = {number: own for number, own in made.items() if len(number) == 8}
    assert seventh == {
        "A06.1XXA": ["Red fever, first visit"],
        "A06.1XXS": ["Red fever, sequela"],
        "A06.2X7A": ["Deadly fever, first visit"],
        "A06.3XX1": ["Late, left eye"],
    }


def test_a_bare_name_is_that_of_the_highest_code_with_its_words(names):
    made = names(
        code("A01", "Red and blue rash", code("A01.9", "Red rash, unspecified", code("A01.91", "Red rash NOS"))),
        code("A02", "Other fever", code("A02.8", "Other fever"), code("A02.9", "Fever, unspecified")),
        code("A03", "Fever in diseases classified elsewhere", inclusionTerm="Fever"),
        code("A04", "Infection of unspecified site", inclusionTerm="Pox (deep) (wet), site not specified"),
    )
    assert made["A01"][1:] == ["Red rash"]
    assert made["A01.9"][1:] == made["A01.91"][1:] == []
    assert made["A02"][1:] == made["A02.8"][1:] == made["A03"][1:] == []
    assert made["A02.9"][1:] == ["Fever"]
    assert made["A04"][1:] == ["Pox (deep) (wet), site not specified", "Infection", "Pox"]


def test_optional_words_pairs_and_short_forms(names):
    made = names(
        code("A01", "Red (primary) fever", includes="hot skin (old)", excludes1="cold skin"),
        code("A02", "Hotness and redness"),
        code("A03", "Early red pox (ERP)", includes="conditions in A01"),
    )
    assert made["A01"][1:] == ["hot skin (old)", "Red fever", "hot skin"]
    assert made["A02"][1:] == ["Hotness", "redness"]
    assert made["A03"][1:] == ["Early red pox", "ERP"]


def test_others_are_the_rest_of_what_contains_them(names):
    """A code for other conditions never has the bare name. If no code has it, that of the category is right."""
    made = names(code("A01", "Rashes", code("A01.8", "Other specified skin marks")), code("A02", "Other colours"))
    assert made["A01"][1:] == ["skin marks"]
    assert made["A01.8"][1:] == made["A02"][1:] == []


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("Anämie, nicht näher bezeichnet", "Anämie"),
        ("Anämie o.n.A.", "Anämie"),
        ("Harnwegsinfektion, Lokalisation nicht näher bezeichnet", "Harnwegsinfektion"),
        ("Sonstige und nicht näher bezeichnete Zirrhose der Leber", "Zirrhose der Leber"),
        ("Anémie, sans précision", "Anémie"),
        ("Cirrhoses du foie, autres et sans précision", "Cirrhoses du foie"),
        ("Hypoglycémie, non classée ailleurs", "Hypoglycémie"),
        ("Anemia no especificada", "Anemia"),
        ("Infección de vías urinarias, sitio no especificado", "Infección de vías urinarias"),
        ("Burn of unspecified degree of hand", "Burn of hand"),
        ("Type 2 fever without complications", "Type 2 fever"),
        ("Collision with other and unspecified vehicles", None),
        ("Pain, not elsewhere classified", "Pain"),
    ],
)
def test_neutral_words(names, title, bare):
    assert names(code("A01", title))["A01"] == [title, *([bare] if bare else [])]


@pytest.mark.slow
def test_everyday_diagnoses(data_dir, tmp_path):
    path = data_dir / "vocabularies" / "icd10cm" / "icd10cm-tabular-April-1-2026.xml.gz"
    kb = build_knowledge_base(read_vocabulary(path, report=ReadReport()), tmp_path / "icd.kb")
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path)})
    rows = list(csv.DictReader(EVERYDAY.open(encoding="utf-8"), delimiter="\t"))
    docs = [nlp.make_doc(row["text"]) for row in rows]
    for doc in docs:
        doc.ents = [Span(doc, 0, len(doc), "DISEASE")]
    outcomes = Counter[str]()
    for row, doc in zip(rows, nlp.pipe(docs), strict=True):
        links = [link for link in doc.ents[0]._.links if link.concept_id]
        codes = [link.concept_id.removeprefix("ICD10CM:") for link in links]
        titles = [kb.labels_of([link.concept_id])[link.concept_id].preferred for link in links]
        is_right = all(code.startswith(row["code"]) and "-" not in code for code in codes)
        outcomes["none" if not codes else "right" if is_right else "another"] += 1
        # M19 is "Other and unspecified osteoarthritis"
        outcomes["other"] += any(title.startswith("Other ") and "unspecified" not in title for title in titles)
    assert outcomes["right"] >= 90
    assert outcomes["another"] <= 3
    assert outcomes["other"] == 0
