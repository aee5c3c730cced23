"""Write training pairs from further sources of synonyms, to measure what they add to an encoder.

A source is MedMentions, the mentions of annotated corpora, or further vocabularies. Half of the pairs of OUTPUT are
drawn from PAIRS, so that the encoder does not forget what it knows. The others are drawn from the sources, in equal
parts. The counts of each source are printed.

Mentions of one concept are synonyms. So are a mention and a name of its concept in KB. Only different texts count,
however often they occur. Short forms are left out, since training has no context. So are the concepts of MedMentions
with very many different mentions, such as "finding".

Three options keep documents and concepts out. --exclude-ids takes a list of documents, such as all development
documents. --without takes a corpus in PubTator format, whose documents other corpora may have as well.
--exclude-concepts takes a list of CUIs. Leave out the documents that you will measure.

A second file lists the names with several ids, such as a.shared.txt for a.txt. Training does not use them as negatives
of one another.

    python benchmarks/synonym_sources.py KB PAIRS OUTPUT --source medmentions|mentions|vocabularies …
        [--number 64000] [--share 0.5] [--seed 0] [--corpus NAME …] [--without CORPUS …] [--exclude-ids FILE …]
        [--exclude-concepts FILE] [--data FOLDER]

KB and PAIRS are names.kb and pairs.txt, which `spacy project run pretrain` makes. Then train and measure. `null`
leaves out the teacher of the config. For a control, train on PAIRS itself.

    spacy-sapbert pretrain configs/starter-align.cfg --output FOLDER --paths.pairs OUTPUT
        --paths.encoder starter-transformer --pretrain.teacher null --pretrain.max_steps 250
        --pretrain.optimizer.learn_rate 1e-4 --pretrain.seed 2
    python benchmarks/linking.py --encoder FOLDER/model-last

The last command measures the development sets only.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase, digits
from typing import Any

from common import new_parser

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.normalize import lower
from spacy_sapbert.training.pair_files import (
    Pair,
    is_writable,
    pair_line,
    read_pairs,
    read_shared_names,
    shared_names_path,
)

SOURCES = ("medmentions", "mentions", "vocabularies")
CORPORA = {
    "ncbi_train": "corpora/ncbi_disease/NCBItrainset_corpus.txt.gz",
    "bc5cdr_train": "corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz",
    "biored": "corpora/biored/BioRED_TrainDev.PubTator.gz",
    "tmvar3": "corpora/tmvar3/tmVar3_Train.PubTator.gz",
    "nlm_gene": "corpora/nlm_gene/NLMgene_Train.PubTator.gz",
    "gnormplus": "corpora/gnormplus/GNormPlus_Train.PubTator.gz",
    "s800": "corpora/s800/SPECIES_Train.PubTator.gz",
    "linnaeus": "corpora/linnaeus/Linnaeus_Train.PubTator.gz",
    "bioid": "corpora/bioid/BioID_Train_revision.PubTator.gz",
}
MEDMENTIONS = "corpora/medmentions_mentions/medmentions_full_dev_mentions.tsv.gz"
# columns: name, id
TABLES = {
    "species": "vocabularies/ncbi_taxonomy/Species_exhaustive.tsv.gz",
    "cell": "vocabularies/cellosaurus/Cellosaurus.tsv.gz",
    "family": "vocabularies/famplex/famplex.tsv",
}
CHEBI = "vocabularies/chebi/chebi_names_2016.tsv.gz"
GENES = "vocabularies/hgnc/hgnc_entries.tsv.gz"
LAY_NAMES = "vocabularies/hpo/layperson-synonyms.tsv"
RARE_DISEASES = "vocabularies/gard/gard.obo.gz"
# the label of a mention decides what its ids mean
KINDS = {
    **dict.fromkeys(("Disease", "SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention"), "disease"),
    "Chemical": "chemical",
    "Gene": "gene",
    "Species": "species",
    "CellLine": "cell",
}
# names of these kinds are often as short as short forms
SHORT_NAMES = {"gene", "species", "cell"}
MAX_PAIRS, MAX_LENGTH, MAX_MENTIONS, MAX_ROUNDS = 20, 60, 20, 3

Concepts = dict[str, dict[str, bool]]
"""The texts of each concept, and whether each is a mention and no name."""
Pool = list[Pair]


def is_short_form(text: str) -> bool:
    """Return whether a text looks like a short form: up to five capitals, digits and hyphens, perhaps with an s."""
    stem = text.removesuffix("s")
    return 0 < len(stem) <= 5 and set(stem) <= {*ascii_uppercase, *digits, "-"}


def is_usable(text: str, kind: str = "") -> bool:
    """Return whether a mention says what it means without context."""
    if kind in SHORT_NAMES:
        return len(text) > 1
    return len(text) > 3 and not is_short_form(text)


def read_table(path: Path, kind: str) -> Concepts:
    """Read a table of names and ids."""
    concepts: Concepts = defaultdict(dict)
    with open_text(path) as lines:
        for line in lines:
            name, concept_id = line.rstrip("\n").split("\t")[:2]
            concepts[f"{kind}:{concept_id}"][name] = False
    return concepts


def read_genes(path: Path) -> Concepts:
    """Read the approved genes of HGNC that have an id of NCBI Gene: symbol, name and other symbols."""
    concepts: Concepts = defaultdict(dict)
    with open_text(path) as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row[3] == "Approved" and row[5]:
                concepts[f"gene:{row[5]}"].update(dict.fromkeys((row[1], row[2], *row[4].split(", ")), False))
    return concepts


def read_lay_names(path: Path) -> Concepts:
    """Read the lay names of HPO, each with the name of its concept."""
    concepts: Concepts = defaultdict(dict)
    with open_text(path) as lines:
        next(lines)
        for line in lines:
            concept_id, label, name = (part.strip('"<>') for part in line.rstrip("\n").split("\t"))
            concepts[f"lay:{concept_id}"].update({label: False, name: False})
    return concepts


def read_rare_diseases(path: Path) -> Concepts:
    """Read the names and synonyms of GARD, in OBO format."""
    concepts: Concepts = defaultdict(dict)
    concept_id = ""
    with open_text(path) as lines:
        for line in lines:
            key, _, value = line.strip().partition(": ")
            if key == "id":
                concept_id = value
            elif key in ("name", "synonym") and concept_id:
                name = value.split('"')[1] if key == "synonym" else value
                concepts[concept_id][name.replace("\\", "")] = False
    return concepts


def read_vocabularies(data: Path) -> dict[str, Concepts]:
    return {
        "gene": read_genes(data / GENES),
        **{kind: read_table(data / path, kind) for kind, path in TABLES.items()},
        "gard": read_rare_diseases(data / RARE_DISEASES),
        "lay": read_lay_names(data / LAY_NAMES),
        "chebi": read_table(data / CHEBI, "chebi"),
    }


def read_medmentions(path: Path, without: set[str], left_out: set[str]) -> Concepts:
    """Read the mentions of MedMentions.

    Args:
        path: The table of document, mention and CUI.
        without: The documents that are left out.
        left_out: The CUIs that are left out.
    """
    concepts: Concepts = defaultdict(dict)
    with open_text(path) as lines:
        for line in lines:
            document, text, cui = line.rstrip("\n").split("\t")
            if cui not in left_out and document not in without and is_usable(text):
                concepts[f"cui:{cui}"][text] = True
    return concepts


def read_mentions(path: Path, without: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, id and text of the mentions with one id."""
    for document in read_corpus(path, "pubtator"):
        if document.doc_id not in without:
            for mention in document.mentions:
                kind = KINDS.get(mention.label)
                if kind and len(mention.ids) == 1 and is_usable(mention.text, kind):
                    yield kind, mention.ids[0], mention.text


