"""scripts/kill.py: what it finds in commands that do not survive a kill, and the engine of one machine that does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "kill.py"
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks for processes in /proc")

# The first run is undisturbed. Any other begins a file and waits to be killed, or ends what an earlier one began.
PROGRAM = """
import json, os, signal, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import kill, kill_targets

def toy(inputs, ending):
    undisturbed, part, text = Path(inputs, "undisturbed"), Path(".part"), "right"
    if not undisturbed.exists():
        undisturbed.touch()
    elif not part.exists():
        if ending != "group" or os.fork():
            part.touch()
        signal.pause()
    elif ending == "failing":
        raise SystemExit("it fails")
    else:
        text = "wrong" if ending == "wrong" else text
        part.unlink() if ending != "careless" else None
    Path("result").write_text(text)

class AtChange(kill.Reference):
    def moment(self, draw):
        return kill.Moment("change", 1)

inputs, ending = Path(sys.argv[2]), sys.argv[3]
kill.PROGRAMS["toy"] = toy
undisturbed = kill.undisturbed

def first_undisturbed(*given):
    (inputs / "undisturbed").unlink(missing_ok=True)
    return AtChange(*undisturbed(*given))

kill.undisturbed = first_undisturbed
target = kill_targets.Target("toy", "toy {inputs} " + ending, most_per_run=1)
state, saved = {}, []
save = lambda: saved.append(state["toy"]["kills"])
for kills in (2, 2, 3):
    kill.kill_often(target, inputs, inputs / "runs", state, kills, save)
print(json.dumps({"saved": saved, "outcomes": [run["outcome"] for run in state["toy"]["runs"]],
                  "equal": state["toy"]["equal"], "failed": [path.name for path in inputs.rglob("toy-0*")]}))
"""


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        ("careful", "equal"),
        ("group", "equal"),
        ("careless", "left over: work/.part"),
        ("wrong", "other: work/result"),
        ("failing", "status 1: it fails\n"),
    ],
)
def test_what_is_found(ending, outcome, tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(SCRIPT.parent), str(tmp_path), ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["saved"] == [1, 2, 3]
    assert told["outcomes"] == [outcome] * 3
    assert told["equal"] == (3 if outcome == "equal" else 0)
    assert sorted(told["failed"]) == ([] if outcome == "equal" else ["toy-0", "toy-0.log"])


def test_an_unknown_target_is_told():
    command = [sys.executable, str(SCRIPT), "--targets", "link nothing"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, "there is no target nothing; there are kb-build, link" in done.stderr) == (2, True)


@pytest.mark.slow
def test_killed_workers_and_drivers_change_nothing(tmp_path):
    """The links of a corpus are those of an undisturbed run, byte for byte."""
    targets = ["corpus-worker", "corpus-driver"]
    command = [sys.executable, str(SCRIPT), "--kills", "10", "--targets", " ".join(targets), "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stdout + done.stderr
    state = json.loads((tmp_path / "state.json").read_text())
    assert [state[target]["kills"] for target in targets] == [10, 10]
    assert all(run["outcome"] == "equal" for target in targets for run in state[target]["runs"])
