"""What the commands of an encoder give: its description, and the vectors of texts in a NumPy file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..files.output import replacing
from ..files.values import array_header
from .additions import PROJECTION, activation_of, get_projection, has_adapter
from .compression import LAYER
from .encoder import Encoder
from .folder import local_folder
from .transformer import TransformerEncoder


def describe(encoder: Encoder) -> dict[str, Any]:
    """Return the architecture, sizes, settings and history of an encoder.

    Returns:
        A dictionary. "parameters" has the number of weights of "embeddings", "layers", "adapter", "projection", "other"
        (the pooler) and "all". "bytes" is the size of all files, "weight_bytes" that of the weight files. "projection"
        is the activation of the projection, or None. "lexical_model" has the number of n-grams and the fitted values,
        or is None.
    """
    form = _transformer(encoder) if isinstance(encoder, TransformerEncoder) else _sizes(encoder)
    return {
        "encoder": encoder.name,
        "architecture": type(encoder).__name__,
        "dim": encoder.dim,
        **form,
        **encoder.settings,
        "lexical_model": _lexical_model(encoder),
        "trained": encoder.trained,
        "fingerprint": encoder.fingerprint,
    }


def _sizes(encoder: Encoder) -> dict[str, int]:
    files = [path for path in local_folder(encoder.name).rglob("*") if path.is_file()]
    return {
        "bytes": sum(path.stat().st_size for path in files),
        "weight_bytes": sum(path.stat().st_size for path in files if path.suffix in (".safetensors", ".bin")),
    }


def _transformer(encoder: TransformerEncoder) -> dict[str, Any]:
    config, projection = encoder.model.config, get_projection(encoder.model)
    return {
        "architecture": type(encoder.model).__name__,
        "layers": config.num_hidden_layers,
        "vocabulary": len(encoder.tokenizer.get_vocab()),
        "positions": getattr(config, "max_position_embeddings", None),
        "parameters": _parameters(encoder.model),
        **_sizes(encoder),
        "dtype": encoder.dtype,
        "adapter": has_adapter(encoder.model),
        "projection": None if projection is None else activation_of(projection),
    }


def _lexical_model(encoder: Encoder) -> dict[str, float] | None:
    model = encoder.lexical_model
    if model is None:
        return None
    return {"ngrams": len(model.ngrams.ngrams), "sparse_weight": model.sparse_weight, "threshold": model.threshold}


def _parameters(model: Any) -> dict[str, int]:
    counts = Counter(dict.fromkeys(("embeddings", "layers", "adapter", "projection", "other"), 0))
    for name, weights in model.named_parameters():
        if "adapters." in name:
            part = "adapter"
        elif name.startswith(PROJECTION):
            part = "projection"
        elif LAYER.match(name):
            part = "layers"
        else:
            part = "embeddings" if "embeddings" in name else "other"
        counts[part] += weights.numel()
    return {**counts, "all": counts.total()}


def write_vectors(
    encoder: Encoder, texts: Iterable[str], path: Path, *, batch: int = 8192, fast: bool = False
) -> dict[str, int]:
    """Encode a stream of texts and write a float32 matrix with one row per text.

    The file appears when it is complete.

    Args:
        texts: The texts. A blank text gets a row of zeros.
        batch: Number of texts encoded together. A text that occurs twice among them is encoded once.
        fast: Whether to use bfloat16 if the hardware supports it.

    Returns:
        The counts "texts" and "without_vector", and the dimension "dim".
    """
    source = iter(texts)
    written = without = 0
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(array_header("<f4", (0, encoder.dim)))
        while chunk := list(islice(source, batch)):
            filled = {row: text for row, text in enumerate(chunk) if text.strip()}
            vectors = np.zeros((len(chunk), encoder.dim), dtype="<f4")
            vectors[list(filled)] = encoder.encode(list(filled.values()), fast=fast)
            file.write(vectors.tobytes())
            written += len(chunk)
            without += len(chunk) - len(filled)
        file.seek(0)
        file.write(array_header("<f4", (written, encoder.dim)))
    return {"texts": written, "without_vector": without, "dim": encoder.dim}
