"""Measure tables of several languages: how often the nearest English name belongs to a name of another language.

`mentions` are those of tests/encoders/multilingual_mentions.tsv, among all English names of HPO. `codes` are the names
of the codes of ICD-10 that `scripts/multilingual.py` holds out, among all English names of ICD-10. `links` are the
mentions linked by a pipeline of their language, with a threshold. Each figure is in percent, with its standard error
and the number of names.

    python benchmarks/multilingual.py TABLE … [--data FOLDER] [--threshold 0.55]
"""

import csv
import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spacy
from common import new_parser
from spacy.tokens import Span

from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.files.values import hash64
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.text.normalize import lower

MENTIONS = Path(__file__).parents[1] / "tests" / "encoders" / "multilingual_mentions.tsv"
HPO, ICD = "vocabularies/hpo/hp_2026-02-16.obo.gz", "vocabularies/icd10_who/icd10_who.tsv.gz"
HELD_OUT = 10  # as in scripts/multilingual.py
Names = Mapping[str, set[str]]
"""The concepts of each name."""


def nearest(table: StaticEncoder, texts: Sequence[str], names: Names) -> list[set[str]]:
    candidates = list(names)
    vectors = table.encode(candidates)
    return [names[candidates[int(row)]] for text in table.encode(texts) for row in [(vectors @ text).argmax()]]


def with_error(hits: Iterable[bool]) -> list[float]:
    values = list(hits)
    mean = float(np.mean(values))
    return [round(100 * mean, 1), round(100 * float(np.sqrt(mean * (1 - mean) / len(values))), 1), len(values)]


def read_codes(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def links(language: str, rows: list[dict[str, str]], config: dict[str, Any]) -> dict[str, Any]:
    nlp = spacy.blank(language)
    nlp.add_pipe("sapbert_linker", config=config)
    found = []
    for row in rows:
        doc = nlp.make_doc(row[language])
        doc.ents = [Span(doc, 0, len(doc), label="Phenotype")]
        found.append(nlp(doc).ents[0].kb_id_)
    linked = [(one, row["id"]) for one, row in zip(found, rows, strict=True) if one != "NIL"]
    return {"of all": with_error(one == row["id"] for one, row in zip(found, rows, strict=True)),
            "of the linked": with_error(one == gold for one, gold in linked)}  # fmt: skip


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--threshold", type=float, default=0.55)
    arguments = parser.parse_args()
    rows = list(csv.DictReader(MENTIONS.read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    phenotypes: defaultdict[str, set[str]] = defaultdict(set)
    for record in read_vocabulary(arguments.data / HPO, "obo", report=ReadReport()):
        for name in record.names:
            phenotypes[lower(name.text)].add(record.concept_id)
    codes = read_codes(arguments.data / ICD)
    diseases: defaultdict[str, set[str]] = defaultdict(set)
    for row in codes:
        diseases[lower(row["en"])].add(row["code"])
    with TemporaryDirectory() as folder:
        records = read_vocabulary(arguments.data / HPO, "obo", report=ReadReport())
        kb = build_knowledge_base(records, Path(folder) / "hpo.kb")
        for name in arguments.tables:
            table, results = StaticEncoder(name), defaultdict[str, dict[str, Any]](dict)
            for language in ("es", "fr", "de"):
                found = nearest(table, [row[language] for row in rows], phenotypes)
                results["mentions"][language] = with_error(
                    row["id"] in ids for row, ids in zip(rows, found, strict=True)
                )
                config = {"kb": str(kb.path), "encoder": name, "threshold": arguments.threshold}
                results["links"][language] = links(language, rows, config)
            for language in ("es", "fr", "de", "pt", "vi", "ja", "zh"):
                asked = [row for row in codes if row[language] and hash64(row["code"]) % HELD_OUT == 0]
                found = nearest(table, [lower(row[language]) for row in asked], diseases)
                hits = (row["code"] in ids for row, ids in zip(asked, found, strict=True))
                results["codes"][language] = with_error(hits)
            print(json.dumps({"table": name, **results}), flush=True)


if __name__ == "__main__":
    main()
