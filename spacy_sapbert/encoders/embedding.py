"""The vectors of a stream of texts, in a file of numpy's format."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..files import replacing
from .transformer import TransformerEncoder


def write_vectors(
    encoder: TransformerEncoder, texts: Iterable[str | None], path: Path, *, batch: int = 8192, fast: bool = False
) -> dict[str, int]:
    """Encode texts as they come, and write a float32 matrix with a row a text; the file appears when it is complete.

    Args:
        texts: a blank one, or None for one that cannot be read, gets a row of zeros.
        batch: texts encoded together; a text that comes twice among them is encoded once.
        fast: use bfloat16 where the hardware has it.

    Returns:
        "texts", "without_vector" and "dim".

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    source = iter(texts)
    written = without = 0
    with replacing(path) as temporary, temporary.open("wb") as file:
        _write_header(file, 0, encoder.dim)
        while chunk := list(islice(source, batch)):
            filled = [row for row, text in enumerate(chunk) if text and text.strip()]
            vectors = np.zeros((len(chunk), encoder.dim), dtype="<f4")
            vectors[filled] = encoder.encode([chunk[row] or "" for row in filled], fast=fast)
            file.write(vectors.tobytes())
            written += len(chunk)
            without += len(chunk) - len(filled)
        file.seek(0)
        _write_header(file, written, encoder.dim)
    return {"texts": written, "without_vector": without, "dim": encoder.dim}


def _write_header(file: BinaryIO, rows: int, dim: int) -> None:
    """Numpy leaves room in a header for more digits, so that its length does not depend on the number of rows."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
    np.lib.format.write_array_header_1_0(file, header)
