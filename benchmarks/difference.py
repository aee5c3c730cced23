"""Train the rankers of the package, and measure them on corpora that are left out.

Gold mentions of several corpora are linked to vocabularies alone: diseases, chemicals, genes, species and phenotypes.
Each row has a corpus that is left out, with all that is of it: the accuracy of the mentions' parts by the score and by
the ranker, the standard error of the gain over documents, how many texts were mended and broken, the wrong links at a
score of 0.85, the wrong links at the same recall by the probability, and its calibration error. `missing` is the area
under the curve of the probability that the vocabulary lacks the concept: of texts with their right candidates, and
without them. `missing_by_score` is that of the best score. The last row has means.

Half of the mentions are also linked with words beside them, drawn at random: words that leave what is meant ("severe"),
and nouns that do not ("battery"). `general` is how many percent of the former are linked rightly, and `unexplained` how
many of the latter are linked at all.

With `--write`, the rankers in the package are trained on all training parts and replaced. All of it takes about six
minutes of processor time, and less with `--only-fit`.

    python benchmarks/difference.py [--data FOLDER] [--encoder starter|none ...] [--only-fit] [--write]
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from common import new_parser
from corpora import CHEMICALS, CORPORA, GENES, MEDIC, PHENOTYPES, SPECIES, build, read_linked

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.concept_facts import ConceptFacts
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.ranker import FEATURES, PROBABLE, Ranker, shares
from spacy_sapbert.linking.settings import THRESHOLD, LinkerSettings, SelectionSettings
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.linking.trees import Trees
from spacy_sapbert.metrics.calibration import calibration_error, reliability
from spacy_sapbert.starter import RANKERS
from spacy_sapbert.text.common_words import common_nouns, everyday_nouns, general_nouns
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.text.words import read_words
from spacy_sapbert.training.ranker_trainer import (
    MARGIN,
    GoldMention,
    RankingData,
    joined_data,
    link_documents,
    more_trees,
    ranking_data,
)
from spacy_sapbert.training.settings import RerankerTraining
from spacy_sapbert.types import Document

# chosen by leaving out one corpus at a time
SETTINGS = RerankerTraining(trees=220, leaves=15, depth=5, least_in_leaf=40, learning_rate=0.08)
ADDED = 0.2  # the weight of a mention with words beside it; chosen likewise

VOCABULARIES = (MEDIC, CHEMICALS, GENES, SPECIES, PHENOTYPES)


KEYS = "ece", "missing_by_score", "missing", "general", "unexplained"
LONGEST = 60  # characters of a mention with words beside it
WordsBeside = Callable[[str, Random], Iterator[str]]


class Prepared(NamedTuple):
    """The training data of a corpus.

    Attributes:
        data: All mentions.
        n: The number of their texts.
        general: Mentions with words that leave what is meant.
        unexplained: Mentions with words that do not. No candidate is right.
    """

    data: RankingData
    n: int
    general: RankingData
    unexplained: RankingData


def by_scores() -> LinkerSettings:
    """Return settings of a linker that needs no ranker: those in the package may be of another version."""
    return LinkerSettings(selection=SelectionSettings(rerank=False))


def prepare(linker: Linker, documents: Sequence[Document]) -> Prepared:
    """Link gold mentions by their scores, and compute the features of their candidates."""
    kb, mentions = linker.kb, link_documents(linker, documents)
    known = [len(parts) for of_document in mentions for parts, gold in of_document if any(map(kb.find_id, gold))]
    general, unexplained = (with_words(linker, documents, kind) for kind in (general_words, other_words))
    none_right = unexplained._replace(right=np.zeros_like(unexplained.right))
    return Prepared(data_of(linker, mentions, range(len(mentions))), sum(known), general, none_right)


def data_of(linker: Linker, mentions: Sequence[Sequence[GoldMention]], numbers: Sequence[int]) -> RankingData:
    return ranking_data(mentions, numbers, linker.kb, ConceptFacts(linker.kb), linker.rules)


# --- mentions with words beside them


def with_words(linker: Linker, documents: Sequence[Document], words: WordsBeside) -> RankingData:
    """Return the data of half of the mentions, each with words beside it."""
    random, phrases, numbers = Random(words.__name__), list[Document](), list[int]()
    for number, document in enumerate(documents):
        for mention in {mention.text: mention for mention in document.mentions}.values():
            if len(mention.text) <= LONGEST and random.random() < 0.5:
                text = " ".join(words(mention.text, random))
                phrases.append(Document("", text, (mention._replace(start=0, end=len(text), text=text),)))
                numbers.append(number)
    data = data_of(linker, link_documents(linker, phrases), numbers)
    data = data.select(data.made == 0)
    return data._replace(made=np.full(len(data.made), ADDED))


def general_words(text: str, random: Random) -> Iterator[str]:
    """Yield a text with words before or behind it that leave what is meant: "severe asthma"."""
    general, where = sorted(ENGLISH.words.general_words), random.random()
    if where < 0.7:
        yield random.choice(general)
    yield text
    if where > 0.6:
        yield random.choice(general)


def other_words(text: str, random: Random) -> Iterator[str]:
    """Yield a text with nouns that no name explains, some of them biomedical: "muscle car weakness"."""
    general, biomedical = noun_lists()
    where = random.random()
    first, *rest = text.rsplit(" ", 1)
    if where < 0.1 and rest:
        yield from (first, random.choice(general), *rest)
        return
    if where < 0.5:
        yield random.choice(general)
    yield text
    if where > 0.3:
        yield random.choice(general if where < 0.6 else biomedical)
    if where > 0.9:
        yield random.choice(general)


@cache
def noun_lists() -> tuple[list[str], list[str]]:
    """Return general nouns that do not refuse a link, and biomedical ones, without those that are said beside names."""
    said = frozenset(chain.from_iterable(read_words(word).meanings for word in ENGLISH.words.general_words))
    nouns = [word for word in common_nouns() if said.isdisjoint(read_words(word).meanings)]
    general = general_nouns()
    return sorted(general.intersection(nouns) - everyday_nouns()), sorted(set(nouns) - general)


# --- measures


def measure(ranker: Ranker, prepared: Prepared) -> dict[str, Any]:
    both, n, general, unexplained = prepared
    data = both.select(both.made == 0)
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
        "missing_by_score": round(area(-best, both.made > 0), 3),
        "missing": round(area(-found, both.made > 0), 3),
        "general": linked_share(ranker, general),
        "unexplained": linked_share(ranker, unexplained),
    }


def linked_share(ranker: Ranker, data: RankingData) -> float:
    """Return how many percent of texts are linked: rightly, if any candidate of them is right."""
    ratings, order = ranker.rate(data.rows)
    chosen = data.starts + np.array(ranker.choose(data.rows, order, data.sizes.tolist()), dtype=np.int64)
    linked = shares(ratings, data.sizes.tolist())[chosen] > PROBABLE
    return round(100 * float((linked & data.right[chosen] if data.right.any() else linked).mean()), 1)


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
    parts = [(prepared[name].data, prepared[name].general, prepared[name].unexplained) for name in used]
    data = joined_data(list(chain.from_iterable(parts)))
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
    measures |= {key: {name: row[key] for name, row in rows.items()} for key in KEYS}
    means: dict[str, Any] = {}
    for key, values in measures.items():
        of_sources: dict[str, list[float]] = {}
        for name, value in values.items():
            of_sources.setdefault(CORPORA[name].source, []).append(value)
        means[key] = round(float(np.mean([np.mean(some) for some in of_sources.values()])), 3)
    return {**means, "least_gain": round(min(gains.values()), 2)}


if __name__ == "__main__":
    main()
