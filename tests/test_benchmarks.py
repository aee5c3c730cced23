"""benchmarks/common.py: rows that are trained with several seeds."""

import json

import pytest


@pytest.fixture
def over_seeds(script):
    return script("../benchmarks/common").over_seeds


def test_a_row_has_mean_and_deviation_over_seeds(over_seeds, tmp_path):
    seen = []

    def measure(seed, folder):
        seen.append(seed)
        assert folder.is_dir()
        if seed == 2 and len(seen) == 3:
            raise KeyboardInterrupt
        return {"acc": {"@1": [80.0, 90.0, 85.0][seed]}, "name": "x"}

    with pytest.raises(KeyboardInterrupt):
        over_seeds(measure, tmp_path, "k = 5", 3)
    assert json.loads((tmp_path / "k___5/seed_1/result.json").read_text()) == {"acc": {"@1": 90.0}, "name": "x"}
    found = over_seeds(measure, tmp_path, "k = 5", 3)
    assert seen == [0, 1, 2, 2]
    assert found == {"seeds": 3, "mean": {"acc": {"@1": 85.0}}, "sd": {"acc": {"@1": 5.0}}}
    assert over_seeds(measure, tmp_path, "k = 5", 1) == {"acc": {"@1": 80.0}, "name": "x"}
    assert len(seen) == 4
