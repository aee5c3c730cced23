"""Tables of cases beside the tests that read them."""

import ast
from pathlib import Path

LITERALS = tuple("'\"([{-0123456789")


def cases(test: str, name: str) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the columns and the rows of a table, as `pytest.mark.parametrize` takes them.

    The file of the tables has the name of the test file. A table begins with its name in brackets, and its columns. A
    cell is a text, or a literal of Python. Lines with "# " say why.
    """
    lines = Path(test).with_suffix(".tsv").read_text(encoding="utf-8").split("\n")
    start = lines.index(f"[{name}]") + 1
    table = [line for line in lines[start : lines.index("", start)] if not line.startswith("# ")]
    return table[0].split("\t"), [tuple(map(_value, line.split("\t"))) for line in table[1:]]


def _value(cell: str) -> object:
    return ast.literal_eval(cell) if cell.startswith(LITERALS) or cell in ("None", "True", "False") else cell
