import errno
import importlib
import json
import multiprocessing
import os
import pickle
import sys
import time
from collections import Counter
from contextlib import closing

import pyarrow.dataset
import pyarrow.parquet as parquet
import pytest
from filelock import FileLock

from spacy_sapbert.errors import CannotWriteError, SapbertError
from spacy_sapbert.files.output import LOCK_FILE
from spacy_sapbert.runs import corpus_run, engines
from spacy_sapbert.runs.corpus_run import MANIFEST, PartitionResult
from spacy_sapbert.runs.engines import TRIES, engine, run_local

NAMES = ["0.jsonl", "1.jsonl", "2.jsonl"]


def rows(folder):
    return pyarrow.dataset.dataset(folder).to_table().to_pylist()


def manifest(folder):
    return json.loads((folder / MANIFEST).read_text())


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def expected(link_all, tmp_path):
    """The rows of a run without an interruption."""
    link_all(output=tmp_path / "expected")
    return rows(tmp_path / "expected")


def test_each_partition_becomes_a_file(link_all, out):
    linked, run = link_all()
    assert linked == NAMES
    assert sorted(path.name for path in out.glob("*.parquet")) == [f"{name}.parquet" for name in NAMES]
    found = rows(out)
    assert len({row["doc_id"] for row in found}) == 12
    assert {row["year"] for row in found} == {2000, 2001, 2002, 2003}
    mentions = {(row["doc_id"], row["start"]) for row in found if row["start"] is not None}
    linked_mentions = {(row["doc_id"], row["start"]) for row in found if row["concept_id"] not in (None, "NIL")}
    counts = {"documents": 12, "mentions": len(mentions), "linked": len(linked_mentions)}
    assert +run.counts() == counts
    written = manifest(out)
    assert written["complete"] is True
    assert +Counter(written["counts"]) == counts
    assert list(written["partitions"]) == NAMES
    assert written["made with"]["vocabulary"]


