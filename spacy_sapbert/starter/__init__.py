"""Paths of what the package holds: vocabulary, pipeline, encoders, rankers, and popularity of names."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = Path(__file__).parent / "vocabulary.kb"
TABLE = Path(__file__).parent / "table"
TRANSFORMER = Path(__file__).parent / "encoder"
RANKERS = (
    Path(__file__).parent / "ranker_encoder.safetensors",
    Path(__file__).parent / "ranker_ngrams.safetensors",
)
POPULARITY = Path(__file__).parent / "popularity.safetensors"
BOX = Path(__file__).parent / "box"
