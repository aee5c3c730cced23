import io

import pytest
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report


@pytest.fixture
def problems():
    """Reports broken records to a string."""
    return Problems(Console(file=io.StringIO(), markup=False, soft_wrap=True))


@pytest.fixture
def read(tmp_path, problems):
    """A function that reads a file with the given content, or a path."""

    def run(name, content=None, format=None, **options):
        if content is not None:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_documents(tmp_path / name, ReadOptions(format, **options), problems))

    return run


@pytest.fixture
def messages(problems):
    """A function that returns what was reported."""
    return lambda: problems.console.file.getvalue()


@pytest.fixture(scope="session")
def read_reporting():
    """A function that writes a content, if there is one, and reads a corpus: gives its documents, and the report."""

    def run(path, format=None, content=None, **settings):
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        report = Report()
        return list(read_corpus(path, format, report=report, **settings)), report

    return run
