"""Runs with one output: as a stream, and in parts with which an interrupted run goes on."""

import io
import os
import random
import re
import resource
import shutil
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from filelock import FileLock
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.output import LOCK_FILE
from spacy_sapbert.runs import document_linker
from spacy_sapbert.runs.document_linker import NO_LIMIT, Failure, LinkSettings, linker_of
from spacy_sapbert.runs.file_run import ChunkWork, open_parts, part_name
from spacy_sapbert.types import Document

IDENTITY = {"vocabulary": "a", "pipeline/config.cfg": "1"}
DOCUMENTS = [Document(f"d{i}", f"text {i}é" if i != 3 else "", position=f"x.jsonl, line {i + 1}") for i in range(8)]
FAILING = "d5"
UNUSED = LinkSettings("unused")
ENTITIES = [{"kb_id": "D1"}, {"kb_id": "NIL"}]


@pytest.fixture(autouse=True)
def linker(monkeypatch):
    """A linker that fails on one document, and links two documents together."""

    def link(documents, view):
        return [
            Failure(document.position, "it fails")
            if document.doc_id == FAILING
            else {"id": document.doc_id, "text": document.text, "entities": ENTITIES}
            for document in documents
        ]

    monkeypatch.setattr(document_linker, "DOCUMENTS_PER_BATCH", 2)
    monkeypatch.setattr("spacy_sapbert.runs.file_run.linker_of", lambda settings: SimpleNamespace(link=link))


@dataclass(frozen=True)
class Work(ChunkWork):
    """Counts the chunks that it links, and stops before one."""

    settings: LinkSettings = UNUSED
    stop: int | None = None
    linked: list[int] = field(default_factory=list)

    def __call__(self, chunk):
        if chunk[0] == self.stop:
            raise KeyboardInterrupt
        self.linked.append(chunk[0])
        return super().__call__(chunk)


@pytest.fixture
def output(tmp_path):
    return tmp_path / "out.jsonl"


class Unfinished(Exception):
    """Stops a run before its output is written."""


def link(output, documents=DOCUMENTS, stop=None, resume=None, identity=IDENTITY, finish=False):
    """Link documents in parts. RETURNS: the records, the chunks that were linked, the reports, the counts."""
    problems, counts, names = Problems(Console(file=io.StringIO(), soft_wrap=True)), Counter(), []
    with suppress(Unfinished), open_parts(output, resume=resume) as parts:
        work = Work(stop=stop).keeping(parts, identity)
        for result in work.stream(documents, problems, 1):
            counts += result.counts
            names.append(part_name(result.number))
        records = list(parts.records(names))
        if not finish:
            raise Unfinished
    return SimpleNamespace(records=records, linked=work.linked, problems=problems, counts=counts)


def interrupt(output, **settings):
    with pytest.raises(KeyboardInterrupt):
        link(output, **settings)


@pytest.fixture
def whole(tmp_path):
    return link(tmp_path / "whole.jsonl", finish=True)


def test_a_whole_run_leaves_nothing(whole, tmp_path):
    assert [record["id"] for record in whole.records] == ["d0", "d1", "d2", "d4", "d6", "d7"]
    assert whole.counts == {"documents": 6, "mentions": 12, "linked": 6}
    assert whole.problems.console.file.getvalue().splitlines() == [
        "x.jsonl, line 4: the text is empty; left out",
        "x.jsonl, line 6: it fails; left out",
    ]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("stop", range(4))
