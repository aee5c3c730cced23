"""Run pipelines on a corpus: choose the mentions that count, link or find them, and write predictions."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..errors import EmptyError, Errors, MissingComponentError, SapbertError, Warnings
from ..files.output import open_output
from ..kb.ids import some_ids
from ..kb.knowledge_base import KnowledgeBase
from ..metrics.linking_accuracy import place_in_text
from ..pipeline.attributes import get_abbreviation_occurrences
from ..pipeline.factories import LINKER, PREPARING, RETRIEVER
from ..pipeline.mentions import GOLD_SPANS, gold_doc, mentions_of, on_spans
from ..runs.document_linker import cut
from ..text.abbreviations import expand
from ..types import Document, LinkedPart, Mention, has_type, types_of

DOCUMENTS_PER_BATCH = 64
CHARACTERS_PER_BATCH = 250_000
"""An NER of spaCy takes about 1 kB of memory for each character of the documents that it reads together."""


class LinkedMention(NamedTuple):
    """A gold mention and its links.

    Attributes:
        long_form: The mention with its abbreviations expanded, even if the linker preferred the short form, if it has
            any.
        parts: The linked parts. Empty if the mention is not a span of tokens.
    """

    doc_id: str
    mention: Mention
    long_form: str | None
    parts: tuple[LinkedPart, ...]


def find_linker(nlp: Language) -> Any:
    """Return the last linker of the pipeline, which sets the final links."""
    return _last_component(nlp, LINKER, "there are no links to evaluate")


def find_retriever(nlp: Language) -> Any:
    """Return the last retriever of the pipeline, which sets the final concepts."""
    return _last_component(nlp, RETRIEVER, "it predicts no concepts of documents")


def _last_component(nlp: Language, factory: str, consequence: str) -> Any:
    made = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory == factory]
    if not made:
        raise MissingComponentError(component=factory, consequence=consequence, components=nlp.pipe_names)
    return made[-1]


def run_pipeline(
    nlp: Language,
    documents: Iterable[Document],
    *,
    disable: Sequence[str],
    gold_mentions: bool,
    spans_key: str | None = None,
) -> Iterator[list[tuple[Document, Doc]]]:
    """Run a pipeline on a corpus, and yield batches of documents, each with the result.

    It gets the texts alone, or with the gold mentions without ids, from `doc.ents` or a span group. Then no component
    runs that sets `doc.ents`. One that sets a span group may run: it does no harm, and an NER may need it. The
    components take the gold mentions as long as the batches are used.
    """
    others: list[Any] = []
    if gold_mentions:
        # as entities or as a span group; the linker only sets their ids
        metas = {name: nlp.get_pipe_meta(name) for name in nlp.pipe_names}
        finding = {name for name, meta in metas.items() if "doc.ents" in meta.assigns and meta.factory != LINKER}
        others = [component for name, component in nlp.pipeline if name not in finding]
        entities = [name for name in finding if getattr(nlp.get_pipe(name), "spans_key", None) is None]
        disable = [*disable, *entities]
    with on_spans(others, spans_key) if gold_mentions else nullcontext():
        for chunk in cut(documents, CHARACTERS_PER_BATCH):
            inputs = ((_without_ids(nlp, document) if gold_mentions else document.text, document) for document in chunk)
            docs = nlp.pipe(inputs, as_tuples=True, disable=list(disable), batch_size=len(chunk))
            yield from minibatch(((document, doc) for doc, document in docs), size=DOCUMENTS_PER_BATCH)


def _without_ids(nlp: Language, document: Document) -> Doc:
    """Return a Doc with the gold mentions, without ids, as entities and as the span group `GOLD_SPANS`."""
    mentions = tuple(mention._replace(ids=(), parts=()) for mention in document.mentions)
    return gold_doc(nlp, document._replace(mentions=mentions))


def link_gold_mentions(nlp: Language, documents: Iterable[Document]) -> Iterator[LinkedMention]:
    """Link every mention of annotated documents, in their order, with all candidates and without a threshold."""
    linker = find_linker(nlp)
    preparing = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory in PREPARING]
    with on_spans([*preparing, linker], GOLD_SPANS):
        for batch in minibatch(documents, size=DOCUMENTS_PER_BATCH):
            docs = [gold_doc(nlp, document) for document in batch]
            for component in preparing:
                docs = [component(doc) for doc in docs]
            for document, doc, predicted in zip(batch, docs, linker.predict(docs), strict=True):
                spans = ((span.start_char, span.end_char, span.label_) for span in mentions_of(doc, GOLD_SPANS))
                parts: dict[Any, tuple[LinkedPart, ...]] = dict(zip(spans, predicted, strict=True))
                for mention in document.mentions:
                    expanded = expand(document.text, mention.start, mention.end, get_abbreviation_occurrences(doc))
                    long_form = None if expanded == mention.text else expanded
                    yield LinkedMention(document.doc_id, mention, long_form, parts.get(place_in_text(mention), ()))


def link_corpus(nlp: Language, documents: Iterable[Document], type: str | None = None) -> Iterator[LinkedMention]:
    """Link the mentions of annotated documents that are measured: those with an id, and with a type if one is given.

    W510 reports, after the last one, mentions that could not be linked.

    Raises:
        SapbertError: The pipeline has no linker, no mention is chosen, or the vocabulary has none of their ids.
    """
    gold = GoldMentions(type, with_ids=True)
    lost: list[LinkedMention] = []
    total = 0
    for linked in link_gold_mentions(nlp, with_known_ids(gold(documents), find_linker(nlp).kb)):
        total += 1
        lost += [] if linked.parts else [linked]
        yield linked
    gold.check()
    if lost:
        example = {"mention": repr(lost[0].mention.text), "doc_id": lost[0].doc_id}
        warnings.warn(Warnings.W510.format(n=len(lost), total=total, **example), stacklevel=3)


class GoldMentions:
    """Chooses the mentions of a corpus that are measured: those with a type, or of any type, and with or without ids.

    Attributes:
        labels: How many mentions with a concept id have each label, whether or not they are chosen.
    """

    def __init__(self, type: str | None, *, with_ids: bool = False) -> None:
        self._type = type
        self._with_ids = with_ids
        self.labels: Counter[str] = Counter()

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield all documents with the chosen mentions alone."""
        for document in documents:
            self.labels.update(name for mention in document.mentions if mention.ids for name in types_of(mention.label))
            chosen = (
                mention
                for mention in document.mentions
                if (self._type is None or has_type(mention.label, [self._type])) and (mention.ids or not self._with_ids)
            )
            yield document._replace(mentions=tuple(chosen))

    def check(self) -> None:
        """Check, after the last document, that a mention with a concept id was chosen."""
        if not (self.labels if self._type is None else self.labels[self._type]):
            raise no_mentions(self._type and [self._type], self.labels)


