import http.server
import multiprocessing
import re
import sys
import threading

import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors import qdrant_index
from spacy_sapbert.vectors.database import name_ids
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.qdrant_index import (
    ABOUT_ID,
    CONCEPT,
    NAME,
    Address,
    Collection,
    QdrantVectors,
    concept_point,
    is_address,
    upload,
)
from spacy_sapbert.vectors.storage import exact_vectors

pytest.importorskip("qdrant_client")


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return TransformerEncoder(str(tiny_encoder), device="cpu")


@pytest.fixture(params=["imitation", "engine"])
def address(tmp_path, request, monkeypatch):
    """A collection in the client's imitation of a database, or in the engine of Qdrant."""
    if request.param == "imitation":
        return Address(str(tmp_path / "database"), "small")
    pytest.importorskip("qdrant_edge")
    from .edge_client import edge_client

    client = edge_client(tmp_path / "database")
    monkeypatch.setattr(qdrant_index, "_connect", lambda _: client)
    return Address("http://edge", "small")


IMITATION = pytest.mark.parametrize("address", ["imitation"], indirect=True)


@pytest.fixture
def put(encoder, address):
    """A function that uploads a knowledge base."""

    def put(kb, encoder=encoder, **options):
        return upload(kb, cached_name_vectors(kb, encoder), address, **options)

    return put


@pytest.fixture
def versions(tmp_path):
    """Two versions of a vocabulary: of five names one stays, one gets another owner, one another type, two go."""

    def record(concept_id, names, kind="Disease"):
        return Record(concept_id, tuple(Name(name, "exact", "s") for name in names), types=(kind,))

    old = [record("A", ["same", "given"]), record("B", ["retyped"]), record("C", ["gone", "gone too"])]
    new = [record("X", ["new"]), record("A", ["same"]), record("B", ["retyped"], "Drug"), record("D", ["given"])]
    return build_knowledge_base(old, tmp_path / "old.kb"), build_knowledge_base(new, tmp_path / "new.kb")


def points(address):
    """RETURNS (dict): the payloads of a collection, by the name or the concept of a point."""
    with Collection(address).asking() as client:
        records, _ = client.scroll(address.collection, limit=1000)
    payloads = [record.payload for record in records if record.id != ABOUT_ID]
    return {payload.get("name") or payload["concept"]: payload for payload in payloads}


@pytest.mark.parametrize(
    ("index", "location", "collection"),
    [
        ("qdrant:some/folder", "some/folder", "spacy-sapbert"),
        ("qdrant:/a#medic", "/a", "medic"),
        ("http://host:6333", "http://host:6333", "spacy-sapbert"),
        ("https://host/prefix#medic", "https://host/prefix", "medic"),
    ],
)
def test_addresses(index, location, collection):
    address = Address.parse(index)
    assert is_address(index)
    assert address == (location, collection)
    assert Address.parse(str(address)) == address
    assert address.is_url == location.startswith("http")
    assert not any(map(is_address, ("Flat", "HNSW32", "IVF,PQ;nprobe=3")))  # kinds of faiss


# --- uploads


def test_points(small_kb, encoder, put, address):
    assert put(small_kb) == {"added": 34, "changed": 0, "unchanged": 0, "removed": 0}
    result = points(address)
    assert len(result) == small_kb.n_names
    assert result["Seizures"]["owners"] == [
        {"concept": "D012640", "types": ["Disease"], "sources": ["MEDIC"]},
        {"concept": "HP:0001250", "types": ["Phenotype"], "sources": ["HPO"]},
    ]
    vectors = Collection(address).vectors(name_ids(small_kb).tolist())
    expected = cached_name_vectors(small_kb, encoder).vectors
    np.testing.assert_array_equal([vectors[one] for one in name_ids(small_kb).tolist()], expected)


def test_points_of_concepts(small_kb, encoder, put, address):
    assert put(small_kb, centroids=True)["added"] == 34 + 15
    assert points(address)["D001241"] == {
        "concept": "D001241",
        "names": ["ASA", "Aspirin", "acetylsalicylic acid"],
        "types": ["Chemical", "Drug"],
        "sources": ["CTD"],
    }
    with Collection(address).asking() as client:
        (record,) = client.retrieve(address.collection, [concept_point("D001241")], with_vectors=True)
    rows = small_kb.name_rows("D001241")
    mean = cached_name_vectors(small_kb, encoder).vectors[rows].mean(axis=0)
    np.testing.assert_allclose(record.vector[CONCEPT], mean / np.linalg.norm(mean), atol=1e-5)
    assert NAME not in record.vector
    assert put(small_kb) == {"added": 0, "changed": 0, "unchanged": 34, "removed": 15}


