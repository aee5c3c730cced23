"""Measure how words that no name explains change what is linked.

Each phrase is linked alone, as `sapbert_linker` links with its default settings, to its vocabulary:

- "unexplained": a name with words that no name explains ("holiday kidney failure recipe"). Each link is wrong.
- "general": a name with modifiers that a link must survive ("newly diagnosed asthma"). "names" is how many of the names
  are linked rightly when they stand alone.

"tiny" is a vocabulary of 13 concepts.

With `--gold`, gold mentions of the development corpora are linked instead, with abbreviations expanded and composites
split. Parts of mentions are counted by the names of the gold concept:

- "adds": the text has all words of a name, and others.
- "differs": the text has words that each name lacks, and all words of none.
- "one word": the text is a word, and no spelling of a name. They guard what `left_out.py` measures.
- "known": all parts whose gold concept is in the vocabulary, with these.
- "unknown": the other parts. Each link is wrong.

    python benchmarks/extra_words.py [--data FOLDER] [--encoder starter none] [--vocabulary NAME ...] [--gold]
"""

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from common import new_parser
from corpora import CELLS, CHEMICALS, DEVELOPMENT, GENES, MEDIC, PHENOTYPES, SPECIES, build, read_linked
from left_out import ENCODERS, is_one_word, link_texts, open_linker, scores, spellings

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.text.words import read_words
from spacy_sapbert.training.ranker_trainer import mention_queries
from spacy_sapbert.types import Document, Link, Name, Record

KINDS = ("known", "adds", "differs", "one word", "unknown")
LISTS = Path(__file__).parents[1] / "tests" / "linking"
TINY = "tiny"
TINY_NAMES = (
    "Margin", "Size", "Invasion", "Necrosis", "Tumor", "Lymph node", "Fever", "Cough", "Asthma", "Fracture",
    "Kidney failure", "Stent", "Diabetes mellitus",
)  # fmt: skip
VOCABULARIES = {
    "diseases": MEDIC,
    "phenotypes": PHENOTYPES,
    "chemicals": CHEMICALS,
    "genes": GENES,
    "cell lines": CELLS,
    "species": SPECIES,
    TINY: TINY,
}


class Phrase(NamedTuple):
    """A name with other words.

    Attributes:
        vocabulary: One of `VOCABULARIES`.
        phrase: The text that is linked.
        name: The name in it.
        ids: The concepts with this name.
    """

    vocabulary: str
    phrase: str
    name: str
    ids: frozenset[str]


