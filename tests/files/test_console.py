import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.console import (
    progress_callback,
    results_to,
    show_values,
    stderr_console,
    table_of_numbers,
    track,
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets, in seconds."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("spacy_sapbert.files.console.monotonic", lambda: clock.now)
    return clock


def ticking(clock, n, seconds):
    for i in range(n):
        clock.now += seconds
        yield i


def test_a_short_run_writes_no_line_where_there_is_no_terminal(capsys):
    assert list(track(range(3), stderr_console())) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_line_every_half_minute_where_there_is_no_terminal(clock, capsys):
    assert len(list(track(ticking(clock, 1000, 0.125), stderr_console(), total=3000, done=1000))) == 1000
    assert capsys.readouterr().err.splitlines() == [
        "1,240 of 3,000 documents, 8.0 per second, 0:03:40 left",
        "1,480 of 3,000 documents, 8.0 per second, 0:03:10 left",
        "1,720 of 3,000 documents, 8.0 per second, 0:02:40 left",
        "1,960 of 3,000 documents, 8.0 per second, 0:02:10 left",
    ]


def test_a_line_without_a_total(clock, capsys):
    list(track(ticking(clock, 10_000, 1 / 256), stderr_console(), "names"))
    assert capsys.readouterr().err == "7,680 names, 256 per second\n"


def test_the_share_of_the_input_gives_the_time_left(clock, capsys):
    list(track(ticking(clock, 35, 1), stderr_console(), "concepts", share=lambda: 0.25))
    assert capsys.readouterr().err == "30 concepts, 1.0 per second, 0:01:30 left\n"


def test_work_that_reports_its_progress_itself(clock, capsys):
    with progress_callback(stderr_console(), "names") as report:
        for done in (100, 200, 300, 400):
            clock.now += 20
            report(done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "200 of 1,000 names, 5.0 per second, 0:02:40 left",
        "400 of 1,000 names, 5.0 per second, 0:02:00 left",
    ]


def test_a_terminal_shows_how_many_there_were():
    for total in (None, 3):
        console = Console(file=io.StringIO(), force_terminal=True)
        assert list(track("abc", console, "letters", total=total)) == ["a", "b", "c"]
        assert ("3 of 3 letters" if total else "3 letters") in console.file.getvalue()


def test_progress_can_be_off_on_a_terminal():
    console = Console(file=io.StringIO(), force_terminal=True)
    assert list(track("abc", console, shown=False)) == ["a", "b", "c"]
    assert console.file.getvalue() == ""


def test_messages_stand_as_they_are(capsys):
    stderr_console().print("a [bold]file[/bold] :smile: " + "x" * 200)
    assert capsys.readouterr().err == "a [bold]file[/bold] :smile: " + "x" * 200 + "\n"


def test_values_are_shown_to_people_and_to_programs(capsys):
    values = {"train_pairs": 12345, "done": True, "seconds": {"per_step": 0.5}}
    show_values(values)
    out, err = capsys.readouterr()
    assert json.loads(out) == values
    assert [line.split() for line in err.splitlines()] == [
        ["train", "pairs", "12,345"], ["done", "True"], ["seconds", "per", "step", "0.5"]
    ]  # fmt: skip


def test_a_table_of_numbers_shows_each_kind_of_value():
    table = table_of_numbers("group", "n", "share", "p", rows=[("all", 1234, 50.0, "0.0001"), ("rare", 0, None, "")])
    cells = [list(column.cells) for column in table.columns]
    assert cells == [["all", "rare"], ["1,234", "0"], ["50.00", "–"], ["0.0001", ""]]


def test_a_result_goes_to_a_file_that_appears_at_the_end(tmp_path, capsys):
    path = tmp_path / "result.json"
    with results_to(path, []) as show:
        show(table_of_numbers("a"), {"n": 1})
        assert not path.exists()
    assert json.loads(path.read_text()) == {"n": 1}
    assert capsys.readouterr().out == ""
    with pytest.raises(SapbertError, match="E507"), results_to(tmp_path / "none" / "result.json", []):
        pytest.fail("the file cannot be written")
    with pytest.raises(SapbertError, match="E533"), results_to(path, [path]):
        pytest.fail("the file would be replaced")
