import json

import pytest

from .conftest import shown


@pytest.fixture
def folder(tmp_path):
    """A folder of folds: in the first one, both mentions are linked right, and none in the second."""
    ids = {"aspirin": "D001241", "cancer": "D009369", "zebra": "D003139"}
    (tmp_path / "folds").mkdir()
    for number, names in {0: ["aspirin", "cancer"], 1: ["zebra"]}.items():
        rows = "".join(f"{name}\t{ids[name]}\n" for name in names)
        (tmp_path / "folds" / f"TwADR-L.fold-{number}.test.tsv").write_text(rows)
    return tmp_path / "folds"


def test_folds_are_measured_and_averaged(command, linking_folder, folder):
    finished = command("evaluate", "corpus", "folds", linking_folder, folder, "--split", "test", "--format", "names")
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    assert result["mean"]["strict"]["acc@1"] == result["se"]["strict"]["acc@1"] == 50.0
    assert "0 2.00 2.00 100.00 100.00 100.00 100.00" in shown(finished)
    assert "mean 1.50 1.50 50.00 50.00 50.00 50.00" in shown(finished)
    assert "se 0.5 0.5 50.00 50.00 50.00 50.00" in shown(finished)


def test_a_single_fold_has_no_error(command, linking_folder, folder):
    (folder / "TwADR-L.fold-1.test.tsv").unlink()
    finished = command("evaluate", "corpus", "folds", linking_folder, folder, "--split", "test", "--format", "names")
    assert finished.status == 0, finished.err
    assert "se – – – – – –" in shown(finished)


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["PIPELINE", "FOLDER"], "E125", "'validation' is not a part of fold 0"),
        (["PIPELINE", "FOLDER", "--seeds", "2"], "E533", "a pipeline is not trained"),
        (["PIPELINE", "FOLDER", "--paths.kb", "x.kb"], "E533", "a pipeline is not trained"),
        (["linker.cfg", "FOLDER", "--split", "test"], "E125", "'train' is not a part of fold 0"),
        (["linker.cfg", "FOLDER/TwADR-L.fold-0.test.tsv", "--folds", "3"], "E120", "linker.cfg"),
        (["PIPELINE", "FOLDER/TwADR-L.fold-0.test.tsv", "--folds", "3"], "E533", "the corpus has 2 documents"),
    ],
)
def test_what_cannot_be_done_is_reported(command, linking_folder, folder, arguments, code, reason):
    instead = {"PIPELINE": str(linking_folder), "FOLDER": str(folder)}
    for name, path in instead.items():
        arguments = [argument.replace(name, path) for argument in arguments]
    finished = command("evaluate", "corpus", "folds", *arguments, "--format", "names")
    assert finished.status == 1
    assert f"[{code}]" in finished.err
    assert reason in finished.err
