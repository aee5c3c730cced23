"""Measure how well and how fast abbreviations are found, compared with scispaCy's detector.

The data is MED1250. `published` is the output of Ab3P itself on these records. Our definitions are compared by
characters, so they do not depend on the tokenizer.

`abstracts_per_second` is measured on documents of 1, 10 and 40 abstracts. The longest are about as long as a paper.
The figure is the best of several rounds in one run.

- `component` gets tokenized documents, `pipeline` gets texts, and `functions` has no spaCy.
- `doc.text` measures only how long spaCy takes to join the tokens to a text.

Notes on the figures:

- On one abstract, spaCy itself takes most of the time. Nearly all of `pipeline` is the tokenizer. `doc.text` is about a
  third of our `component`, and there is no cheaper way to get the text of a document. `doc.text` alone takes a fifth of
  the time of scispaCy's component. So our component cannot be five times as fast there.
- scispaCy's detector matches each opening bracket with every later closing bracket. Its time grows with the square of
  the length of a document. Our time grows with the length. So longer documents give a larger ratio.
- All times are processor times, so other work on the machine has little effect. Compare ratios rather than absolute
  figures.

    python benchmarks/abbreviations.py [--data FOLDER] [--rounds N]
"""

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import spacy
from common import new_parser
from spacy.tokens import Doc

from spacy_sapbert.documents.pubtator import AbbreviationRecord, Pair, read_med1250
from spacy_sapbert.evaluation.components import evaluate_abbreviations
from spacy_sapbert.text.abbreviations import AbbreviationOccurrence, find_definitions, find_occurrences

GOLD = "corpora/med1250/MED1250_labeled_dev.txt"
PUBLISHED = "corpora/med1250/ab3p_output_dev.txt"
LENGTHS = (1, 10, 40)
FACTORIES = {"ours": "abbreviation_resolver", "scispacy": "abbreviation_detector"}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    records = list(read_med1250(arguments.data / GOLD))
    texts = [record.text for record in records]
    result = {
        "records": len(records),
        "ours": without_errors(evaluate_abbreviations(records)),
        "scispacy": scispacy_scores(records),
        "published": published_scores(records, arguments.data / PUBLISHED),
        "abstracts_per_second": {
            str(length): speed(join(texts, length), len(texts), arguments.rounds) for length in LENGTHS
        },
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


def resolve(texts: list[str]) -> list[list[AbbreviationOccurrence]]:
    return [find_occurrences(text, find_definitions(text)) for text in texts]


def join(texts: list[str], length: int) -> list[str]:
    """Return documents of `length` abstracts each."""
    return ["\n\n".join(texts[start : start + length]) for start in range(0, len(texts), length)]


def speed(texts: list[str], abstracts: int, rounds: int) -> dict[str, Any]:
    """Return the abstracts per second, and our ratios to scispaCy."""

    def fastest(run: Callable[[list[Any]], object], make: Callable[[str], Any] = str) -> float:
        return max(rate(run, list(map(make, texts)), abstracts) for _ in range(rounds))

    speeds: dict[str, Any] = {"functions": fastest(resolve), "doc.text": fastest(read, spacy.blank("en").make_doc)}
    for name, factory in FACTORIES.items():
        # each pipeline is made just before it is timed: scispaCy's and ours register the same attributes
        nlp = make_pipeline(factory)
        annotate = partial(annotate_all, nlp.get_pipe(factory))
        speeds[name] = {"component": fastest(annotate, nlp.make_doc), "pipeline": fastest(partial(run_all, nlp))}
    ours, scispacy = speeds["ours"], speeds["scispacy"]
    ratio = {key: round(ours[key] / scispacy[key], 2) for key in ("component", "pipeline")}
    ratio["functions to scispacy's component"] = round(speeds["functions"] / scispacy["component"], 2)
    return {**speeds, "ratio": ratio}


def read(docs: list[Doc]) -> list[str]:
    return [doc.text for doc in docs]


def annotate_all(component: Callable[[Doc], Doc], docs: list[Doc]) -> None:
    for doc in docs:
        component(doc)


def run_all(nlp: spacy.Language, texts: list[str]) -> None:
    for _ in nlp.pipe(texts):
        pass


def make_pipeline(factory: str) -> spacy.Language:
    if factory == FACTORIES["scispacy"]:
        import scispacy.abbreviation  # noqa: F401 (registers the factory)

        warnings.filterwarnings("ignore", message=r"\[W036\]")
    nlp = spacy.blank("en")
    nlp.add_pipe(factory)
    return nlp


def rate(run: Callable[[list[Any]], object], documents: list[Any], abstracts: int) -> float:
    """Return the abstracts per second of processor time."""
    start = time.process_time()
    run(documents)
    return round(abstracts / (time.process_time() - start), 1)


if __name__ == "__main__":
    main()
