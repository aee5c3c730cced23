import shutil
import signal

import numpy as np
import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.values import hash64
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors import flat as name_vectors
from spacy_sapbert.vectors.flat import MANIFEST_FILE, UNFINISHED, NameVectors, build_name_vectors, cached_name_vectors
from spacy_sapbert.vectors.stored import COMPRESSIONS, HASHES_FILE, ROWS_FILE, VECTORS_FILE, compress, expand

FILES = (HASHES_FILE, MANIFEST_FILE, ROWS_FILE, VECTORS_FILE)


class CountingEncoder:
    """Gives every text a direction of its own, and remembers what it was asked."""

    text_normalizer = "lower"
    l2_normalized = True
    dim = 8

    def __init__(self, fingerprint="one"):
        self.fingerprint = fingerprint.ljust(16, "x")
        self.calls = []

    def encode(self, texts, *, fast=False):
        self.calls.append(list(texts))
        return np.array([self.vector(text) for text in texts])

    def vector(self, text):
        vector = np.random.default_rng(hash64(text.lower())).normal(size=self.dim).astype(np.float32)
        return vector / np.linalg.norm(vector)

    @property
    def n_texts(self):
        return sum(map(len, self.calls))


def stored(vectors, compression="int8"):
    """The vectors after they were stored and read again."""
    return expand(compress(np.asarray(vectors), compression), np.shape(vectors)[1])


@pytest.fixture
def encoder():
    return CountingEncoder()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(name_vectors, "NAMES_PER_CHUNK", 10)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def built(small_kb, encoder, tmp_path):
    build_name_vectors(small_kb, encoder, tmp_path / "built")
    encoder.calls.clear()
    return tmp_path / "built"


# --- built


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_one_vector_a_name_in_its_row(small_kb, encoder, tmp_path, compression):
    build_name_vectors(small_kb, encoder, tmp_path / "built", compression=compression)
    opened = NameVectors(tmp_path / "built", small_kb, encoder)
    assert opened.compression == compression
    assert opened.vectors.dtype == np.float32
    assert opened.vectors.shape == (small_kb.n_names, 8)
    expected = stored([encoder.vector(name) for name in small_kb.names()], compression)
    np.testing.assert_array_equal(opened.vectors, expected)
    for row in range(small_kb.n_names):
        np.testing.assert_array_equal(opened.vectors[row], expected[row])
    assert sorted(path.name for path in (tmp_path / "built").iterdir()) == sorted(FILES)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_equal_names_have_exactly_equal_vectors(encoder, tmp_path, compression):
    class RoundingEncoder(CountingEncoder):
        """Gives equal texts vectors that differ in the second decimal, as in different batches."""

        def encode(self, texts, *, fast=False):
            vectors = super().encode(texts) + 0.01 * np.random.default_rng(len(self.calls)).normal(size=(1, 8))
            return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    names = [f"name {i}" for i in range(12)] + [f"NAME {i}" for i in range(12)]
    kb = build_knowledge_base(
        [Record(f"D{i}", (Name(name, "exact", "t"),)) for i, name in enumerate(names)], tmp_path / "twice.kb"
    )
    build_name_vectors(kb, RoundingEncoder(), tmp_path / "built", compression=compression)
    vectors = NameVectors(tmp_path / "built", kb, encoder)
    texts = list(kb.names())
    queries, rows = vectors.encode(texts), np.arange(len(names))
    assert encoder.calls == []
    np.testing.assert_allclose(vectors.products(queries, rows, rows), 1, atol=1e-6)
    first = vectors.known_rows(texts)
    assert len(set(first)) == 12
    np.testing.assert_array_equal(vectors.vectors[first], vectors.vectors[rows])


def test_progress(small_kb, encoder, tmp_path):
    reported = []
    build_name_vectors(small_kb, encoder, tmp_path / "built", lambda done, total: reported.append((done, total)))
    assert reported == [(10, 34), (20, 34), (30, 34), (34, 34)]


def stop_after(chunks):
    def progress(done, total):
        if done == 10 * chunks:
            raise KeyboardInterrupt

    return progress


def test_a_build_that_was_cut_off_goes_on(small_kb, encoder, tmp_path):
    folder = tmp_path / "built"
    with pytest.raises(KeyboardInterrupt):
        build_name_vectors(small_kb, encoder, folder, stop_after(2))
    with pytest.raises(SapbertError, match="E121"):
        NameVectors(folder, small_kb, encoder)
    assert encoder.n_texts == 20
    build_name_vectors(small_kb, encoder, folder)
    assert encoder.n_texts == 34
    assert [name for call in encoder.calls for name in call] == list(small_kb.names())
    whole = CountingEncoder()
    build_name_vectors(small_kb, whole, tmp_path / "whole")
    for name in FILES:
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (folder / UNFINISHED).exists()


