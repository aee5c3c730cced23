"""Paths of the starter vocabulary and the starter encoder in the package."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = Path(__file__).parent / "vocabulary.jsonl"
ENCODER = Path(__file__).parent / "encoder"
DIFFERENCE_MODELS = (
    Path(__file__).parent / "difference_encoder.safetensors",
    Path(__file__).parent / "difference_ngrams.safetensors",
)
