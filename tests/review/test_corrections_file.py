import os
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from spacy_sapbert.errors import CannotReadError, CannotWriteError, DamagedError, NewerVersionError, SettingError
from spacy_sapbert.review import corrections_file
from spacy_sapbert.review.corrections import Correction, ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile

TEXT = "cold and flu"
KEY = document_key(TEXT)
COLD = Correction("accept", "occurrence", KEY, 0, 4, "cold", ("D1", "D2"), "Disease", "me", "2026-01-01T00:00:00Z", "?")


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


def test_what_is_written_is_read(file):
    flu = COLD._replace(text="flu", start=9, end=12)
    assert file.add([COLD, flu]) == [1, 2]
    assert CorrectionsFile(file.path).corrections() == {1: COLD, 2: flu}
    assert CorrectionsFile(file.path, create=True).corrections() == {1: COLD, 2: flu}  # it stays
    assert repr(file).endswith("c.db)")


def test_the_present_time_is_added(file):
    file.add([COLD._replace(date="")])
    (found,) = file.corrections().values()
    assert len(found.date) == len(COLD.date)
    assert found.date > COLD.date


def test_undone(file):
    number, other = file.add([COLD, COLD._replace(text="Cold")])
    assert file.undo(number)
    assert not file.undo(number)
    assert not file.undo(99)
    assert list(file.corrections()) == [other]


def test_documents_and_decisions(file):
    file.add_documents([("1", TEXT), ("2", "a cold")], "notes")
    file.add_documents([("1", TEXT)], "again")
    file.add([COLD._replace(scope="corpus")])
    assert {one.doc_id: one.text for one in file.documents()} == {"1": TEXT, "2": "a cold"}
    decisions = file.decisions()
    assert decisions.of(document_key("a cold"), 2, 6, "cold").concept_ids == ("D1", "D2")
    assert decisions.of(document_key("other"), 2, 6, "cold").concept_ids is None


def test_all_or_none_are_written(file):
    with pytest.raises(SettingError):
        file.add([COLD, COLD._replace(action="?")])
    assert file.corrections() == {}


def test_several_windows_write_at_once(file):
    def write(name):
        one = CorrectionsFile(file.path)
        return [number for _ in range(20) for number in one.add([COLD._replace(author=name)])]

    with ThreadPoolExecutor(4) as pool:
        numbers = [number for found in pool.map(write, "abcd") for number in found]
    assert sorted(numbers) == list(range(1, 81))
    assert len(file.corrections()) == 80


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


def test_documents_can_be_read_while_others_write(file, monkeypatch):
    monkeypatch.setattr(corrections_file, "PATIENCE", 0.05)
    monkeypatch.setattr(corrections_file, "_AT_ONCE", 2)
    keys = file.add_documents([(str(number), f"text {number}") for number in range(5)], "notes")
    found = []
    for one in file.documents():
        found.append(document_key(one.text))
        file.add([COLD])
    assert found == sorted(keys)
    assert len(file.corrections()) == 5


def test_links(file):
    one = ProposedLink(KEY, 9, 12, "flu", "Disease", ("D1", "D2"), 0.25, 0.5)
    other = ProposedLink(KEY, 0, 4, "cold")
    file.set_links([KEY, "k2"], [one, other, one._replace(document="k2")])
    assert list(file.links()) == [other, one, one._replace(document="k2")]
    file.set_links([KEY], [other])  # the other document keeps its own
    assert list(file.links()) == [other, one._replace(document="k2")]
    file.set_links([KEY, "k2"], [])
    assert list(file.links()) == []


def test_the_secret(file, tmp_path):
    other = CorrectionsFile(tmp_path / "other.db", create=True)
    file.add([COLD])
    assert file.secret == CorrectionsFile(file.path, create=True).secret != other.secret
    assert len(file.secret) == 24
    file.copy(tmp_path / "copy.db")
    assert CorrectionsFile(tmp_path / "copy.db").secret != file.secret


def test_the_state_changes_with_each_correction_of_any_window(file):
    other, states = CorrectionsFile(file.path), [file.state]
    for change in (
        lambda: other.add([COLD]),
        lambda: file.add([COLD]),
        lambda: other.undo(1),
        lambda: other.add([COLD]),
        lambda: file.undo(2),
    ):
        change()
        states.append(file.state)
    assert len(set(states)) == len(states)
    assert not file.undo(2)
    assert file.state == other.state == states[-1]


def test_values_that_cannot_be_written(file):
    for wrong in ({"text": "a\ud800"}, {"end": 10**30}):
        with pytest.raises(CannotWriteError):
            file.add([COLD, COLD._replace(**wrong)])
    with pytest.raises(CannotWriteError):
        file.add_documents([("1", "a\ud800")], "notes")
    assert file.corrections() == {}


@pytest.mark.parametrize("name", ["a?mode=memory.db", "a#b.db", "a%41.db", "ä b.db"])
def test_names_with_signs_of_an_address(tmp_path, name):
    CorrectionsFile(tmp_path / name, create=True).add([COLD])
    assert os.listdir(tmp_path) == [name]
    assert len(CorrectionsFile(tmp_path / name).corrections()) == 1
