"""Read YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import BadRecordError
from .opening import open_text


def read_yaml(path: Path, expected: str) -> dict[str, Any]:
    """Read the keys and values of a YAML file.

    Args:
        path: The file.
        expected: What the file must have, for the message if it is not a mapping.

    Raises:
        BadRecordError: It is not YAML, or not a mapping.
        SapbertError: E120 to E122 if it cannot be read.
    """
    import srsly  # it reads plain data only, and no tags of Python

    with open_text(path) as file:
        text = file.read()
    try:
        values = srsly.yaml_loads(text)
    except ValueError as error:
        cause = error.__context__
        mark, problem = getattr(cause, "problem_mark", None), getattr(cause, "problem", None) or "nested too deeply"
        line = mark.line + 1 if mark else 1
        reason = f"this is not YAML ({problem})"
        raise BadRecordError(path=path, line=line, reason=reason, remedy="Correct it.") from error
    if not isinstance(values, dict):
        raise BadRecordError(path=path, line=1, reason=expected, remedy="Write it like this.")
    return values
