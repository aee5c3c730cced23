import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import MismatchError, SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.filters import Filter, filter_mask
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors import postgres_index
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.postgres_index import PostgresCollection, PostgresVectors, upload

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def put(encoder, postgres):
    """A function that uploads a knowledge base."""
    return lambda kb, **options: upload(kb, cached_name_vectors(kb, encoder), postgres, **options)


@pytest.fixture
def opened(encoder, postgres):
    """A function that opens the upload as an index."""
    return lambda kb, encoder=encoder: PostgresVectors(postgres, kb, encoder)


@pytest.fixture
def rows(postgres):
    """A function that executes SQL in the schema, and returns the rows."""

    def execute(query):
        with PostgresCollection(postgres).connected() as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description else []

    return execute


def record(concept_id, names, kind="Disease"):
    return Record(concept_id, tuple(Name(name, "exact", "s") for name in names), types=(kind,))


def test_names_and_nearest(small_kb, encoder, put, opened, rows):
    reported = []
    counts = put(small_kb, progress=lambda *done: reported.append(done))
    assert counts == {"removed": 0, "changed": 0, "added": 34, "unchanged": 0}
    assert reported == [(34, 34)]
    assert rows("SELECT concept_ids FROM names WHERE name = 'Seizures'") == [(["D012640", "HP:0001250"],)]
    vectors, local = opened(small_kb), cached_name_vectors(small_kb, encoder)
    texts = ["breast  CANCER", "new", "CF", "newer", "ASA"]
    queries = vectors.encode(texts)
    np.testing.assert_allclose(queries, local.encode(texts), atol=1e-3)
    products, found = vectors.nearest(queries, 5)
    np.testing.assert_allclose(products, local.nearest(queries, 5)[0], atol=2e-3)
    assert (found[:, 0] == local.nearest(queries, 5)[1][:, 0]).all()
    known = local.known_rows(texts)
    known = known[known >= 0]
    np.testing.assert_allclose(np.diag(vectors.similarities(vectors.encode(["CF"]), known[1:2])), 1, atol=1e-6)


@pytest.mark.parametrize("limit", [0, 10**6])
def test_a_filter_comes_before_the_search(small_kb, put, opened, monkeypatch, limit):
    monkeypatch.setattr(postgres_index, "EXACT_NAMES", limit)
    put(small_kb)
    for filter in (Filter(("Phenotype",)), Filter((), ("HPO",)), Filter(("Drug", "Phenotype"), ("CTD",))):
        mask = filter_mask(small_kb, filter)
        _, found = opened(small_kb).nearest(np.ones((2, 32), np.float32), len(mask.rows) + 1, mask)
        assert [set(row) for row in found] == [{-1, *mask.rows}] * 2
    disease = filter_mask(small_kb, Filter(("Disease",), ("HPO",)))  # a name has both, but of two concepts
    assert set(opened(small_kb).nearest(np.ones((1, 32), np.float32), 34, disease)[1][0]) == {-1}


def test_an_update_changes_what_differs_and_is_complete_or_not_there(tmp_path, encoder, put, opened, rows):
    old = build_knowledge_base(
        [record("A", ["same", "given"]), record("B", ["retyped"]), record("C", ["gone", "gone too"])],
        tmp_path / "old.kb",
    )
    new = build_knowledge_base(
        [record("X", ["new"]), record("A", ["same"]), record("B", ["retyped"], "Drug"), record("D", ["given"])],
        tmp_path / "new.kb",
    )
    put(old)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put(new, progress=stop)
    assert opened(old).nearest(encoder.encode(["same"]), 1)[1].tolist() == [[[*old.names()].index("same")]]
    with pytest.raises(MismatchError, match=r"E305.*another vocabulary.*kb upload \S+new\.kb"):
        opened(new).nearest(np.ones((1, 32), np.float32), 1)
    assert put(new) == {"removed": 2, "changed": 2, "added": 1, "unchanged": 1}
    assert CandidateGenerator(new, None, opened(new))(["given"], 1)[0][0].concept_id == "D"
    assert sorted(rows("SELECT name FROM names")) == [("given",), ("new",), ("retyped",), ("same",)]


def test_another_encoder_and_raw_vectors(small_kb, make_encoder, postgres, opened):
    raw = TransformerEncoder(str(make_encoder(seed=7, l2_normalized=False)), device="cpu")
    for encoder in (TransformerEncoder(str(make_encoder(seed=5)), device="cpu"), raw):
        assert upload(small_kb, cached_name_vectors(small_kb, encoder), postgres)["added"] == 34
    exact = cached_name_vectors(small_kb, raw)
    assert opened(small_kb, raw).longest == pytest.approx(exact.longest)
    np.testing.assert_allclose(opened(small_kb, raw)._vectors(None), exact.vectors, rtol=1e-2, atol=1e-2)


def test_what_is_not_there(small_kb, postgres, opened, rows, put):
    with pytest.raises(MismatchError, match=r"E305.*does not exist.*kb upload .*--to"):
        opened(small_kb).nearest(np.ones((1, 32), np.float32), 2)
    put(small_kb)
    rows("DELETE FROM names WHERE name = 'CF'")
    with pytest.raises(MismatchError, match=r"33 of 34 points"):
        opened(small_kb).nearest(np.ones((1, 32), np.float32), 2)
    rows("DROP TABLE about")
    with pytest.raises(MismatchError, match=r"E305.*not made by an upload.*another schema"):
        put(small_kb)


def test_without_the_extension(small_kb, encoder, postgres, rows):
    with psycopg.connect(postgres.partition("#")[0], autocommit=True) as connection:
        connection.execute("CREATE DATABASE bare")
    vectors = cached_name_vectors(small_kb, encoder)
    with pytest.raises(MismatchError, match=r"E305.*extension vector.*version 0.*CREATE EXTENSION vector"):
        upload(small_kb, vectors, postgres.replace("/postgres?", "/bare?"))


@pytest.mark.parametrize("failure", ["full disk", "lost connection"])
def test_nothing_is_half_written(small_kb, put, opened, rows, monkeypatch, failure):
    put(small_kb)
    before = rows("SELECT id, concept_ids FROM names ORDER BY id")

    def fail(done, total):
        if failure == "full disk":
            raise psycopg.errors.DiskFull("could not extend file: No space left on device")
        rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY %'")

    code = r"E507.*No space left.*Nothing was changed" if failure == "full disk" else r"E325.*terminat"
    with pytest.raises(SapbertError, match=code):
        put(small_kb, progress=fail)
    assert rows("SELECT id, concept_ids FROM names ORDER BY id") == before
    assert opened(small_kb).nearest(np.ones((1, 32), np.float32), 2)[1].shape == (1, 2)
