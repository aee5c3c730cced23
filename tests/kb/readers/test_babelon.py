from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Name, Record

HEADER = "source_language\ttranslation_language\tsubject_id\tsource_value\tpredicate_id\ttranslation_value\t"
HEADER += "translation_status\n"


def row(property: str, text: str, subject: str = "F:1", language: str = "es", status: str = "OFFICIAL") -> str:
    return f"en\t{language}\t{subject}\tred fever\t{property}\t{text}\t{status}\n"


def read(path, text, **kwargs) -> tuple[list[Record], ReadReport]:
    path.write_bytes(text.encode())
    report = ReadReport()
    return list(read_vocabulary(path, report=report, **kwargs)), report


def test_labels_and_synonyms_are_names(tmp_path):
    text = HEADER
    text += row("rdfs:label", "fiebre roja")
    text += row("oboInOwl:hasBroadSynonym", "fiebre", "http://purl.obolibrary.org/obo/F_2")
    text += row("http://www.w3.org/2004/02/skos/core#altLabel", "rojez")
    records, _ = read(tmp_path / "f-es.babelon.tsv", text, strict=True)
    assert records == [
        Record("F:1", (Name("fiebre roja", "preferred", "f-es", "es"),)),
        Record("F:2", (Name("fiebre", "broad", "f-es", "es"),)),
        Record("F:1", (Name("rojez", "exact", "f-es", "es"),)),
    ]


def test_the_source_tells_the_language(tmp_path):
    text = HEADER + row("rdfs:label", "fiebre", language="es") + row("rdfs:label", "fièvre", language="fr")
    records, _ = read(tmp_path / "all.babelon.tsv", text, source="HPO")
    assert [record.names[0].source for record in records] == ["HPO-es", "HPO-fr"]
    records, report = read(tmp_path / "all.babelon.tsv", text, languages=["fr"])
    assert [record.names[0].source for record in records] == ["all-fr"]
    assert report.rows_dropped == {"other language": 1}


def test_what_is_no_name_is_counted(tmp_path):
    text = HEADER
    text += row("IAO:0000115", "Una fiebre.")
    text += row("rdfs:label", "")
    text += row("rdfs:label", "red fever", status="NOT_TRANSLATED")
    text += row("rdfs:label", "fiebre", status="CANDIDATE")
    records, report = read(tmp_path / "a.babelon.tsv", text)
    assert len(records) == 1
    assert report.rows_read == 4
    assert report.rows_dropped == {"not a name": 1, "not translated": 2}


def test_tables_of_the_disease_ontology(tmp_path):
    text = (
        "source_id\tpredicate\tsource_text\ttranslation_text\tsource_lang\ttranslation_lang\tstatus\tnotes\n"
        'DOID:1\toboInOwl:hasRelatedSynonym\tfever\tfiebre\ten\tes\tDONE\t"of\nthree\n""lines"""\n'
        "DOID:2\trdfs:label\tred fever\tfiebre roja\ten\tes\tDONE\t\n"
    )
    records, _ = read(tmp_path / "doid-es.tsv", text, strict=True)
    names = [(record.concept_id, *record.names) for record in records]
    assert names == [
        ("DOID:1", Name("fiebre", "related", "doid-es", "es")),
        ("DOID:2", Name("fiebre roja", "preferred", "doid-es", "es")),
    ]


def test_comments_before_the_table(tmp_path):
    text = "# made by hand\n#licence\tCC0\n" + HEADER + row("rdfs:label", "fiebre")
    assert len(read(tmp_path / "a.tsv", text, strict=True)[0]) == 1


def test_broken_rows_are_reported_with_their_line(tmp_path):
    text = HEADER + row("rdfs:label", "fiebre") + "en\tes\tF:1\n" + row("rdfs:label", "fiebre", subject=" ")
    text += row("rdfs:label", '"fiebre" roja') + row("rdfs:label", "rojez")
    records, report = read(tmp_path / "a.babelon.tsv", text)
    assert [record.names[0].text for record in records] == ["fiebre", "rojez"]
    assert [row.line for row in report.problems] == [3, 4, 5]
    assert report.rows_dropped == {"broken": 3}
    with pytest.raises(SapbertError, match=r"E127.*line 3: 3 cells instead of 7"):
        read(tmp_path / "a.babelon.tsv", text, strict=True)


@pytest.mark.parametrize("text", ["", "subject_id\ttranslation_value\ttranslation_language\n"])
def test_other_tables(tmp_path, text):
    path = tmp_path / "a.tsv"
    path.write_text(text)
    with pytest.raises(SapbertError, match=r"E128.*a\.tsv"):
        list(read_vocabulary(path, "babelon", report=ReadReport()))
