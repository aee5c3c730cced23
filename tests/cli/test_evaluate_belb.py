import json

import pytest
from typer.testing import CliRunner

from spacy_sapbert.cli.evaluate import evaluate
from spacy_sapbert.errors import SapbertError

from ..belb_files import write_belb


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    write_belb(tmp_path)

    def run(*arguments):
        words = ["corpus", "belb", str(tmp_path), "--encoder", "none", *map(str, arguments)]
        result = CliRunner().invoke(evaluate, words)
        if isinstance(result.exception, SapbertError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result

    return run


def test_a_table_the_json_and_what_is_missing(run, tmp_path):
    result = run("--corpus", "ncbi_disease", "--corpus", "nlm_chem", "--output", tmp_path / "belb.json")
    measures = json.loads((tmp_path / "belb.json").read_text())
    assert measures["corpora"]["ncbi_disease"]["r@1"] == 60.0
    shown = " ".join(result.stderr.split())
    assert "ncbi disease r@1 60.00" in shown
    assert "missing nlm chem [E504] There is no dev.bioc.json of type chemical in" in shown
    assert result.stdout == ""


def test_options_that_do_not_fit(run, tmp_path):
    with pytest.raises(SapbertError, match=r"E533.*--pipeline linker.*two values with ="):
        run("--pipeline", "linker")
    with pytest.raises(SapbertError, match=r"E125.*'validation' is not a split"):
        run("--split", "validation")
    with pytest.raises(SapbertError, match=r"E501.*nowhere"):
        run("--pipeline", "s800=nowhere", "--corpus", "s800")
