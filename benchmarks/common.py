"""What the benchmarks share: the folder of the data, the options that most of them have, and rows of several seeds."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from spacy_sapbert.files.output import kept_result
from spacy_sapbert.metrics.uncertainty import deviation_of, mean_of

DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def new_parser(
    description: str | None, *, data: bool = True, encoder: bool = False, seeds: bool = False
) -> argparse.ArgumentParser:
    """Return a parser, with the options `--data`, `--encoder` and `--seeds` if they are wanted."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=Path, default=DATA, help="Folder of the corpora and vocabularies.")
    if encoder:
        about = "Hub name or folder of an encoder. 'none': the sparse score alone."
        parser.add_argument("--encoder", default="starter", help=about)
    if seeds:
        about = (
            "Train every row with this many seeds, 0 and so on. With several, rows have mean and standard deviation."
        )
        parser.add_argument("--seeds", type=int, default=1, help=about)
    return parser


def over_seeds(measure: Callable[[int, Path], dict[str, Any]], output: Path, row: str, seeds: int) -> dict[str, Any]:
    """Train and measure a row with each seed. A seed that is finished is not trained again.

    Args:
        measure: Takes a seed and a folder for what is trained.
        output: The folder of the benchmark. The result of a seed is kept in its own file, `ROW/seed_0/result.json`.
        row: The name of the row.
        seeds: The number of seeds.

    Returns:
        The result of a single seed; or the number of `seeds`, and the `mean` and the standard deviation (`sd`) of each
        number.
    """
    results = []
    for seed in range(seeds):
        folder = output / "".join(letter if letter.isalnum() else "_" for letter in row) / f"seed_{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        results.append(kept_result(folder / "result.json", partial(measure, seed, folder)))
    return results[0] if seeds == 1 else {"seeds": seeds, "mean": mean_of(results), "sd": deviation_of(results)}
