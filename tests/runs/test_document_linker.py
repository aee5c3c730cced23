import json
import signal
import threading
import time

import pyarrow
import pytest
import spacy
from spacy.language import Language

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.outputs.tables import COLUMNS
from spacy_sapbert.runs import document_linker, link_batches
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings, TookTooLong, cut, linker_of, time_limit
from spacy_sapbert.runs.link_batches import linked_batches, links_schema
from spacy_sapbert.types import Document

TEXT = "A cystic fibrosis (CF) and aspirin."


@Language.component("slow_or_broken")
def slow_or_broken(doc):
    if "quagga" in doc.text:
        raise ValueError("a quagga")
    if "sloth" in doc.text:
        time.sleep(60)
    return doc


@pytest.fixture(scope="module")
def difficult(linking_folder, tmp_path_factory):
    """A pipeline that fails on quaggas, and takes very long for sloths."""
    nlp = spacy.load(linking_folder)
    nlp.add_pipe("slow_or_broken", first=True)
    folder = tmp_path_factory.mktemp("difficult") / "pipeline"
    nlp.to_disk(folder)
    return str(folder)


def documents(*texts):
    return [Document(str(number), text, position=f"line {number}") for number, text in enumerate(texts)]


def rows(batches):
    return pyarrow.Table.from_batches(batches).to_pylist()


def failures(linked):
    return {row["doc_id"]: row["failure"] for row in linked if row["failure"]}


def test_batches_of_documents_become_batches_of_links(linking_folder):
    values = {"id": ["a", "b"], "title": ["aspirin", None], "text": ["helps.", "Nothing."], "year": [1999, None]}
    (batch,) = link_batches.link_batches(linking_folder, [pyarrow.RecordBatch.from_pydict(values)])
    assert batch.schema == links_schema()
    assert [name for name in batch.schema.names if name not in COLUMNS] == ["year", "failure"]
    first, second = batch.to_pylist()
    assert (first["doc_id"], first["start"], first["end"], first["concept_id"]) == ("a", 0, 7, "D001241")
    assert (first["year"], first["failure"]) == (1999, None)
    assert {name: value for name, value in second.items() if value is not None} == {"doc_id": "b"}


def test_a_process_loads_a_pipeline_once(linking_folder, monkeypatch):
    linker_of.cache_clear()
    loaded = []
    load = document_linker.load_pipeline
    monkeypatch.setattr(document_linker, "load_pipeline", lambda path: (loaded.append(path), load(path))[1])
    batch = pyarrow.RecordBatch.from_pydict({"id": ["a"], "text": [TEXT]})
    for _ in range(3):
        assert list(link_batches.link_batches(linking_folder, [batch, batch]))
    assert loaded == [str(linking_folder)]


def test_columns_are_named_as_in_parquet(linking_folder):
    batch = pyarrow.RecordBatch.from_pydict({"pmid": [7], "abstract": [TEXT]})
    with pytest.raises(SapbertError, match="E128"):
        list(link_batches.link_batches(linking_folder, [batch]))
    reading = link_batches.ReadOptions(None, text_column="abstract", id_column="pmid")
    assert {row["doc_id"] for row in rows(link_batches.link_batches(linking_folder, [batch], reading=reading))} == {"7"}


def test_a_document_that_fails_is_a_row_and_the_rest_goes_on(difficult):
    texts = [TEXT, "a quagga", " ", "damaged\0", TEXT, "x" * 101]
    linked = rows(linked_batches(LinkingPipeline(LinkSettings(difficult, max_characters=100)), documents(*texts)))
    found = failures(linked)
    assert set(found) == {"1", "2", "3", "5"}
    assert "ValueError: a quagga" in found["1"]
    assert "empty" in found["2"]
    assert "NUL" in found["3"]
    assert "101 characters, and at most 100" in found["5"]
    assert {row["doc_id"] for row in linked if row["concept_id"]} == {"0", "4"}


def test_a_document_that_takes_too_long_is_a_row_and_the_rest_goes_on(difficult):
    started = time.monotonic()
    linked = rows(linked_batches(LinkingPipeline(LinkSettings(difficult, seconds=3)), documents(TEXT, "a sloth", TEXT)))
    assert time.monotonic() - started < 45
    assert failures(linked) == {"1": "it took longer than 3 seconds"}
    assert [row["doc_id"] for row in linked if row["concept_id"]] == ["0", "0", "0", "2", "2", "2"]


def test_batches_are_bounded_by_characters_and_documents(monkeypatch):
    monkeypatch.setattr(document_linker, "CHARACTERS_PER_BATCH", 10)
    monkeypatch.setattr(document_linker, "DOCUMENTS_PER_BATCH", 3)
    sizes = [5, 5, 1, 11, 12, 1, 1, 1, 1, 9]

    def chunks(max_characters):
        return [
            [len(document.text) for document in chunk]
            for chunk in cut(documents(*("x" * size for size in sizes)), max_characters)
        ]

    assert chunks(100) == [[5, 5], [1], [11], [12], [1, 1, 1], [1, 9]]
    assert chunks(6) == [[5], [5, 1], [11], [12], [1, 1, 1], [1], [9]]
    assert list(cut([], 100)) == []


@pytest.mark.parametrize(
    ("year", "found"),
    [(1999, 1999), ("1999", 1999), (None, None), ("99", None), (True, None), ("1" * 9, None), ("²", None), (1.5, None)],
)
def test_years(year, found):
    document = Document("a", "b", position="c", meta=json.loads(json.dumps({"year": year})))
    assert link_batches._year(document) == found


def test_work_that_takes_too_long_ends():
    before = signal.getsignal(signal.SIGALRM)

    def component():
        try:
            time.sleep(60)
        except Exception:
            pytest.fail("a component could handle it as an error of its own")

    with pytest.raises(TookTooLong), time_limit(0.05):
        component()
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_work_in_time_and_errors_leave_nothing_behind():
    with time_limit(60):
        pass
    with pytest.raises(ZeroDivisionError), time_limit(60):
        raise ZeroDivisionError
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_other_threads_have_no_limit():
    done = []

    def work():
        with time_limit(0.001):
            done.append(sum(range(100_000)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done