def test_a_newer_version_changes_what_changed(versions, put, address, encoder):
    old, new = versions
    put(old, centroids=True)
    # names: one added, two changed, one as before, two gone; concepts: two added, two changed, one gone
    assert put(new, centroids=True) == {"added": 3, "changed": 4, "unchanged": 1, "removed": 3}
    updated, other = points(address), Address(address.location, "other")
    upload(new, cached_name_vectors(new, encoder), other, centroids=True)
    assert points(other) == updated
    assert CandidateGenerator(new, None, QdrantVectors(address, new, encoder))(["given"], 1)[0][0].concept_id == "D"


def test_an_upload_that_was_cut_off_goes_on(small_kb, encoder, put, address, monkeypatch):
    for module in ("database", "qdrant_index"):
        monkeypatch.setattr(f"spacy_sapbert.vectors.{module}.POINTS_PER_BATCH", 10)

    def stop(done, total):
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        put(small_kb, progress=stop)
    with pytest.raises(SapbertError, match=r"E305.*20 of 34 points.*kb upload"):
        QdrantVectors(address, small_kb, encoder).nearest(np.zeros((1, 32), np.float32), 1)
    reported = []
    counts = put(small_kb, progress=lambda *done: reported.append(done))
    assert counts == {"added": 14, "changed": 0, "unchanged": 20, "removed": 0}
    assert reported == [(10, 34), (20, 34), (30, 34), (34, 34)]


def test_vectors_of_another_encoder_are_replaced(small_kb, make_encoder, put, address):
    put(small_kb)
    other = TransformerEncoder(str(make_encoder(seed=5)), device="cpu")
    assert put(small_kb, encoder=other)["added"] == 34
    assert Collection(address).about().encoder == other.fingerprint


# --- what cannot be linked with


@pytest.fixture
def asked(small_kb, encoder, address):
    """A function that asks for the nearest names."""

    def ask(kb=small_kb, encoder=encoder):
        return QdrantVectors(address, kb, encoder).nearest(np.ones((1, 32), np.float32), 2)

    return ask


def test_no_folder_and_no_collection(asked, put, versions, address, encoder, small_kb):
    command = f"kb upload {small_kb.path} --encoder {encoder.name} --to '{address.location}#small'"
    with pytest.raises(SapbertError, match=f"E305.*it does not exist.*{re.escape(command)}"):
        asked()
    upload(versions[0], cached_name_vectors(versions[0], encoder), Address(address.location, "other"))
    with pytest.raises(SapbertError, match=r"E305.*it does not exist"):
        asked()


@IMITATION
def test_a_collection_of_something_else(asked, address):
    from qdrant_client import models

    with Collection(address).asking() as client:
        size = models.VectorParams(size=2, distance=models.Distance.DOT)
        client.create_collection(address.collection, vectors_config=size)
    with pytest.raises(SapbertError, match=r"E305.*not made by an upload"):
        asked()


def test_of_another_vocabulary_or_encoder(asked, put, versions, small_kb, make_encoder, monkeypatch):
    put(small_kb)
    asked()
    with pytest.raises(SapbertError, match=r"E305.*another vocabulary.*kb upload \S+old\.kb"):
        asked(kb=versions[0])
    other = TransformerEncoder(str(make_encoder(seed=6)), device="cpu")
    with pytest.raises(SapbertError, match=rf"E305.*another encoder.*--encoder {other.name}"):
        asked(encoder=other)
    monkeypatch.setattr(TransformerEncoder, "dim", 64)
    with pytest.raises(SapbertError, match=r"another encoder \(32 dimensions, not 64\)"):
        asked(encoder=other)


def test_names_that_are_missing(asked, put, small_kb, address, encoder):
    put(small_kb)
    vectors = QdrantVectors(address, small_kb, encoder)
    rows = np.arange(small_kb.n_names)
    assert vectors.similarities(np.ones((2, 32), np.float32)).shape == (2, 34)
    with Collection(address).asking() as client:
        client.delete(address.collection, name_ids(small_kb)[:3].tolist())
    with pytest.raises(SapbertError, match=r"E305.*3 names have no vector"):
        vectors.similarities(np.ones((2, 32), np.float32), rows)
    with pytest.raises(SapbertError, match=r"E305.*31 of 34 points"):
        asked()


