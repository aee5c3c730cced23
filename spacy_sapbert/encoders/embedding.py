"""Write the vectors of a stream of texts to a NumPy file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..files.output import replacing
from .transformer import TransformerEncoder


def write_vectors(
    encoder: TransformerEncoder, texts: Iterable[str | None], path: Path, *, batch: int = 8192, fast: bool = False
) -> dict[str, int]:
    """Encode a stream of texts and write a float32 matrix with one row per text.

    The file appears when it is complete.

    Args:
        encoder: The encoder.
        texts: The texts. A blank text, or None for an unreadable text, gets a row of zeros.
        path: The file to write.
        batch: Number of texts encoded together. A text that occurs twice among them is encoded once.
        fast: Whether to use bfloat16 if the hardware supports it.

    Returns:
        The counts "texts" and "without_vector", and the dimension "dim".
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
    """Write the header. NumPy pads it, so that its length does not depend on the number of rows."""
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, dim)}
    np.lib.format.write_array_header_1_0(file, header)
