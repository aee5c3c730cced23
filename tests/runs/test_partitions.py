from pathlib import Path

import pytest
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.runs import partitions
from spacy_sapbert.runs.document_linker import Failure
from spacy_sapbert.runs.partitions import find_partitions

OPTIONS = ReadOptions(None)


def found(*paths, options=OPTIONS):
    return find_partitions([(path, options) for path in paths], Problems(Console(quiet=True)))


def contents(partition):
    return list(partition.documents(Problems(Console(quiet=True))))


@pytest.fixture
def notes(tmp_path):
    """Five small notes, two of them in a subfolder, and what is no document."""
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/d.txt", "z.txt", "picture.png", ".hidden.txt"):
        (tmp_path / name).write_text(f"Note {name}.")
    return tmp_path


def names(partitions):
    return {one.name: [file.name for file in one.files] for one in partitions}


def test_small_files_share_a_partition(notes, monkeypatch):
    everything = ["a.txt", "b.txt", "sub/c.txt", "sub/d.txt", "z.txt"]
    assert names(found(notes)) == {"a.txt": everything}
    monkeypatch.setattr(partitions, "FILES_PER_PARTITION", 2)
    assert names(found(notes)) == {"a.txt": everything[:2], "sub/c.txt": everything[2:4], "z.txt": everything[4:]}
    monkeypatch.setattr(partitions, "BYTES_PER_PARTITION", 20)
    assert list(names(found(notes))) == everything
    assert [one.doc_id for one in contents(found(notes)[2])] == ["sub/c.txt"]


def test_a_file_of_pubmed_shares_no_partition(tmp_path):
    """A newer record must not go with the older one that it replaces."""
    article = "<PubmedArticle><MedlineCitation><PMID>1</PMID><Article><ArticleTitle>{}</ArticleTitle></Article>"
    article += "</MedlineCitation></PubmedArticle>"
    for name, title in {"1.xml": "Old.", "2.xml": "New."}.items():
        (tmp_path / name).write_text(f"<PubmedArticleSet>{article.format(title)}</PubmedArticleSet>")
    (tmp_path / "3.txt").write_text("A note.")
    partitions = found(tmp_path)
    assert names(partitions) == {"1.xml": ["1.xml"], "2.xml": ["2.xml"], "3.txt": ["3.txt"]}
    assert [[one.text for one in contents(partition)] for partition in partitions] == [[], ["New."], ["A note."]]


def test_a_given_file_is_a_partition(notes):
    assert names(found(notes / "b.txt", notes / "sub" / "c.txt")) == {"b.txt": ["b.txt"], "c.txt": ["c.txt"]}
    (notes / "sub" / "b.txt").write_text("Another.")
    with pytest.raises(SapbertError, match=r"E566.*b\.txt\.parquet"):
        found(notes / "b.txt", notes / "sub" / "b.txt")


def test_a_damaged_file_keeps_the_documents_before_it(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "One."}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(b"\x1f\x8b damaged")
    (tmp_path / "c.jsonl").write_text('{"id": "3", "text": "Three."}\n')
    (partition,) = found(tmp_path)
    first, damaged, last = contents(partition)
    assert (first.doc_id, last.doc_id) == ("1", "3")
    assert isinstance(damaged, Failure)
    assert damaged.position == "b.jsonl.gz"
    assert "E121" in damaged.reason


def test_the_fingerprint_is_that_of_names_contents_and_options(notes):
    def fingerprint(options=OPTIONS):
        return found(notes, options=options)[0].fingerprint()

    before = fingerprint()
    (notes / "a.txt").touch()
    assert fingerprint() == before
    assert fingerprint(OPTIONS._replace(encoding="latin-1")) != before
    (notes / "a.txt").write_text("Note b.txt.")
    changed = fingerprint()
    assert changed != before
    (notes / "a.txt").rename(notes / "aa.txt")
    assert fingerprint() not in (before, changed)


def test_a_file_that_is_gone_may_be_back_later(notes):
    (partition,) = found(notes)
    Path(notes / "z.txt").unlink()
    with pytest.raises(SapbertError, match="E120"):
        contents(partition)
    with pytest.raises(SapbertError, match="E120"):
        partition.fingerprint()
