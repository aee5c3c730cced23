"""Measure what the prior adds, which is how often annotators use each concept, by its weight μ.

The training parts of NCBI Disease and BC5CDR (diseases) are linked to MEDIC. Each document is linked with the counts of
the others. The development parts are linked with the counts of their training part. They are linked to MEDIC, and to
MEDIC with the training mentions as names.

    python benchmarks/prior.py [--data FOLDER] [--encoder NAME|FOLDER|none]
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser
from corpora import DISEASES, MEDIC, build, read
from linking import ABLATION, pipeline

from spacy_sapbert.evaluation.calibration import KEPT_TEXTS, PRIOR_WEIGHTS, judge
from spacy_sapbert.evaluation.cross_fitting import UnseenDocuments, link_by_others
from spacy_sapbert.evaluation.running import link_gold_mentions
from spacy_sapbert.linking.prior import count_concepts
from spacy_sapbert.types import Document


def measure(kb: Path, encoder: str, documents: list[Document], train: list[Document]) -> dict[str, Any]:
    """Return the lenient and strict accuracy by μ."""
    nlp = pipeline(kb, encoder, "auto")
    linker: Any = nlp.get_pipe("sapbert_linker")
    results = {}
    linker.linker.generator.cache_size = KEPT_TEXTS
    for weight in PRIOR_WEIGHTS:
        with nlp.select_pipes(enable=ABLATION["+ composites"]), linker.linker.weighing(count_concepts(train), weight):
            by_others = documents is train
            unseen = UnseenDocuments(nlp, train)
            linked = link_by_others(unseen, train, weight) if by_others else link_gold_mentions(nlp, documents)
            judged = judge(linked, linker)
        results[str(weight)] = [round(100 * float(one.mean()), 2) for one in (judged.lenient, judged.strict)]
    return results


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        medic = Path(folder, "medic.kb")
        build(arguments.data, MEDIC, medic)
        for name, task in DISEASES.items():
            train, dev = (read(arguments.data, corpus) for corpus in task)
            joined = Path(folder, f"{name}.kb")
            build(arguments.data, MEDIC, joined, train)
            for what, kb, documents in (("train", medic, train), ("dev", medic, dev), ("dev, + train", joined, dev)):
                found = measure(kb, arguments.encoder, documents, train)
                print(json.dumps({"corpus": name, "what": what, "encoder": arguments.encoder, "μ": found}), flush=True)


if __name__ == "__main__":
    main()
