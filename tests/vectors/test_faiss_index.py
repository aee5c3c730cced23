import re

import numpy as np
import pytest

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.filters import Filter, FilterMask
from spacy_sapbert.store.artifact import ArtifactWriter
from spacy_sapbert.vectors.faiss_index import build_index, faiss_artifact, index_kind, open_faiss
from spacy_sapbert.vectors.flat import NameVectors, cached_name_vectors
from spacy_sapbert.vectors.storage import INDEX, VECTORS, open_index, save_index


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def vectors(small_kb, tiny_encoder):
    return cached_name_vectors(small_kb, TransformerEncoder(str(tiny_encoder)))


FILES = ("hashes.npy", "rows.npy", "vectors.json", "vectors.npy")


def files(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("index", "names", "kind"),
    [
        *((name, 90_000, ("HNSW32", "")) for name in ("HNSW32", "HNSW")),
        ("IVF", 90_000, ("IVF300,Flat", "")),
        ("IVF,PQ", 90_000, ("IVF300,PQ48", "")),
        (" IVFPQ; nprobe=3 ", 90_000, ("IVF300,PQ48", "nprobe=3")),
        ("IVF,SQ8;nprobe=3", 90_000, ("IVF300,SQ8", "nprobe=3")),
        ("IVF1024,PQ48x4fs", 90_000, ("IVF1024,PQ48x4fs", "")),
        ("OPQ48_192,IVF256_HNSW32,PQ", 90_000, ("OPQ48_192,IVF256_HNSW32,PQ48", "")),
        ("auto", 76_052, ("IVF256,PQ96x4fs", "nprobe=96")),
        ("auto", 1_000_000, ("IVF1024,PQ96x4fs", "nprobe=128")),
        ("auto", 4_000_000, ("IVF2048,PQ96x4fs", "nprobe=128")),
        ("auto", 10_000_000, ("IVF2048,PQ96x4fs", "nprobe=54")),
    ],
)
def test_kinds(index, names, kind):
    assert index_kind(index, names, 384) == kind


def test_parts_of_a_vector_divide_its_dimensions():
    assert [index_kind("auto", 76_052, dim)[0] for dim in (128, 256, 7)] == [
        "IVF256,PQ64x4fs",
        "IVF256,PQ64x4fs",
        "IVF256,PQ1x4fs",
    ]
    assert [index_kind("PQ", 100, dim)[0] for dim in (768, 100, 7)] == ["PQ96", "PQ10", "PQ1"]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("FLAT", r"E320.*'FLAT' \(could not parse index string FLAT\)"),
        ("PCA33", "E320"),
        ("PQ5", r"E406.*32 dimensions.* 2, 4, 8, 16\."),
        ("IVF4,PQ7", "E406"),
        ("IVF4,Flat", "E406.*needs 156 names.*are 34"),
        ("IVF4_HNSW32,SQ8", "E406.*needs 156 names"),
        ("PQ8x4", "E406.*needs 624 names"),
        ("IVF4,PQ8", "E406.*needs 9984 names"),
        ("HNSW32_PQ8x4", "E406.*needs 624 names"),
    ],
)
def test_kinds_that_cannot_be_made(vectors, kind, message, tmp_path):
    with pytest.raises(SapbertError, match=message):
        build_index(vectors.vectors, kind, tmp_path / "index")
    assert files(tmp_path) == ["cache"]


@pytest.mark.parametrize("parameters", ["nprobe=3", "efSearch", "efSearch=many", "k_factor=3"])
def test_parameters_that_an_index_has_not(vectors, small_kb, parameters):
    with pytest.raises(SapbertError, match=f"E406.*HNSW32 is {re.escape(parameters)};"):
        open_faiss(vectors, small_kb, f"HNSW;{parameters}")


def test_how_much_is_searched(vectors, small_kb):
    assert open_faiss(vectors, small_kb, "HNSW")._index.hnsw.efSearch == 256
    assert open_faiss(vectors, small_kb, "HNSW;efSearch=7")._index.hnsw.efSearch == 7


def test_it_is_made_once_beside_the_vectors(vectors, small_kb, monkeypatch):
    first = open_faiss(vectors, small_kb, "HNSW")
    assert files(vectors.folder) == ["HNSW32.faiss", "HNSW32.faiss.json", *FILES]
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index.build_index", None)
    again = open_faiss(vectors, small_kb, "HNSW32;efSearch=16")
    queries = vectors.encode(["breast", "cold"])
    for result, expected in zip(again.nearest(queries, 3), first.nearest(queries, 3), strict=True):
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(again.encode(["new"]), vectors.encode(["new"]))


def test_a_folder_without_the_index_leaves_it_to_the_cache(vectors, small_kb, tmp_path):
    both = ["SQ8.faiss", "SQ8.faiss.json"]
    faiss_artifact(open_faiss(vectors, small_kb, "SQ8"), "SQ8").write(tmp_path / "saved")
    assert files(tmp_path / "saved") == both
    assert open_faiss(vectors, small_kb, "SQ8", tmp_path / "saved").path.parent == tmp_path / "saved"
    assert open_faiss(vectors, small_kb, "HNSW", tmp_path / "saved").path.parent == vectors.folder
    assert files(tmp_path / "saved") == both
    assert files(vectors.folder) == ["HNSW32.faiss", "HNSW32.faiss.json", *both, *FILES]


