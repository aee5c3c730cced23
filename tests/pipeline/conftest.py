"""Fixtures for the components."""

from collections.abc import Callable

import pytest
from spacy.language import Language
from spacy.tokens import Doc

from spacy_sapbert.kb.knowledge_base import KnowledgeBase


@pytest.fixture(scope="session")
def kb(small_store: KnowledgeBase) -> str:
    """The path of the small vocabulary, as a component's setting wants it."""
    return str(small_store.path)


@pytest.fixture
def mark() -> Callable[..., Doc]:
    """A function that makes a document whose entities are the first places of some texts, with a label or without."""

    def make(nlp: Language, text: str, *mentions: str | tuple[str, str]) -> Doc:
        doc = nlp.make_doc(text)
        pairs = [(mention, "MENTION") if isinstance(mention, str) else mention for mention in mentions]
        starts = [(text.index(mention), mention, label) for mention, label in pairs]
        doc.ents = [doc.char_span(start, start + len(mention), label=label) for start, mention, label in starts]
        return doc

    return make
