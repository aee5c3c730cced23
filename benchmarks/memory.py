"""Measure whether the memory of a process grows while a pipeline links many documents.

    python benchmarks/memory.py PIPELINE TEXTS [TEXTS ...] [--documents 100000] [--zones] [--figure FILE.svg]

PIPELINE is a folder, such as one that `spacy-sapbert assemble` made. TEXTS are files of abstracts that `spacy-sapbert
link` can read. Their sentences are recombined at random, and each document has some made-up words. So there are always
new words, new sentences and new mentions, as in a long run over PubMed.

With --zones, every 1,000 documents share one memory zone of spaCy, as in `spacy-sapbert link`. The output has the
memory of the process and the number of strings in spaCy's vocabulary, over the number of documents. With --against and
the output of other runs, the figure shows them, too.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import spacy
from common import new_parser
from rich.console import Console
from spacy.language import Language

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.evaluation.plots import curve_style, in_style, legend_above, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENTENCES = 9  # in a document, as in an abstract
NEW_WORDS = 3  # in a document, as in PubMed after a million abstracts
POINTS = 50  # of the curve
ZONE = 1000
SYLLABLES = ("ra", "mi", "to", "ne", "lu", "sa", "ki", "po", "de", "vo", "ga", "fi")
MEGABYTE = 1e6


def sentences(paths: list[Path]) -> list[str]:
    problems = Problems(Console(stderr=True))
    found = []
    for path in paths:
        for document in read_documents(path, ReadOptions(), problems):
            found += re.split(r"(?<=[.?!]) +(?=[A-Z])", document.text)
    return found


def texts(known: list[str], seed: int) -> Iterator[str]:
    """Yield endless documents: known sentences in a new order, with new words, and words in a new case."""
    drawn = random.Random(seed)
    while True:
        words = " ".join(drawn.choices(known, k=SENTENCES)).split(" ")
        for _ in range(NEW_WORDS):
            place = drawn.randrange(len(words))  # a mention with this word is a new one for the linker
            words[place] = words[place].swapcase()
            words.insert(drawn.randrange(len(words)), "".join(drawn.choices(SYLLABLES, k=6)) + "itis")
        yield " ".join(words)


def memory(nlp: Language) -> dict[str, float]:
    """Return the resident memory in megabytes, all of it and the private part, and the number of strings."""
    lines = Path("/proc/self/status").read_text().splitlines()
    kilobytes = {
        name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines if "kB" in line)
    }
    return {
        "rss_mb": round(kilobytes["VmRSS"] * 1024 / MEGABYTE, 1),
        "private_mb": round(kilobytes["RssAnon"] * 1024 / MEGABYTE, 1),
        "strings": len(nlp.vocab.strings),
    }


def measure(nlp: Language, stream: Iterator[str], n: int, *, zones: bool, seconds: float) -> list[dict[str, Any]]:
    """Process n documents, or as many as fit into the time. Return a point of the curve for every few of them."""
    every = max(ZONE, n // POINTS // ZONE * ZONE)
    curve: list[dict[str, Any]] = []
    start, mentions = time.perf_counter(), 0
    for done in range(0, n, ZONE):
        if done % every == 0:
            curve.append({"documents": done, **memory(nlp)})
            print(curve[-1], file=sys.stderr)
        if time.perf_counter() - start > seconds:
            break
        with nlp.memory_zone() if zones else nullcontext():
            for doc in nlp.pipe(islice(stream, min(ZONE, n - done))):
                mentions += len(doc.ents)
        done += min(ZONE, n - done)
    curve.append({"documents": done, "mentions": mentions, **memory(nlp)})
    return curve


def growth(curve: list[dict[str, Any]]) -> float:
    """Return the megabytes of private memory per 1,000 documents in the second half, when the caches are full."""
    second = curve[len(curve) // 2 :]
    documents = second[-1]["documents"] - second[0]["documents"]
    return round(1000 * (second[-1]["private_mb"] - second[0]["private_mb"]) / max(documents, 1), 3)


@in_style()
def draw(results: list[dict[str, Any]]) -> Figure:
    """Draw the private memory of each run over the number of documents."""
    figure = new_figure(7, 4)
    panel = figure.subplots()
    for number, result in enumerate(results):
        curve = result["curve"]
        zones = "with memory zones" if result["zones"] else "without memory zones"
        label = f"{zones}: {curve[-1]['documents']:,} documents"
        memory_by_documents = zip(*((point["documents"], point["private_mb"]) for point in curve), strict=True)
        panel.plot(*memory_by_documents, label=label, **curve_style(number), markevery=5)
    panel.set(xlabel="documents", ylabel="private memory (MB)")
    panel.set_ylim(bottom=0)
    panel.xaxis.set_major_formatter("{x:,.0f}")
    legend_above(figure, panel, columns=2)
    return figure


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("pipeline")
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--zones", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], metavar="COMPONENT", help="components to leave out")
    parser.add_argument("--against", type=Path, nargs="*", default=[], help="outputs of other runs, for the figure")
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    nlp = spacy.load(args.pipeline, exclude=args.without)
    stream = texts(sentences(args.texts), args.seed)
    list(nlp.pipe(islice(stream, 10)))  # opens everything
    curve = measure(nlp, stream, args.documents, zones=args.zones, seconds=args.seconds)
    result = {"zones": args.zones, "components": nlp.pipe_names, "mb_per_1000": growth(curve), "curve": curve}
    print(json.dumps(result, indent=2))
    if args.figure:
        save_figure(draw([result, *(json.loads(path.read_text()) for path in args.against)]), args.figure)


if __name__ == "__main__":
    main()
