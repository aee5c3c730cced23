"""Prediction files: one JSON object a line, for error lists and paired tests."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ..errors import Errors, SapbertError
from ..files import open_text


@contextmanager
def new_predictions(path: Path) -> Iterator[TextIO]:
    """Open a new file, which takes its place at `path` when the block ends without an error.

    RAISES (SapbertError): E507 it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        file = temporary.open("w", encoding="utf8")
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=path, reason=error.strerror)) from error
    try:
        with file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_prediction(file: TextIO, prediction: Mapping[str, Any]) -> None:
    """Write one line."""
    file.write(json.dumps(prediction, ensure_ascii=False) + "\n")


def read_predictions(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """YIELDS (tuple[int, dict[str, Any]]): the number of each line and what it holds.

    RAISES (SapbertError): E513 a line that is no JSON object, E120 to E122 the file cannot be read.
    """
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                prediction = json.loads(line)
            except ValueError as error:
                raise SapbertError(Errors.E513.format(path=path, line=number, reason=error)) from error
            if not isinstance(prediction, dict):
                raise SapbertError(Errors.E513.format(path=path, line=number, reason="no JSON object"))
            yield number, prediction
