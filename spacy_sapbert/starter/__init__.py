"""Paths of what the package holds: vocabulary, pipeline, encoders, rankers, and popularity of names."""

from __future__ import annotations

from pathlib import Path

VOCABULARY = Path(__file__).parent / "vocabulary.kb"
CLINICAL_NAMES = Path(__file__).parent / "clinical.tsv.gz"
CLINICAL_LICENSE = (
    "Human Phenotype Ontology of 2026-02-16 (Köhler et al. 2021): HPO license, free with citation and version."
)
"""The license of those names that the vocabulary in the package lacks. `scripts/clinical_names.py` makes the file."""
TABLE = Path(__file__).parent / "table"
TRANSFORMER = Path(__file__).parent / "encoder"
RANKERS = (
    Path(__file__).parent / "ranker_encoder.safetensors",
    Path(__file__).parent / "ranker_ngrams.safetensors",
)
POPULARITY = Path(__file__).parent / "popularity.safetensors"
BOX = Path(__file__).parent / "box"