def test_pairs_and_known_texts(put, small_kb, address, encoder):
    put(small_kb)
    vectors, local = QdrantVectors(address, small_kb, encoder), cached_name_vectors(small_kb, encoder)
    texts = ["breast  CANCER", "new", "CF", "newer", "ASA"]
    assert sorted(local.known_rows(texts) >= 0) == [False, False, True, True, True]
    np.testing.assert_array_equal(vectors.known_rows(texts), local.known_rows(texts))
    np.testing.assert_array_equal(QdrantVectors(address, small_kb, encoder).known_rows(texts), local.known_rows(texts))
    queries = vectors.encode(texts)
    np.testing.assert_allclose(queries, local.encode(texts), atol=1e-6)
    known = np.flatnonzero(local.known_rows(texts) >= 0)
    np.testing.assert_allclose(vectors.products(queries, known, local.known_rows(texts)[known]), 1, atol=1e-6)
    assert vectors.encode([]).shape == (0, 32)
    which, rows = np.array([4, 0, 4, 1]), np.array([7, 33, 7, 0])
    np.testing.assert_allclose(vectors.products(queries, which, rows), local.products(queries, which, rows), atol=1e-5)


@IMITATION
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_folder_serves_one_process(asked, put, small_kb, address, encoder):
    put(small_kb)
    vectors = QdrantVectors(address, small_kb, encoder)
    expected = vectors.nearest(np.ones((1, 32), np.float32), 2)[1].tolist()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def answer():
        with pytest.raises(SapbertError) as raised:
            vectors.nearest(np.ones((1, 32), np.float32), 2)
        sender.send(str(raised.value))

    child = context.Process(target=answer, daemon=True)
    child.start()
    try:
        assert receiver.poll(60)
        assert re.search("E329.*n_process=2.*Qdrant server", receiver.recv())
    finally:
        child.kill()
    assert asked()[1].tolist() == expected


# --- a server


def test_how_a_server_is_connected_to(monkeypatch):
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    made = []
    monkeypatch.setattr("qdrant_client.QdrantClient", lambda **settings: made.append(settings) or monkeypatch)
    with Collection(Address.parse("https://host:6333#medic")).asking():
        pass
    assert made == [{"url": "https://host:6333", "api_key": "secret", "check_compatibility": False, "timeout": 60}]
    assert "secret" not in str(Address.parse("https://host:6333#medic"))


class Refusing(http.server.BaseHTTPRequestHandler):
    """A server that says to every question that it is not allowed."""

    def do_GET(self):
        self.send_response(401)
        self.end_headers()
        self.wfile.write(b"Must provide an API key")

    def log_message(self, *_):
        pass


def test_a_server_that_refuses(small_kb, encoder):
    server = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = Address(f"http://127.0.0.1:{server.server_port}")
    try:
        with pytest.raises(SapbertError, match=r"E325.*401.*Must provide an API key.*QDRANT_API_KEY"):
            QdrantVectors(address, small_kb, encoder).nearest(np.ones((1, 32), np.float32), 2)
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(SapbertError, match=r"E325.*#spacy-sapbert does not respond.*[Rr]efused"):
        upload(small_kb, cached_name_vectors(small_kb, encoder), address)


def test_without_the_client(monkeypatch, small_kb, encoder):
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(SapbertError, match=r"E542.*spacy-sapbert\[qdrant\]"):
        QdrantVectors(Address("http://host"), small_kb, encoder).nearest(np.ones((1, 32), np.float32), 2)


# --- used


def test_nothing_is_connected_to_before_the_first_use(small_kb, encoder, monkeypatch):
    monkeypatch.setattr(qdrant_index, "_connect", lambda address: 1 / 0)
    vectors = QdrantVectors(Address("http://host"), small_kb, encoder)
    assert vectors.encode(["newer"]).shape == (1, 32)
    with pytest.raises(ZeroDivisionError):
        vectors.nearest(np.ones((1, 32), np.float32), 2)


def test_raw_vectors(small_kb, make_encoder, address):
    raw = TransformerEncoder(str(make_encoder(seed=7, l2_normalized=False)), device="cpu")
    exact = cached_name_vectors(small_kb, raw)
    upload(small_kb, exact, address)
    vectors = QdrantVectors(address, small_kb, raw)
    queries = raw.encode(["cold", "new"])
    assert vectors.longest == pytest.approx(exact.longest)
    np.testing.assert_allclose(vectors.highest(queries), exact.highest(queries), rtol=1e-5)
    expected, result = (CandidateGenerator(small_kb, None, one)(["new"], 5)[0] for one in (exact, vectors))
    assert [one.concept_id for one in result] == [one.concept_id for one in expected]


def test_the_vectors_to_learn_with_are_here(small_kb, encoder, address):
    vectors = exact_vectors(QdrantVectors(address, small_kb, encoder), small_kb)
    np.testing.assert_array_equal(vectors.vectors, cached_name_vectors(small_kb, encoder).vectors)
