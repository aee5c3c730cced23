"""Paths of what the package holds: vocabulary, pipeline, encoders, models of differences, and popularity of names."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = Path(__file__).parent / "vocabulary.kb"
TABLE = Path(__file__).parent / "table"
TRANSFORMER = Path(__file__).parent / "encoder"
DIFFERENCE_MODELS = (
    Path(__file__).parent / "difference_encoder.safetensors",
    Path(__file__).parent / "difference_ngrams.safetensors",
)
POPULARITY = Path(__file__).parent / "popularity.safetensors"
BOX = Path(__file__).parent / "box"
