"""Knowledge base files that somebody changed. Each ends in a named error, in bounded time."""

from __future__ import annotations

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb import database
from spacy_sapbert.kb.arrays import IDS, MAP, TIE_RANKS
from spacy_sapbert.kb.check import check_knowledge_base
from spacy_sapbert.kb.diff import compare
from spacy_sapbert.kb.info import describe
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.storage import starter_knowledge_base
from spacy_sapbert.kb.suspicious_names import suspicious_names

REPEATED = ("names", "arrays", "types", "parents", "xrefs")
ENDLESS = "WITH RECURSIVE n(row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM n) SELECT row, 'flu' || row AS text FROM n"


@pytest.fixture
def changed(small_kb, tmp_path):
    """A function that changes a copy of the small knowledge base by SQL, and returns its path."""

    def run(*statements):
        path = shutil.copyfile(small_kb.path, tmp_path / "changed.kb")
        with closing(sqlite3.connect(path)) as db, db:
            for statement in statements:
                db.execute(statement)
        return path

    return run


def read_all(path):
    """Read all that a knowledge base has."""
    kb = KnowledgeBase(path)
    ids, rows = list(kb.concept_ids()), range(len(kb))
    names = list(kb.names())
    assert (len(ids), len(names)) == (len(kb), kb.n_names)
    assert kb.names_at(range(kb.n_names)) == names
    for concept_id in ids:
        concept = kb.get(concept_id)
        assert concept is not None
        assert isinstance(concept.canonical_name, str)
        assert max(kb.name_rows(concept_id), default=0) < kb.n_names
        assert max(kb.concept_rows(concept_id), default=0) < len(kb)
    kb.summaries_of(ids)
    kb.labels_of(ids)
    kb.xrefs_of(ids)
    kb.types_at(rows)
    assert kb.concept_ids_at(rows) == ids
    assert len(kb.tie_ranks) == len(kb)
    assert len(kb.matching_entries(list(kb.type_counts()), list(kb.source_counts()))) == len(kb.name_concepts.names)
    kb.annotations_of([(concept_id, names[0]) for concept_id in ids])
    kb.annotated_only()
    kb.stop_name_rows()
    repr(kb)
    describe(kb)
    return kb


def test_an_unchanged_file_is_read(changed):
    assert len(read_all(changed())) == 15


def test_an_analyzed_file_is_read(changed):
    assert len(read_all(changed("ANALYZE"))) == 15


# --- the schema


@pytest.mark.parametrize("table", ["names", "concepts", "meta", "arrays", "synonyms"])
def test_a_view_in_place_of_a_table_is_not_read(changed, table):
    path = changed(f"DROP TABLE {table}", f"CREATE VIEW {table} AS {ENDLESS}")
    with pytest.raises(SapbertError, match=rf"E102.*changed\.kb.*{table} is a view, not a table"):
        KnowledgeBase(path)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON names BEGIN SELECT 1; END", "it has a trigger t"),
        (f"CREATE VIEW extra AS {ENDLESS}", "it has a view extra"),
        ("CREATE TABLE extra (a)", "it has a table extra"),
        ("DROP TABLE stop_names", "no such table: stop_names"),
        ("DROP INDEX names_by_text", "no such index: names_by_text"),
        ("ALTER TABLE names RENAME COLUMN text TO word", "table names has another form"),
        ("ALTER TABLE names ADD COLUMN more GENERATED ALWAYS AS (row)", "table names has another form"),
        ("CREATE INDEX extra ON names (upper(text))", "it has a index extra"),
    ],
)
def test_another_schema_is_told(changed, statement, reason):
    with pytest.raises(SapbertError, match=f"E102.*{reason}"):
        KnowledgeBase(changed(statement))


