"""Notes from a query, and rows of NOTE_NLP into a database of OMOP, against a real server."""

import json
import re

import pytest

from spacy_sapbert.files.postgres import Database
from spacy_sapbert.outputs import health_records

NOTES = [(7, "CF and aspirin."), (8, "Nothing."), (9, "aspirin, no zebra."), (10, "")]
TABLES = """
CREATE TABLE note (note_id integer, note_text text);
CREATE TABLE concept (
    concept_id integer, vocabulary_id varchar(20), concept_code varchar(50), standard_concept varchar(1),
    invalid_reason varchar(1)
);
CREATE TABLE concept_relationship (
    concept_id_1 integer, concept_id_2 integer, relationship_id varchar(20), invalid_reason varchar(1)
);
CREATE TABLE note_nlp (
    note_nlp_id integer PRIMARY KEY, note_id integer NOT NULL, section_concept_id integer, snippet varchar(250),
    "offset" varchar(50), lexical_variant varchar(250) NOT NULL, note_nlp_concept_id integer,
    note_nlp_source_concept_id integer, nlp_system varchar(250), nlp_date date NOT NULL, nlp_datetime timestamp,
    term_exists varchar(1), term_temporal varchar(50), term_modifiers varchar(2000)
);
INSERT INTO concept VALUES (1, 'MeSH', 'D003550', NULL, NULL), (2, 'SNOMED', '190905008', 'S', NULL),
    (3, 'MeSH', 'D001241', NULL, 'D'), (4, 'MeSH', 'D001241', NULL, NULL), (5, 'Other', 'D001241', 'S', NULL);
INSERT INTO concept_relationship VALUES (1, 2, 'Maps to', NULL), (4, 5, 'Maps to', 'D'), (2, 2, 'Maps to', NULL);
INSERT INTO note_nlp VALUES (40, 7, 0, '', '0', 'own', 1, 1, 'another program', '2020-01-01')
"""
COLUMNS = '"offset", lexical_variant, note_nlp_concept_id, note_nlp_source_concept_id'


@pytest.fixture
def rows(postgres):
    """A function that executes SQL in a schema of OMOP, and returns the rows."""
    database = Database(postgres)

    def execute(query, many=()):
        with database.transaction() as connection:
            if many:
                connection.cursor().executemany(query, many)
                return []
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    with database.transaction() as connection:
        database.create(connection)
    execute(TABLES)
    execute("INSERT INTO note VALUES (%s, %s)", NOTES)
    return execute


@pytest.fixture
def link(command, linking_folder, postgres, tmp_path):
    """A function that links the notes of a query."""

    def run(*options, query='SELECT note_id AS id, note_text FROM "{}".note ORDER BY 1', first=""):
        location, _, schema = postgres.partition("#")
        path = tmp_path / "notes.sql"
        path.write_text(f"{first or f'-- {location}'}\n{query.format(schema)}\n")
        return command("link", linking_folder, path, "--format", "sql", "--column", "text=note_text", *options)

    return run


def test_notes_of_a_query(link, rows):
    done = link()
    records = [json.loads(line) for line in done.out.decode().splitlines()]
    assert [record["id"] for record in records] == ["7", "8", "9"]
    assert [entity["kb_id"] for entity in records[0]["entities"]] == ["D003550", "D001241"]
    assert "row 4: the text is empty" in done.err


def test_the_database_of_the_environment(link, rows, postgres, monkeypatch):
    monkeypatch.setenv("PGHOST", postgres.partition("host=")[2].partition("#")[0])
    monkeypatch.setenv("PGUSER", "postgres")
    assert link(first="-- notes of the ward").status == 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT note_id AS id FROM missing", r"E120.*missing.*Check the query"),
        ("SELEKT", "E120"),
        ("SELECT 1 AS id", "E128"),
        ('DELETE FROM "{}".note RETURNING note_text, note_id AS id', "E120"),
    ],
)
def test_bad_queries(link, rows, query, message):
    done = link(query=query)
    assert done.status == 1
    assert re.search(message, done.err)
    assert len(rows("SELECT * FROM note")) == 4


def test_rows_of_note_nlp(link, rows, postgres, monkeypatch):
    monkeypatch.setattr(health_records, "_NOTES_PER_BATCH", 2)
    expected = [("0", "CF", 2, 1), ("7", "aspirin", 4, 4), ("0", "aspirin", 4, 4), ("12", "zebra", 0, 0)]
    for _ in range(2):  # the second run replaces the rows of the first
        assert link("-o", postgres).status == 0
        assert rows(f"SELECT {COLUMNS} FROM note_nlp WHERE nlp_system LIKE 'spacy-sapbert %' ORDER BY note_nlp_id") == [
            *expected
        ]
    assert rows("SELECT count(*), count(DISTINCT note_nlp_id), min(note_nlp_id) FROM note_nlp") == [(5, 5, 40)]


def test_two_texts_of_one_note_keep_their_rows(link, rows, postgres, monkeypatch):
    monkeypatch.setattr(health_records, "_NOTES_PER_BATCH", 1)
    query = "SELECT * FROM (VALUES ('7', 'CF'), ('8', 'zebra'), ('7', 'aspirin')) AS texts (id, note_text)"
    for _ in range(2):
        assert link("-o", postgres, query=query).status == 0
        found = rows("SELECT note_id, lexical_variant FROM note_nlp WHERE note_nlp_id > 40 ORDER BY note_nlp_id")
        assert found == [(7, "CF"), (8, "zebra"), (7, "aspirin")]


def test_a_batch_is_written_as_a_whole_or_not_at_all(link, rows, postgres, monkeypatch):
    monkeypatch.setattr(health_records, "_NOTES_PER_BATCH", 2)
    rows("ALTER TABLE note_nlp ADD CHECK (lexical_variant <> 'zebra')")
    done = link("-o", postgres)
    assert done.status == 1
    assert re.search(r"E507.*note_nlp.*Nothing was changed", done.err)
    assert "no zebra" not in done.err  # a log has no text of a patient
    assert [note for (note,) in rows("SELECT note_id FROM note_nlp ORDER BY note_nlp_id")] == [7, 7, 7]


def test_wrong_outputs(link, rows, postgres):
    assert "[E533]" in link("-o", postgres, "--to", "csv").err
    rows("DROP TABLE note_nlp")
    assert "note_nlp" in link("-o", postgres).err
    refused = link("-o", "postgresql://me:secret@host/cdm")
    assert "[E406]" in refused.err
    assert "secret" not in refused.err