def test_another_kind_is_made_when_it_is_saved(vectors, small_kb, tmp_path):
    for given in (vectors, open_faiss(vectors, small_kb, "HNSW")):
        faiss_artifact(given, "SQ8").write(tmp_path / "saved")
        assert "SQ8.faiss" in files(tmp_path / "saved")
    assert "SQ8.faiss" not in files(vectors.folder)


def test_an_index_of_other_vectors(vectors, small_kb, make_encoder):
    others = cached_name_vectors(small_kb, TransformerEncoder(str(make_encoder(seed=6))))
    open_faiss(others, small_kb, "HNSW").artifact().write(vectors.folder.with_name("saved"))
    for name in ("HNSW32.faiss", "HNSW32.faiss.json"):
        (vectors.folder / name).write_bytes((others.folder / name).read_bytes())
    with pytest.raises(SapbertError, match=r"E121.*HNSW32\.faiss belongs to other vectors"):
        open_faiss(vectors, small_kb, "HNSW")


def test_an_index_without_description_is_built_again(vectors, small_kb):
    """The description is written last, so that an index without it may be cut off."""
    path = open_faiss(vectors, small_kb, "HNSW").path
    path.with_name("HNSW32.faiss.json").unlink()
    path.write_bytes(b"cut off")
    assert open_faiss(vectors, small_kb, "HNSW").nearest(vectors.encode(["cold"]), 3)[1].shape == (1, 3)


def test_an_index_by_the_number_of_names(vectors, small_kb, monkeypatch, tmp_path):
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index._centroids", lambda index: 0)
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index.AUTO_PROBED_SHARE", 1)  # all cells are searched
    opened = open_index(small_kb, vectors.encoder, "auto")
    assert type(opened) is NameVectors
    assert opened.exact
    assets = ArtifactWriter(tmp_path / "flat")
    save_index(opened, assets, "auto")
    assert list(assets.names) == [VECTORS]
    monkeypatch.setattr("spacy_sapbert.vectors.storage.EXACT_NAMES", 33)
    opened = open_index(small_kb, vectors.encoder, "auto")
    assert not opened.exact
    assets = ArtifactWriter(tmp_path / "auto")
    save_index(opened, assets, "auto")
    paths = {role: tmp_path / "auto" / name for role, name in assets.names.items()}
    assert files(paths[VECTORS]) == sorted(FILES)
    assert files(paths[INDEX]) == ["IVF8,PQ16x4fs.faiss", "IVF8,PQ16x4fs.faiss.json"]
    saved = open_index(small_kb, vectors.encoder, "auto", paths)
    assert saved.path.parent == paths[INDEX]
    queries = vectors.encode(["cold", "breast cancer", "new"])
    for index in (opened, saved):  # it proposes all 34 names, since that is the least
        for result, expected in zip(index.nearest(queries, 5), vectors.nearest(queries, 5), strict=True):
            np.testing.assert_allclose(result, expected, atol=1e-6)


def passing(rows):
    return FilterMask(Filter(types=("any",)), np.zeros(0, dtype=bool), np.array(rows, dtype=np.int32))


@pytest.mark.parametrize("kind", ["HNSW32", "IVF2,Flat", "PCA16,IVF2,SQ8", "SQ8", "IVF2,PQ8x4fs"])
def test_the_nearest_of_those_that_pass(kind, vectors, small_kb, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index._centroids", lambda index: 0)
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index.EXACT_NAMES", 0)
    opened = open_faiss(vectors, small_kb, kind)
    queries = vectors.encode(["cold", "breast cancer"])
    rows = np.array([3, 8, 20, 33])
    for index in (opened, vectors):
        products, result = index.nearest(queries, 3, passing(rows))
        assert (np.diff(products) <= 0).all()
        assert set(result.flat) <= set(rows)
    best = np.argsort(-vectors.similarities(queries, rows))[:, :3]
    np.testing.assert_array_equal(result, rows[best])


def test_products_are_exact_and_in_order(vectors, small_kb, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index._centroids", lambda index: 0)
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index.LEAST_REFINED", 0)
    queries = vectors.encode(["cold", "breast cancer", "new"])
    products, rows = open_faiss(vectors, small_kb, "PQ4x4").nearest(queries, 6)
    exact = np.take_along_axis(vectors.similarities(queries), rows, axis=1)
    np.testing.assert_allclose(products, exact, atol=1e-6)
    assert (np.diff(products) <= 0).all()


def test_some_kinds_cannot_choose(vectors, small_kb, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index._centroids", lambda index: 0)
    monkeypatch.setattr("spacy_sapbert.vectors.faiss_index.EXACT_NAMES", 0)
    opened = open_faiss(vectors, small_kb, "PQ8x2")
    assert opened.nearest(vectors.encode(["cold"]), 3)[1].shape == (1, 3)
    with pytest.raises(SapbertError, match=r"E406.*PQ8x2"):
        opened.nearest(vectors.encode(["cold"]), 3, passing([1, 2, 3]))
