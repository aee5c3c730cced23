import pytest

from spacy_sapbert.training import timing
from spacy_sapbert.training.timing import Clock


@pytest.fixture
def now(monkeypatch):
    """Seconds that can be set."""
    seconds = [0.0]
    monkeypatch.setattr(timing.time, "monotonic", lambda: seconds[0])
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
