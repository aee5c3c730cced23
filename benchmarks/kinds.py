"""Count the wrong links of gold mentions by how the name differs from the text, with the share that is right.

The kinds: the name is the text ("same"), has another number or letter ("number"), an opposite or a negation
("opposite"), more words ("adds"), fewer words ("lacks"), or both ("other words"). For each kind, there are the first
candidates that are wrong and right, those of them above the threshold ("linked"), and how often the right concept is
among the other candidates ("reachable").

    python benchmarks/kinds.py KB CORPUS … [--type TYPE] [--encoder NAME|FOLDER|none]
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from common import new_parser

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.metrics.linking_accuracy import RECALL_CUTOFF
from spacy_sapbert.text.critical_parts import contradictions
from spacy_sapbert.text.words import joined_letters, read_words
from spacy_sapbert.training.ranker_trainer import gold_mentions, mention_queries
from spacy_sapbert.types import LinkedPart, has_type


class Judged(NamedTuple):
    """The kind of the first candidate of a part, whether it is right, linked, and whether another one is right."""

    kind: str
    right: bool
    linked: bool
    reachable: bool


def kind_of(text: str, name: str) -> str:
    parts, others = read_words(text).critical, read_words(name).critical
    key, other = read_words(text), read_words(name)
    if key.ordered == other.ordered or joined_letters(text) == joined_letters(name) or parts.is_same(others):
        return "same"
    if next(contradictions(parts, others), None):
        differ = parts.numbers != others.numbers or parts.letters != others.letters
        return "number" if differ else "opposite"
    text_only, name_only = Counter(key.content) - Counter(other.content), Counter(other.content) - Counter(key.content)
    return "other words" if text_only and name_only else "adds" if name_only else "lacks"


def judge(linker: Linker, path: Path, type: str | None) -> Iterator[Judged]:
    for document in read_corpus(path):
        mentions = [one for one in document.mentions if one.ids and (type is None or has_type(one.label, [type]))]
        document = document._replace(mentions=tuple(mentions))
        (linked,) = linker.link([mention_queries(document)])
        for parts, gold in gold_mentions(document.mentions, linked, linker.kb):
            if any(map(linker.kb.find_id, gold)):
                yield from (judge_part(linker, part, gold) for part in parts)


def judge_part(linker: Linker, part: LinkedPart, gold: frozenset[str]) -> Judged:
    candidates = part.candidates[:RECALL_CUTOFF]
    right = [not gold.isdisjoint(linker.kb.ids(candidate.concept_id)) for candidate in candidates]
    kind = kind_of(part.text, candidates[0].name) if candidates else "no candidate"
    linked = bool(linker.linkable(candidates[:1])) and linker.confidence(candidates[0]) > linker.threshold
    return Judged(kind, right[:1] == [True], linked, any(right[1:]))


def table(judged: Iterator[Judged]) -> Mapping[str, Any]:
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, right, linked, reachable in judged:
        kinds[kind].update(right=right, wrong=not right, reachable=reachable and not right)
        kinds[kind].update({"linked right": linked and right, "linked wrong": linked and not right})
    return {kind: dict(counts) for kind, counts in sorted(kinds.items(), key=lambda pair: -pair[1]["wrong"])}


def main() -> None:
    parser = new_parser(__doc__, data=False, encoder=True)
    parser.add_argument("kb", type=Path, help="Knowledge base.")
    parser.add_argument("corpus", nargs="+", type=Path, help="Annotated corpus.")
    parser.add_argument("--type", help="Measure only mentions with this label.")
    arguments = parser.parse_args()
    linker = Linker(open_generator(KnowledgeBase(arguments.kb), open_encoder(arguments.encoder), sparse=True))
    print(json.dumps({str(path): table(judge(linker, path, arguments.type)) for path in arguments.corpus}, indent=2))


if __name__ == "__main__":
    main()
