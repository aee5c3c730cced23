"""Read and write prediction files: JSON lines for error lists and paired tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError
from ..files.opening import open_text
from ..files.values import parse_json


def write_prediction(write: Callable[[str], object], prediction: Mapping[str, Any]) -> None:
    """Write a prediction as a JSON line.

    Args:
        write: A function from `open_output`.
        prediction: The values of the line.
    """
    write(json.dumps(prediction, ensure_ascii=False) + "\n")


def read_predictions(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line and its values.

    Raises:
        SapbertError: E513 a line is not a JSON object. E120 to E122 the file cannot be read.
    """
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                prediction = parse_json(line)
            except ValueError as error:
                raise SapbertError(Errors.E513.format(path=path, line=number, reason=error)) from error
            if not isinstance(prediction, dict):
                raise SapbertError(Errors.E513.format(path=path, line=number, reason="the line is not a JSON object"))
            yield number, prediction
