import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from spacy_sapbert.errors import (
    CannotReadError,
    CannotWriteError,
    DamagedError,
    NewerVersionError,
    SapbertError,
    SettingError,
)
from spacy_sapbert.files.postgres import Database
from spacy_sapbert.review import corrections_file
from spacy_sapbert.review.corrections import Correction, ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile, open_corrections

TEXT = "cold and flu"
KEY = document_key(TEXT)
COLD = Correction("accept", "occurrence", KEY, 0, 4, "cold", ("D1", "D2"), "Disease", "me", "2026-01-01T00:00:00Z", "?")


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


@pytest.fixture(params=["file", "database"])
def kept(request):
    """Corrections in a file or in PostgreSQL."""
    if request.param == "file":
        return request.getfixturevalue("file")
    return open_corrections(request.getfixturevalue("postgres"), create=True)


def test_what_is_written_is_read(kept):
    flu = COLD._replace(text="flu", start=9, end=12)
    assert kept.add([COLD, flu]) == [1, 2]
    assert open_corrections(kept.address).corrections() == {1: COLD, 2: flu}
    assert open_corrections(kept.address, create=True).corrections() == {1: COLD, 2: flu}  # it stays
    assert repr(kept).endswith(f"{kept.address})")


def test_the_present_time_is_added(kept):
    kept.add([COLD._replace(date="")])
    (found,) = kept.corrections().values()
    assert len(found.date) == len(COLD.date)
    assert found.date > COLD.date


def test_undone(kept):
    number, other = kept.add([COLD, COLD._replace(text="Cold")])
    assert kept.undo(number)
    assert not kept.undo(number)
    assert not kept.undo(99)
    assert list(kept.corrections()) == [other]


def test_documents_and_decisions(kept):
    kept.add_documents([("1", TEXT), ("2", "a cold")], "notes")
    kept.add_documents([("1", TEXT)], "again")
    kept.add([COLD._replace(scope="corpus")])
    assert {one.doc_id: one.text for one in kept.documents()} == {"1": TEXT, "2": "a cold"}
    decisions = kept.decisions()
    assert decisions.of(document_key("a cold"), 2, 6, "cold").concept_ids == ("D1", "D2")
    assert decisions.of(document_key("other"), 2, 6, "cold").concept_ids is None


def test_all_or_none_are_written(kept):
    with pytest.raises(SettingError):
        kept.add([COLD, COLD._replace(action="?")])
    assert kept.corrections() == {}


def test_several_windows_write_at_once(kept):
    def write(name):
        one = open_corrections(kept.address)
        return [number for _ in range(20) for number in one.add([COLD._replace(author=name)])]

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for found in pool.map(write, "abcd") for number in found]
    assert sorted(numbers) == list(range(1, 81))
    assert len(kept.corrections()) == 80


# --- bad files


def test_no_file(tmp_path):
    with pytest.raises(CannotReadError, match="there is no such file"):
        CorrectionsFile(tmp_path / "none.db")
    assert os.listdir(tmp_path) == []
    with pytest.raises(CannotWriteError):
        CorrectionsFile(tmp_path / "none" / "c.db", create=True)


@pytest.mark.parametrize("content", [b"", b"no database at all" * 99, b"SQLite format 3\0" + b"\0" * 99])
def test_a_file_of_another_kind(tmp_path, content):
    path = tmp_path / "c.db"
    path.write_bytes(content)
    with pytest.raises(DamagedError):
        CorrectionsFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("value", ["'[cut'", "7"])
def test_a_damaged_value_is_reported(file, value):
    file.add([Correction("accept", "corpus", "k", 0, 3, "flu", ("D1",))])
    db = sqlite3.connect(file.path)
    db.execute(f"UPDATE corrections SET concept_ids = {value}")
    db.commit()
    db.close()
    with pytest.raises(DamagedError, match=r"c\.db"):
        CorrectionsFile(file.path).corrections()


def test_another_database(tmp_path):
    with sqlite3.connect(tmp_path / "c.db") as db:
        db.execute("CREATE TABLE corrections (id)")
    with pytest.raises(DamagedError, match="not a file of corrections"):
        CorrectionsFile(tmp_path / "c.db", create=True)


def test_a_newer_version(file):
    with sqlite3.connect(file.path) as db:
        db.execute(f"PRAGMA user_version = {corrections_file.FORMAT + 1}")
    with pytest.raises(NewerVersionError, match=r"format 2.*formats up to 1"):
        CorrectionsFile(file.path)


