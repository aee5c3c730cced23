import json

import pytest

PAIRS = "C1||cold||coryza\nC2||breast cancer||cancer of the breast\nC3||cystic fibrosis||mucoviscidosis\n"


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text(PAIRS)
    return path


def test_encoders_are_measured(command, make_encoder, pairs):
    encoder, other = make_encoder(pooling="mean"), make_encoder(seed=1)
    arguments = encoder, other, pairs
    finished = command("evaluate", "components", "separation", *arguments)
    assert finished.status == 0, finished.err
    result = json.loads(finished.out)
    first = result["encoders"][str(encoder)]
    assert first.items() <= result.items()
    assert first != result["encoders"][str(other)]
    assert (result["positive"]["n"], result["negative"]["n"], result["same_name"]) == (3, 6, 0)
    assert first["difference"] == pytest.approx(first["positive"]["mean"] - first["negative"]["mean"], abs=1.1e-4)
    assert finished.err.count("positive") == 2
    assert "encoders" not in json.loads(command("evaluate", "components", "separation", encoder, pairs).out)


@pytest.mark.parametrize(
    "encoders",
    [["none"], ["starter", "none"]],
)
def test_what_cannot_be_done_is_reported(command, pairs, encoders):
    finished = command("evaluate", "components", "separation", *encoders, pairs)
    assert finished.status == 1
    assert "[E533]" in finished.err
