from spacy_sapbert.assets import AssetWriter, fingerprint_of


def test_an_asset_is_written_once(tmp_path):
    assets, written = AssetWriter(tmp_path / "new"), []

    def write(path):
        written.append(path.name)
        path.write_text("x")

    for role in ("kb", "other"):
        assets.add(role, "kb", "0123456789abcdef0123", write, suffix=".kb")
    assert assets.names == {"kb": "kb-0123456789abcdef.kb", "other": "kb-0123456789abcdef.kb"}
    assert written == ["kb-0123456789abcdef.kb"]
    assert (tmp_path / "new" / written[0]).read_text() == "x"


def test_what_is_saved_already_is_not_written(tmp_path):
    assets = AssetWriter(tmp_path / "new", {"kb-0123456789abcdef"})
    assets.add("kb", "kb", "0123456789abcdef", lambda path: 1 / 0)
    assert assets.names == {"kb": "kb-0123456789abcdef"}
    assert not (tmp_path / "new").exists()


def test_fingerprints():
    assert fingerprint_of({"a": 1, "b": [2, None]}) == fingerprint_of({"b": [2, None], "a": 1})
    assert fingerprint_of("a", "b") != fingerprint_of("ab")
