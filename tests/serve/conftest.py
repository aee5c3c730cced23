"""Fixtures for the demo page: a server in a thread, with a pipeline without an encoder."""

import io
import socket
import threading
import time
from contextlib import ExitStack
from http.client import HTTPConnection

import pytest
import spacy
import uvicorn
from rich.console import Console
from spacy.language import Language

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings
from spacy_sapbert.serve.app import Site
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.serve.server import Settings, server_config
from spacy_sapbert.serve.settings import LOCAL_HOSTS, Limits, LogFormat
from spacy_sapbert.types import Document, Name, Record

EVIL = "<script>alert('1')</script>\"'>"
SMALL = Limits(max_chars=1000, max_texts=4, max_bytes=13_000)
MENTIONS = ["breast cancer", "breast and ovarian cancer", "cystic fibrosis", "CF", "zebra", "hostile", "cold"]
MENTIONS += ["aspirin"]


@Language.component("test_web_failing")
def failing(doc):
    if "explode" in doc.text:
        raise ValueError("a secret reason")
    return doc


@pytest.fixture(scope="session")
def web_kb(small_vocabulary, tmp_path_factory):
    """The small vocabulary, and a concept with HTML markup in all fields."""
    hostile = Record(
        f"OMIM:{EVIL}",
        (Name(f"hostile {EVIL}", "preferred", "x"), Name("hostile", "exact", "x")),
        types=(EVIL,),
        definition=EVIL,
    )
    return build_knowledge_base([*small_vocabulary, hostile], tmp_path_factory.mktemp("web") / "web.kb")


@pytest.fixture(scope="session")
def web_nlp(web_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("test_web_failing")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Disease", "pattern": name} for name in MENTIONS])
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(web_kb.path), "encoder": "none"})
    return nlp


@pytest.fixture(scope="session")
def linking(web_nlp):
    return LinkingPipeline(LinkSettings(web_nlp), Problems(Console(file=io.StringIO(), soft_wrap=True)))


@pytest.fixture
def file(tmp_path):
    return CorrectionsFile(tmp_path / "c.db", create=True)


@pytest.fixture
def start(file, linking):
    """A function that starts a review of texts."""

    def start(*texts, author="Ann", file=file, **options):
        documents = [Document(f"d{number}", text, position="here") for number, text in enumerate(texts)]
        records = list(linking(documents))
        return ReviewSession(file, linking, records, corpus="notes", author=author, **options)

    return start


class Running:
    """A server in a thread."""

    def __init__(self, linking, limits=SMALL, token=None, load=None):
        self.site = Site(load or (lambda: linking), "<tiny>", limits)
        self.loads_first = load is None
        settings = Settings(None, "<tiny>", LOCAL_HOSTS, token, limits, LogFormat.none)
        self.server = uvicorn.Server(server_config(settings.app(self.site), limits.max_connections))
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]})

    def __enter__(self):
        self.thread.start()
        while not (self.site.linking if self.loads_first else self.server.started):
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join()
        self.listening.close()

    def ask(self, method, path, body=None, **headers):
        """Send a request. RETURNS: status, headers and body of the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        chunked = body is not None and not isinstance(body, (str, bytes))
        connection.request(method, path, body, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, body


@pytest.fixture(scope="module")  # the server needs the clock, which tests of other modules replace
def running(linking):
    with Running(linking) as server:
        yield server


@pytest.fixture(scope="module")
def port(running):
    """The port of a server on 127.0.0.1."""
    return running.port


@pytest.fixture
def ask(running):
    return running.ask


@pytest.fixture
def serving(linking):
    """A function that starts a server with other settings."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(Running(linking, **settings))


@pytest.fixture
def busy(linking, monkeypatch):
    """Events: the pipeline has begun with a text, and it may go on."""
    started, go_on = threading.Event(), threading.Event()

    def wait(doc):
        if "slow" in doc.text:
            started.set()
            assert go_on.wait(30)
        return doc

    monkeypatch.setattr(linking.nlp, "_components", [("wait", wait), *linking.nlp._components])
    monkeypatch.setitem(linking.nlp._pipe_meta, "wait", linking.nlp.get_pipe_meta("test_web_failing"))
    yield started, go_on
    go_on.set()
