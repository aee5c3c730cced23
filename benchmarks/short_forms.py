"""Measure the likely long forms of short forms that a document does not define.

Gold mentions are linked with and without them, to the vocabulary alone and with training mentions as names. The encoder
is the starter encoder without other training. Accuracy is lenient, ± the standard error over documents. "short" counts
the mentions that are such a short form, and "long" those of them that are linked by a likely long form.

    python benchmarks/short_forms.py [--data FOLDER]
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser, open_linker
from linking import CHEMICALS, CORPORA, MEDIC, build, read
from reranking import OUTSIDE, OUTSIDE_IDS, gain, measure

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.variants import MentionQuery
from spacy_sapbert.text.words import is_acronym
from spacy_sapbert.training.ranker_trainer import mention_queries
from spacy_sapbert.types import Document

VOCABULARIES = {"Disease": MEDIC, "Chemical": CHEMICALS}


def without(document: Document) -> list[MentionQuery]:
    """Return the gold mentions without likely long forms."""
    queries = mention_queries(document)
    return [one._replace(variants=one.variants._replace(likely_long_form=None)) for one in queries]


def compare(linker: Linker, documents: list[Document]) -> dict[str, Any]:
    queries = list(map(mention_queries, documents))
    linked = linker.link(queries)
    pairs = [pair for of_document in zip(queries, linked, strict=True) for pair in zip(*of_document, strict=True)]
    short = [(query.variants, parts) for query, parts in pairs if is_acronym(query.variants.text)]
    undefined = [(variants, parts) for variants, parts in short if variants.long_form is None]
    base = measure(linker, documents, queries=without)
    return {
        "short": len(undefined),
        "long": sum(parts[0].long_form is not None for _, parts in undefined),
        "without": round(100 * base.lenient.sum() / base.mentions.sum(), 2),
        **gain(measure(linker, documents), base),
    }


def corpora(data: Path) -> dict[tuple[str, str], list[Document]]:
    """Return the documents of each corpus and type."""
    found = {}
    for name, corpus in CORPORA.items():
        for part, path in (("train", corpus.train), ("dev", corpus.dev)):
            found[f"{name}, {part}", corpus.type or "Disease"] = read(data / path, corpus.type)
    wanted = set((data / OUTSIDE_IDS).read_text(encoding="utf-8").split())
    outside = [one for one in read_corpus(data / OUTSIDE) if one.doc_id in wanted]
    for type in VOCABULARIES:
        mentions = (tuple(mention for mention in one.mentions if mention.label == type) for one in outside)
        pairs = zip(outside, mentions, strict=True)
        found["biored, outside", type] = [one._replace(mentions=of_type) for one, of_type in pairs]
    return found


def main() -> None:
    parser = new_parser(__doc__)
    data = parser.parse_args().data
    found = corpora(data)
    with TemporaryDirectory() as folder:
        for type, vocabulary in VOCABULARIES.items():
            path = Path(folder, type)
            build(data, path, [], vocabulary)
            linker = open_linker(path, "starter")
            for (name, of_type), documents in found.items():
                if of_type == type:
                    print(json.dumps({"corpus": name, "type": type, **compare(linker, documents)}), flush=True)


if __name__ == "__main__":
    main()
