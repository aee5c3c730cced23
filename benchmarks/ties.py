"""Measure how often concepts share the best score of a gold mention, and which order of rules finds the right one.

Gold mentions of all types are linked document by document: to the vocabulary of their type alone, and to the starter
vocabulary, whose types fit the labels. `tied` counts the parts of mentions whose first candidate shares its score with
others, `possible` those with a gold concept among these. `right` has, for each order of rules, the parts for which it
puts a gold concept first.

    python benchmarks/ties.py [--data FOLDER] [--encoder NAME|FOLDER|none]
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser
from corpora import CORPORA, read_linked
from development import pipelines_of
from spacy.language import Language

from spacy_sapbert.linking import ties
from spacy_sapbert.linking.ties import RULES, TieBreaker, names_in, tied
from spacy_sapbert.metrics.linking_accuracy import gold_concepts, lenient_at
from spacy_sapbert.training.ranker_trainer import mention_queries
from spacy_sapbert.types import Document

STARTER = "starter"
SETS = {
    **CORPORA,
    "NCBI, starter": CORPORA["NCBI"]._replace(vocabulary=STARTER),
    "BC5CDR diseases, starter": CORPORA["BC5CDR diseases"]._replace(vocabulary=STARTER),
    "BC5CDR chemicals, starter": CORPORA["BC5CDR chemicals"]._replace(vocabulary=STARTER),
    "BioRED chemicals, starter": CORPORA["BioRED chemicals"]._replace(vocabulary=STARTER),
}
_OTHERS = tuple(rule for rule in RULES if rule not in ("type", "named"))
ORDERS = {
    "as the linker": RULES,
    "without the document": tuple(rule for rule in RULES if rule != "named"),
    "document before names": (*_OTHERS[:2], "type", *_OTHERS[2:-1], "named", _OTHERS[-1]),
    "preferred name before type": (*_OTHERS[:2], "named", "preferred", "type", *_OTHERS[3:]),
    "names before preferred name": (*_OTHERS[:2], "type", "named", "names", "preferred", "main"),
}


def count(nlp: Language, documents: list[Document]) -> dict[str, Any]:
    linker: Any = nlp.get_pipe("sapbert_linker")
    kb, breaker = linker.kb, TieBreaker(linker.kb)
    right, n = dict.fromkeys(ORDERS, 0), {"mentions": 0, "tied": 0, "possible": 0}
    for document in documents:
        queries = mention_queries(document)
        (mentions,) = linker.linker.link([queries])
        named, labels = names_in(mentions), [query.label for query in queries]
        n["mentions"] += len(mentions)
        golds = [gold_concepts(mention.ids, kb.find_id) for mention in document.mentions]
        for order, rules in ORDERS.items():
            ties.RULES = rules
            broken = zip(breaker.break_ties(mentions, labels, named), golds, strict=True)
            judged = list(judge(broken, kb))
            right[order] += sum(first for first, _ in judged)
        n["tied"] += len(judged)
        n["possible"] += sum(possible for _, possible in judged)
    return {**n, "right": right}


def judge(mentions: Any, kb: Any) -> Iterator[tuple[bool, bool]]:
    """Yield, for each part with several best candidates, whether the first is right and whether any is right."""
    for parts, gold in mentions:
        for best in filter(None, map(tied, parts)):
            ids = [frozenset(kb.ids(candidate.concept_id)) for candidate in best]
            yield lenient_at(1, gold, [ids]), lenient_at(len(ids), gold, [ids])


def main() -> None:
    arguments = new_parser(__doc__, encoder=True).parse_args()
    with TemporaryDirectory() as folder:
        pipelines = pipelines_of(arguments.data, arguments.encoder, Path(folder), STARTER)
        for name, corpus in SETS.items():
            documents = [document for document in read_linked(arguments.data, corpus) if document.mentions]
            print(json.dumps({"corpus": name, **count(pipelines[corpus.vocabulary], documents)}), flush=True)


if __name__ == "__main__":
    main()
