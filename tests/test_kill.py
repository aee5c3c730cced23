"""Commands that are killed at random moments, and started again, give what undisturbed commands give."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

KILLS = 3
COMMANDS = {
    "kb build": "kb build vocabulary.tsv --format table -o out.kb",
    "link": "link pipeline notes.jsonl -o out.tsv --resume",
    "link with processes": "link pipeline notes.jsonl --n-process 2 -o out.tsv --resume",
    "link --engine": "link pipeline notes --engine local --n-process 2 -o out",
}


@pytest.fixture(scope="module")
def inputs(linking_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    names = "".join(f"D:{i}\tname {i}\tsynonym {i}\n" for i in range(20_000))
    (folder / "vocabulary.tsv").write_text(f"id\tname\tsynonyms\n{names}")
    texts = [json.dumps({"id": i, "text": f"aspirin {i} for cystic fibrosis (CF), and CF"}) for i in range(2500)]
    (folder / "notes.jsonl").write_text("\n".join(texts))
    (folder / "notes").mkdir()
    for number in range(5):
        (folder / "notes" / f"{number}.jsonl").write_text("\n".join(texts[number::5]) + "\n" * 2_000_000)
    (folder / "pipeline").symlink_to(linking_folder)
    return folder


def start(command, inputs, folder):
    arguments = [str(inputs / word) if (inputs / word).exists() else word for word in command.split()]
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-m", "spacy_sapbert", *arguments], cwd=folder, stderr=subprocess.PIPE, start_new_session=True
    )


def finish(command, inputs, folder):
    """Run a command to its end. RETURNS: the files that are not hidden, without the manifest, which has times."""
    with start(command, inputs, folder) as process:
        assert process.wait(timeout=600) == 0, process.stderr.read().decode()
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "_manifest.json"]
    return {path.name: path.read_bytes() for path in files if not path.name.startswith(".")}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_that_is_killed(command, inputs, tmp_path):
    begin = time.monotonic()
    expected = finish(command, inputs, tmp_path / "undisturbed")
    duration = time.monotonic() - begin
    moments = random.Random(command)
    for _ in range(KILLS):
        with start(command, inputs, tmp_path / "killed") as process:
            time.sleep(moments.uniform(0.3, 1) * duration)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert finish(command, inputs, tmp_path / "killed") == expected
    assert not [path for path in (tmp_path / "killed").rglob("*") if path.name.endswith(".parts")]
