"""Fixtures for reviews: a pipeline without an encoder, and reviews of its documents."""

import io

import pytest
import spacy
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.outputs.records import record_of
from spacy_sapbert.review.correction import ProposedLink, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.review.mentions import ReviewMention
from spacy_sapbert.runs.pipelines import LinkingPipeline
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.types import Document


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


@pytest.fixture(scope="session")
def linking(small_kb):
    nlp = spacy.blank("en")
    names = ["breast cancer", "breast and ovarian cancer", "cystic fibrosis", "cold", "aspirin", "zebra"]
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Disease", "pattern": name} for name in names])
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    return LinkingPipeline(nlp, Problems(Console(file=io.StringIO())))


@pytest.fixture
def start(file, linking):
    """A function that starts a review of texts."""

    def start(*texts, author="Ann", **options):
        documents = [Document(f"d{number}", text, position="here") for number, text in enumerate(texts)]
        records = [record_of(item, linking.kb) for item in linking(documents)]
        return ReviewSession(file, linking, records, corpus="notes", author=author, **options)

    return start


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
