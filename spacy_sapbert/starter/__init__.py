"""Paths of the starter vocabulary and the starter encoder in the package."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = Path(__file__).parent / "vocabulary.jsonl"
ENCODER = Path(__file__).parent / "encoder"
