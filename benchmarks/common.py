"""What the benchmarks share: the folder of the data, and the options that most of them have."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def new_parser(description: str | None, *, data: bool = True, encoder: bool = False) -> argparse.ArgumentParser:
    """Return a parser, with the options `--data` and `--encoder` if they are wanted."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=Path, default=DATA, help="Folder of the corpora and vocabularies.")
    if encoder:
        about = "Hub name or folder of an encoder. 'none': the sparse score alone."
        parser.add_argument("--encoder", default="starter", help=about)
    return parser
