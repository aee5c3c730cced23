"""Measure how well the development sets of NCBI Disease and BC5CDR are linked, and what each component adds.

Diseases are linked to MEDIC, and chemicals to those of MeSH. The vocabulary alone is what a new user has. With the
mentions of the training set, it is BioSyn's protocol for a development set. Three pipelines link them: the linker
alone, with abbreviations resolved, and with composites split as well.

Two more are compared. One has the abbreviations of scispaCy's detector (Schwartz and Hearst 2003). The other is an
oracle that knows the number of gold ids: it splits the mentions with several ids, and no others. The numbers of names
show what was built. The fitted values are the defaults of the linker.

    python benchmarks/linking.py [--data FOLDER] [--encoder NAME|FOLDER|none] [--predictions FOLDER]
"""

import json
import warnings
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
from common import new_parser
from corpora import TASKS, Corpus, build, read
from spacy.language import Language

from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.types import Document

OURS, SCHWARTZ_HEARST = "abbreviation_resolver", "abbreviation_detector"
SPLITTER, LINKER = "composite_splitter", "sapbert_linker"
ABLATION = {
    "linker alone": [LINKER],
    "+ abbreviations of scispaCy": [SCHWARTZ_HEARST, LINKER],
    "+ abbreviations": [OURS, LINKER],
    "+ composites": [OURS, SPLITTER, LINKER],
}
# larger than any difference of two scores
BEYOND = 2.0
ORACLE = "+ composites, with the gold number of ids"


def pipeline(kb: Path, encoder: str, device: str) -> Language:
    import scispacy.abbreviation  # noqa: F401 (registers the factory)

    warnings.filterwarnings("ignore", message=r"\[W036\]")  # of scispaCy's matcher, which has no patterns yet
    nlp = spacy.blank("en")
    for name in (SCHWARTZ_HEARST, OURS, SPLITTER):
        nlp.add_pipe(name)
    nlp.add_pipe(LINKER, config={"kb": str(kb), "encoder": encoder, "device": device})
    return nlp


def measure(nlp: Language, corpus: Corpus, data: Path, predictions: Path | None) -> dict[str, Any]:
    results: dict[str, Any] = {"names": nlp.get_pipe(LINKER).kb.n_names}  # type: ignore[attr-defined]
    documents = read(data, corpus)
    for label, components in ABLATION.items():
        path = predictions.with_name(f"{predictions.name} {label}.jsonl") if predictions else None
        with nlp.select_pipes(enable=components):
            results[label] = evaluate_linking(nlp, documents, predictions=path)
    with nlp.select_pipes(enable=ABLATION["+ composites"]):
        results[ORACLE] = measure_oracle(nlp, documents)
    return results


def measure_oracle(nlp: Language, documents: list[Document]) -> dict[str, Any]:
    linker: Any = nlp.get_pipe(LINKER)
    margin = linker.settings.selection.split_margin
    counts: Counter[str] = Counter()
    for several, split_margin in ((False, BEYOND), (True, -BEYOND)):
        linker.settings.selection.split_margin = split_margin
        result = evaluate_linking(nlp, [with_ids(document, several) for document in documents])
        counts["covered"] += result["covered"]
        counts.update({m: round(result[m]["acc@1"] * result["covered"] / 100) for m in ("lenient", "strict")})
    linker.settings.selection.split_margin = margin
    return {m: {"acc@1": round(100 * counts[m] / counts["covered"], 2)} for m in ("lenient", "strict")}


def with_ids(document: Document, several: bool) -> Document:
    """Return the document with only its mentions of several ids, or of one."""
    mentions = (mention for mention in document.mentions if mention.ids and several == (len(mention.ids) > 1))
    return document._replace(mentions=tuple(mentions))


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--corpus", choices=TASKS, action="append", help="Corpus to link. Repeatable. Default: all.")
    parser.add_argument("--predictions", type=Path, help="Folder for the predictions, one line per mention.")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"encoder": arguments.encoder}
    with TemporaryDirectory() as folder:
        for name in arguments.corpus or TASKS:
            task = TASKS[name]
            train = read(arguments.data, task.train)
            for what, mentions in {"vocabulary": [], "vocabulary + train": train}.items():
                kb = Path(folder) / f"{name} {what}.kb"
                build(arguments.data, task.dev.vocabulary, kb, mentions)
                path = arguments.predictions / f"{name} {what}" if arguments.predictions else None
                nlp = pipeline(kb, arguments.encoder, arguments.device)
                results.setdefault(name, {})[what] = measure(nlp, task.dev, arguments.data, path)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
