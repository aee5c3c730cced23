"""The journal of a long run."""

import io
import json
import os
import resource
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from spacy_sapbert.documents.formats import InputFormat
from spacy_sapbert.documents.input_documents import Problems, ReadOptions
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.runs import journal as runs
from spacy_sapbert.runs.journal import Identity, Journal, OtherRun, identity_of, journal_path
from spacy_sapbert.runs.pipelines import LinkingPipeline
from spacy_sapbert.types import Document

IDENTITY = Identity({"vocabulary": "a", "input": ["x.jsonl"]}, {"config.cfg": "1"})
DOCUMENTS = [Document(f"d{i}", "" if i == 3 else f"text {i}é", position=f"x.jsonl, line {i + 1}") for i in range(8)]
FAILING = 5  # the number of a document on which the pipeline fails; the text of number 3 is empty


def problems():
    return Problems(Console(file=io.StringIO()))


def work(journal, documents=DOCUMENTS, until=8, report=None):
    """Process the documents before a number, as a pipeline with batches of one. RETURNS: the reports."""
    report = report or problems()
    journal.begin(IDENTITY)
    for document in journal.unfinished(documents, report, 1000):
        number = int(document.doc_id[1:])
        if number >= until:
            return report
        if not document.text or number == FAILING:
            report.report(document.position, "left out")
        else:
            journal.add(document, {"id": document.doc_id, "text": document.text}, batch=number, mentions=2, linked=1)
    return report


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out.jsonl"


@pytest.mark.parametrize("until", range(1, 9))
def test_a_resumed_run_equals_a_whole_one(output, until):
    with Journal(output) as journal:
        work(journal, until=until)
    with Journal(output, resume=True) as journal:
        report = work(journal)
        assert [record["id"] for record in journal.records()] == ["d0", "d1", "d2", "d4", "d6", "d7"]
        assert journal.counts == {"documents": 6, "mentions": 12, "linked": 6}
        assert report.count == 2
        journal.finish()
    assert os.listdir(output.parent) == []


def test_the_earlier_reasons_are_told_again(output):
    with Journal(output) as journal:
        work(journal)
    with Journal(output, resume=True) as journal:
        told = work(journal).console.file.getvalue().splitlines()
    assert told == [
        "x.jsonl, line 4: the text is empty; left out",
        "x.jsonl, line 6: the pipeline failed on it before the interruption; left out",
    ]


def test_a_line_that_was_cut_off_anywhere_is_done_again(output):
    with Journal(output) as journal:
        work(journal)
    path = journal_path(output) / "journal.jsonl"
    whole = path.read_bytes()
    for size in (*range(0, len(whole), 11), len(whole)):
        journal_path(output).mkdir(exist_ok=True)
        path.write_bytes(whole[:size] + (b"\0\0" if size % 2 and size < len(whole) else b""))
        with Journal(output, resume=True) as journal:
            assert journal.counts["documents"] == max(0, whole[:size].count(b"\n") - 2)
            work(journal)
            assert path.read_bytes() == whole


def test_a_run_resumes_with_the_last_batch(output):
    """Documents of one batch are linked together, so that a part of a batch is not enough."""
    with Journal(output) as journal:
        journal.begin(IDENTITY)
        for number, document in enumerate(journal.unfinished(DOCUMENTS, problems(), 1000)):
            if document.text:
                journal.add(document, {"id": document.doc_id}, batch=number // 3, mentions=1, linked=0)
    with Journal(output, resume=True) as journal:
        assert (journal.counts["documents"], journal.counts["mentions"]) == (5, 5)
        journal.begin(IDENTITY)
        again = journal.unfinished(DOCUMENTS, problems(), 1000)
        assert [document.doc_id for document in again] == ["d6", "d7"]


def test_hours_of_work_are_not_thrown_away_without_a_word(output):
    with Journal(output) as journal:
        work(journal, until=3)
    with pytest.raises(SapbertError, match=r"E561.* 2 finished documents .*--resume.*--restart"):
        Journal(output)
    with Journal(output, restart=True) as journal:
        assert not journal.counts
        assert work(journal).count == 2
        assert journal.counts["documents"] == 6


def test_a_run_without_a_finished_document_leaves_nothing(output):
    with Journal(output) as journal:
        work(journal, until=0)
    assert os.listdir(output.parent) == []
    with Journal(output, resume=True) as journal:  # there is nothing to resume
        work(journal)
        assert journal.counts["documents"] == 6


def test_the_journal_of_a_version_that_kept_other_things_is_told(output):
    with Journal(output) as journal:
        work(journal, until=3)
    lines = journal_path(output) / runs.JOURNAL_FILE
    first, rest = lines.read_bytes().split(b"\n", 1)
    lines.write_bytes(first[:-1] + b', "platform": "x"}\n' + rest)
    with Journal(output, resume=True) as journal, pytest.raises(OtherRun, match=r"E563.*another version"):
        journal.begin(IDENTITY)


def test_what_differs_is_named(output):
    with Journal(output) as journal:
        work(journal, until=3)
    other = Identity({"vocabulary": "b", "input": ["x.jsonl"], "new": 1}, {"config.cfg": "2", "ner/model": "3"})
    with Journal(output, resume=True) as journal, pytest.raises(OtherRun) as told:
        journal.begin(other)
    assert "E563" in str(told.value)
    reasons = ["vocabulary was a and is b", "new was None and is 1", "have changed (config.cfg, ner/model)"]
    assert all(reason in str(told.value) for reason in reasons)
    assert "input" not in str(told.value)
    with Journal(output, resume=True) as journal:  # it is still there
        assert journal.counts["documents"] == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": "other"}, "x.jsonl, line 2 has another document"),
        ({"doc_id": "d9"}, "x.jsonl, line 2 has another document"),
        ({"meta": {"year": 1999}}, "x.jsonl, line 2 has another document"),
    ],
)
def test_a_changed_document_is_refused(output, change, reason):
    with Journal(output) as journal:
        work(journal, until=3)
    changed = [document._replace(**change) if number == 1 else document for number, document in enumerate(DOCUMENTS)]
    with Journal(output, resume=True) as journal, pytest.raises(OtherRun, match=f"E564.*{reason}"):
        work(journal, changed)


