"""Measure what each part of a pipeline costs: with its NER, with the matcher instead, and with gold mentions.

    python benchmarks/end_to_end.py PIPELINE CORPUS

PIPELINE has a concept_matcher, then an NER with the labels of the corpus, and a sapbert_linker. `project.yml` makes
such a pipeline. "matcher" uses the names that the matcher finds as mentions. "gold" uses the annotated mentions.
"""

import json
from pathlib import Path
from typing import Any

import spacy
from common import new_parser
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import filter_spans

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.pipeline import evaluate_pipeline


@Language.factory("names_as_entities", default_config={"spans_key": "names"})
class NamesAsEntities:
    """Makes the spans of a matcher the entities of a document."""

    def __init__(self, nlp: Language, name: str, spans_key: str) -> None:
        self.spans_key = spans_key

    def __call__(self, doc: Doc) -> Doc:
        doc.ents = filter_spans(doc.spans[self.spans_key])
        return doc


def with_matcher(path: str) -> Language:
    nlp = spacy.load(path)
    nlp.add_pipe("names_as_entities", after="ner", config={"spans_key": nlp.get_pipe("concept_matcher").spans_key})
    nlp.remove_pipe("ner")
    return nlp


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("pipeline")
    parser.add_argument("corpus", type=Path)
    args = parser.parse_args()

    def measured(nlp: Language, **settings: Any) -> dict[str, Any]:
        result = evaluate_pipeline(nlp, read_corpus(args.corpus), **settings)
        measures = ("ner", "span_id", "span_id_single", "document_id")
        return {name: {figure: result[name][figure] for figure in ("p", "r", "f1")} for name in measures}

    found = {"ner": measured(spacy.load(args.pipeline)), "matcher": measured(with_matcher(args.pipeline))}
    found["gold"] = measured(spacy.load(args.pipeline), gold_mentions=True)
    print(json.dumps({"corpus": args.corpus.name, **found}, indent=2))


if __name__ == "__main__":
    main()
