"""Fixtures for corrections: a file, and mentions."""

import pytest

from spacy_sapbert.review.corrections import ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.review.queue import ReviewMention


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


@pytest.fixture(scope="session")
def mention():
    """A function that makes a mention to review."""

    def make(text, *ids, document="k", start=0, label="", probability=None, score=None, best=None):
        link = ProposedLink(document, start, start + len(text), text, label, ids, probability, score)
        return ReviewMention(document, link, {}, ids if best is None else best)

    return make


@pytest.fixture
def proposed(file):
    """A function that writes a document with links to the file, each as its text, its ids and other values."""

    def write(doc_id, text, *links):
        (key,) = file.add_documents([(doc_id, text)], "notes")
        made = [
            ProposedLink(key, text.index(part), text.index(part) + len(part), part, "Disease", ids, *others)
            for part, ids, *others in links
        ]
        file.set_links([document_key(text)], made)
        return key

    return write
