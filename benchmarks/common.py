"""What the benchmarks share: the data, options, commands, a linker, and rows of several seeds."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spacy_sapbert.files.output import kept_result
from spacy_sapbert.metrics.uncertainty import deviation_of, mean_of

if TYPE_CHECKING:
    from spacy_sapbert.linking.linker import Linker

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


def run(*command: object) -> str:
    """Run a module of Python with arguments, and return what it prints."""
    words = [sys.executable, "-m", *map(str, command)]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def open_linker(kb: Path, encoder: str, index: str = "auto") -> Linker:
    """Return a linker with n-grams, and with an encoder unless it is 'none'."""
    # not above: the start of other programs would be measured with it
    from spacy_sapbert.encoders.encoder import open_encoder
    from spacy_sapbert.kb.knowledge_base import KnowledgeBase
    from spacy_sapbert.linking.linker import Linker
    from spacy_sapbert.linking.storage import open_generator

    return Linker(open_generator(KnowledgeBase(kb), open_encoder(encoder), sparse=True, index=index))


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