def read_phrases(kind: str) -> Iterator[Phrase]:
    """Yield the phrases of a list: "unexplained" or "general"."""
    with (LISTS / f"phrases_{kind}.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            yield Phrase(row["vocabulary"], row["phrase"], row["name"], frozenset(row["ids"].split("|")))


def build_one(data: Path, vocabulary: str, path: Path) -> None:
    if vocabulary == TINY:
        names = enumerate(TINY_NAMES, 1)
        build_knowledge_base((Record(f"T:{number}", (Name(name, "preferred", TINY),)) for number, name in names), path)
    else:
        build(data, vocabulary, path)


# --- phrases


def measure_unexplained(linker: Linker, phrases: Sequence[Phrase]) -> dict[str, Any]:
    links = list(link_texts(linker, [phrase.phrase for phrase in phrases]))
    linked = [
        {"text": phrase.phrase, **scores(link)} for phrase, link in zip(phrases, links, strict=True) if link.concept_id
    ]
    return {"phrases": len(phrases), "linked": len(linked), "%": percentage(len(linked), len(phrases)), "links": linked}


def measure_general(linker: Linker, phrases: Sequence[Phrase]) -> dict[str, Any]:
    links = list(link_texts(linker, [phrase.phrase for phrase in phrases]))
    alone = link_texts(linker, [phrase.name for phrase in phrases])
    outcomes = Counter(outcome(link, phrase.ids) for phrase, link in zip(phrases, links, strict=True))
    missed = [
        {"text": phrase.phrase, "linked": link.concept_id is not None, **scores(link)}
        for phrase, link in zip(phrases, links, strict=True) if outcome(link, phrase.ids) != "right"
    ]  # fmt: skip
    names = sum(outcome(link, phrase.ids) == "right" for phrase, link in zip(phrases, alone, strict=True))
    return {"phrases": len(phrases), "names": names, **counts(outcomes), "missed": missed}


MEASURES = {"unexplained": measure_unexplained, "general": measure_general}


def outcome(link: Link, ids: Iterable[str]) -> str:
    """Return "right", "wrong", or "nil" if nothing is linked."""
    if link.concept_id is None:
        return "nil"
    return "right" if link.concept_id in ids else "wrong"


def counts(outcomes: Mapping[str, int]) -> dict[str, Any]:
    n = sum(outcomes.values())
    values = {key: outcomes.get(key, 0) for key in ("right", "wrong", "nil")}
    return {**values, "right %": percentage(values["right"], n)}


def percentage(part: int, n: int) -> float:
    return round(100 * part / max(n, 1), 1)


# --- gold mentions


def measure_gold(linker: Linker, documents: Sequence[Document]) -> dict[str, Any]:
    """Return how the parts of mentions are linked, by how their text differs from the names of the gold concepts."""
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    linked = linker.link(list(map(mention_queries, documents)))
    names_of = cache(linker.kb.name_texts)
    for document, of_document in zip(documents, linked, strict=True):
        golds = (mention.ids for mention, parts in zip(document.mentions, of_document, strict=True) for _ in parts)
        for link, gold in zip(chain.from_iterable(map(linker.links, of_document)), golds, strict=True):
            concepts = {primary for id in gold for primary in linker.kb.find_id(id)}
            names = [name for concept in concepts for name in names_of(concept)]
            for kind in kinds_of(link.text, names):
                outcomes[kind][outcome(link, concepts)] += 1
    return {kind: {"mentions": some.total(), **counts(some)} for kind, some in outcomes.items()}


def kinds_of(text: str, names: Sequence[str]) -> Iterator[str]:
    """Yield which of `KINDS` a text is, by the names of its gold concepts."""
    if not names:
        yield "unknown"
        return
    yield "known"
    words, others = words_of(text), [known for known in map(words_of, names) if known]
    if not any(words <= known for known in others):
        yield "adds" if any(known < words for known in others) else "differs"
    if is_one_word(text) and set(spellings(text)).isdisjoint(chain.from_iterable(map(spellings, names))):
        yield "one word"


@cache
def words_of(text: str) -> frozenset[str]:
    return frozenset(read_words(text).content)


def gold_rows(data: Path, encoder: str, vocabulary: str, linker: Linker) -> Iterator[dict[str, Any]]:
    for name, corpus in DEVELOPMENT.items():
        if corpus.vocabulary == VOCABULARIES[vocabulary]:
            yield {"set": name, "encoder": encoder, **measure_gold(linker, read_linked(data, corpus))}


def phrase_rows(encoder: str, vocabulary: str, linker: Linker) -> Iterator[dict[str, Any]]:
    for kind, measure in MEASURES.items():
        phrases = [phrase for phrase in read_phrases(kind) if phrase.vocabulary == vocabulary]
        yield {"list": kind, "vocabulary": vocabulary, "encoder": encoder, **measure(linker, phrases)}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--encoder", nargs="+", default=ENCODERS, help="Hub names or folders of encoders, or 'none'.")
    parser.add_argument("--vocabulary", nargs="+", default=list(VOCABULARIES), choices=list(VOCABULARIES))
    parser.add_argument("--gold", action="store_true", help="Link gold mentions of the development corpora.")
    arguments = parser.parse_args()
    totals: dict[tuple[str, str], Counter[str]] = {}
    with TemporaryDirectory() as folder:
        for vocabulary in arguments.vocabulary:
            path = Path(folder, f"{vocabulary}.kb")
            build_one(arguments.data, VOCABULARIES[vocabulary], path)
            for encoder in arguments.encoder:
                linker = open_linker(path, encoder)
                rows = (
                    gold_rows(arguments.data, encoder, vocabulary, linker)
                    if arguments.gold
                    else phrase_rows(encoder, vocabulary, linker)
                )
                for row in rows:
                    print(json.dumps(row), flush=True)
                    add(totals, row)
    for (kind, encoder), total in totals.items():
        what = "linked" if kind == "unexplained" else "right"
        values = {**total, f"{what} %": percentage(total[what], total["phrases"])}
        print(json.dumps({"list": kind, "vocabulary": "all but tiny", "encoder": encoder, **values}), flush=True)


def add(totals: dict[tuple[str, str], Counter[str]], row: Mapping[str, Any]) -> None:
    """Add the counts of a row of phrases. The tiny vocabulary has its own row alone."""
    if row.get("vocabulary") not in (None, TINY):
        values = {key: value for key, value in row.items() if isinstance(value, int)}
        totals.setdefault((row["list"], row["encoder"]), Counter()).update(values)


if __name__ == "__main__":
    main()
