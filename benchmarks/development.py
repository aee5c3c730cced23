"""Measure linking on the development sets of all types, with the vocabulary alone: the table that no change may lower.

Gold mentions of diseases, chemicals, genes, species, cell lines and phenotypes, abbreviations resolved, composites
split, no training. `acc@1` is lenient, in percent of the mentions whose gold ids are all in the vocabulary. Phrases
with a direction and everyday findings are linked one by one.

    python benchmarks/development.py [--data FOLDER] [--encoder NAME|FOLDER|none]
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import spacy
from common import new_parser
from corpora import DEVELOPMENT, PHENOTYPES, SOURCES, build, read_linked
from spacy.language import Language

from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.types import Document, Mention

PHRASES = {"direction phrases": "directions.tsv", "everyday findings": "everyday_findings.tsv"}


def phrases(path: Path) -> Iterator[Document]:
    with path.open(encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter="\t")):
            text = row["mention"]
            yield Document(str(number), text, (Mention(0, len(text), text, "Phenotype", (row["id"],)),))


def pipeline(kb: str, encoder: str) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": encoder})
    return nlp


def pipelines_of(data: Path, encoder: str, folder: Path, *others: str) -> dict[str, Language]:
    """Return a pipeline for each vocabulary, which is built in a folder, and for other vocabularies."""
    pipelines = {other: pipeline(other, encoder) for other in others}
    for number, vocabulary in enumerate(SOURCES):
        kb = folder / f"{number}.kb"
        build(data, vocabulary, kb)
        pipelines[vocabulary] = pipeline(str(kb), encoder)
    return pipelines


def main() -> None:
    arguments = new_parser(__doc__, encoder=True).parse_args()
    data = arguments.data
    with TemporaryDirectory() as folder:
        pipelines = pipelines_of(data, arguments.encoder, Path(folder))
        sets = {name: (corpus.vocabulary, read_linked(data, corpus)) for name, corpus in DEVELOPMENT.items()}
        for name, file in PHRASES.items():
            sets[name] = PHENOTYPES, list(phrases(data / "corpora" / "direction_phrases" / file))
        for name, (vocabulary, documents) in sets.items():
            found = evaluate_linking(pipelines[vocabulary], documents)
            row = {"mentions": found["mentions"], "covered": found["covered"], "acc@1": found["lenient"]["acc@1"]}
            print(json.dumps({"set": name, **row}), flush=True)


if __name__ == "__main__":
    main()
