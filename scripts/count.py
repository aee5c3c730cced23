"""Count how large the project is: lines, files, commands, options and messages.

    python scripts/count.py [--json]

A line is any line of a Python file, also an empty one. An option is one of the command line, without arguments and
without `--help`.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from help_pages import ROOT, commands

PACKAGE = ROOT / "spacy_sapbert"
SHORT = 25
"""A file with fewer lines is short."""
CODE = re.compile(r"[EW]\d{3}")
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


def count() -> dict[str, Any]:
    """Return all figures by their titles."""
    return {**count_files(), **count_commands(), "message codes": len(message_codes()), **count_constants()}


def count_files() -> dict[str, int]:
    """Return the lines of each part of the project, and the files of the package."""
    files = sorted(PACKAGE.rglob("*.py"))
    own = [path for path in files if path.name not in ("__init__.py", "__main__.py")]
    return {
        "package lines": total_lines(files),
        "package files": len(files),
        f"package files under {SHORT} lines": sum(n_lines(path) < SHORT for path in own),
        **{f"{name} lines": total_lines((ROOT / name).rglob("*.py")) for name in ("tests", "benchmarks", "scripts")},
    }


def n_lines(path: Path) -> int:
    """Return the number of lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def total_lines(paths: Iterable[Path]) -> int:
    """Return the number of lines of several files."""
    return sum(map(n_lines, paths))


def count_commands() -> dict[str, Any]:
    """Return the number of commands and of their options. Groups of commands do not count, nor do their options."""
    options: Counter[str] = Counter()
    for words, command in commands():
        if not hasattr(command, "commands"):
            kinds = Counter(one.param_type_name for one in command.params if one.name != "help")
            options[" ".join(words)] = kinds["option"]
    name, most = options.most_common(1)[0]
    return {"commands": len(options), "options": options.total(), "most options of a command": most, "which is": name}


def message_codes() -> set[str]:
    """Return the codes that errors.py defines: names that a value is assigned to, or values of a name `code`."""
    tree = ast.parse((PACKAGE / "errors.py").read_text(encoding="utf-8"))
    codes = set()
    for target, value in assignments(tree):
        if CODE.fullmatch(target):
            codes.add(target)
        elif target == "code" and isinstance(value, ast.Constant) and CODE.fullmatch(str(value.value)):
            codes.add(str(value.value))
    return codes


def count_constants() -> dict[str, int]:
    """Return the number of constants at the top of the modules."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    top = (assignments(ast.Module([node], [])) for tree in trees for node in tree.body if is_assignment(node))
    return {"module constants": sum(bool(CONSTANT.fullmatch(name)) for found in top for name, _ in found)}


def is_assignment(node: ast.AST) -> bool:
    """Return whether a statement assigns a value."""
    return isinstance(node, ast.Assign | ast.AnnAssign)


def assignments(tree: ast.AST) -> list[tuple[str, ast.AST | None]]:
    """Return the names that the statements of a tree assign values to, at any depth, with the values."""
    found: list[tuple[str, ast.AST | None]] = []
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        found += [(target.id, value) for target in targets if isinstance(target, ast.Name)]
    return found


def main() -> None:
    """Print the figures as a table, or as JSON with the option `--json`."""
    figures = count()
    if "--json" in sys.argv[1:]:
        sys.stdout.write(json.dumps(figures, indent=2) + "\n")
        return
    for title, figure in figures.items():
        shown = f"{figure:,}" if isinstance(figure, int) else figure
        sys.stdout.write(f"{title:<30}{shown:>12}\n")


if __name__ == "__main__":
    main()
