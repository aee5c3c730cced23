"""Measure how often a name that the vocabulary lacks is linked to another concept.

A vocabulary is built without a random third of its concepts, and without a random third of the one-word names of those
that stay. Then these one-word names are linked, each alone, as `sapbert_linker` links with its default settings. Names
that a remaining concept has, also in another spelling, are not asked.

- "concepts": names of concepts that are left out. Each link is wrong.
- "names": names that are left out of concepts that stay. They show what a stricter rule costs.

Standard errors are over concepts.

    python benchmarks/left_out.py [--data FOLDER] [--encoder starter none] [--vocabulary NAME ...] [--limit 3000]
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import spacy
from common import new_parser

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants
from spacy_sapbert.text.normalize import american
from spacy_sapbert.text.words import joined_letters, read_words
from spacy_sapbert.types import Link, Name, Record

DRUGS: Mapping[str, Any] = {
    "columns": {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"}, "separator": " | ",
}  # fmt: skip
GENES: Mapping[str, Any] = {
    "columns": {"id": "HGNC ID", "name": ["Approved Symbol", "Approved Name"], "synonyms": "Synonyms"},
    "where": {"Status": "Approved"}, "separator": ", ",
}  # fmt: skip
CELL_LINES: Mapping[str, Any] = {"columns": {"name": "1", "id": "2"}, "separator": ""}
VOCABULARIES = {
    "DrugBank": ("vocabularies/drugbank_open/drugbank_vocabulary.csv.gz", DRUGS),
    "HGNC": ("vocabularies/hgnc/hgnc_entries.tsv.gz", GENES),
    "Cellosaurus": ("vocabularies/cellosaurus/Cellosaurus.tsv.gz", CELL_LINES),
}
ENCODERS = ("starter", "none")
SHARE = 1 / 3
SHOWN = 20
_BATCH = 512  # texts that are linked together


class Question(NamedTuple):
    """A name that the vocabulary lacks, and what it means.

    Attributes:
        text: The name.
        concept_id: Its concept.
        means: The preferred name of the concept.
    """

    text: str
    concept_id: str
    means: str


class Part(NamedTuple):
    """A vocabulary without some of its concepts and names.

    Attributes:
        records: What stays.
        concepts: Names of concepts that do not stay.
        names: Names that concepts lack which stay.
    """

    records: list[Record]
    concepts: list[Question]
    names: list[Question]


@dataclass
class Outcome:
    """What names were linked to.

    Attributes:
        asked: The number of names.
        right: The number that were linked to their own concept.
        others: The number that were linked to another concept.
        of_concepts: For each concept, whether each of its names was linked to another one.
    """

    asked: int = 0
    right: int = 0
    others: int = 0
    of_concepts: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, question: Question, link: Link) -> None:
        is_other = link.concept_id not in (None, question.concept_id)
        self.asked += 1
        self.right += link.concept_id == question.concept_id
        self.others += is_other
        self.of_concepts.setdefault(question.concept_id, []).append(is_other)

    def values(self) -> dict[str, Any]:
        """Return the counts, and the percentage of links to other concepts with its standard error."""
        n = max(self.asked, 1)
        share = self.others / n
        error = math.sqrt(sum((sum(some) - share * len(some)) ** 2 for some in self.of_concepts.values())) / n
        counts = {key: value for key, value in asdict(self).items() if isinstance(value, int)}
        return {
            **counts, "nil": self.asked - self.right - self.others,
            "others %": round(100 * share, 2), "se": round(100 * error, 2),
        }  # fmt: skip


# --- the vocabulary without a part of it


def read(data: Path, vocabulary: str) -> list[Record]:
    """Return the concepts of a vocabulary. Rows of the same concept are one."""
    path, options = VOCABULARIES[vocabulary]
    names: dict[str, dict[str, Name]] = {}
    for record in read_vocabulary(data / path, "table", report=ReadReport(), source=vocabulary, **options):
        of_concept = names.setdefault(record.concept_id, {})
        for name in record.names:
            of_concept.setdefault(name.text, name)
    return [Record(id, tuple(some.values())) for id, some in names.items()]


def spellings(name: str) -> tuple[str, str]:
    """Return two forms of a name, one of which another spelling shares: its letters, and its words in any order."""
    text = american(name)
    return joined_letters(text), " ".join(read_words(text).ordered)


def is_one_word(name: str) -> bool:
    return len(name.split()) == 1 and any(map(str.isalpha, name))


def left_out(records: Sequence[Record], limit: int, seed: int) -> Part:
    """Leave a random third of the concepts out, and a random third of the one-word names of the others.

    Args:
        limit: The most names to ask, of each of the two kinds.
    """
    random = Random(seed)
    chosen = set(random.sample(range(len(records)), round(len(records) * SHARE)))
    gone = [record for number, record in enumerate(records) if number in chosen]
    kept = [_without_names(record, random) for number, record in enumerate(records) if number not in chosen]
    remaining = {form for record, _ in kept for name in record.names for form in spellings(name.text)}

    def asked(some: Iterable[Question]) -> list[Question]:
        found = {spellings(question.text): question for question in some}
        unknown = [question for forms, question in found.items() if remaining.isdisjoint(forms)]
        return random.sample(unknown, min(limit, len(unknown)))

    concepts = asked(chain.from_iterable(map(_questions, gone)))
    return Part([record for record, _ in kept], concepts, asked(chain.from_iterable(lost for _, lost in kept)))


def _questions(record: Record) -> list[Question]:
    names = [name.text for name in record.names]
    return [Question(name, record.concept_id, names[0]) for name in names if is_one_word(name)]


def _without_names(record: Record, random: Random) -> tuple[Record, list[Question]]:
    """Return a concept without a third of its one-word names, and these names. At least one name stays."""
    lost = [question for question in _questions(record) if random.random() < SHARE]
    texts = {question.text for question in lost}
    names = tuple(name for name in record.names if name.text not in texts)
    return (record._replace(names=names), lost) if names else (record, [])


# --- linking


def open_linker(kb: Path, encoder: str) -> Linker:
    """Return the linker of a `sapbert_linker` with its default settings."""
    pipe: Any = spacy.blank("en").add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": encoder})
    linker: Linker = pipe.linker
    return linker


def link_texts(linker: Linker, texts: Sequence[str]) -> Iterator[Link]:
    """Yield the link of each text, which is a mention without context."""
    for start in range(0, len(texts), _BATCH):
        documents = [[MentionQuery(MentionVariants(text))] for text in texts[start : start + _BATCH]]
        yield from chain.from_iterable(linker.links(parts) for (parts,) in linker.link(documents))


def measure(linker: Linker, questions: Sequence[Question], seed: int) -> dict[str, Any]:
    """Link names, and return the counts with a sample of the links to other concepts.

    "letters" counts the names of letters alone, such as "procalcitonin": no codes and no formulas.
    """
    outcome, of_letters, wrong = Outcome(), Outcome(), []
    links = link_texts(linker, [question.text for question in questions])
    for question, link in zip(questions, links, strict=True):
        outcome.add(question, link)
        if question.text.isalpha():
            of_letters.add(question, link)
        if link.concept_id not in (None, question.concept_id):
            wrong.append({"text": question.text, "means": question.means, **scores(link)})
    sample = Random(seed).sample(wrong, min(SHOWN, len(wrong)))
    return {**outcome.values(), "letters": of_letters.values(), "sample": sample}


def scores(link: Link) -> dict[str, Any]:
    """Return what is shown of a link: its name, score and probability."""
    numbers = {"score": link.score, "probability": link.probability}
    return {"name": link.name, **{key: value and round(value, 3) for key, value in numbers.items()}}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--encoder", nargs="+", default=ENCODERS, help="Hub names or folders of encoders, or 'none'.")
    parser.add_argument("--vocabulary", nargs="+", default=list(VOCABULARIES), choices=list(VOCABULARIES))
    parser.add_argument("--limit", type=int, default=3000, help="The most names of each kind that are asked.")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        for vocabulary in arguments.vocabulary:
            part = left_out(read(arguments.data, vocabulary), arguments.limit, arguments.seed)
            path = Path(folder, f"{vocabulary}.kb")
            build_knowledge_base(part.records, path)
            for encoder in arguments.encoder:
                linker = open_linker(path, encoder)
                for kind, questions in (("concepts", part.concepts), ("names", part.names)):
                    row = {"vocabulary": vocabulary, "encoder": encoder, "left out": kind}
                    print(json.dumps({**row, **measure(linker, questions, arguments.seed)}), flush=True)


if __name__ == "__main__":
    main()
