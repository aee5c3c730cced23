from __future__ import annotations

import json

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.logs import Clock, json_lines, progress_bar, read_log


def values(step):
    return {
        "step": step, "loss": 1 / step, "pairs": 8, "mined_pairs": 1234, "nothing_hard": 0,
        "pairs_per_s": 99.6, "minutes_left": 12.34,
    }  # fmt: skip


def logged_steps(output):
    return [line["step"] for line in read_log(output / "log.jsonl")]


@pytest.fixture(params=[json_lines, progress_bar])
def make_log(request):
    return request.param()


def test_every_step_is_a_line_at_once(make_log, tmp_path):
    log = make_log(tmp_path, 0, 10)
    log.add(values(1))
    log.add(values(2))
    log.add({"step": 2, "acc@1": 71.25})
    assert read_log(tmp_path / "log.jsonl") == [values(1), values(2), {"step": 2, "acc@1": 71.25}]
    log.close()


def test_a_run_that_goes_on_continues_the_log_where_its_checkpoint_stood(make_log, tmp_path):
    log = make_log(tmp_path, 0, 10)
    for step in range(1, 6):
        log.add(values(step))
        if step == 3:
            log.add({"step": 3, "acc@1": 1.0})
    log.close()
    log = make_log(tmp_path, 3, 10)
    assert logged_steps(tmp_path) == [1, 2, 3, 3]
    for step in (4, 5, 6):
        log.add(values(step))
    log.close()
    assert logged_steps(tmp_path) == [1, 2, 3, 3, 4, 5, 6]


def test_a_line_that_was_cut_off_is_left_out(make_log, tmp_path):
    whole = json.dumps(values(1)) + "\n"
    (tmp_path / "log.jsonl").write_text(whole + json.dumps(values(2))[:20])
    assert read_log(tmp_path / "log.jsonl") == [values(1)]
    log = make_log(tmp_path, 1, 10)
    log.add(values(2))
    log.close()
    assert logged_steps(tmp_path) == [1, 2]


# --- the progress bar


def test_where_there_is_no_terminal_a_line_comes_every_so_often(tmp_path, capsys):
    log = progress_bar(every=2)(tmp_path, 0, 2000)
    for step in (1, 2, 3, 1004):
        log.add(values(step))
    log.add({"step": 1004, "acc@1": 71.256, "recall@20": 90.0})
    log.close()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "step 2: loss 0.5000, 100 pairs/s, 1,234 mined pairs, 12 minutes left",
        "step 1,004: loss 0.0010, 100 pairs/s, 1,234 mined pairs, 12 minutes left",
        "step 1,004: acc@1 71.26, recall@20 90.00",
    ]


def test_a_terminal_shows_a_bar(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    log = progress_bar(every=1)(tmp_path, 3, 10)
    log.add(values(4))
    log.close()
    err = capsys.readouterr().err
    assert "step 4: loss 0.2500" in err
    assert "4 of 10 steps" in err


def test_a_progress_bar_needs_a_number_above_0():
    with pytest.raises(SapbertError, match=r"E406.*every.*0"):
        progress_bar(every=0)


def test_a_full_disk_is_reported(tmp_path):
    (tmp_path / "log.jsonl").symlink_to("/dev/full")
    log = json_lines()(tmp_path, 0, 10)
    with pytest.raises(SapbertError, match=r"E507.*log.jsonl \(No space left on device\)"):
        log.add(values(1))
    log.close()


# --- the time


@pytest.fixture
def now(monkeypatch):
    """Seconds that can be set."""
    seconds = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[0])
    return seconds


def test_the_time_left_goes_by_the_steps_after_the_first(now):
    clock = Clock(0.0, None)
    now[0] = 600.0  # the first step takes ten minutes, all others one
    assert clock.timed_values(1, 10, {})["minutes_left"] == 90.0
    now[0] = 660.0
    assert clock.timed_values(2, 10, {"loss": 1.0}) == {"step": 2, "loss": 1.0, "minutes": 11.0, "minutes_left": 8.0}


def test_no_more_time_is_left_than_there_is(now):
    clock = Clock(30.0, 5.0)
    now[0] = 60.0
    assert clock.timed_values(1, 100, {}) == {"step": 1, "minutes": 31.0, "minutes_left": 4.0}
    assert not clock.is_over
    now[0] = 300.0
    assert clock.is_over
    assert clock.minutes == 35.0
