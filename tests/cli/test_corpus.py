import json
import sys

import pytest

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")


@pytest.fixture
def links(tmp_path, linking_folder, command):
    documents = [json.dumps({"id": str(n), "text": f"breast cancer and aspirin {n}"}) for n in range(6)]
    (tmp_path / "in.jsonl").write_text("\n".join(documents))
    path = tmp_path / "links" / "a.parquet"
    path.parent.mkdir()
    assert command("link", linking_folder, tmp_path / "in.jsonl", "-o", path).status == 0
    return path.parent


def test_stats(tmp_path, links, small_kb, command):
    output = tmp_path / "out"
    finished = command("corpus", "stats", links, "-o", output, "--kb", small_kb.path, "--no-plots")
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert (result["documents"], result["links"], result["concepts"]) == (6, 12, 2)
    assert result["rows"]["pairs"] == 1
    assert result["new_names"]["known_names"] == 12
    assert "every share is of the documents with mentions" in finished.err
    assert "D001943" in (output / "index.html").read_text()
    before = (output / "index.html").read_bytes()
    assert command("corpus", "stats", links, "-o", output, "--kb", small_kb.path, "--no-plots").status == 0
    assert (output / "index.html").read_bytes() == before
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("inside", ["links", "links/out", "."])
def test_the_output_does_not_touch_the_links(tmp_path, links, command, inside):
    finished = command("corpus", "stats", links, "-o", tmp_path / inside)
    assert finished.status == 1
    assert "E533" in finished.err
    assert (links / "a.parquet").is_file()


def test_filters_that_leave_nothing(tmp_path, links, command):
    finished = command("corpus", "stats", links, "-o", tmp_path / "out", "--min-probability", "0.5")
    assert finished.status == 1
    assert "E594" in finished.err
    assert not (tmp_path / "out").exists()


def test_without_duckdb(tmp_path, links, command, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    finished = command("corpus", "stats", links, "-o", tmp_path / "out")
    assert finished.status == 1
    assert "E542" in finished.err
    assert "duckdb" in finished.err
