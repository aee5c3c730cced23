"""Describe an encoder in numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .adapter import has_adapter
from .compression import LAYER
from .folder import local_folder
from .projection import PROJECTION, activation_of, get_projection
from .transformer import TransformerEncoder


def describe(encoder: TransformerEncoder) -> dict[str, Any]:
    """Return the architecture, sizes, settings and history of an encoder.

    Returns:
        A dictionary. "parameters" has the number of weights of "embeddings", "layers", "adapter", "projection", "other"
        (the pooler) and "all". "bytes" is the size of all files, "weight_bytes" that of the weight files. "projection"
        is the activation of the projection, or None. "lexical_model" has the number of n-grams and the fitted values,
        or is None.
    """
    config = encoder.model.config
    projection = get_projection(encoder.model)
    files = [path for path in local_folder(encoder.name).rglob("*") if path.is_file()]
    return {
        "encoder": encoder.name,
        "architecture": type(encoder.model).__name__,
        "layers": config.num_hidden_layers,
        "dim": encoder.dim,
        "vocabulary": len(encoder.tokenizer.get_vocab()),
        "positions": getattr(config, "max_position_embeddings", None),
        "parameters": _parameters(encoder.model),
        "bytes": sum(path.stat().st_size for path in files),
        "weight_bytes": sum(path.stat().st_size for path in files if path.suffix in (".safetensors", ".bin")),
        "dtype": encoder.dtype,
        **encoder.settings,
        "adapter": has_adapter(encoder.model),
        "projection": None if projection is None else activation_of(projection),
        "lexical_model": _lexical_model(encoder),
        "trained": encoder.trained,
        "fingerprint": encoder.fingerprint,
    }


def _lexical_model(encoder: TransformerEncoder) -> dict[str, float] | None:
    part = encoder.lexical_model
    if part is None:
        return None
    return {
        "ngrams": len(part.ngrams.ngrams),
        "sparse_weight": part.sparse_weight,
        "threshold": part.threshold,
    }


def _parameters(model: Any) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for name, weights in model.named_parameters():
        counts[_part_of_weight(name)] += weights.numel()
    return {
        **{part: counts[part] for part in ("embeddings", "layers", "adapter", "projection", "other")},
        "all": counts.total(),
    }


def _part_of_weight(name: str) -> str:
    if "adapters." in name:
        return "adapter"
    if name.startswith(PROJECTION):
        return "projection"
    if LAYER.match(name):
        return "layers"
    return "embeddings" if "embeddings" in name else "other"
