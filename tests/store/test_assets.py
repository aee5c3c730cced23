import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.store.artifact import TEMPORARY, ArtifactWriter, fingerprint_of


def test_an_asset_is_written_once(tmp_path):
    assets, written = ArtifactWriter(tmp_path / "new"), []

    def write(path):
        written.append(path.name)
        path.write_text("x")

    for role in ("kb", "other"):
        assets.add(role, "kb", "0123456789abcdef0123", write, suffix=".kb")
    assert assets.names == {"kb": "kb-0123456789abcdef.kb", "other": "kb-0123456789abcdef.kb"}
    assert written == ["kb-0123456789abcdef.kb"]
    assert (tmp_path / "new" / written[0]).read_text() == "x"


def test_what_is_saved_already_is_not_written(tmp_path):
    assets = ArtifactWriter(tmp_path / "new", {"kb-0123456789abcdef"})
    assets.add("kb", "kb", "0123456789abcdef", lambda path: 1 / 0)
    assert assets.names == {"kb": "kb-0123456789abcdef"}
    assert not (tmp_path / "new").exists()


def test_fingerprints():
    assert fingerprint_of({"a": 1, "b": [2, None]}) == fingerprint_of({"b": [2, None], "a": 1})
    assert fingerprint_of("a", "b") != fingerprint_of("ab")


def test_a_large_asset_may_stay_where_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.npy").write_text("abc")
    (tmp_path / "mine" / "other.npy").write_text("x")
    assets = ArtifactWriter(tmp_path / "new", external=True)
    assets.add("vectors", "vectors", "0" * 64, lambda _: 1 / 0, large=True, source=tmp_path / "mine", parts=["a.npy"])
    assets.add("encoder", "encoder", "1" * 64, lambda path: path.mkdir())
    asset = assets.outside["vectors"]
    assert asset == (str(tmp_path / "mine"), "0" * 64, {"a.npy": 3})
    assert assets.names == {"encoder": "encoder-1111111111111111"}
    assert asset.why_not(tmp_path / "mine") is None
    assert asset.why_not(tmp_path).endswith("a.npy does not exist")
    (tmp_path / "mine" / "a.npy").write_text("ab")
    assert asset.why_not(tmp_path / "mine").endswith("a.npy has 2 bytes instead of 3")


def test_a_folder_of_the_user_may_have_the_name_of_ours(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "umls.kb").write_text("abc")
    assets = ArtifactWriter(tmp_path / "new", external=True)
    assets.add("kb", "kb", "0" * 64, lambda _: 1 / 0, suffix=".kb", large=True, source=tmp_path / "shared" / "umls.kb")
    assert assets.outside["kb"].path == str(tmp_path / "shared" / "umls.kb")


@pytest.mark.parametrize("place", ["shared/kb-0000000000000000.kb", f"{TEMPORARY}x/inner/old.kb", None])
def test_what_would_not_last_is_written_to_the_cache(tmp_path, monkeypatch, place):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    source, written = tmp_path / place if place else None, []

    def write(path):
        written.append(path)
        path.write_text("abc")

    for _ in range(2):
        assets = ArtifactWriter(tmp_path / "new", external=True)
        assets.add("kb", "kb", "0" * 64, write, suffix=".kb", large=True, source=source)
    kept = tmp_path / "cache" / "assets" / "kb-0000000000000000.kb"
    assert assets.outside["kb"] == (str(kept), "0" * 64, {".": 3})
    assert kept.read_text() == "abc"
    assert len(written) == 1


def test_an_interrupted_write_leaves_nothing_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))

    def write(path):
        path.write_text("half")
        raise OSError("no space left")

    with pytest.raises(SapbertError, match=r"E118.*no space left"):
        ArtifactWriter(tmp_path / "new", external=True).add("kb", "kb", "0" * 64, write, large=True)
    assert [path.suffix for path in (tmp_path / "cache" / "assets").iterdir() if path.suffix != ".lock"] == []
