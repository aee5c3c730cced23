"""No time limit follows the clock of the day, which can jump when it is set, and in winter."""

import ast
from pathlib import Path

import spacy_sapbert

PACKAGE = Path(spacy_sapbert.__file__).parent
# what says when something was made or happened, and limits nothing
OF_THE_DAY = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
RECORDS = {"outputs/health_records.py"}
STAMPS = {"kb/download.py", "vectors/on_demand.py", "review/corrections_file.py"} | RECORDS


def clocks_of_the_day(source):
    """Return the calls in a module that ask for the time of the day."""
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return {ast.unparse(call) for call in calls} & OF_THE_DAY


def test_what_is_found():
    assert clocks_of_the_day("import time\nend = time.time() + 3") == {"time.time"}
    assert not clocks_of_the_day("import time\nend = time.monotonic() + 3")


def test_no_module_measures_with_it():
    modules = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {name for name, source in modules.items() if clocks_of_the_day(source)} <= STAMPS
