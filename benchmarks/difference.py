"""Train the rankers of the package, and measure them on corpora that are left out.

Gold mentions of several corpora are linked to vocabularies alone: diseases, chemicals, genes, species and phenotypes.
Each row has a corpus that is left out, with all that is of it: the accuracy of the mentions' parts by the score and by
the ranker, the standard error of the gain over documents, how many texts were mended and broken, the wrong links at a
score of 0.85, the wrong links at the same recall by the probability, and its calibration error. `missing` is the area
under the curve of the probability that the vocabulary lacks the concept: of texts with their right candidates, and
without them. `missing_by_score` is that of the best score. The last row has means.

With `--write`, the rankers in the package are trained on all training parts and replaced. All of it takes about six
minutes of processor time, and less with `--only-fit`.

    python benchmarks/difference.py [--data FOLDER] [--encoder starter|none ...] [--only-fit] [--write]
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from common import new_parser
from corpora import CHEMICALS, CORPORA, GENES, MEDIC, PHENOTYPES, SPECIES, build, read_linked

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.concept_facts import ConceptFacts
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.ranker import FEATURES, Ranker, shares
from spacy_sapbert.linking.settings import THRESHOLD, LinkerSettings, SelectionSettings
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.metrics.calibration import calibration_error, reliability
from spacy_sapbert.starter import RANKERS
from spacy_sapbert.training.ranker_trainer import (
    MARGIN,
    RankingData,
    joined_data,
    link_documents,
    more_trees,
    ranking_data,
)
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document

# chosen by leaving out one corpus at a time
SETTINGS = RerankerTraining(trees=150, leaves=15, depth=5, least_in_leaf=40, learning_rate=0.08)

VOCABULARIES = (MEDIC, CHEMICALS, GENES, SPECIES, PHENOTYPES)


class Prepared(NamedTuple):
    """The training data of a corpus, and the number of all texts."""

    data: RankingData
    n: int


def by_scores() -> LinkerSettings:
    """Return settings of a linker that needs no ranker: those in the package may be of another version."""
    return LinkerSettings(selection=SelectionSettings(rerank=False))


def prepare(linker: Linker, documents: Sequence[Document]) -> Prepared:
    """Link gold mentions by their scores, and compute the features of their candidates."""
    kb, mentions = linker.kb, link_documents(linker, documents)
    known = [len(parts) for of_document in mentions for parts, gold in of_document if any(map(kb.find_id, gold))]
    data = ranking_data(mentions, range(len(mentions)), kb, ConceptFacts(kb), linker.rules)
    return Prepared(data, sum(known))


def measure(ranker: Ranker, prepared: Prepared) -> dict[str, Any]:
    both, n = prepared.data, prepared.n
    data = both.select(~both.taken_out)
    ratings, order = ranker.rate(data.rows)
    chosen = data.starts + np.array(ranker.choose(data.rows, order, data.sizes.tolist()), dtype=np.int64)
    probabilities = shares(ratings, data.sizes.tolist())[chosen]
    scores = data.rows[:, FEATURES.index("score")]
    before, after, linked = data.right[data.starts], data.right[chosen], scores[data.starts] > THRESHOLD
    gains = np.bincount(data.documents, after.astype(int) - before)
    ordered = np.argsort(-probabilities, kind="stable")
    n_links = int(np.searchsorted(np.cumsum(after[ordered]), (before & linked).sum())) + 1
    found = both.per_text(shares(ranker.rate(both.rows)[0], both.sizes.tolist()))
    best = np.maximum.reduceat(both.rows[:, FEATURES.index("score")], both.starts)
    return {
        "parts": n,
        "score": round(100 * before.sum() / n, 2),
        "ranking": round(100 * after.sum() / n, 2),
        "gain_se": round(100 * math.sqrt((gains**2).sum()) / n, 2),
        "mended": int((after & ~before).sum()),
        "broken": int((before & ~after).sum()),
        "wrong_by_score": int((linked & ~before).sum()),
        "wrong_by_probability": int((~after[ordered[:n_links]]).sum()),
        "ece": round(calibration_error(reliability(probabilities, after)), 3),
        "missing_by_score": round(area(-best, both.taken_out), 3),
        "missing": round(area(-found, both.taken_out), 3),
    }


def area(values: np.ndarray, positive: np.ndarray) -> float:
    """Return the area under the ROC curve: how often a positive one has the higher value."""
    from scipy.stats import rankdata

    n = int(positive.sum())
    return float((rankdata(values)[positive].sum() - n * (n + 1) / 2) / (n * (len(values) - n)))


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--encoder", nargs="+", default=["starter", "none"], help="starter, none, or both.")
    parser.add_argument("--only-fit", action="store_true", help="Leave out the measures.")
    parser.add_argument("--write", action="store_true", help="Replace the rankers in the package.")
    arguments = parser.parse_args()
    chosen = {name: corpus for name, corpus in CORPORA.items() if corpus.vocabulary in VOCABULARIES}
    if arguments.only_fit:
        chosen = {name: corpus for name, corpus in chosen.items() if corpus.trains}
    with TemporaryDirectory() as folder:
        paths = {vocabulary: Path(folder, f"{n}.kb") for n, vocabulary in enumerate(VOCABULARIES)}
        for vocabulary, path in paths.items():
            build(arguments.data, vocabulary, path)
        for name in arguments.encoder:
            encoder = None if name == "none" else open_encoder(name)
            linkers = {
                vocabulary: Linker(open_generator(KnowledgeBase(path), encoder, sparse=True), by_scores())
                for vocabulary, path in paths.items()
            }
            prepared = {
                key: prepare(linkers[corpus.vocabulary], read_linked(arguments.data, corpus))
                for key, corpus in chosen.items()
            }
            share = linkers[MEDIC].generator.sparse_share
            if not arguments.only_fit:
                leave_out(prepared, share, name)
            if arguments.write:
                ranker = fit(prepared, share, encoder.fingerprint if encoder else "")
                ranker.save(RANKERS[encoder is None])


def fit(prepared: Mapping[str, Prepared], share: float, fingerprint: str = "", without: str = "") -> Ranker:
    used = [name for name in prepared if CORPORA[name].trains and CORPORA[name].source != without]
    data = joined_data([prepared[name].data for name in used])
    return more_trees(Ranker(Trees.none(), 0, MARGIN, share, fingerprint), data, SETTINGS)


def leave_out(prepared: Mapping[str, Prepared], share: float, encoder: str) -> None:
    rankers = {source: fit(prepared, share, without=source) for source in {CORPORA[name].source for name in prepared}}
    rows = {name: measure(rankers[CORPORA[name].source], corpus) for name, corpus in prepared.items()}
    for name, row in {**rows, "mean": mean(rows)}.items():
        print(json.dumps({"encoder": encoder, "corpus": name, **row}))


def mean(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """RETURNS (dict): means over the sources, each of which counts once, and the least gain of a corpus."""
    gains = {name: row["ranking"] - row["score"] for name, row in rows.items()}
    wrong = {name: row["wrong_by_probability"] / max(row["wrong_by_score"], 1) for name, row in rows.items()}
    measures = {"gain": gains, "wrong_share": wrong}
    measures |= {key: {name: row[key] for name, row in rows.items()} for key in ("ece", "missing_by_score", "missing")}
    means: dict[str, Any] = {}
    for key, values in measures.items():
        of_sources: dict[str, list[float]] = {}
        for name, value in values.items():
            of_sources.setdefault(CORPORA[name].source, []).append(value)
        means[key] = round(float(np.mean([np.mean(some) for some in of_sources.values()])), 3)
    return {**means, "least_gain": round(min(gains.values()), 2)}


if __name__ == "__main__":
    main()