def test_a_locked_file(file, monkeypatch):
    monkeypatch.setattr(corrections_file, "PATIENCE", 0.1)
    with sqlite3.connect(file.path, isolation_level=None) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CannotWriteError, match="locked"):
            file.add([COLD])
        with pytest.raises(CannotReadError, match="locked"):
            CorrectionsFile(file.path)
        db.execute("ROLLBACK")
    assert file.add([COLD]) == [1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_that_is_read_only(file):
    file.path.parent.chmod(0o500)
    try:
        with pytest.raises(CannotWriteError):
            file.check_writable()
        assert file.corrections() == {}
    finally:
        file.path.parent.chmod(0o700)


def test_a_window_was_killed_in_the_middle_of_a_write(file, tmp_path):
    file.add([COLD._replace(comment="y" * 500)] * 300)
    (tmp_path / "left").mkdir()
    db = sqlite3.connect(file.path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")  # so that it writes before the end
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE corrections SET comment = 'z'")
    for path in tmp_path.glob("c.db*"):
        shutil.copy(path, tmp_path / "left")
    db.execute("ROLLBACK")
    db.close()
    assert (tmp_path / "left" / "c.db-journal").exists()
    left = CorrectionsFile(tmp_path / "left" / "c.db")
    assert {one.comment for one in left.corrections().values()} == {"y" * 500}


def test_documents_can_be_read_while_others_write(kept, monkeypatch):
    monkeypatch.setattr(corrections_file, "PATIENCE", 0.05)
    monkeypatch.setattr(corrections_file, "_AT_ONCE", 2)
    keys = kept.add_documents([(str(number), f"text {number}") for number in range(5)], "notes")
    found = []
    for one in kept.documents():
        found.append(document_key(one.text))
        kept.add([COLD])
    assert found == sorted(keys)
    assert len(kept.corrections()) == 5


def test_links(kept):
    one = ProposedLink(KEY, 9, 12, "flu", "Disease", ("D1", "D2"), 0.25, 0.5)
    other = ProposedLink(KEY, 0, 4, "cold")
    kept.set_links([KEY, "k2"], [one, other, one._replace(document="k2")])
    assert list(kept.links()) == [other, one, one._replace(document="k2")]
    kept.set_links([KEY], [other])  # the other document keeps its own
    assert list(kept.links()) == [other, one._replace(document="k2")]
    kept.set_links([KEY, "k2"], [])
    assert list(kept.links()) == []


def test_the_secret(kept, tmp_path):
    other = CorrectionsFile(tmp_path / "other.db", create=True)
    kept.add([COLD])
    assert kept.secret == open_corrections(kept.address, create=True).secret != other.secret
    assert len(kept.secret) == 24
    kept.copy(tmp_path / "copy.db")
    assert CorrectionsFile(tmp_path / "copy.db").secret != kept.secret


def test_the_state_changes_with_each_correction_of_any_window(kept):
    other, states = open_corrections(kept.address), [kept.state]
    for change in (
        lambda: other.add([COLD]),
        lambda: kept.add([COLD]),
        lambda: other.undo(1),
        lambda: other.add([COLD]),
        lambda: kept.undo(2),
    ):
        change()
        states.append(kept.state)
    assert len(set(states)) == len(states)
    assert not kept.undo(2)
    assert kept.state == other.state == states[-1]


def test_values_that_cannot_be_written(kept):
    for wrong in ({"text": "a\ud800"}, {"end": 10**30}):
        with pytest.raises(CannotWriteError):
            kept.add([COLD, COLD._replace(**wrong)])
    with pytest.raises(CannotWriteError):
        kept.add_documents([("1", "a\ud800")], "notes")
    assert kept.corrections() == {}


@pytest.mark.parametrize("name", ["a?mode=memory.db", "a#b.db", "a%41.db", "ä b.db"])
def test_names_with_signs_of_an_address(tmp_path, name):
    CorrectionsFile(tmp_path / name, create=True).add([COLD])
    assert os.listdir(tmp_path) == [name]
    assert len(CorrectionsFile(tmp_path / name).corrections()) == 1


# --- a database


def test_machines_show_different_texts(file, postgres):
    one, other = (open_corrections(postgres, create=True) for _ in range(2))
    assert one.claim("cold", "a", 60)
    assert one.claim("cold", "a", 60)
    assert not other.claim("cold", "b", 60)
    assert other.claim("flu", "b", 0)
    assert one.claim("flu", "a", 60)  # the time of b is over, and a no longer shows the cold
    assert other.claim("cold", "b", 60)
    assert file.claim("cold", "a", 60)
    assert file.claim("cold", "c", 60)  # a file serves one machine


def test_no_corrections_in_a_database(postgres):
    with pytest.raises(CannotReadError, match=r"E120.*no corrections.*Check the address"):
        open_corrections(postgres)
    with Database(postgres).transaction() as connection:
        open_corrections(postgres, create=True)
        connection.execute("UPDATE corrections_format SET version = 2")
    with pytest.raises(NewerVersionError, match=r"format 2.*formats up to 1"):
        open_corrections(postgres)


def test_a_lost_connection_loses_a_write_as_a_whole(postgres):
    file = open_corrections(postgres, create=True)
    file.add([COLD])
    kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO corrections%'"

    def write():
        with file._writing() as db:
            file._insert(db, corrections_file._row(COLD))
            with Database(postgres).transaction() as other:
                other.execute(kill)
            file._insert(db, corrections_file._row(COLD))

    with pytest.raises(SapbertError, match="E325"):
        write()
    assert list(file.corrections().values()) == [COLD]