def test_a_rerun_does_only_what_is_missing_or_was_made_with_something_else(link_all, out, corpus, expected):
    assert link_all()[0] == NAMES
    assert link_all()[0] == []
    (out / "1.jsonl.parquet").unlink()
    assert link_all()[0] == ["1.jsonl"]
    assert rows(out) == expected
    (corpus / "0.jsonl").write_text('{"id": "new", "text": "New aspirin."}\n')
    assert link_all()[0] == ["0.jsonl"]
    assert {row["doc_id"] for row in rows(out)} & {"new", "0-0", "1-0"} == {"new", "1-0"}
    assert link_all(max_characters=500)[0] == NAMES
    assert link_all(max_characters=500, candidates=2)[0] == NAMES


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "emptied": lambda path: path.write_bytes(b""),
    "with a flipped bit": flip,
    "replaced by a folder": lambda path: (path.unlink(), path.mkdir()),
    "with another schema": lambda path: parquet.write_table(
        pyarrow.table({"a": [1]}).replace_schema_metadata(parquet.read_metadata(path).metadata), path
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_reported_and_made_again(link_all, out, expected, damage):
    link_all()
    damage(out / "2.jsonl.parquet")
    with pytest.warns(UserWarning, match=r"W514.*2\.jsonl\.parquet"):
        assert link_all()[0] == ["2.jsonl"]
    assert rows(out) == expected


def test_a_report_of_a_broken_record_shows_its_brackets(link_all, corpus):
    (corpus / "0.jsonl").write_text('{"[/b]": ":smile:"}\n')
    found = {}

    def run(work, partitions):
        for result in map(work, partitions):
            found[result.name] = result
            yield result

    link_all(run)
    assert not found["0.jsonl"].problem
    assert "the keys are: '[/b]'" in found["0.jsonl"].reports[0]


def test_broken_records_are_counted_also_by_a_rerun(link_all, corpus):
    with (corpus / "0.jsonl").open("a") as file:
        file.write("broken\n")
    for _ in range(2):
        assert link_all()[1].counts()["broken"] == 1


def test_links_of_files_that_are_gone_are_removed(link_all, out, corpus):
    link_all()
    (corpus / "1.jsonl").unlink()
    linked, run = link_all()
    assert (linked, run.removed) == ([], 1)
    assert not (out / "1.jsonl.parquet").exists()
    assert run.counts()["documents"] == 8


def test_a_table_of_someone_else_stays(link_all, out, tmp_path):
    out.mkdir()
    parquet.write_table(pyarrow.table({"a": [1]}), out / "mine.parquet")
    with pytest.raises(SapbertError, match=r"E507.*mine\.parquet"):
        link_all()
    (out / "mine.parquet").rename(out / "0.jsonl.parquet")
    with pytest.raises(SapbertError, match=r"E507.*no run has made"):
        link_all()
    assert parquet.read_table(out / "0.jsonl.parquet").to_pylist() == [{"a": 1}]


def test_documents_that_were_replaced_since_go_without_linking_again(open_run, link_all, out, monkeypatch):
    link_all()
    before = rows(out)
    monkeypatch.setattr(corpus_run, "linked_batches", lambda *_: pytest.fail("it links again"))
    gone = frozenset({"1-0", "1-1"})
    run = open_run()
    run.partitions = [part._replace(left_out=gone) if part.name == "1.jsonl" else part for part in run.partitions]
    list(run(lambda work, partitions: (work(partition) for partition in partitions)))
    assert run.counts()["documents"] == 10
    assert rows(out) == [row for row in before if row["doc_id"] not in gone]


ARTICLE = """<PubmedArticle><MedlineCitation><PMID Version="1">{0}</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2001</Year></PubDate></JournalIssue></Journal>
<ArticleTitle>{1}</ArticleTitle></Article></MedlineCitation></PubmedArticle>"""


def write_pubmed(path, titles, deleted=()):
    articles = "".join(ARTICLE.format(pmid, title) for pmid, title in titles)
    gone = "".join(f'<PMID Version="1">{pmid}</PMID>' for pmid in deleted)
    path.write_text(f"<PubmedArticleSet>{articles}<DeleteCitation>{gone}</DeleteCitation></PubmedArticleSet>")


def test_an_update_of_pubmed_links_only_its_own_records(link_all, out, tmp_path):
    folder = tmp_path / "pubmed"
    folder.mkdir()
    old = "Old aspirin."
    write_pubmed(folder / "pubmed26n0001.xml", [(1, "Once aspirin."), (1, old), (2, old), (3, old)])
    write_pubmed(folder / "pubmed26n0002.xml", [(4, old)])
    assert link_all(inputs=folder)[0] == ["pubmed26n0001.xml", "pubmed26n0002.xml"]
    assert [(row["doc_id"], row["start"]) for row in rows(out)] == [("1", 4), ("2", 4), ("3", 4), ("4", 4)]
    write_pubmed(folder / "pubmed26n0003.xml", [(2, "A newer aspirin.")], deleted=[3])
    assert link_all(inputs=folder)[0] == ["pubmed26n0003.xml"]
    updated = rows(out)
    assert [(row["doc_id"], row["start"]) for row in updated] == [("1", 4), ("4", 4), ("2", 8)]
    assert {row["year"] for row in updated} == {2001}
    link_all(inputs=folder, output=tmp_path / "at once")
    assert rows(tmp_path / "at once") == updated


def test_two_runs_do_not_share_a_folder(link_all, out):
    out.mkdir()
    with FileLock(out / f".{LOCK_FILE}"), pytest.raises(SapbertError, match=r"E507.*another process"):
        link_all()


def test_a_full_disk_ends_the_run_and_keeps_what_is_done(link_all, out, monkeypatch, expected):
    link_file = corpus_run.PartitionWork._link

    def fill(self, partition, problems):
        if partition.name == "1.jsonl":
            raise CannotWriteError(path="x", reason=os.strerror(errno.ENOSPC))
        return link_file(self, partition, problems)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_run.PartitionWork, "_link", fill)
        with pytest.raises(SapbertError, match="E507"):
            link_all()
    assert manifest(out)["complete"] is False
    assert link_all()[0] == ["1.jsonl", "2.jsonl"]
    assert rows(out) == expected


def test_a_partition_that_ends_its_process_each_time_is_set_aside(link_all, out, expected):
    def dying(work, partitions):
        for partition in partitions:
            yield work.lost(partition) if partition.name == "1.jsonl" else work(partition)

    linked, run = link_all(dying)
    assert linked == ["0.jsonl", "2.jsonl"]
    (aside,) = run.set_aside()
    assert (aside.name, aside.problem) == ("1.jsonl", f"its process ended at each of {TRIES} tries")
    assert manifest(out)["set aside"] == {"1.jsonl": aside.problem}
    assert manifest(out)["complete"] is False
    assert link_all()[0] == ["1.jsonl"]  # the next run tries it again
    assert rows(out) == expected


def test_an_older_file_of_a_partition_that_is_set_aside_goes(link_all, out):
    link_all()
    link_all(lambda work, found: (PartitionResult(one.name, Counter(), problem="x") for one in found), seconds=7)
    assert not list(out.glob("*.parquet"))


