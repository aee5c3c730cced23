"""Runs of `link` that are killed or interrupted, and then go on."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

# Two documents are linked together. The linker fails on texts with an exclamation mark. Each batch takes at least the
# time in the first argument.
PROGRAM = """
import sys, time
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker
from spacy_sapbert.runs import document_linker

seconds = float(sys.argv.pop(1))
document_linker.DOCUMENTS_PER_BATCH = 2
predict = SapbertLinker.predict

def slow_predict(self, docs):
    time.sleep(seconds)
    if any("!" in doc.text for doc in docs):
        raise RuntimeError("no exclamation")
    return predict(self, docs)

SapbertLinker.predict = slow_predict
from spacy_sapbert.cli import main
main()
"""
PATIENCE = 300  # seconds, for a machine that does much else


def lines(n):
    """Documents as JSON lines; some are broken, and the pipeline fails on others."""
    texts = ["{bad" if i % 17 == 5 else f"aspirin {i}" + "!" * (i % 13 == 8) for i in range(n)]
    return [text if text == "{bad" else json.dumps({"id": i, "text": text}) for i, text in enumerate(texts)]


@contextmanager
def linking(*arguments, seconds=0, **settings):
    """A process that runs `link`."""
    command = [sys.executable, "-c", PROGRAM, str(seconds), "link", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(*arguments, **settings):
    """Run `link` to its end. RETURNS: the last line on standard error, which sums up."""
    with linking(*arguments, **settings) as process:
        _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, messages
    return messages.decode().splitlines()[-1]


def parts_of(output):
    return list((output.parent / f".{output.name}.parts").glob("[0-9]*.jsonl"))


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for(output, n):
    """Wait until there are n parts."""
    wait_until(lambda: len(parts_of(output)) >= n)


@pytest.fixture(scope="module")
def whole(linking_folder, tmp_path_factory):
    """A run that was not interrupted: its input, its output and its summary."""
    folder = tmp_path_factory.mktemp("whole")
    source = folder / "in.jsonl"
    source.write_text("".join(f"{line}\n" for line in lines(120)))
    summary = finish(linking_folder, source, "--output", folder / "out.tsv")
    return source, (folder / "out.tsv").read_bytes(), summary


@pytest.mark.slow
@pytest.mark.parametrize("format", ["tsv", "html", "bioc.json", "parquet"])
def test_a_run_that_is_killed(format, whole, linking_folder, tmp_path):
    """Headers and ends of a format are written once, however often the run was killed."""
    source, _, summary = whole
    output, expected = tmp_path / f"out.{format}", tmp_path / f"whole.{format}"
    arguments = (linking_folder, source, "--output", output, "--resume")
    for n_parts in (3, 20):
        with linking(*arguments, seconds=0.05) as process:
            wait_for(output, n_parts)
            process.kill()
        assert not output.exists()
    assert finish(*arguments) == summary
    finish(linking_folder, source, "--output", expected)
    assert output.read_bytes() == expected.read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([output.name, expected.name])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(number, whole, linking_folder, tmp_path):
    source, expected, summary = whole
    output = tmp_path / "out.tsv"
    arguments = (linking_folder, source, "--output", output)
    with linking(*arguments, seconds=0.3, start_new_session=True) as process:
        wait_for(output, 4)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends it to all processes
        else:
            process.send_signal(number)
        _, messages = process.communicate(timeout=PATIENCE)
    last = messages.decode().splitlines()[-1]
    assert process.returncode == 128 + number
    assert b"Traceback" not in messages
    begin, _, command = last.partition(" finished documents are kept. To go on: -c ")
    assert 6 <= int(begin.removeprefix("Interrupted. ")) < 100
    assert not output.exists()
    assert shlex.split(command) == ["link", *map(str, arguments), "--resume"]
    with pytest.raises(AssertionError, match="E561"):
        finish(*arguments)
    assert finish(*shlex.split(command)[1:]) == summary
    assert output.read_bytes() == expected
    assert os.listdir(tmp_path) == ["out.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2, 4])
@pytest.mark.parametrize("engine", [["--engine", "local", "--output", "out"], ["--output", "out.tsv"]])
def test_ctrl_c_shows_no_traceback_of_a_worker_that_starts(engine, seconds, linking_folder, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text("aspirin\n" * 20_000)
    arguments = [linking_folder, "in", "--format", "lines", "--n-process", 2, *engine]
    command = [sys.executable, "-m", "spacy_sapbert", "link", *arguments]
    with subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, start_new_session=True, cwd=tmp_path
    ) as process:
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in messages
    assert not [path for path in (tmp_path / "out").rglob("*") if path.suffix == ".tmp"]


def test_an_interruption_before_the_first_document(linking_folder, tmp_path):
    output = tmp_path / "out.tsv"
    with linking(linking_folder, "-", "--format", "jsonl", "--output", output) as process:
        wait_until((tmp_path / ".out.tsv.parts").is_dir)
        time.sleep(0.3)  # it waits for the first document a moment later
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert messages == b"Interrupted. No document was finished, so nothing is kept.\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_other_commands_leave_no_half_file(linking_folder, tmp_path):
    output = tmp_path / "new.tsv"
    arguments = ["discover", linking_folder, "-", "-o", output, "--discover.format", "jsonl"]
    command = [sys.executable, "-m", "spacy_sapbert", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: any(path.is_file() for path in tmp_path.rglob("*")) or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, messages
    again = shlex.join(["python", "-m", "spacy_sapbert", *map(str, arguments)])
    assert messages.decode().endswith(f"To start again: {again}\n")
    assert messages.startswith(b"Interrupted. ")
    assert os.listdir(tmp_path) == []


def test_resuming_needs_a_file(command, linking_folder, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(lines(1)[0])
    for option in ("--resume", "--restart"):
        for output in ([], ["--output", "/dev/null"]):
            finished = command("link", linking_folder, source, option, *output)
            assert finished.status == 1
            assert "[E533] --resume or --restart" in finished.err


def test_another_pipeline_cannot_go_on(command, linking_folder, dense_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.runs.document_linker.DOCUMENTS_PER_BATCH", 1)
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "aspirin"}\n{"text": "aspirin"}\n{bad\n')
    output = tmp_path / "out.tsv"
    options = ("--output", output)
    assert command("link", linking_folder, source, *options, "--strict").status == 1
    refused = command("link", dense_folder, source, *options, "--resume")
    assert refused.status == 1
    assert "[E563]" in refused.err
    assert "pipeline/sapbert_linker/component.json" in refused.err
    assert "To go on" not in refused.err
    done = command("link", linking_folder, source, *options, "--resume")
    assert "1 documents were already finished" in done.err.splitlines()
    assert done.err.splitlines()[-1].startswith("2 documents, 2 mentions, 2 of them linked; 1 broken records")
