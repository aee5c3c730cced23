"""What others made is changed: readers read it or raise a named error. `make fuzz SECONDS=60` makes further inputs."""

import io
import json
import os
import pickle
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pytest
import spacy
from rich.console import Console

pytest.importorskip("fastapi")
pytest.importorskip("pyoxigraph")
from sklearn.feature_extraction.text import TfidfVectorizer
from starlette.testclient import TestClient

from spacy_sapbert.documents.formats import ANNOTATED, INPUT_FORMATS
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.encoders.biosyn_import import read_vectorizer
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import READERS, ReadReport, read_vocabulary
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings
from spacy_sapbert.serve.app import Site, make_app
from spacy_sapbert.serve.review_app import make_review_app
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.serve.settings import Limits
from spacy_sapbert.types import Document

from . import seeds
from .mutation import mutate

INPUTS = 25  # of each reader
SECONDS = float(os.environ.get("FUZZ_SECONDS", 0))
SLOW = 5.0  # seconds; all inputs are small
BINARY = ("docbin", "spacy", "parquet", "sql")  # their libraries, or a server, read them


def read_concepts(format, folder):
    """Read a vocabulary. What it gives can be written."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    path = files[0] if len(files) == 1 or format == "loinc" else folder
    for record in read_vocabulary(path, format, report=ReadReport()):
        assert record.concept_id
        assert all(name.text for name in record.names)
        json.dumps(record, ensure_ascii=False).encode()


def read_annotated(format, folder):
    """Read a corpus. Its mentions are in their texts."""
    path = min(folder.iterdir())  # the text of brat is beside it
    for document in read_corpus(path, format, report=Report()):
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text
        json.dumps(document, ensure_ascii=False, default=dict).encode()


def read_inputs(format, folder):
    """Read documents to link. They and the messages can be written."""
    path = min(folder.iterdir())
    messages = io.StringIO()
    problems = Problems(Console(file=messages, soft_wrap=True))
    for document in read_documents(path, ReadOptions(format), problems):
        json.dumps(document, ensure_ascii=False, default=dict).encode()
    messages.getvalue().encode()


PICKLE = pickle.dumps(TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(["breast cancer", "cold"]))
TARGETS = {
    **{f"vocabulary {format}": (seeds.VOCABULARIES[format], partial(read_concepts, format)) for format in READERS},
    **{
        f"corpus {format}": (seeds.CORPORA[format], partial(read_annotated, format))
        for format in ANNOTATED
        if format not in BINARY
    },
    **{
        f"documents {format}": ((seeds.DOCUMENTS | seeds.CORPORA)[format], partial(read_inputs, format))
        for format in INPUT_FORMATS
        if format not in BINARY
    },
    "pickle of BioSyn": ([{"a.pk": PICKLE}], lambda folder: read_vectorizer(folder / "a.pk")),
}


def randoms(name, n_targets):
    """YIELDS: random numbers for each input. Further inputs follow as long as there is time."""
    end = time.monotonic() + SECONDS / n_targets
    number = 0
    while number < INPUTS or time.monotonic() < end:
        yield Random(f"{name} {number}")
        number += 1


def write(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("name", TARGETS)
def test_files_of_others(name, tmp_path):
    inputs, read = TARGETS[name]
    for number, files in enumerate(inputs):
        write(files, tmp_path / f"sound {number}")
        read(tmp_path / f"sound {number}")
    changed = tmp_path / "changed"
    for random in randoms(name, len(TARGETS)):
        files = random.choice(inputs)
        write(files, changed)
        file = random.choice(list(files))
        others = [other[file] for other in inputs if file in other]
        (changed / file).write_bytes(mutate(files[file], others, random))  # it stays there if the test fails
        start = time.process_time()
        with suppress(SapbertError):
            read(changed)
        assert time.process_time() - start < SLOW
        for path in changed.rglob("*.*"):
            path.unlink()


@pytest.fixture(scope="module")
def clients(small_kb, tmp_path_factory):
    """Clients of both servers, each with its requests."""
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Disease", "pattern": name} for name in ("cold", "aspirin")])
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    linking = LinkingPipeline(LinkSettings(nlp), Problems(Console(file=io.StringIO())))
    site = Site(lambda: linking, "fuzz", Limits(max_chars=1000, max_texts=8, max_bytes=200_000))
    site.load()
    records = list(linking([Document("1", "A cold and aspirin.", position="x")]))
    file = CorrectionsFile(tmp_path_factory.mktemp("fuzz") / Path("c.db"), create=True)
    review = make_review_app(ReviewSession(file, linking, records, corpus="notes", author="me"))
    yield {
        "link": (TestClient(make_app(site), "http://localhost"), seeds.REQUESTS["serve"]),
        "review": (TestClient(review, f"http://localhost/{file.secret}/"), seeds.REQUESTS["review"]),
    }
    site.queue.close()


@pytest.mark.parametrize("name", ["link", "review"])
def test_requests(clients, name):
    client, requests = clients[name]
    bodies = [json.dumps(request.get("body")).encode() for request in requests]
    for random in randoms(name, len(TARGETS)):
        number = random.randrange(len(requests))
        method, path = requests[number]["method"], requests[number]["path"]
        if method == "GET":
            path = mutate(path.encode(), [path.encode()], random)[:2000].hex("%").join(["?text=%", "&by=name"])
            path = f"search{path}"
        body = mutate(bodies[number], bodies, random) if method == "POST" else None
        answer = client.request(method, path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code < 500, (path, body)
