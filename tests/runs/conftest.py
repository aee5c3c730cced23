"""A small corpus, and what links it in this process."""

import json
from pathlib import Path

import pytest
from rich.console import Console

pytest.importorskip("pyarrow")

from spacy_sapbert.documents.input_documents import Problems, ReadOptions
from spacy_sapbert.runs.corpus_run import CorpusRun
from spacy_sapbert.runs.document_linker import LinkSettings

TEXTS = ["A cystic fibrosis (CF) and aspirin.", "No finding.", "CF with breast and ovarian cancer.", "Again aspirin."]


def here(work, partitions):
    """The simplest engine: one partition after the other, in this process."""
    yield from map(work, partitions)


@pytest.fixture
def corpus(tmp_path) -> Path:
    """A folder of three JSON lines files, in one partition each, with a document in every year from 2000."""
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        records = [{"id": f"{number}-{i}", "text": text, "year": 2000 + i} for i, text in enumerate(TEXTS)]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


@pytest.fixture
def one_file_each(monkeypatch):
    """Let each file be a partition."""
    monkeypatch.setattr("spacy_sapbert.runs.partitions.FILES_PER_PARTITION", 1)


@pytest.fixture
def open_run(linking_folder, corpus, tmp_path, one_file_each):
    """A function that opens a run over the corpus."""

    def make(inputs=corpus, output=tmp_path / "out", pipeline=linking_folder, **settings):
        problems = Problems(Console(quiet=True))
        sources = [(inputs, ReadOptions(None))]
        return CorpusRun(LinkSettings(str(pipeline), **settings), sources, output, problems)

    return make


@pytest.fixture
def link_all(open_run):
    """A function that links the corpus in this process. RETURNS (list[str], CorpusRun): what was linked, the run."""

    def link(run=here, **settings):
        opened = open_run(**settings)
        results = list(opened(run))
        return [result.name for result in results if result.seconds], opened

    return link
