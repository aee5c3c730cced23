"""The tables of OMOP, as files and in a real database: the same records of both."""

import json

import pytest
from typer.testing import CliRunner

from spacy_sapbert.cli import app
from spacy_sapbert.errors import CannotReadError, MissingColumnError, NotFoundError, SapbertError
from spacy_sapbert.files.postgres import Database
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, guess_format, read_vocabulary

CONCEPT = """concept_id concept_name domain_id vocabulary_id concept_class standard_concept concept_code invalid_reason
10|Disorder of heart|Condition|SNOMED|Disorder|S|100|
11|Heart attack|Condition|SNOMED|Disorder|S|101|
12|Cardiac attack, old|Condition|SNOMED|Disorder||102|U
13|Heart attack|Condition|ICD10CM|code||I21|
14|Pill 5 MG|Drug|RxNorm Extension|Drug|S|OMOP9|
90|Spanish language|Language|SNOMED|Qualifier|S|190|
91|Elvish|Language|SNOMED|Qualifier||191|D"""
SYNONYM = """concept_id concept_synonym_name language_concept_id
11|infarto de miocardio|90
11|Heart attack|90
11|myocardial infarct|91
11||90
13|never read|90"""
RELATIONSHIP = """concept_id_1 concept_id_2 relationship_id invalid_reason
11|10|Is a|
11|14|Is a|D
12|11|Maps to|
13|11|Maps to|
11|11|Maps to|"""
TABLES = {"concept": CONCEPT, "concept_synonym": SYNONYM, "concept_relationship": RELATIONSHIP}


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def rows_of(table):
    header, *lines = TABLES[table].split("\n")
    return header.split(), [line.split("|") for line in lines]


@pytest.fixture
def folder(tmp_path):
    """Files as Athena writes them."""
    for table in TABLES:
        header, rows = rows_of(table)
        lines = ["\t".join(cells) for cells in (header, *rows)]
        (tmp_path / f"{table.upper()}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def tables(postgres):
    """The address of a schema with the tables."""
    database = Database(postgres)
    with database.transaction() as connection:
        database.create(connection)
        for table in TABLES:
            header, rows = rows_of(table)
            kinds = ("integer" if "concept_id" in name else "varchar(1000)" for name in header)
            columns = ", ".join(f"{name} {kind}" for name, kind in zip(header, kinds, strict=True))
            connection.execute(f"CREATE TABLE {table} ({columns})")
            for row in rows:
                marks = ", ".join(["%s"] * len(row))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", [cell or None for cell in row])
    return postgres


@pytest.fixture(params=["files", "database"])
def read(request):
    """A function that reads the tables from files or from a database."""
    folder = request.getfixturevalue("folder")
    options = {} if request.param == "files" else {"database": request.getfixturevalue("tables")}
    return lambda **more: list(read_vocabulary(folder, "omop", report=ReadReport(), **options, **more))


def test_standard_concepts(read):
    records = {record.concept_id: record for record in read()}
    assert list(records) == ["SNOMEDCT:100", "SNOMEDCT:101", "RxNorm_Extension:OMOP9".upper(), "SNOMEDCT:190"]
    attack = records["SNOMEDCT:101"]
    assert [(name.text, name.scope, name.source, name.language) for name in attack.names] == [
        ("Heart attack", "preferred", "SNOMED", ""),
        ("infarto de miocardio", "exact", "SNOMED", "es"),
        ("myocardial infarct", "exact", "SNOMED", ""),
    ]
    assert attack.alternative_ids == ("OMOP:11", "SNOMEDCT:102", "OMOP:12")  # but not those of another vocabulary
    assert (attack.types, attack.parents) == (("Condition",), ("SNOMEDCT:100",))


def test_concepts_that_are_not_standard(read):
    names = {record.concept_id: [name.text for name in record.names] for record in read(standard=False)}
    assert names["ICD10CM:I21"] == ["Heart attack", "never read"]
    assert "SNOMEDCT:102" not in names  # it was retired


def test_other_places(folder):
    assert guess_format(folder) == guess_format(folder / "CONCEPT.csv") == "omop"
    assert len(list(read_vocabulary(folder / "CONCEPT.csv", report=ReadReport()))) == 4


def test_built_from_a_database(tables, tmp_path):
    assert run("kb", "build", "--format", "omop", tables, "-o", tmp_path / "omop.kb").exit_code == 0
    kb = KnowledgeBase(tmp_path / "omop.kb")
    assert kb.find_id("OMOP:12") == ("SNOMEDCT:101",)
    (tmp_path / "recipe.yaml").write_text(json.dumps({"sources": [{"path": tables}], "only_type": "Condition"}))
    assert run("kb", "build", tmp_path / "recipe.yaml", "-o", tmp_path / "two.kb").exit_code == 0
    assert len(KnowledgeBase(tmp_path / "two.kb")) == 2


def test_what_is_missing(folder, postgres, tmp_path):
    with pytest.raises(CannotReadError, match=r'E120.*"concept" does not exist.*schema after #'):
        list(read_vocabulary(folder, "omop", report=ReadReport(), database=postgres))
    done = run("kb", "build", "postgresql://me:secret@host/cdm", "-o", tmp_path / "none.kb")
    assert "E406" in done.output
    assert "secret" not in done.output
    path = folder / "CONCEPT_SYNONYM.csv"
    path.write_text("concept_id\tconcept_synonym_name\tlanguage_concept_id\n11\tcut\n11\tmore\t90\n")
    report = ReadReport()
    assert len(list(read_vocabulary(folder, report=report))) == 4
    assert [(problem.line, report.broken) for problem in report.problems] == [(2, 1)]
    with pytest.raises(SapbertError, match=r"E127.*line 2"):
        list(read_vocabulary(folder, report=ReadReport(), strict=True))
    path.write_text("concept_id\tname\n")
    with pytest.raises(MissingColumnError, match="E128"):
        list(read_vocabulary(folder, report=ReadReport()))
    path.unlink()
    with pytest.raises(NotFoundError, match=r"CONCEPT_SYNONYM.csv in"):
        list(read_vocabulary(folder, report=ReadReport()))
