"""Fixtures for the demo page: a server in a thread, with a pipeline without an encoder."""

import io
import socket
import threading

import pytest
import spacy
import uvicorn
from rich.console import Console
from spacy.language import Language

from spacy_sapbert.cli.web.app import make_app
from spacy_sapbert.io.documents import Problems
from spacy_sapbert.io.pipelines import LinkingPipeline
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

EVIL = "<script>alert('1')</script>\"'>"
MAX_CHARS = 1000
MENTIONS = ["breast cancer", "breast and ovarian cancer", "cystic fibrosis", "CF", "zebra", "hostile", "cold"]


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
    return LinkingPipeline(web_nlp, Problems(Console(file=io.StringIO())))


@pytest.fixture(scope="module")  # the server needs the clock, which tests of other modules replace
def port(linking):
    """The port of a server on 127.0.0.1."""
    app = make_app(linking, name="<tiny>", max_chars=MAX_CHARS)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()
