"""Measure how well fitted probabilities and thresholds hold for other documents, over many draws.

The gold mentions of the training part of BC5CDR (diseases) are linked once. Each draw splits the documents in two.
Probabilities and threshold are fitted on one part and measured on the other. λ keeps the given value.
"""

import json
from collections.abc import Iterable, Mapping

import numpy as np
import spacy
from common import new_parser
from corpora import CORPORA, read

from spacy_sapbert.evaluation.calibration import Judged, fit_probabilities, fit_threshold, judge, split_documents
from spacy_sapbert.evaluation.running import link_gold_mentions
from spacy_sapbert.linking.settings import LinkerParameters
from spacy_sapbert.metrics.calibration import brier_score, calibration_error, reliability
from spacy_sapbert.types import Document

CORPUS = CORPORA["BC5CDR diseases"]


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("--kb", default="starter")
    parser.add_argument("--sparse-weight", type=float, default=0.2)
    parser.add_argument("--precision", type=float, default=0.9)
    parser.add_argument("--held-out", type=float, default=0.3)
    parser.add_argument("--draws", type=int, default=30)
    arguments = parser.parse_args()
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    config = {
        "kb": arguments.kb,
        "encoder": arguments.encoder,
        "candidates": {"sparse_weight": arguments.sparse_weight},
    }
    linker = nlp.add_pipe("sapbert_linker", config=config).linker  # type: ignore[attr-defined]
    documents = [one for one in read(arguments.data, CORPUS) if one.mentions]
    # identifiers of BC5CDR are unique
    judged = {one.doc_id: judge(link_gold_mentions(nlp, [one]), linker) for one in documents}
    draws = [split_documents(documents, arguments.held_out, seed) for seed in range(arguments.draws)]
    for method in ("isotonic", "platt"):
        rows = [
            measured(together(judged, fitting), together(judged, held), method, arguments.precision)
            for fitting, held in draws
        ]
        print(json.dumps({"method": method, **summary(rows)}, indent=2))


def together(judged: Mapping[str, Judged], documents: Iterable[Document]) -> Judged:
    return Judged(*map(np.concatenate, zip(*(judged[one.doc_id] for one in documents), strict=True)))


def measured(fitting: Judged, held: Judged, method: str, precision: float) -> dict[str, float]:
    fitted = LinkerParameters(probabilities=fit_probabilities(fitting, method), sparse_share=0.0)
    probabilities = np.array([fitted.probability(score) for score in held.scores])
    threshold = fit_threshold(fitting, precision)
    return {
        "ece of scores": calibration_error(reliability(held.scores, held.right)),
        "ece": calibration_error(reliability(probabilities, held.right)),
        "brier of scores": brier_score(held.scores, held.right),
        "brier": brier_score(probabilities, held.right),
        "threshold": threshold,
        "precision": float(held.right[held.scores > threshold].mean()),
    }


def summary(rows: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {name: {"mean": round(np.mean(v), 4), "sd": round(np.std(v), 4)} for name, v in columns.items()}


if __name__ == "__main__":
    main()