def test_a_run_goes_on_with_its_parts(output, stop, whole):
    interrupt(output, stop=stop)
    again = link(output, resume=True, finish=True)
    assert again.linked == list(range(stop, 4))
    assert (again.records, again.counts) == (whole.records, whole.counts)
    assert again.problems.broken == 2
    assert os.listdir(output.parent) == []


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "cut short": lambda path, draw: path.write_bytes(path.read_bytes()[: draw.randrange(path.stat().st_size)]),
    "without its end": lambda path, draw: path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1])),
    "emptied": lambda path, draw: path.write_bytes(b""),
    "with a flipped bit": lambda path, draw: flip(path, draw.randrange(path.stat().st_size)),
    "replaced by a folder": lambda path, draw: (path.unlink(), path.mkdir()),
    "of other JSON": lambda path, draw: path.write_text('{"id": "x"}\n[]\n'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_parts_that_are_damaged_are_reported_and_linked_again(output, whole, damage):
    link(output)
    folder = output.with_name(".out.jsonl.parts")
    shutil.copytree(folder, output.with_name("sound"))
    draw = random.Random(1)
    for _ in range(10):
        shutil.rmtree(folder)
        shutil.copytree(output.with_name("sound"), folder)
        damaged = draw.sample(sorted(folder.glob("*.json*")), draw.randint(1, 3))
        for path in damaged:
            damage(path, draw)
        with pytest.warns(UserWarning, match="W514") as warned:
            again = link(output, resume=True)
        assert (again.records, again.counts, again.problems.broken) == (whole.records, whole.counts, 2)
        assert {re.findall(r"\S+\.jsonl", str(warning.message))[-1] for warning in warned} == set(map(str, damaged))


def test_parts_that_are_lost_are_linked_again(output, whole):
    link(output)
    folder = output.with_name(".out.jsonl.parts")
    for lost in sorted(folder.glob("*.jsonl")):
        lost.unlink()
        again = link(output, resume=True)
        assert again.linked == ([] if lost.stem == "run" else [int(lost.stem)])
        assert again.records == whole.records


def test_hours_of_work_are_not_thrown_away_without_a_word(output):
    interrupt(output, stop=2)
    with pytest.raises(SapbertError, match=r"E561.*--resume.*--restart"), open_parts(output):
        pass
    assert link(output, resume=False).linked == [0, 1, 2, 3]


def test_another_pipeline_is_refused_and_the_difference_named(output):
    interrupt(output, stop=2)
    other = {"vocabulary": "b", "new": 1, "pipeline/config.cfg": "1"}
    with pytest.raises(SapbertError, match=r"E563.*other vocabulary, new"):
        link(output, resume=True, identity=other)
    assert link(output, resume=True).linked == [2, 3]


@pytest.mark.parametrize("change", [{"text": "other"}, {"doc_id": "d9"}, {"meta": {"year": 1999}}, {"title": "t"}])
def test_a_changed_document_is_linked_again(output, change):
    link(output)
    changed = [document._replace(**change) if number == 2 else document for number, document in enumerate(DOCUMENTS)]
    assert link(output, changed, resume=True).linked == [1]


def test_an_input_may_grow_and_shrink(output):
    link(output, DOCUMENTS[:5])
    grown = link(output, resume=True)
    assert grown.linked == [2, 3]  # the empty document is not counted
    shrunk = link(output, DOCUMENTS[:3], resume=True, finish=True)
    assert [record["id"] for record in shrunk.records] == ["d0", "d1", "d2"]


def test_only_one_process_writes_an_output(output):
    interrupt(output, stop=1)
    with open_parts(output, resume=True), pytest.raises(SapbertError, match=r"E507.*another process"):
        link(output, resume=False)
    lock = output.with_name(".out.jsonl.parts") / f".{LOCK_FILE}"
    with FileLock(lock), pytest.raises(SapbertError, match=r"E507.*another process"):
        link(output, resume=True)


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    for folder, reason in (("missing", "No such file"), ("file", "Not a directory")):
        with pytest.raises(SapbertError, match=f"E507.*{reason}"):
            link(tmp_path / folder / "out.jsonl")


def test_a_full_disk_keeps_what_is_finished(output):
    documents = [document._replace(text=f"{number} " * 4000 * number) for number, document in enumerate(DOCUMENTS)]
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        with pytest.raises(SapbertError, match="E507"):
            link(output, documents)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    again = link(output, documents, resume=True)
    assert again.linked == [1, 2, 3]
    assert [record["id"] for record in again.records] == ["d1", "d2", "d3", "d4", "d6", "d7"]


def test_a_stream_reports_failures_and_ends_after_what_could_be_read():
    problems = Problems(Console(file=io.StringIO()))

    def broken():
        yield from DOCUMENTS[:7]
        raise SapbertError("broken")

    ids = []

    def collect():
        for result in Work().stream(broken(), problems, 1):
            ids.extend(record["id"] for record in result.records)

    with pytest.raises(SapbertError, match="broken"):
        collect()
    assert ids == ["d0", "d1", "d2", "d4", "d6"]
    assert problems.broken == 2


def test_processes_give_what_one_gives_in_order(linking_folder, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.runs.file_run.linker_of", linker_of)
    linking = ChunkWork(LinkSettings(str(linking_folder), max_characters=NO_LIMIT))
    documents = [Document(str(number), f"aspirin {number} for cystic fibrosis") for number in range(9)]
    here, there = (list(linking.stream(documents, Problems(Console(quiet=True)), workers)) for workers in (1, 2))
    assert here == there
    assert [result.number for result in here] == [0, 1, 2, 3, 4]


def test_the_identity_of_a_pipeline(linking_folder, tmp_path):
    def identity(folder=linking_folder, **settings):
        return linker_of(LinkSettings(str(folder), **settings)).identity()

    first = identity()
    assert first == identity()
    assert {**first, "given mentions": True} == identity(given=True)
    nlp = linker_of(LinkSettings(str(linking_folder))).nlp
    nlp.to_disk(tmp_path / "moved")
    assert first == identity(tmp_path / "moved")
    nlp.meta["version"] = "2.0.0"
    nlp.to_disk(tmp_path / "changed")
    changed = identity(tmp_path / "changed")
    assert [name for name in changed if changed[name] != first[name]] == ["pipeline/meta.json"]
