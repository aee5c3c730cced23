import io
import json
from types import SimpleNamespace

import pytest
from rich.console import Console

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.console import (
    progress_callback,
    results_to,
    show,
    stderr_console,
    tables_of,
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
    show(values)
    out, err = capsys.readouterr()
    assert json.loads(out) == values
    assert [line.split() for line in err.splitlines()] == [
        ["train", "pairs", "12,345"], ["done", "yes"], ["seconds", "per", "step", "0.5"]
    ]  # fmt: skip


def shown(result):
    """RETURNS (list): the cells of each table, with its headings first, row by row."""
    tables = []
    for table in tables_of(result):
        columns = [[column.header, *column.cells] for column in table.columns]
        tables.append([list(row) for row in zip(*columns, strict=True)])
    return tables


def test_mappings_with_the_same_keys_are_rows_of_one_table():
    all_, rare = {"n": 1234, "p": 50.0}, {"n": 0, "p": None}
    result = {"k": 10, "all": {**all_, "types": {"A_b": rare}}, "micro": {"p": 0.00012345}, "path/to_a": rare}
    assert shown(result) == [
        [["", ""], ["k", "10"], ["micro p", "0.0001234"]],
        [["", "n", "p"], ["all", "1,234", "50.00"], ["all types A b", "0", "–"], ["path/to_a", "0", "–"]],
    ]


def test_the_values_of_a_row_can_have_parts():
    row = {"n": 3, "lenient": {"acc@1": 1.5}}
    assert shown({"seen": row, "unseen": row})[0][0] == ["", "n", "lenient acc@1"]


def test_a_wide_table_stands_on_its_side():
    row = {f"measure_{number}": number for number in range(9)}
    assert shown({"before": row, "after": row})[0][:2] == [["", "before", "after"], ["measure 0", "0", "0"]]


def test_a_list_of_mappings_is_a_table_of_its_first_rows():
    rows = [{"name": f"n{number}", "ids": ["a", "b"]} for number in range(51)]
    (table,) = shown({"names": [*rows[:-1], {"name": "x " * 80, "why": {"kappa": 0.5}}], "none": []})
    assert table[:2] == [["name", "ids", "why"], ["n0", "a, b", ""]]
    assert len(table) == 51
    (table,) = shown({"names": [{"name": "x " * 80, "why": {"kappa": 0.5}}]})
    assert table[1] == [("x " * 39) + "…", "kappa 0.5"]


def test_the_largest_of_many_counts_are_shown():
    (table,) = shown({"types": {f"T{number:02}": number for number in range(25)}})
    assert (table[1], table[-1]) == (["types T24", "24"], ["types others", "10"])


def test_a_result_goes_to_a_file_that_appears_at_the_end(tmp_path, capsys):
    path = tmp_path / "result.json"
    with results_to(path, []) as show:
        show({"n": 1})
        assert not path.exists()
    assert json.loads(path.read_text()) == {"n": 1}
    assert capsys.readouterr().out == ""
    with pytest.raises(SapbertError, match="E507"), results_to(tmp_path / "none" / "result.json", []):
        pytest.fail("the file cannot be written")
    with pytest.raises(SapbertError, match="E533"), results_to(path, [path]):
        pytest.fail("the file would be replaced")
