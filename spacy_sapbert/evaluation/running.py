"""Run pipelines on the texts, or on the gold mentions, of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch

from ..errors import MissingComponentError
from ..metrics.spans import place_in_text
from ..pipeline.attributes import get_abbreviation_occurrences
from ..pipeline.factories import LINKER, PREPARING, RETRIEVER
from ..pipeline.gold_mentions import GOLD_SPANS, gold_doc, on_spans
from ..pipeline.mentions import mentions_of
from ..text.abbreviations import expand
from ..types import Document, LinkedPart, Mention

DOCUMENTS_PER_BATCH = 64


class LinkedMention(NamedTuple):
    """A gold mention and its links.

    Attributes:
        long_form: The mention with its abbreviations expanded, even if the linker preferred the short form. None if the
            mention has no abbreviation.
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
    """Run a pipeline on the documents of a corpus. It gets the texts alone, or with the gold mentions without ids.

    Args:
        nlp: The pipeline.
        documents: The corpus.
        disable: The names of components that do not run.
        gold_mentions: Whether the pipeline gets the gold mentions. Then no component runs that sets `doc.ents`. One
            that sets a span group may run: it does no harm, and an NER may need it.
        spans_key: Where the components take the gold mentions from. None is `doc.ents`.

    Yields:
        Batches of documents, each with the pipeline's result. As long as they are used, the components take the gold
        mentions.
    """
    inputs: Iterator[tuple[str | Doc, Document]] = ((document.text, document) for document in documents)
    others: list[Any] = []
    if gold_mentions:
        inputs = ((_without_ids(nlp, document), document) for _, document in inputs)
        finding = {name for name in nlp.pipe_names if _finds_mentions(nlp, name)}
        others = [component for name, component in nlp.pipeline if name not in finding]
        entities = [name for name in finding if getattr(nlp.get_pipe(name), "spans_key", None) is None]
        disable = [*disable, *entities]
    with on_spans(others, spans_key) if gold_mentions else nullcontext():
        for batch in minibatch(nlp.pipe(inputs, as_tuples=True, disable=list(disable)), size=DOCUMENTS_PER_BATCH):
            yield [(document, doc) for doc, document in batch]


def _finds_mentions(nlp: Language, name: str) -> bool:
    """Return whether a component finds mentions, as entities or as a span group."""
    meta = nlp.get_pipe_meta(name)
    return "doc.ents" in meta.assigns and meta.factory != LINKER  # the linker only sets their ids


def _without_ids(nlp: Language, document: Document) -> Doc:
    """Return a Doc with the gold mentions, without ids, as entities and as the span group `GOLD_SPANS`."""
    mentions = tuple(mention._replace(ids=(), parts=()) for mention in document.mentions)
    return gold_doc(nlp, document._replace(mentions=mentions))


def link_gold_mentions(nlp: Language, documents: Iterable[Document]) -> Iterator[LinkedMention]:
    """Link the mentions of annotated documents, with all candidates and without a threshold.

    Yields:
        Every mention of every document, in their order.
    """
    linker = find_linker(nlp)
    preparing = [component for name, component in nlp.pipeline if nlp.get_pipe_meta(name).factory in PREPARING]
    with on_spans([*preparing, linker], GOLD_SPANS):
        for batch in minibatch(documents, size=DOCUMENTS_PER_BATCH):
            docs = [gold_doc(nlp, document) for document in batch]
            for component in preparing:
                docs = [component(doc) for doc in docs]
            for document, doc, parts in zip(batch, docs, linker.predict(docs), strict=True):
                yield from _linked_mentions(document, doc, parts)


def _linked_mentions(
    document: Document, doc: Doc, predicted: Sequence[tuple[LinkedPart, ...]]
) -> Iterator[LinkedMention]:
    spans = mentions_of(doc, GOLD_SPANS)
    parts = {(span.start_char, span.end_char, span.label_): some for span, some in zip(spans, predicted, strict=True)}
    for mention in document.mentions:
        expanded = expand(document.text, mention.start, mention.end, get_abbreviation_occurrences(doc))
        long_form = None if expanded == mention.text else expanded
        yield LinkedMention(document.doc_id, mention, long_form, parts.get(place_in_text(mention), ()))
