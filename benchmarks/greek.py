"""Measure whether a name is found if its Greek letters are spelled out, or the other way round.

The sample has names with a Greek letter, or with the name of one, from each vocabulary. Each letter becomes its name,
and each name becomes the letter. A name is left out if that gives another name of the vocabulary. The swapped form is
looked up in the whole vocabulary, with n-grams and encoder. A name counts as found if the first candidate has the
original name.

"kept" does not fold Greek letters in either score. "spelled out" does, as by default.

    python benchmarks/greek.py [--data FOLDER] [--vocabulary NAME] [--encoder NAME|FOLDER] [--sample 1000]
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from common import new_parser

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.settings import SPARSE_WEIGHT
from spacy_sapbert.text.normalize import GREEK, spell_out_greek
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.ngram_index import open_ngram_index

LETTERS = dict(zip(map(spell_out_greek, "αβγδεζηθικλμνξοπρστυφχψω"), "αβγδεζηθικλμνξοπρστυφχψω", strict=True))
# as words of their own, lower-case or with a capital: PI is phosphatidylinositol
_NAME = re.compile(rf"(?<![^\W\d_])(?:{'|'.join((*LETTERS, *map(str.capitalize, LETTERS)))})(?![^\W\d_])")
SEED = 0


class Vocabulary(NamedTuple):
    file: str
    format: str
    options: dict[str, Any] = {}  # noqa: RUF012


VOCABULARIES = {
    "medic": Vocabulary("dictionaries/medic/medic_06Jul2012.txt.gz", "medic"),
    "mesh_chemicals": Vocabulary("vocabularies/mesh_chemicals/mesh_chemicals.txt.gz", "medic"),
    "hgnc": Vocabulary(
        "vocabularies/hgnc/hgnc_entries.tsv.gz",
        "table",
        {
            "columns": {"id": "HGNC ID", "name": ["Approved Symbol", "Approved Name"], "synonyms": "Synonyms"},
            "separator": ", ",
            "where": {"Status": "Approved"},
        },
    ),
    "chebi": Vocabulary("vocabularies/chebi/chebi_names_2016.tsv.gz", "table", {"columns": {"name": "1", "id": "2"}}),
}


class Swapped(NamedTuple):
    """A name, and the same name with its letters swapped. `kind` is the direction."""

    name: str
    text: str
    kind: str


def swap(name: str) -> Swapped | None:
    """Return the swapped name. None if there is nothing to swap, or if a letter stands next to a name of one."""
    spelled = spell_out_greek(name)
    if spelled != name:
        return None if _NAME.search(name) else Swapped(name, spelled, "letter to name")
    lettered = _NAME.sub(lambda found: LETTERS[found[0].lower()], name)
    return Swapped(name, lettered, "name to letter") if lettered != name else None


def draw(kb: KnowledgeBase, sample: int) -> tuple[list[Swapped], int]:
    """Return the names to look up, and how many there were to draw from."""
    names = set(kb.names())
    found = [swapped for name in sorted(names) if (swapped := swap(name)) and swapped.text not in names]
    return random.Random(SEED).sample(found, min(sample, len(found))), len(found)


def measure(generator: CandidateGenerator, swapped: list[Swapped]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for one, candidates in zip(swapped, generator([one.text for one in swapped], 1), strict=True):
        owners = generator.kb.find_name(one.name)
        counts[one.kind] += 1
        right[one.kind] += bool(candidates) and candidates[0].concept_id in owners
    acc = {kind: {"n": n, "acc@1": round(100 * right[kind] / n, 2)} for kind, n in sorted(counts.items())}
    return {"acc@1": round(100 * right.total() / max(counts.total(), 1), 2), **acc}


def generators(kb: KnowledgeBase, encoder: str) -> dict[str, CandidateGenerator]:
    made = {}
    form = TransformerEncoder(encoder).text_normalizer.removesuffix(GREEK)
    for label, suffix in (("kept", ""), ("spelled out", GREEK)):
        vectors = cached_name_vectors(kb, TransformerEncoder(encoder, text_normalizer=form + suffix))
        ngrams = open_ngram_index(kb, TEXT_NORMALIZER.removesuffix(GREEK) + suffix)
        made[label] = CandidateGenerator(kb, ngrams, vectors, sparse_weight=SPARSE_WEIGHT)
    return made


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument(
        "--vocabulary", choices=VOCABULARIES, action="append", help="Vocabulary to measure. Repeatable. Default: all."
    )
    parser.add_argument("--encoder", default="starter", help="'starter', a hub name or a folder.")
    parser.add_argument("--sample", type=int, default=1000, help="Maximum number of names per vocabulary.")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"encoder": arguments.encoder}
    with TemporaryDirectory() as folder:
        for name in arguments.vocabulary or VOCABULARIES:
            file, format, options = VOCABULARIES[name]
            records = read_vocabulary(arguments.data / file, format, report=ReadReport(), source=name, **options)
            kb = build_knowledge_base(records, Path(folder) / f"{name}.kb")
            swapped, n_found = draw(kb, arguments.sample)
            results[name] = {"names": kb.n_names, "with_greek": n_found, "sampled": len(swapped)}
            for label, generator in generators(kb, arguments.encoder).items():
                results[name][label] = measure(generator, swapped)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