def test_an_unexpected_error_sets_a_partition_aside(link_all, out, monkeypatch):
    link_file = corpus_run.PartitionWork._link

    def fail(self, partition, problems):
        if partition.name == "1.jsonl":
            raise ZeroDivisionError("a fault")
        return link_file(self, partition, problems)

    monkeypatch.setattr(corpus_run.PartitionWork, "_link", fail)
    run = link_all()[1]
    assert {one.name: one.problem for one in run.set_aside()} == {"1.jsonl": "ZeroDivisionError: a fault"}
    assert {path.name for path in out.glob("*.parquet")} == {"0.jsonl.parquet", "2.jsonl.parquet"}


def test_processes_that_cannot_start_end_the_run(open_run, monkeypatch):
    run = open_run()
    monkeypatch.setattr(engines, "start_worker", os._exit)  # with wrong arguments
    with pytest.raises(SapbertError, match="E575"):
        list(run(engine("local", 2)))


# work that imports little, so that a process starts quickly; it cannot import this module
WORK = """
import os, signal
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

class Work:
    def __call__(self, name):
        died = Path(__file__).with_name(name)
        if name == "2" or (name == "1" and not died.exists()):
            died.open("a").write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return SimpleNamespace(told=(name, os.getpid()), counts=Counter(documents=5))

    def lost(self, name):
        return SimpleNamespace(told=(name, "lost"), counts=Counter())
"""


@pytest.fixture
def told(tmp_path, monkeypatch):
    """A function that does tasks in one process at a time. RETURNS (dict): the process of each task, or "lost"."""
    (tmp_path / "quick_work.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)  # the processes get this path
    monkeypatch.delitem(sys.modules, "quick_work", raising=False)
    work = importlib.import_module("quick_work").Work()
    return lambda *tasks: dict(result.told for result in run_local(work, tasks, 1))


def test_a_process_is_replaced_after_many_documents(told, monkeypatch):
    monkeypatch.setattr(engines, "DOCUMENTS_PER_PROCESS", 10)
    first, second, third = told("a", "b", "c").values()
    assert first == second != third


def test_the_partition_of_a_killed_worker_goes_to_another_one_up_to_three_times(told, tmp_path):
    done = told("0", "1", "2")
    assert (done["0"] != done["1"], done["2"]) == (True, "lost")
    assert {name: len((tmp_path / name).read_text()) for name in "12"} == {"1": 1, "2": TRIES}


def test_an_error_that_ends_the_run_is_passed_on(monkeypatch, open_run):
    def full(self, partition, problems):
        raise CannotWriteError(path="x", reason="full")

    monkeypatch.setattr(corpus_run.PartitionWork, "_link", full)
    run = open_run()
    found = run._work(run.partitions[0]).error
    assert isinstance(found, CannotWriteError)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)


WRITING = """
import time
from collections import Counter
from pathlib import Path
from spacy_sapbert.files.output import replacing
from spacy_sapbert.runs.corpus_run import PartitionResult

def work(partition):
    if partition.name != "0.jsonl":
        with replacing(Path(__file__).parent / "out" / partition.name) as temporary:
            temporary.touch()
            time.sleep(600)
    return PartitionResult(partition.name, Counter())
"""


def test_a_run_that_is_stopped_ends_its_processes_and_removes_what_they_began(open_run, out, tmp_path, monkeypatch):
    (tmp_path / "writing_work.py").write_text(WRITING)
    monkeypatch.syspath_prepend(tmp_path)
    work = importlib.import_module("writing_work").work

    def stop_while_it_writes():
        with closing(open_run()(lambda _, partitions: run_local(work, partitions, 2))) as results:
            for _ in results:
                end = time.monotonic() + 60
                while not list(out.glob(".*.tmp/*.jsonl")):
                    assert time.monotonic() < end
                    time.sleep(0.01)
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_while_it_writes()
    assert not multiprocessing.active_children()
    assert [name for name in os.listdir(out) if not name.startswith(".")] == [MANIFEST]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ray", "spark"])
def test_engines_give_the_same_links(name, open_run, link_all, out, expected, tmp_path, monkeypatch):
    pytest.importorskip({"ray": "ray", "spark": "pyspark"}[name])
    # as in a shell without this environment, where python3 is another one
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent), prepend=os.pathsep)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert sorted(result.name for result in open_run()(engine(name, 2)) if not result.problem) == NAMES
    assert rows(out) == expected
