"""Measure the likely long forms of short forms that a document does not define.

Gold mentions are linked with and without them, to the vocabulary alone and with training mentions as names. The encoder
is the starter encoder without other training. Accuracy is lenient, ± the standard error over documents. "short" counts
the mentions that are such a short form, and "long" those of them that are linked by a likely long form.

    python benchmarks/short_forms.py [--data FOLDER]
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import new_parser, open_linker
from corpora import CHEMICALS, CORPORA, MEDIC, build, read_linked
from reranking import gain, measure

from spacy_sapbert.linking.linker import Linker
from spacy_sapbert.linking.variants import MentionQuery
from spacy_sapbert.text.words import is_acronym
from spacy_sapbert.training.ranker_trainer import mention_queries
from spacy_sapbert.types import Document


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


def main() -> None:
    parser = new_parser(__doc__)
    data = parser.parse_args().data
    with TemporaryDirectory() as folder:
        for vocabulary in (MEDIC, CHEMICALS):
            path = Path(folder, Path(vocabulary).name)
            build(data, vocabulary, path)
            linker = open_linker(path, "starter")
            for name, corpus in CORPORA.items():
                if corpus.vocabulary == vocabulary:
                    print(json.dumps({"corpus": name, **compare(linker, read_linked(data, corpus))}), flush=True)


if __name__ == "__main__":
    main()