@pytest.mark.parametrize(("table", "columns"), [("totals", "of, value, count"), ("meta", "key, value")])
def test_a_virtual_table_is_not_opened(changed, monkeypatch, table, columns):
    path = changed(f"DROP TABLE {table}", f"CREATE VIRTUAL TABLE {table} USING fts5({columns})")
    read = KnowledgeBase._rows
    asked = []
    monkeypatch.setattr(KnowledgeBase, "_rows", lambda kb, sql, *values: asked.append(sql) or read(kb, sql, *values))
    with pytest.raises(SapbertError, match=rf"E102.*{table} has another form"):
        KnowledgeBase(path)
    assert not [sql for sql in asked if f"FROM {table}" in sql]


def test_no_schema_is_trusted(small_kb):
    with closing(database.open_database(small_kb.path)) as db:
        assert db.execute("PRAGMA trusted_schema").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            db.execute("DELETE FROM names")


# --- the metadata


@pytest.mark.parametrize(
    "value", ["{", "", "[" * 100_000, "1" * 5000, "'; DROP TABLE meta; --"], ids=["open", "none", "deep", "long", "sql"]
)
def test_metadata_that_are_not_json_are_told(small_kb, tmp_path, value):
    path = shutil.copyfile(small_kb.path, tmp_path / "changed.kb")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'concepts'", (value,))
    with pytest.raises(SapbertError, match=r"E102.*metadata are not JSON"):
        KnowledgeBase(path)


@pytest.mark.parametrize("key", ["concepts", "names"])
@pytest.mark.parametrize("value", ["-1", "true", '"15"', "15.0", "null", "1000000000", "[]"])
def test_wrong_counts_in_the_metadata_are_told(changed, key, value):
    with pytest.raises(SapbertError, match=f"E102.*wrong number of {key}"):
        KnowledgeBase(changed(f"UPDATE meta SET value = '{value}' WHERE key = '{key}'"))


@pytest.mark.parametrize(
    ("key", "error"), [("concepts", "E102"), ("names", "E102"), ("fingerprint", "E102"), ("format", "E103")]
)
def test_missing_metadata_are_told(changed, key, error):
    with pytest.raises(SapbertError, match=error):
        KnowledgeBase(changed(f"DELETE FROM meta WHERE key = '{key}'"))


@pytest.mark.parametrize("value", ["3", "true", "[]", '{"a": 4}', '"4"'])
def test_an_odd_format_is_another_format(changed, value):
    with pytest.raises(SapbertError, match="E103"):
        KnowledgeBase(changed(f"UPDATE meta SET value = '{value}' WHERE key = 'format'"))


# --- rows


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM names WHERE row = 4",
        "UPDATE names SET row = 50 WHERE row = 4",
        "UPDATE names SET row = -1 WHERE row = 4",
        "INSERT INTO names VALUES (34, 'one too many')",
        "UPDATE names SET text = x'ff' WHERE row = 4",
        "UPDATE names SET text = CAST(x'ff' AS TEXT) WHERE row = 4",
        "DELETE FROM concepts WHERE row = 3",
        "UPDATE concepts SET id = x'00' WHERE row = 3",
        "INSERT INTO concepts VALUES (15, 'D99', 0, NULL)",
        "DELETE FROM synonyms WHERE concept = 1",
        "UPDATE synonyms SET concept = 'flu' WHERE concept = 1",
        "UPDATE ids SET concept = 99 WHERE concept = 1",
        "UPDATE ids SET concept = 'flu' WHERE concept = 1",
        "UPDATE types SET concept = 99 WHERE concept = 1",
        "UPDATE types SET concept = -1 WHERE concept = 1",
        "UPDATE types SET concept = 'flu' WHERE concept = 1",
        "INSERT OR REPLACE INTO stop_names VALUES (99, 'short')",
        "UPDATE totals SET count = 'many'",
        "UPDATE totals SET value = x'00' WHERE value = 'Drug'",
    ],
)
def test_wrong_rows_are_told(changed, statement):
    with pytest.raises(SapbertError, match=r"E102.*changed\.kb"):
        read_all(changed(statement))


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("names", "text = 7 WHERE row = 4"),
        ("concepts", "id = 7 WHERE row = 3"),
        ("concepts", "definition = 0.5 WHERE row = 3"),
        ("types", "type = 7 WHERE concept = 1"),
        ("synonyms", "source = 7 WHERE concept = 1"),
    ],
)
def test_numbers_in_place_of_texts_are_told(small_kb, tmp_path, table, change):
    """SQLite makes texts of them, unless the column has no type at that moment."""
    path = shutil.copyfile(small_kb.path, tmp_path / "changed.kb")
    with closing(sqlite3.connect(path)) as db, db:
        ((schema,),) = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
    statements = (
        ("UPDATE sqlite_master SET sql = ? WHERE name = ?", (schema.replace(" TEXT", ""), table)),
        (f"UPDATE {table} SET {change}", ()),
        ("UPDATE sqlite_master SET sql = ? WHERE name = ?", (schema, table)),
    )
    for statement in statements:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA writable_schema = ON")
            db.execute(*statement)
    with pytest.raises(SapbertError, match=r"E102.*changed\.kb"):
        read_all(path)