def no_mentions(types: Sequence[str] | None, labels: Counter[str]) -> EmptyError:
    """Return the error that a corpus has no mention with a concept id and one of these types."""
    of_types = "" if types is None else f" of type {', '.join(types)}"
    what = f"mention{of_types} with a concept id in the corpus"
    remedy = f"The types of the mentions with a concept id are: {', '.join(sorted(+labels)) or 'none'}."
    remedy += " Check the file, its format and the type."
    return EmptyError(remedy, what=what, consequence="nothing can be measured")


def with_known_ids(documents: Iterable[Document], kb: KnowledgeBase) -> Iterator[Document]:
    """Yield the documents of a corpus, if any of its concept ids is in the vocabulary.

    No document is yielded before the first id that the vocabulary has. So the error comes before any other work.
    Documents before it are kept in memory. A corpus without ids passes.
    """
    stream = iter(documents)
    waiting: list[Document] = []
    unknown: dict[str, None] = {}
    for document in stream:
        waiting.append(document)
        ids = dict.fromkeys(concept_id for mention in document.mentions for concept_id in mention.ids)
        if any(concept_id not in unknown and kb.find_id(concept_id) for concept_id in ids):
            break
        unknown.update(ids)
    else:
        if unknown:
            examples = {"corpus": some_ids(unknown), "known": some_ids(kb.concept_ids())}
            raise SapbertError(Errors.E572.format(n=len(unknown), path=kb.path, **examples))
    yield from waiting
    yield from stream


def warn_of_unknown_ids(documents: Sequence[Document], kb: KnowledgeBase) -> None:
    """Warn with the share of mentions whose concept ids are all missing in the vocabulary, if there are any."""
    mentions = [mention for document in documents for mention in document.mentions if mention.ids]
    missing = [mention for mention in mentions if not has_known_id(mention, kb)]
    if missing:
        share = 100 * len(missing) / len(mentions)
        example = some_ids(concept_id for mention in missing for concept_id in mention.ids)
        message = Warnings.W571.format(unknown=len(missing), total=len(mentions), share=share, example=example)
        warnings.warn(message, stacklevel=2)


def has_known_id(mention: Mention, kb: KnowledgeBase) -> bool:
    """Return whether the vocabulary has any of the ids of a mention, as a primary or an alternative id."""
    return any(map(kb.find_id, mention.ids))


@contextmanager
def predictions_file(path: Path | None) -> Iterator[Callable[[Mapping[str, Any]], object]]:
    """Yield a function that writes a prediction as a line of JSON to a new file; without a path, it does nothing.

    The file appears when the block ends without an error.
    """
    if path is None:
        yield lambda prediction: None
        return
    with open_output(path) as write:
        yield lambda prediction: write(json.dumps(prediction, ensure_ascii=False) + "\n")
