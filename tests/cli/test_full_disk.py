"""Where the disk is full, a command says so, and leaves the old output, and nothing half-written beside it."""

import json
import signal
import subprocess
import sys

import pytest

resource = pytest.importorskip("resource")

COMMANDS = {
    "link to lines": "link PIPELINE notes.jsonl -o out.jsonl",
    "link to a workbook": "link PIPELINE notes.jsonl -o out.xlsx",
    "link to Parquet": "link PIPELINE notes.jsonl -o out.parquet",
    "link to FHIR": "link PIPELINE notes.jsonl -o out.fhir.json",
    "kb build": "kb build vocabulary.tsv --format table -o out.kb",
    "kb export": "kb export starter --format table -o out.tsv",
    "ground": "ground --file terms.txt --kb KB -o out.csv",
}
LIMIT = 2048  # bytes of a file, which has the same effect as a full disk: a write raises an error


def limited():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_full_disk(command, linking_folder, small_kb, tmp_path):
    texts = [json.dumps({"id": str(number), "text": f"aspirin {number}; {number * 'x'} CF"}) for number in range(300)]
    (tmp_path / "notes.jsonl").write_text("\n".join(texts))
    (tmp_path / "terms.txt").write_text("\n".join(f"asthma {number}" for number in range(100)))
    rows = "".join(f"D:{number}\tname {number}\n" for number in range(2000))
    (tmp_path / "vocabulary.tsv").write_text(f"id\tname\n{rows}")
    words = command.replace("PIPELINE", str(linking_folder)).replace("KB", str(small_kb.path)).split()
    output = tmp_path / words[-1]
    output.write_text("the old output")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "spacy_sapbert", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=limited,
    )
    assert done.returncode == 1, done.stderr
    assert "[E507] Cannot write" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert output.read_text() == "the old output"
    left = {path.name for path in tmp_path.iterdir()} - {*before}
    assert left <= {f".{output.name}.parts"}  # with which `--resume` goes on


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["jsonl", "pubtator"])
def test_two_processes_write_what_one_writes(ending, linking_folder, tmp_path):
    texts = [json.dumps({"id": str(number), "text": f"aspirin {number} for cystic fibrosis"}) for number in range(200)]
    (tmp_path / "notes.jsonl").write_text("\n".join(texts))
    for n in ("1", "2"):
        words = ["link", linking_folder, "notes.jsonl", "--n-process", n, "-o", f"{n}.{ending}"]
        subprocess.run([sys.executable, "-m", "spacy_sapbert", *words], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / f"1.{ending}").read_bytes() == (tmp_path / f"2.{ending}").read_bytes()