def test_a_chunk_that_was_cut_off_is_encoded_again(small_kb, encoder, tmp_path, built):
    folder = tmp_path / "again"
    with pytest.raises(KeyboardInterrupt):
        build_name_vectors(small_kb, encoder, folder, stop_after(2))
    path = folder / UNFINISHED / VECTORS_FILE
    path.write_bytes(path.read_bytes()[:-5])
    build_name_vectors(small_kb, encoder, folder)
    assert encoder.n_texts == 20 + 24
    assert (folder / VECTORS_FILE).read_bytes() == (built / VECTORS_FILE).read_bytes()


def test_parts_of_another_encoder_are_not_taken(small_kb, encoder, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build_name_vectors(small_kb, CountingEncoder("other"), tmp_path / "built", stop_after(2))
    build_name_vectors(small_kb, encoder, tmp_path / "built")
    assert encoder.n_texts == 34


@pytest.mark.parametrize("bytes_left", [0, 50, 300, 520])
def test_a_full_disk(small_kb, encoder, tmp_path, bytes_left, built):
    """The limit of the size of a file has the same effect as a full disk: a write raises an error."""
    resource = pytest.importorskip("resource")
    folder = tmp_path / "full"
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, limits[1]))
        with pytest.raises(SapbertError, match=r"E507.*full"):
            build_name_vectors(small_kb, encoder, folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    with pytest.raises(SapbertError, match="E121"):
        NameVectors(folder, small_kb, encoder)
    build_name_vectors(small_kb, encoder, folder)
    for name in FILES:
        assert (folder / name).read_bytes() == (built / name).read_bytes()


# --- of something else, or damaged


def test_vectors_of_another_knowledge_base_or_encoder(small_kb, encoder, built, tmp_path):
    other = build_knowledge_base([Record("D1", (Name("a", "exact", "t"),))], tmp_path / "other.kb")
    for kb, another in ((other, encoder), (small_kb, CountingEncoder("other"))):
        with pytest.raises(SapbertError, match=r"E305.*another vocabulary or encoder"):
            NameVectors(built, kb, another)


def test_vectors_of_the_same_shape(small_kb, encoder, built, tmp_path):
    build_name_vectors(small_kb, CountingEncoder("other"), tmp_path / "others")
    vectors = np.load(tmp_path / "others" / VECTORS_FILE)
    np.save(built / VECTORS_FILE, vectors[::-1])
    with pytest.raises(SapbertError, match=r"E121.*vectors\.npy does not belong to vectors\.json"):
        NameVectors(built, small_kb, encoder)


# --- used


def test_names_are_not_encoded_again(small_kb, encoder, built):
    vectors = NameVectors(built, small_kb, encoder)
    texts = ["breast  CANCER", "new", "CF", "new", "Cold"]
    expected = np.array([encoder.vector(" ".join(text.split())) for text in texts])
    known = [0, 2, 4]
    expected[known] = stored(expected[known])
    np.testing.assert_array_equal(vectors.encode(texts), expected)
    np.testing.assert_array_equal(vectors.known_rows(texts) >= 0, [True, False, True, False, True])
    assert encoder.calls == [["new", "new"]]
    encoder.calls.clear()
    vectors.encode(["cf", "ALS"])
    assert vectors.encode([]).shape == (0, 8)
    assert encoder.calls == []


def test_similarities_and_nearest(small_kb, encoder, built):
    vectors = NameVectors(built, small_kb, encoder)
    queries = np.array([encoder.vector(text) for text in ("breast cancer", "new", "other")])
    cosines = queries @ stored([encoder.vector(name) for name in small_kb.names()]).T
    np.testing.assert_allclose(vectors.similarities(queries), cosines, atol=1e-6)
    rows = np.array([7, 0, 7])
    np.testing.assert_allclose(vectors.similarities(queries, rows), cosines[:, rows], atol=1e-6)
    which, rows = np.array([2, 0, 2, 1, 0]), np.array([7, 0, 7, 33, 12])
    np.testing.assert_allclose(vectors.products(queries, which, rows), cosines[which, rows], atol=1e-6)
    assert vectors.products(queries, which[:0], rows[:0]).shape == (0,)
    scores, nearest = vectors.nearest(queries, 5)
    np.testing.assert_array_equal(nearest, np.argsort(-cosines, axis=1)[:, :5])
    np.testing.assert_allclose(scores, -np.sort(-cosines, axis=1)[:, :5], atol=1e-6)
    scores, nearest = vectors.nearest(queries, small_kb.n_names)
    assert [sorted(row) for row in nearest] == [list(range(small_kb.n_names))] * 3


def test_the_highest_inner_product(small_kb, encoder, built, monkeypatch):
    vectors = NameVectors(built, small_kb, encoder)
    queries = np.array([[3, 4, 0, 0, 0, 0, 0, 0], [0] * 8], dtype=np.float32)
    assert vectors.highest(queries) == [1, 1]
    encoder.l2_normalized = False
    assert vectors.longest == pytest.approx(1)
    monkeypatch.setitem(vectors.manifest, "longest", 0.25)
    highest, lowest = vectors.highest(queries)
    assert highest == 1.25
    assert 0 < lowest < 1e-30


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_longest_vector_is_in_any_chunk(small_kb, tmp_path, compression):
    names = list(small_kb.names())
    for row in (0, 9, 10, small_kb.n_names - 1):

        class LongEncoder(CountingEncoder):
            def vector(self, text, long=names[row]):
                return super().vector(text) * (3 if text == long else 1)

        folder = tmp_path / f"long{row}"
        build_name_vectors(small_kb, LongEncoder(), folder, compression=compression)
        assert NameVectors(folder, small_kb, LongEncoder()).longest == pytest.approx(3)


def test_saved_and_opened(small_kb, encoder, built, tmp_path):
    NameVectors(built, small_kb, encoder).artifact().write(tmp_path / "new" / "saved")
    shutil.rmtree(built)
    opened = NameVectors(tmp_path / "new" / "saved", small_kb, encoder)
    np.testing.assert_array_equal(opened.encode(["CF"]), stored([encoder.vector("CF")]))
    assert encoder.calls == []


# --- the cache


def test_the_cache_is_filled_once(small_kb, encoder):
    first = cached_name_vectors(small_kb, encoder)
    assert encoder.n_texts == 34
    again = cached_name_vectors(small_kb, encoder)
    assert encoder.n_texts == 34
    assert again.folder == first.folder
    cached_name_vectors(small_kb, CountingEncoder("other"))
    np.testing.assert_array_equal(cached_name_vectors(small_kb, encoder).vectors, first.vectors)


def test_the_first_use_shows_its_progress(small_kb, encoder, capsys, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.files.console.SECONDS_BETWEEN_LINES", 0.0)
    cached_name_vectors(small_kb, encoder)
    assert " names, " in capsys.readouterr().err
    cached_name_vectors(small_kb, encoder)
    assert capsys.readouterr().err == ""


def test_names_of_another_knowledge_base_in_the_cache_are_not_encoded_again(small_kb, encoder, tmp_path):
    cached_name_vectors(small_kb, encoder)
    encoder.calls.clear()
    record = Record("D1", tuple(Name(text, "exact", "t") for text in ("COLD", "new", "ALS", "newer")))
    other = build_knowledge_base([record], tmp_path / "other.kb")
    vectors = cached_name_vectors(other, encoder).vectors
    assert encoder.calls == [["new", "newer"]]
    np.testing.assert_array_equal(vectors, stored([encoder.vector(name) for name in other.names()]))
    encoder.calls.clear()
    cached_name_vectors(other, encoder, compression="float32")  # not from vectors that are less exact
    assert encoder.n_texts == 4
    cached_name_vectors(small_kb, encoder, compression="float32")
    encoder.calls.clear()
    cached_name_vectors(small_kb, encoder, compression="int4")
    assert encoder.n_texts == 0
    stranger = CountingEncoder("other")
    cached_name_vectors(other, stranger)
    assert stranger.n_texts == 4


def test_vectors_saved_with_a_knowledge_base_are_used_where_they_are(small_kb, encoder, built, tmp_path):
    saved = tmp_path / "pipeline"
    saved.mkdir()
    kb = type(small_kb)(shutil.copy(small_kb.path, saved / "kb-1.kb"))
    shutil.copytree(built, saved / "vectors-1")
    asked = len(encoder.calls)
    vectors = cached_name_vectors(kb, encoder)
    assert vectors.folder == saved / "vectors-1"
    assert len(encoder.calls) == asked
    # those of another encoder are not
    assert cached_name_vectors(kb, CountingEncoder("other")).folder != vectors.folder
