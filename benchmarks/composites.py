"""Measure how well composite mentions are split, on the single mentions that the 7th column of BC5CDR gives.

`ours` has the first split of `spacy_sapbert.text.composites`, and the split that the linker chooses with MEDIC.
`offered` asks whether any of the splits is right. `last_word` is the floor: it cuts at connectors and gives each
conjunct the last word.

BioSyn's rules, without the number of gold ids, give exact 66.7 % (train) and 61.1 % (dev). They split 26 of 37 and 9 of
13 single mentions. Our splits were developed on the training part. The development part is only reported.

    python benchmarks/composites.py [--data FOLDER] [--encoder NAME|FOLDER|none]
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser
from corpora import DISEASES, MEDIC, build, read

from spacy_sapbert.evaluation.components import Split, decide_by, evaluate_composites
from spacy_sapbert.text.composites import composite_splits
from spacy_sapbert.types import Mention


def last_word(text: str) -> tuple[str, ...]:
    conjuncts = re.split(r"\s*(?:\b(?:and/or|and|or)\b|,\s|/)\s*", text)
    if len(conjuncts) < 2 or not text.split():
        return ()
    head = text.split()[-1]
    return tuple(part if part.endswith(head) else f"{part} {head}" for part in conjuncts if part)


def measure(mentions: list[Mention], decide: Split) -> dict[str, Any]:
    ours = evaluate_composites(mentions, decide=decide)
    missed = ours.pop("errors")["connector"]
    other = sum(
        any(folded(split) == folded(error["gold"]) for split in composite_splits(error["text"])) for error in missed
    )
    n = ours["connector"]["n"]
    floor = evaluate_composites(mentions, last_word)
    del floor["errors"]
    return {"ours": ours, "last_word": floor, "offered": round(100 * (n - len(missed) + other) / n, 2)}


def folded(parts: Iterable[str]) -> set[str]:
    return {part.casefold() for part in parts}


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    arguments = parser.parse_args()
    results = {}
    with TemporaryDirectory() as folder:
        medic = Path(folder) / "medic.kb"
        build(arguments.data, MEDIC, medic)
        decide = decide_by(str(medic), arguments.encoder)
        for part, corpus in DISEASES["bc5cdr"]._asdict().items():
            documents = read(arguments.data, corpus)
            mentions = [mention for document in documents for mention in document.mentions]
            results[part] = measure(mentions, decide)
    print(json.dumps(results, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
