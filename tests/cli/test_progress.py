import io
import json

from rich.console import Console

from spacy_sapbert.cli.progress import show_values, stderr_console, track


def test_nothing_is_shown_where_there_is_no_terminal(capsys):
    assert list(track(range(3), stderr_console())) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_how_many_there_were():
    for total in (None, 3):
        console = Console(file=io.StringIO(), force_terminal=True)
        assert list(track("abc", console, "letters", total=total)) == ["a", "b", "c"]
        assert "3 letters" in console.file.getvalue()


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
