"""Count the names that must be encoded again for a new release of a vocabulary.

A vector belongs to an encoder and to a name in its normal form. So a new release takes over the vectors of the names
that it shares with the old one. The data is two releases of the Human Disease Ontology, of 2016 and 2018.

    python benchmarks/vector_delta.py --encoder NAME|FOLDER [--data FOLDER] [--device cpu]
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from common import new_parser

from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS
from spacy_sapbert.vectors.flat import cached_name_vectors

RELEASES = {"2016": ("doid-2016-03-04.obo.gz", "obo"), "2018": ("doid-2018-07-05.json.gz", "obograph")}


class CountingEncoder(TransformerEncoder):
    n_encoded = 0

    def encode(self, texts: Sequence[str], *, fast: bool = False) -> np.ndarray:
        self.n_encoded += len(texts)
        return super().encode(texts, fast=fast)


def measure(data: Path, encoder: CountingEncoder, folder: Path) -> dict[str, Any]:
    results = {}
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    before: set[str] = set()
    for release, (name, format) in RELEASES.items():
        records = read_vocabulary(data / "vocabularies" / "doid" / name, format, report=ReadReport(), source="DOID")
        kb = build_knowledge_base(records, folder / f"{release}.kb")
        forms = set(map(normalize, kb.names()))
        encoder.n_encoded, start = 0, time.perf_counter()
        cached_name_vectors(kb, encoder)
        results[release] = {
            "concepts": len(kb),
            "names": kb.n_names,
            "normal_forms": len(forms),
            "normal_forms_not_in_the_release_before": len(forms - before),
            "names_encoded": encoder.n_encoded,
            "names_reused": kb.n_names - encoder.n_encoded,
            "seconds": round(time.perf_counter() - start, 1),
        }
        before = forms
    return results


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        os.environ["SPACY_SAPBERT_CACHE"] = folder  # otherwise vectors in the user's own cache would be reused
        encoder = CountingEncoder(arguments.encoder, device=arguments.device)
        print(json.dumps(measure(arguments.data, encoder, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
