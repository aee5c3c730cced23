"""Runs of `link` that are killed or interrupted, and then go on."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from spacy_sapbert.runs.journal import journal_path

# The linker fails on texts with an exclamation mark. Each batch takes at least the time in the first argument. After as
# many batches as the second argument says, the linker never ends.
PROGRAM = """
import sys, time
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker

seconds, batches = float(sys.argv.pop(1)), int(sys.argv.pop(1))
predict = SapbertLinker.predict

def slow_predict(self, docs):
    global batches
    batches -= 1
    time.sleep(seconds if batches else 100_000)
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
def linking(*arguments, seconds=0, batches=-1, **settings):
    """A process that runs `link`."""
    command = [sys.executable, "-c", PROGRAM, str(seconds), str(batches), "link", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def finish(*arguments, **settings):
    """Run `link` to its end. RETURNS: the last line on standard error, which sums up."""
    with linking(*arguments, **settings) as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, told
    return told.decode().splitlines()[-1]


def finished(output):
    journal = journal_path(output) / "journal.jsonl"
    return journal.read_bytes().count(b"\n") - 1 if journal.is_file() else 0


def finished_batches(output):
    """RETURNS: the number of documents without those of the last batch, with which a run resumes."""
    found = (journal_path(output) / "journal.jsonl").read_text().splitlines()[1:]
    batches = [json.loads(line)["batch"] for line in found]
    return len(batches) - batches.count(batches[-1])


def wait_for(output, n):
    """Wait until the journal holds n documents."""
    end = time.monotonic() + PATIENCE
    while finished(output) < n:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="module")
def whole(linking_folder, tmp_path_factory):
    """A run that was not interrupted: its input, its output and its summary."""
    folder = tmp_path_factory.mktemp("whole")
    source = folder / "in.jsonl"
    source.write_text("".join(f"{line}\n" for line in lines(120)))
    summary = finish(linking_folder, source, "--output", folder / "out.tsv")
    return source, (folder / "out.tsv").read_bytes(), summary


@pytest.mark.slow
def test_a_run_that_is_killed(whole, linking_folder, tmp_path):
    source, wanted, summary = whole
    output = tmp_path / "out.tsv"
    arguments = (linking_folder, source, "--output", output, "--batch-size", 2, "--resume")
    with linking(*arguments, batches=15) as process:  # of about 60
        wait_for(output, finished(output) + 5)
        process.kill()
    assert not output.exists()
    assert finish(*arguments) == summary
    assert output.read_bytes() == wanted
    assert os.listdir(tmp_path) == ["out.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("n_process", [1, 2])
def test_a_run_that_is_killed_at_twenty_random_moments(whole, n_process, linking_folder, tmp_path):
    source, wanted, summary = whole
    output = tmp_path / "out.tsv"
    arguments = (linking_folder, source, "--output", output, "--batch-size", 2, "--n-process", n_process, "--resume")
    moments = random.Random(n_process)
    kills = 0
    while kills < 20:
        with linking(*arguments, seconds=0.1, start_new_session=True) as process:
            if moments.random() < 0.7:
                wait_for(output, min(finished(output) + 1, 100))
            time.sleep(moments.random() / 4)
            os.killpg(process.pid, signal.SIGKILL)
        kills += 1
        assert not output.exists()
    assert finish(*arguments) == summary
    assert output.read_bytes() == wanted
    assert os.listdir(tmp_path) == ["out.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("n_process", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(number, n_process, whole, linking_folder, tmp_path):
    source, wanted, summary = whole
    output = tmp_path / "out.tsv"
    arguments = (linking_folder, source, "--output", output, "--batch-size", 2, "--n-process", n_process)
    with linking(*arguments, seconds=0.3, start_new_session=True) as process:
        wait_for(output, 4)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends it to all processes
        else:
            process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE)
    told = told.decode().splitlines()
    assert process.returncode == 128 + number
    assert "Traceback" not in "".join(told)
    kept = finished_batches(output)
    assert 2 <= kept < 100
    start = f"Interrupted. {kept} finished documents are kept. To go on: -c "
    assert told[-1].startswith(start)
    assert not output.exists()
    command = shlex.split(told[-1].removeprefix(start))
    assert command == ["link", *map(str, arguments), "--resume"]
    with pytest.raises(AssertionError, match="E561"):
        finish(*arguments)
    assert finish(*command[1:]) == summary
    assert output.read_bytes() == wanted
    assert os.listdir(tmp_path) == ["out.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [2, 3, 4, 5])
def test_ctrl_c_shows_no_traceback_of_a_worker_that_starts(seconds, linking_folder, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(4):
        (tmp_path / "in" / f"{number}.txt").write_text("aspirin\n" * 20_000)
    output = tmp_path / "out"
    arguments = ("--format", "lines", "--engine", "local", "--n-process", 2, "--output", output)
    command = [sys.executable, "-m", "spacy_sapbert", "link", linking_folder, tmp_path / "in", *arguments]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, start_new_session=True) as process:
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in told
    assert not [path for path in output.rglob("*") if path.suffix == ".tmp" or path.name == ".tries"]


def test_an_interruption_before_the_first_document(linking_folder, tmp_path):
    output = tmp_path / "out.tsv"
    with linking(linking_folder, "-", "--format", "jsonl", "--output", output) as process:
        end = time.monotonic() + PATIENCE
        while not (journal_path(output) / "journal.jsonl").is_file():
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert told == b"Interrupted. No document was finished, so nothing is kept.\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_other_commands_leave_no_half_file(linking_folder, tmp_path):
    output = tmp_path / "new.tsv"
    command = [
        sys.executable,
        "-m",
        "spacy_sapbert",
        "discover",
        linking_folder,
        "-",
        "--format",
        "jsonl",
        "-o",
        output,
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + PATIENCE
        while not any(path.is_file() for path in tmp_path.rglob("*")) and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, told
    again = shlex.join(["python", "-m", "spacy_sapbert", *map(str, command[3:])])
    assert told.decode().endswith(f"To start again: {again}\n")
    assert told.startswith(b"Interrupted. ")
    assert os.listdir(tmp_path) == []


def test_resuming_wants_a_file(command, linking_folder, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(lines(1)[0])
    for option in ("--resume", "--restart"):
        finished = command("link", linking_folder, source, option)
        assert finished.status == 1
        assert f"[E565] {option} needs --output" in finished.err
        assert "[E565]" in command("link", linking_folder, source, option, "--output", "/dev/null").err
    both = command("link", linking_folder, source, "--resume", "--restart", "--output", tmp_path / "out.tsv")
    assert both.status == 2


def test_another_pipeline_cannot_go_on(command, whole, linking_folder, dense_folder, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text('{"text": "aspirin"}\n{"text": "aspirin"}\n{bad\n')
    output = tmp_path / "out.tsv"
    options = ("--output", output, "--batch-size", 1)
    assert command("link", linking_folder, source, *options, "--strict").status == 1
    refused = command("link", dense_folder, source, *options, "--resume")
    assert refused.status == 1
    assert "[E563]" in refused.err
    assert "files of the pipeline have changed (" in refused.err
    assert "sapbert_linker/component.json" in refused.err
    refused = command("link", linking_folder, source, *options, "--resume", "--id-column", "pmid")
    assert "reading was" in refused.err
    assert "To go on" not in refused.err
    done = command("link", linking_folder, source, *options, "--resume")
    assert done.err.splitlines()[0] == "1 documents are already finished"
    assert done.err.splitlines()[-1].startswith("2 documents, 2 mentions, 2 of them linked; 1 broken records")
