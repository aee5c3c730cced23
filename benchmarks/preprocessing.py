"""Measure what each step of BioSyn's preprocessing adds: switch one step off, or correct spelling.

The diseases of the development sets of NCBI Disease and BC5CDR are linked to MEDIC alone. The text normalizer of the
sparse score switches its lower-casing and its removal of punctuation off. A dense encoder reads names in the form that
it was trained on. Spelling is corrected by the words of MEDIC, and by the list that BioSyn uses for NCBI Disease.

These abstracts are edited, so few words in them are misspelt. The mentions are therefore linked once more with one
misspelt word each: a letter replaced, or two letters swapped.

    python benchmarks/preprocessing.py [--data FOLDER] [--encoder NAME|FOLDER|none] [--part train|dev] [--every N]
"""

import json
import random
import re
import string
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import spacy
from common import new_parser
from corpora import DISEASES, MEDIC, build, read
from spacy.language import Language

from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.types import Document

LIST = "dictionaries/medic/ncbi-spell-check.txt"
FORMS = {"case kept": "unpunctuated", "punctuation kept": "lower", "case and punctuation kept": "none"}
CORRECTOR = "spelling_corrector"
_WORD = re.compile(r"[^\W\d_]{5,}")


def pipeline(kb: Path, encoder: str, device: str, corrections: Path | None = None, form: str = "biosyn") -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe(CORRECTOR, config={"kb": str(kb), "corrections": str(corrections) if corrections else None})
    config = {"kb": str(kb), "encoder": encoder, "device": device, "candidates": {"text_normalizer": form}}
    linker: Any = nlp.add_pipe("sapbert_linker", config=config)
    linker.linker.generator.cache_size = 100_000  # most texts are looked up in every setting
    return nlp


def measure(nlp: Language, corpora: dict[str, list[Document]], *without: str) -> dict[str, Any]:
    """Link all corpora; some components are switched off meanwhile."""
    with nlp.select_pipes(disable=without) if without else nullcontext():
        results = {name: evaluate_linking(nlp, corpus) for name, corpus in corpora.items()}
    return {
        name: {"covered": result["covered"], **{measure: result[measure]["acc@1"] for measure in ("lenient", "strict")}}
        for name, result in results.items()
    }


def misspell(document: Document, chance: random.Random) -> Document:
    """Change a letter in one word of every mention with a word of at least five letters. The first letter stays."""
    letters = list(document.text)
    for mention in document.mentions:
        words = [found.span() for found in _WORD.finditer(document.text, mention.start, mention.end)]
        if words:
            start, end = chance.choice(words)
            place = chance.randrange(start + 1, end - 1)
            if chance.random() < 0.5:
                letters[place : place + 2] = letters[place : place + 2][::-1]
            else:
                letters[place] = chance.choice(string.ascii_lowercase)
    text = "".join(letters)
    mentions = tuple(mention._replace(text=text[mention.start : mention.end]) for mention in document.mentions)
    return document._replace(text=text, mentions=mentions)


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--part", choices=("train", "dev"), default="dev")
    parser.add_argument("--every", type=int, default=1, help="Use only every n-th document.")
    arguments = parser.parse_args()
    data = arguments.data
    corpora = {name: read(data, getattr(task, arguments.part))[:: arguments.every] for name, task in DISEASES.items()}
    chance = random.Random(0)
    misspelt = {name: [misspell(document, chance) for document in corpus] for name, corpus in corpora.items()}
    results: dict[str, Any] = {"encoder": arguments.encoder, "part": arguments.part}
    with TemporaryDirectory() as folder:
        kb = Path(folder) / "medic.kb"
        build(data, MEDIC, kb)
        make = partial(pipeline, kb, arguments.encoder, arguments.device)
        nlp = make()
        results["all"] = measure(nlp, corpora, CORRECTOR)
        off = {"no abbreviations": "abbreviation_resolver", "no composites": "composite_splitter"}
        for label, component in off.items():
            results[label] = measure(nlp, corpora, CORRECTOR, component)
        for label, form in FORMS.items():
            results[label] = measure(make(form=form), corpora, CORRECTOR)
        results["spelling by the vocabulary"] = measure(nlp, corpora)
        results["spelling by the list"] = measure(make(corrections=data / LIST), corpora)
        results["misspelt mentions"] = measure(nlp, misspelt, CORRECTOR)
        results["misspelt mentions, spelling by the vocabulary"] = measure(nlp, misspelt)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
