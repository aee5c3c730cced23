"""Addresses, connections and errors of PostgreSQL, against a real server."""

import threading

import pytest

from spacy_sapbert.errors import CannotWriteError, SapbertError, SettingError
from spacy_sapbert.files import postgres as module
from spacy_sapbert.files.postgres import Database, check_address, is_postgres

psycopg = pytest.importorskip("psycopg")


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:secret@h/db",
        "postgres://u:secret@h",
        "postgresql://u@h/db?password=secret",
        "postgresql://h/db?user=u&pass%77ord=secret",
        "postgresql://u:sec#ret@h/db",
        "postgresql://u:12#secret@h/db",
        "postgresql://u:se/cret@h/db",
        "postgresql://u:secret",
    ],
)
def test_passwords_are_refused_and_not_shown(address):
    with pytest.raises(SettingError, match=r"E406.*PGPASSWORD") as raised:
        Database(address)
    assert "cret" not in str(raised.value)


def test_addresses():
    for address in (
        "postgresql://",
        "postgresql://u@h:1,[::1]:2/db?a=b@c#s",
        "postgres:///db?host=/tmp",
        "a:b@c",
        "qdrant:x",
    ):
        check_address(address)
    assert str(Database("postgresql://u@h/db")) == "postgresql://u@h/db#spacy_sapbert"
    assert Database("postgresql://h#x").schema == "x"
    assert not is_postgres("http://h")


@pytest.fixture
def database(postgres):
    database = Database(postgres)
    with database.transaction() as connection:
        database.create(connection)
        connection.execute("CREATE TABLE t (value text)")
    return database


def count(database):
    with database.transaction() as connection:
        return connection.execute("SELECT count(*) FROM t").fetchone()[0]


@pytest.mark.parametrize(("value", "message"), [("a\0", r"E507.*NUL.*Nothing was changed"), ("a\ud800", "surrogates")])
def test_all_or_nothing(database, value, message):
    def insert():
        with database.transaction() as connection:
            connection.execute("INSERT INTO t VALUES ('a')")
            connection.execute("INSERT INTO t VALUES (%s)", [value])

    with pytest.raises(CannotWriteError, match=message):
        insert()
    assert count(database) == 0


def test_after_a_restart_of_the_server(database):
    with database.transaction() as connection:
        pid = connection.info.backend_pid
    with psycopg.connect(database.location) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    assert count(database) == 0  # by a new connection


def test_a_server_that_is_not_there():
    with (
        pytest.raises(SapbertError, match=r"E325.*127.0.0.1.*[Rr]efused.*server runs"),
        Database("postgresql://127.0.0.1:9/x").transaction(),
    ):
        pass


def test_wrong_passwords_and_permissions(postgres, monkeypatch):
    database = Database(postgres.replace("postgres:@", "locked@"))
    for password, expected in (("", "password"), ("wrong", "password authentication failed")):
        monkeypatch.setenv("PGPASSWORD", password)
        with pytest.raises(SapbertError, match=rf"E325.*{expected}.*PGPASSWORD"), database.transaction():
            pass
    monkeypatch.setenv("PGPASSWORD", "secret")
    refused = pytest.raises(CannotWriteError, match=r"permission denied.*Ask for the permission")
    with refused, database.transaction() as connection:
        database.create(connection)


def test_a_lock_of_another_program(database, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", "50ms")
    with database.transaction() as holder:
        holder.execute("LOCK TABLE t")
        with pytest.raises(CannotWriteError, match=r"lock timeout.*no other program"), database.transaction() as other:
            other.execute("LOCK TABLE t")


def test_threads_have_their_own_connections(database):
    barrier, pids = threading.Barrier(3), []

    def use():
        with database.transaction() as connection:
            barrier.wait(20)
            pids.append(connection.info.backend_pid)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(pids)) == 3