def group(
    mentions: Iterable[tuple[str, str, str]], kb: KnowledgeBase, vocabularies: dict[str, Concepts]
) -> dict[str, Concepts]:
    """Group mentions by kind and concept, and add the concepts' names. Those of diseases and chemicals are in `kb`."""
    grouped: dict[str, Concepts] = defaultdict(lambda: defaultdict(dict))
    for kind, one, text in mentions:
        if kind in vocabularies:
            concept_id = f"{kind}:{one}"
            names = list(vocabularies[kind].get(concept_id, ()))
        else:
            found = kb.find_id(one)
            concept_id = found[0] if len(found) == 1 else one
            names = [name.text for name in kb.names_of(concept_id)] if found else []
        texts = grouped[kind][concept_id]
        texts.update(dict.fromkeys(names, False))
        texts.setdefault(text, True)
    return grouped


def normal_forms(texts: dict[str, bool]) -> dict[str, bool]:
    """Return the normal forms that a file of pairs can hold. One that is a name is no mention."""
    forms: dict[str, bool] = {}
    for text, is_mention in texts.items():
        form = lower(text)
        if len(form) <= MAX_LENGTH and is_writable(form):
            forms[form] = is_mention and forms.get(form, True)
    return forms


def pairs_of_names(concepts: Concepts, rng: random.Random) -> Pool:
    """Draw pairs of names."""
    pool: Pool = []
    for concept_id, texts in concepts.items():
        pool += draw(concept_id, list(combinations(normal_forms(texts), 2)), rng)
    return pool


def pairs_of_mentions(concepts: Concepts, rng: random.Random, max_mentions: float = math.inf) -> Pool:
    """Draw pairs that have a mention, of the concepts that have at most so many."""
    pool: Pool = []
    for concept_id, texts in concepts.items():
        forms = normal_forms(texts)
        if sum(forms.values()) <= max_mentions:
            pairs = [(one, two) for one, two in combinations(forms, 2) if forms[one] or forms[two]]
            pool += draw(concept_id, pairs, rng)
    return pool


