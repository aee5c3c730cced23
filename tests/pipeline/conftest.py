"""Fixtures for the components."""

from collections.abc import Callable
from typing import Any

import pytest
from spacy.language import Language
from spacy.tokens import Doc

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.candidates import CandidateGenerator


@pytest.fixture(scope="session")
def kb(small_kb: KnowledgeBase) -> str:
    """The path of the small knowledge base, as a setting of a component."""
    return str(small_kb.path)


@pytest.fixture
def mark() -> Callable[..., Doc]:
    """A function that creates a Doc with entities at the first positions of some texts, with optional labels."""

    def make(nlp: Language, text: str, *mentions: str | tuple[str, str]) -> Doc:
        doc = nlp.make_doc(text)
        pairs = [(mention, "MENTION") if isinstance(mention, str) else mention for mention in mentions]
        starts = [(text.index(mention), mention, label) for mention, label in pairs]
        doc.ents = [doc.char_span(start, start + len(mention), label=label) for start, mention, label in starts]
        return doc

    return make


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """All lists of texts that were looked up, one for each call."""
    calls: list[list[str]] = []
    call = CandidateGenerator.__call__

    def counted(self: CandidateGenerator, texts: list[str], *args: Any, **others: Any) -> Any:
        calls.append(list(texts))
        return call(self, texts, *args, **others)

    monkeypatch.setattr(CandidateGenerator, "__call__", counted)
    return calls
