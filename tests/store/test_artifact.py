import numpy as np
import pytest

from spacy_sapbert.errors import CannotWriteError, DamagedError, SapbertError
from spacy_sapbert.files.values import read_array
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.store.artifact import TEMPORARY, Artifact, ArtifactWriter, fingerprint_of, opening


def kb(write, **others):
    return Artifact("kb", "0" * 64, write, ".kb", **others)


def test_an_artifact_is_written_once(tmp_path):
    writer, written = ArtifactWriter(tmp_path / "new"), []

    def write(path):
        written.append(path.name)
        path.write_text("x")

    for role in ("kb", "other"):
        writer.add(role, kb(write))
    assert writer.names == {"kb": "kb-0000000000000000.kb", "other": "kb-0000000000000000.kb"}
    assert written == ["kb-0000000000000000.kb"]
    assert (tmp_path / "new" / written[0]).read_text() == "x"
    again = ArtifactWriter(tmp_path / "newer", tmp_path / "new")
    again.add("kb", kb(lambda path: 1 / 0))  # it is saved already
    assert again.names == {"kb": "kb-0000000000000000.kb"}
    assert not (tmp_path / "newer").exists()


def test_fingerprints():
    assert fingerprint_of({"a": 1, "b": [2, None]}) == fingerprint_of({"b": [2, None], "a": 1})
    assert fingerprint_of("a", "b") != fingerprint_of("ab")


def test_a_large_artifact_may_stay_where_it_is(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.npy").write_text("abc")
    (tmp_path / "mine" / "other.npy").write_text("x")
    writer = ArtifactWriter(tmp_path / "new", external=True)
    vectors = Artifact("vectors", "0" * 64, lambda _: 1 / 0, large=True, source=tmp_path / "mine", parts=["a.npy"])
    writer.add("vectors", vectors)
    writer.add("encoder", Artifact("encoder", "1" * 64, lambda path: path.mkdir()))
    outside = writer.outside["vectors"]
    assert outside == (str(tmp_path / "mine"), "0" * 64, {"a.npy": 3})
    assert writer.names == {"encoder": "encoder-1111111111111111"}
    assert outside.why_not(tmp_path / "mine") is None
    assert outside.why_not(tmp_path).endswith("a.npy does not exist")
    (tmp_path / "mine" / "a.npy").write_text("ab")
    assert outside.why_not(tmp_path / "mine").endswith("a.npy has 2 bytes instead of 3")


def test_a_folder_of_the_user_may_have_the_name_of_ours(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "umls.kb").write_text("abc")
    outside = kb(lambda _: 1 / 0, large=True, source=tmp_path / "shared" / "umls.kb").outside()
    assert outside.path == str(tmp_path / "shared" / "umls.kb")


@pytest.mark.parametrize("place", ["shared/kb-0000000000000000.kb", f"{TEMPORARY}x/inner/old.kb", None])
def test_what_would_not_last_is_written_to_the_cache(tmp_path, monkeypatch, place):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    source, written = tmp_path / place if place else None, []

    def write(path):
        written.append(path)
        path.write_text("abc")

    copy = tmp_path / "cache" / "assets" / "kb-0000000000000000.kb"
    for _ in range(2):
        assert kb(write, large=True, source=source).outside() == (str(copy), "0" * 64, {".": 3})
    assert copy.read_text() == "abc"
    assert len(written) == 1


def test_an_interrupted_write_leaves_nothing_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))

    def write(path):
        path.write_text("half")
        raise OSError("no space left")

    with pytest.raises(CannotWriteError, match=r"no space left.*SPACY_SAPBERT_CACHE"):
        kb(write, large=True).outside()
    assert [path.suffix for path in (tmp_path / "cache" / "assets").iterdir() if path.suffix != ".lock"] == []


def test_keys_of_names_in_the_cache_stay_there(small_kb, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    assert NameMatcher.build(small_kb).artifact().outside().path.startswith(str(tmp_path / "cache" / "assets"))
    assert NameMatcher.cached(small_kb).artifact().outside().path == str(NameMatcher.cache_of(small_kb))


def test_keys_of_names_that_were_saved_are_opened(small_kb, tmp_path):
    matcher, writer = NameMatcher.build(small_kb), ArtifactWriter(tmp_path)
    writer.add(NameMatcher.ROLE, matcher.artifact())
    opened = NameMatcher.load(small_kb, tmp_path / writer.names[NameMatcher.ROLE])
    np.testing.assert_array_equal(opened.hashes, matcher.hashes)
    np.testing.assert_array_equal(opened.rows, matcher.rows)


def test_a_damaged_file_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.array([None]), allow_pickle=True)  # a pickle, which is not run
    for file in ("a.npy", "missing.npy"):
        with pytest.raises(DamagedError, match=rf"E121.*{tmp_path}.*Error.*cache, delete it"), opening(tmp_path):
            read_array(tmp_path / file)
    with pytest.raises(SapbertError, match=r"^mine$"), opening(tmp_path):
        raise SapbertError("mine")