def test_a_shorter_input_is_refused_and_a_longer_one_is_not(output):
    with Journal(output) as journal:
        work(journal, DOCUMENTS[:7])
    with Journal(output, resume=True) as journal, pytest.raises(OtherRun, match=r"E564.*fewer documents"):
        work(journal, DOCUMENTS[:4])
    with Journal(output, resume=True) as journal:
        work(journal)
        assert journal.counts["documents"] == 6


def test_only_one_process_writes_an_output(output):
    with Journal(output) as journal:
        work(journal, until=1)
        with pytest.raises(SapbertError, match="E562"):
            Journal(output, restart=True)
        work(journal, until=0)
        assert journal.counts["documents"] == 1


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(SapbertError, match=r"E507.*No such file"):
        Journal(tmp_path / "missing" / "out.jsonl")
    (tmp_path / "file").touch()
    with pytest.raises(SapbertError, match=r"E507.*Not a directory"):
        Journal(tmp_path / "file" / "out.jsonl")


def test_a_full_disk_keeps_what_is_finished(output):
    documents = [document._replace(text="long " * 500) for document in DOCUMENTS]
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
        with Journal(output) as journal, pytest.raises(SapbertError, match=r"E560.*--resume"):
            work(journal, documents)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    with Journal(output, resume=True) as journal:
        assert journal.counts["documents"] == 2
        work(journal, documents)
        assert journal.counts["documents"] == 7
        assert {record["text"] for record in journal.records()} == {"long " * 500}


def test_the_identity_of_a_pipeline(linking_folder, tmp_path):
    def identity(folder=linking_folder, inputs=("a.txt",), batch_size=None, **options):
        linking = LinkingPipeline(str(folder), problems())
        reading = [ReadOptions(InputFormat.jsonl, **options)] * 2
        return identity_of(linking, list(map(Path, inputs)), reading, batch_size)

    first = identity()
    assert first.differences(identity()) == []
    assert [text.split(" was ")[0] for text in first.differences(identity(inputs=["b.txt"]))] == ["input"]
    assert [text.split(" was ")[0] for text in first.differences(identity(text_column="body"))] == ["reading"]
    assert first.differences(identity(batch_size=512)) == []
    assert first.differences(identity(batch_size=8)) == ["batch size was 512 and is 8"]
    nlp = LinkingPipeline(str(linking_folder), problems()).nlp
    nlp.to_disk(tmp_path / "moved")
    assert first.files == identity(tmp_path / "moved").files
    nlp.meta["version"] = "2.0.0"
    nlp.to_disk(tmp_path / "changed")
    assert first.differences(identity(tmp_path / "changed")) == ["files of the pipeline have changed (meta.json)"]


def test_a_pipeline_without_a_folder():
    linking = SimpleNamespace(kb=SimpleNamespace(fingerprint="0" * 32), nlp=SimpleNamespace(path=None))
    shown = identity_of(linking, [Path("-")], [], None, {"codes": ["UMLS"]})
    assert shown.differences(identity_of(linking, [Path("-")], [], None)) == ["codes was ['UMLS'] and is None"]
    identity = identity_of(linking, [Path("-")], [], None)
    assert identity.files == {}
    assert identity.settings["input"] == ["-"]
    assert json.loads(json.dumps(identity.settings)) == identity.settings