def test_a_file_that_cannot_be_read_is_told(small_kb, monkeypatch):
    def refuse(path, *args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(SapbertError, match=r"E102.*Permission denied"):
        KnowledgeBase(small_kb.path)


def test_a_file_that_is_gone_is_told_in_each_thread(small_kb, tmp_path):
    kb = KnowledgeBase(shutil.copyfile(small_kb.path, tmp_path / "gone.kb"))
    kb.path.unlink()
    with ThreadPoolExecutor(1) as pool:  # a thread has its own connection
        for read in (lambda: kb.find_name("flu"), lambda: kb.name_concepts):
            with pytest.raises(SapbertError, match=r"E102.*gone\.kb"):
                pool.submit(read).result()


def test_a_row_that_the_file_never_had_is_no_damage(small_kb):
    for read in (small_kb.name, small_kb.concept_id, lambda row: small_kb.names_at([row])):
        with pytest.raises(IndexError):
            read(34)


# --- arrays


@pytest.mark.parametrize("name", [*MAP, TIE_RANKS, IDS])
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM arrays WHERE name = '{}'",
        "UPDATE arrays SET data = x'' WHERE name = '{}'",
        "UPDATE arrays SET data = 'text' WHERE name = '{}'",
        "UPDATE arrays SET data = 7 WHERE name = '{}'",
        "UPDATE arrays SET data = substr(data, 2) WHERE name = '{}'",
        "UPDATE arrays SET data = substr(data, 5) WHERE name = '{}'",
        "UPDATE arrays SET data = data || x'00000000' WHERE name = '{}'",
    ],
)
def test_an_array_of_another_size_is_told(changed, name, change):
    with pytest.raises(SapbertError, match=r"E102.*array"):
        read_all(changed(change.format(name)))


@pytest.mark.parametrize(
    ("name", "value"),
    [("names", 34), ("names", -1), ("concepts", 15), ("concepts", -1), ("ranks", -1), ("ranks", 99), (TIE_RANKS, 15)],
)
def test_an_array_with_a_row_outside_is_told(changed, name, value):
    data = np.array([value], dtype="<i4").tobytes().hex()
    change = (
        f"UPDATE arrays SET data = CAST(substr(data, 1, length(data) - 4) || x'{data}' AS BLOB) WHERE name = '{name}'"
    )
    with pytest.raises(SapbertError, match=r"E102.*array"):
        read_all(changed(change))


def test_arrays_with_odd_bytes_are_told(changed):
    flags = "UPDATE arrays SET data = CAST(x'07' || substr(data, 2) AS BLOB) WHERE name = 'preferred'"
    with pytest.raises(SapbertError, match=r"E102.*arrays do not belong together"):
        read_all(changed(flags))
    with pytest.raises(SapbertError, match=r"E102.*array ids"):
        read_all(changed(f"UPDATE arrays SET data = CAST(x'ff' || substr(data, 2) AS BLOB) WHERE name = '{IDS}'"))


