"""Measure how many concepts and mentions a pipeline finds with and without other words for names.

Each row has a corpus and what `concept_matcher` looks for: names alone, names in other words, and nested ones, too. The
measures are micro precision, recall and F1 of the ids of documents, of spans with the right bounds, of spans that
overlap, and the documents a second of one core. The ids of phenotypes are those below HP:0000118.

    python benchmarks/other_words.py [--data FOLDER] [--encoder none] [--corpus NAME ...] [--kbs FOLDER]
"""

import json
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import spacy
from common import new_parser
from corpora import CORPORA, build, read_linked

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.pipeline.attributes import get_links
from spacy_sapbert.types import Document

CHOSEN = (
    "HPO notes", "NCBI", "NCBI development", "BC5CDR diseases", "BC5CDR diseases development", "BC5CDR chemicals",
    "BC5CDR chemicals development", "NLM-Gene development", "S800 development",
)  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "names": {"other_words": []},
    "other words": {},
    "nested": {"spans_key": "nested", "nested": True},
}


class Mention(NamedTuple):
    """A mention with its ids, of a corpus or of a pipeline."""

    document: str
    start: int
    end: int
    ids: frozenset[str]


def annotated(kb: KnowledgeBase, documents: Iterable[Document]) -> list[Mention]:
    """RETURNS (list): the annotated mentions of which an id is known, by the primary ids of the vocabulary."""
    mentions = (
        Mention(document.doc_id, mention.start, mention.end, frozenset(found))
        for document in documents
        for mention in document.mentions
        if (found := [primary for id in mention.ids for primary in kb.find_id(id)])
    )
    return list(mentions)


def predicted(nlp: Any, documents: Sequence[Document], key: str | None) -> list[Mention]:
    mentions = []
    for document, doc in zip(documents, nlp.pipe(document.text for document in documents), strict=True):
        for span in doc.spans[key] if key else doc.ents:
            ids = frozenset(link.concept_id for link in get_links(span) if link.concept_id)
            if ids:
                mentions.append(Mention(document.doc_id, span.start_char, span.end_char, ids))
    return mentions


def f1(right_of_predicted: int, n_predicted: int, right_of_gold: int, n_gold: int) -> list[float]:
    p, r = right_of_predicted / max(n_predicted, 1), right_of_gold / max(n_gold, 1)
    return [round(100 * value, 1) for value in (p, r, 2 * p * r / max(p + r, 1e-9))]


def measure(gold: Sequence[Mention], found: Sequence[Mention]) -> dict[str, list[float]]:
    ids, other_ids = ({(m.document, id) for m in mentions for id in m.ids} for mentions in (gold, found))
    places, other_places = ({m[:3] for m in mentions} for mentions in (gold, found))
    both, same = len(ids & other_ids), len(places & other_places)

    def n_overlapping(mentions: Sequence[Mention], others: Sequence[Mention]) -> int:
        of_document: dict[str, list[Mention]] = {}
        for other in others:
            of_document.setdefault(other.document, []).append(other)
        return sum(
            any(m.start < o.end and o.start < m.end and m.ids & o.ids for o in of_document.get(m.document, ()))
            for m in mentions
        )

    strict, others = ({(*m[:3], id) for m in mentions for id in m.ids} for mentions in (gold, found))
    n_strict = len(strict & others)
    relaxed = n_overlapping(found, gold), len(found), n_overlapping(gold, found), len(gold)
    return {
        "document ids": f1(both, len(other_ids), both, len(ids)),
        "spans": f1(same, len(other_places), same, len(places)),
        "spans with ids": f1(n_strict, len(others), n_strict, len(strict)),
        "overlapping with ids": f1(*relaxed),
    }


def contiguous(documents: Iterable[Document]) -> list[Document]:
    """RETURNS (list): the documents without mentions whose text is another one than that at their offsets."""
    return [
        document._replace(mentions=tuple(m for m in document.mentions if document.text[m.start : m.end] == m.text))
        for document in documents
    ]


def phenotypes(data: Path) -> Collection[str]:
    """RETURNS (Collection): the concepts below HP:0000118 in 2015."""
    from spacy_sapbert.kb.readers import ReadReport, read_vocabulary

    records = list(read_vocabulary(data / "vocabularies/hpo/hp-2015-01-27.obo.gz", report=ReadReport()))
    children: dict[str, list[str]] = {}
    for record in records:
        for parent in record.parents:
            children.setdefault(parent, []).append(record.concept_id)
    below, pending = set[str](), ["HP:0000118"]
    while pending:
        id = pending.pop()
        if id not in below:
            below.add(id)
            pending += children.get(id, ())
    old = {record.concept_id for record in records} - below
    return old | {"HP:0032316", "HP:0032443"}


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.set_defaults(encoder="none")
    parser.add_argument("--corpus", nargs="+", default=CHOSEN)
    parser.add_argument("--setting", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--kbs", type=Path, help="Folder for the knowledge bases. Default: a temporary one.")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        for name in arguments.corpus:
            corpus = CORPORA[name]
            path = (arguments.kbs or Path(folder)) / f"{Path(corpus.vocabulary).name.partition('.')[0]}.kb"
            if not path.is_file():
                build(arguments.data, corpus.vocabulary, path)
            kb, documents = KnowledgeBase(path), read_linked(arguments.data, corpus)
            general = phenotypes(arguments.data) if name == "HPO notes" else ()
            for setting in arguments.setting:
                nlp = pipeline(path, arguments.encoder, SETTINGS[setting], clinical=name == "HPO notes")
                key = SETTINGS[setting].get("spans_key")
                matcher = nlp.get_pipe("concept_matcher")
                docs = [nlp.make_doc(document.text) for document in documents]
                matcher(docs[0])
                start = time.process_time()
                for doc in docs:
                    matcher(doc)
                speed = len(docs) / (time.process_time() - start)
                found = [
                    m._replace(ids=ids) for m in predicted(nlp, documents, key) if (ids := m.ids.difference(general))
                ]
                result = measure(annotated(kb, documents), found)
                if name == "HPO notes":
                    whole = measure(annotated(kb, contiguous(documents)), found)
                    result = {"document ids": result["document ids"], **dict(list(whole.items())[1:])}
                print(json.dumps({"corpus": name, "setting": setting, **result, "speed": round(speed)}), flush=True)


def pipeline(kb: Path, encoder: str, settings: dict[str, Any], *, clinical: bool) -> spacy.Language:
    nlp = spacy.blank("en")
    key = settings.get("spans_key")
    nlp.add_pipe("abbreviation_resolver", config={"clinical": clinical})
    nlp.add_pipe("concept_matcher", config={"kb": str(kb), **settings})
    nlp.add_pipe("composite_splitter", config={"spans_key": key})
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb), "encoder": encoder, "spans_key": key})
    return nlp


if __name__ == "__main__":
    main()