def draw(concept_id: str, pairs: Sequence[tuple[str, str]], rng: random.Random) -> Pool:
    """Draw at most MAX_PAIRS pairs of a concept."""
    drawn = pairs if len(pairs) <= MAX_PAIRS else rng.sample(pairs, MAX_PAIRS)
    return [Pair(concept_id, one, two) for one, two in drawn]


def read_pools(args: argparse.Namespace, rng: random.Random) -> dict[str, Pool]:
    """Return the pairs that each source can give."""
    pools: dict[str, Pool] = {}
    without = documents_left_out(args)
    vocabularies = read_vocabularies(args.data)
    if "medmentions" in args.source:
        left_out = read_list(args.exclude_concepts) if args.exclude_concepts else set()
        concepts = read_medmentions(args.data / MEDMENTIONS, without, left_out)
        pools["medmentions"] = pairs_of_mentions(concepts, rng, MAX_MENTIONS)
    if "mentions" in args.source:
        paths = [args.data / CORPORA[name] for name in args.corpus or CORPORA]
        mentions = (one for path in paths for one in read_mentions(path, without))
        for kind, grouped in group(mentions, KnowledgeBase(args.kb), vocabularies).items():
            pools[f"{kind} mentions"] = pairs_of_mentions(grouped, rng)
    if "vocabularies" in args.source:
        pools |= {kind: pairs_of_names(concepts, rng) for kind, concepts in vocabularies.items()}
    return pools


def documents_left_out(args: argparse.Namespace) -> set[str]:
    listed = {one for path in args.exclude_ids for one in read_list(path)}
    return listed | {document.doc_id for path in args.without for document in read_corpus(path, "pubtator")}


def read_list(path: Path) -> set[str]:
    return set(path.read_text(encoding="utf-8").split())


def choose(pools: dict[str, Pool], wanted: int, rng: random.Random) -> dict[str, Pool]:
    """Draw equal parts. A source gives each of its pairs MAX_ROUNDS times at most, and larger sources fill up."""
    chosen: dict[str, Pool] = {}
    for place, (name, pool) in enumerate(sorted(pools.items(), key=lambda item: len(item[1]))):
        part = min(wanted // (len(pools) - place), MAX_ROUNDS * len(pool))
        rounds = part // len(pool) + 1 if pool else 0
        chosen[name] = [pair for _ in range(rounds) for pair in rng.sample(pool, len(pool))][:part]
        wanted -= part
    return chosen


def write(chosen: Pool, original: Pool, args: argparse.Namespace) -> None:
    """Write the pairs, and the names with several ids in them or in the original pairs."""
    owners: dict[str, set[str]] = defaultdict(set)
    chosen = sorted(chosen)
    for pair in (*chosen, *original):
        owners[pair.name1].add(pair.concept_id)
        owners[pair.name2].add(pair.concept_id)
    for name, ids in read_shared_names(shared_names_path(args.pairs)):
        owners[name].update(ids)
    with args.output.open("w", encoding="utf-8") as file:
        file.writelines(pair_line(*pair) for pair in chosen)
    with shared_names_path(args.output).open("w", encoding="utf-8") as file:
        file.writelines(pair_line(name, *sorted(ids)) for name, ids in owners.items() if len(ids) > 1)


def parse() -> argparse.Namespace:
    parser = new_parser(__doc__)
    parser.add_argument("kb", help="Knowledge base with the names of diseases and chemicals.")
    parser.add_argument("pairs", type=Path, help="The original pairs.")
    parser.add_argument("output", type=Path, help="The file to write.")
    parser.add_argument("--source", action="append", choices=SOURCES, required=True, help="Source. Repeatable.")
    parser.add_argument(
        "--corpus", action="append", choices=CORPORA, help="Corpus of the source `mentions`. Repeatable. Default: all."
    )
    parser.add_argument(
        "--without", action="append", type=Path, default=[], help="Corpus whose documents are left out. Repeatable."
    )
    parser.add_argument(
        "--exclude-ids", action="append", type=Path, default=[], help="List of documents to leave out. Repeatable."
    )
    parser.add_argument("--exclude-concepts", type=Path, help="List of CUIs to leave out.")
    parser.add_argument("--number", type=int, default=64000, help="Number of pairs.")
    parser.add_argument("--share", type=float, default=0.5, help="Share of the pairs that come from the sources.")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    args = parse()
    rng = random.Random(args.seed)
    pools, original = read_pools(args, rng), list(read_pairs(args.pairs))
    parts = choose(pools, int(args.number * args.share), rng)
    chosen = [pair for part in parts.values() for pair in part]
    kept = rng.sample(original, min(args.number - len(chosen), len(original)))
    write([*chosen, *kept], original, args)
    counts: dict[str, Any] = {name: {"pairs": len(pools[name]), "used": len(part)} for name, part in parts.items()}
    counts["original"] = {"pairs": len(original), "used": len(kept)}
    print(json.dumps({"pairs": len(chosen) + len(kept), "sources": counts}, indent=2))


if __name__ == "__main__":
    main()