# --- endless reading


def test_a_query_that_does_not_end_is_stopped(small_kb, monkeypatch):
    monkeypatch.setattr(database, "LEAST_STEPS", 100_000)
    with pytest.raises(SapbertError, match=r"E102.*reading did not end"):
        KnowledgeBase(small_kb.path).query(f"SELECT count(*) FROM ({ENDLESS})")


def test_each_query_has_its_own_bound(small_kb, monkeypatch):
    monkeypatch.setattr(database, "LEAST_STEPS", 2 * database.STEPS)
    monkeypatch.setattr(database, "STEPS_PER_BYTE", 0)
    kb = KnowledgeBase(small_kb.path)
    for _ in range(1000):  # far more steps than one query may take
        assert len(list(kb.names())) == 34


def test_a_table_whose_pages_repeat_ends(small_kb, tmp_path):
    """Inner pages that have the same child 500 times, four levels deep: 62,500,000,000 times the rows of the table."""
    path = shutil.copyfile(small_kb.path, tmp_path / "changed.kb")
    with closing(sqlite3.connect(path)) as db:
        roots = dict(db.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'"))
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    *inner, last = (slice((roots[table] - 1) * size, roots[table] * size) for table in REPEATED)
    content[last] = content[inner[0]]
    for page, child in zip(inner, REPEATED[1:], strict=True):
        content[page] = inner_page(size, roots[child], 500)
    path.write_bytes(content)
    kb = KnowledgeBase(path)
    with pytest.raises(SapbertError, match=r"E102.*wrong row"):
        list(kb.names())
    with pytest.raises(SapbertError, match=r"E102.*reading did not end"):
        kb.query("SELECT count(*) FROM names WHERE text LIKE '%x'")


def inner_page(size, child, n):
    """Return an inner page of a table of SQLite, all of whose children are the same page."""
    cell = child.to_bytes(4, "big") + b"\x07"
    first = size - n * len(cell)
    header = bytes([5, 0, 0]) + n.to_bytes(2, "big") + first.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    places = b"".join((first + len(cell) * i).to_bytes(2, "big") for i in range(n))
    return (header + places).ljust(first, b"\0") + cell * n


def test_pages_that_contain_each_other_end(small_kb, tmp_path):
    """Every page becomes an inner page that has itself as its child, or a page of another table."""
    content = small_kb.path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    for page in range(1, len(content) // size):
        changed = bytearray(content)
        changed[page * size : (page + 1) * size] = content[size * (page - 1) : size * page]
        (tmp_path / "changed.kb").write_bytes(changed)
        read_or_tell(tmp_path / "changed.kb")


def read_or_tell(path):
    """Read all. Rows that are consistent may differ from those of the file. Any other error is a fault."""
    with suppress(SapbertError, AssertionError):
        read_all(path)


def test_random_damage_ends_in_a_named_error(small_kb, tmp_path):
    content, path = small_kb.path.read_bytes(), tmp_path / "changed.kb"
    random = np.random.default_rng(0)
    for _ in range(100):
        changed = bytearray(content)
        for at in random.integers(100, len(content), size=random.integers(1, 30)):
            changed[at] = random.integers(256)
        path.write_bytes(changed)
        read_or_tell(path)


# --- other readers of the file


def test_checks_and_comparisons_of_a_changed_file_end(changed, small_kb):
    path = changed("UPDATE synonyms SET annotations = 'many', concept = 'flu' WHERE concept = 1")
    kb = KnowledgeBase(path)
    assert json.dumps(check_knowledge_base(kb)["problems"])
    with compare(small_kb, kb) as diff:
        assert json.dumps(diff.summary())
    list(suspicious_names(kb, ()))


def test_a_damaged_starter_vocabulary_in_the_cache_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path))
    kb = starter_knowledge_base()
    n, path = len(kb), kb.path
    path.write_bytes(b"damaged")
    assert len(starter_knowledge_base()) == n
