"""How well and how fast abbreviations are found: MED1250, beside scispaCy's detector in a pipeline of blank("en").

Ours are the definitions by characters, as every tokenizer has them; `published` is Ab3P's own output on these records.
Documents a second are the best of several rounds in this run: `component` on documents that are tokenized already,
`pipeline` from the text on, `functions` without spaCy. spaCy takes a good part of both: it tokenizes, and joins the
tokens of a document to its text again.

    python benchmarks/abbreviations.py [--data FOLDER] [--rounds N] [--errors]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import spacy
from spacy.tokens import Doc

from spacy_sapbert.corpora.med1250 import AbbreviationRecord, Pair, read_med1250
from spacy_sapbert.evaluation.abbreviations import evaluate_abbreviations
from spacy_sapbert.text.abbreviations import Use, find_definitions, find_uses

GOLD = "corpora/med1250/MED1250_labeled_dev.txt"
PUBLISHED = "corpora/med1250/ab3p_output_dev.txt"
FACTORIES = {"ours": "abbreviation_resolver", "scispacy": "abbreviation_detector"}
DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--errors", action="store_true", help="list our errors by cause")
    arguments = parser.parse_args()
    records = list(read_med1250(arguments.data / GOLD))
    texts = [record.text for record in records]
    ours = evaluate_abbreviations(records)
    errors = ours.pop("errors")
    speed = {name: component_speed(factory, texts, arguments.rounds) for name, factory in FACTORIES.items()}
    speed["ours"]["functions"] = max(rate(resolve, texts) for _ in range(arguments.rounds))
    result = {
        "records": len(records),
        "ours": ours,
        "scispacy": scispacy_scores(records),
        "published": published_scores(records, arguments.data / PUBLISHED),
        "documents_per_second": speed,
        "ratio": {
            **{key: round(speed["ours"][key] / speed["scispacy"][key], 2) for key in ("component", "pipeline")},
            "functions to scispacy's component": round(speed["ours"]["functions"] / speed["scispacy"]["component"], 2),
            "functions to scispacy's pipeline": round(speed["ours"]["functions"] / speed["scispacy"]["pipeline"], 2),
        },
        **({"errors": errors} if arguments.errors else {}),
    }
    print(json.dumps(result, indent=2))


def scispacy_scores(records: list[AbbreviationRecord]) -> dict[str, Any]:
    nlp = make_pipeline(FACTORIES["scispacy"])
    return without_errors(evaluate_abbreviations(records, lambda text: pairs_of(nlp(text))))


def pairs_of(doc: Doc) -> list[Pair]:
    return [(short.text, short._.long_form.text) for short in doc._.abbreviations]


def published_scores(records: list[AbbreviationRecord], path: Path) -> dict[str, Any]:
    published = {record.pmid: record.pairs for record in read_med1250(path)}
    by_pmid = [record._replace(text=record.pmid) for record in records]
    return without_errors(evaluate_abbreviations(by_pmid, published.__getitem__))


def without_errors(scores: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scores.items() if key != "errors"}


def resolve(texts: list[str]) -> list[list[Use]]:
    return [find_uses(text, find_definitions(text)) for text in texts]


def component_speed(factory: str, texts: list[str], rounds: int) -> dict[str, float]:
    # each pipeline is made just before it is timed: scispaCy's and ours register the same attributes
    nlp = make_pipeline(factory)
    component = nlp.get_pipe(factory)

    def annotate(docs: list[Doc]) -> None:
        for doc in docs:
            component(doc)

    def run(texts: list[str]) -> None:
        for _ in nlp.pipe(texts):
            pass

    return {
        "component": max(rate(annotate, [nlp.make_doc(text) for text in texts]) for _ in range(rounds)),
        "pipeline": max(rate(run, texts) for _ in range(rounds)),
    }


def make_pipeline(factory: str) -> spacy.Language:
    if factory == FACTORIES["scispacy"]:
        import scispacy.abbreviation  # noqa: F401 (registers the factory)

        warnings.filterwarnings("ignore", message=r"\[W036\]")
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    return nlp


def rate(run: Callable[[list[Any]], object], items: list[Any]) -> float:
    start = time.perf_counter()
    run(items)
    return round(len(items) / (time.perf_counter() - start), 1)


if __name__ == "__main__":
    main()
