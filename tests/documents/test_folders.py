import gzip
import os

import pytest

from spacy_sapbert.documents.formats import files_of
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.errors import SapbertError


@pytest.fixture
def folder(tmp_path):
    """A function that writes files into a folder, by their paths."""

    def write(files):
        for name, content in files.items():
            path = tmp_path / "notes" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "notes"

    return write


def read(folder, problems, format=None, **options):
    return list(read_documents(folder, ReadOptions(format, **options), problems))


def skipped_and_found(folder):
    skipped = {}
    found = [path.relative_to(folder).as_posix() for path in files_of(folder, skipped.__setitem__)]
    return {path.relative_to(folder).as_posix(): reason for path, reason in skipped.items()}, found


DOCUMENT = "<document><id>z</id><passage><offset>0</offset><text>xml</text></passage></document>"
MIXED = {
    "b/2.txt": "two",
    "b/10.txt": "ten",
    "a.txt": "flu",
    "B.txt": "upper",
    "c.pubtator": "1|t|Cold\n1|a|\n",
    "corpus.txt": "2|t|Croup\n2|a|\n",
    "d.jsonl": '{"text": "json"}\n{"id": "x", "text": "lines"}\n',
    "e.csv": "id,text\ny,csv\n",
    "f.txt.gz": gzip.compress(b"packed"),
    "g.xml": f"<collection>{DOCUMENT}</collection>",
    # not read
    "picture.png": b"\x89PNG",
    "sub/scan.PNG": b"\x89PNG",
    "report.pdf": b"%PDF",
    "README": "text",
    ".hidden.txt": "hidden",
    ".git/a.txt": "hidden",
}


def test_each_file_is_read_by_its_ending_in_a_stable_order(folder, problems, messages):
    path = folder(MIXED)
    found = [(document.doc_id, document.text) for document in read(path, problems)]
    assert found == [
        *(("B.txt", "upper"), ("a.txt", "flu"), ("b/10.txt", "ten"), ("b/2.txt", "two")),
        *(("1", "Cold"), ("2", "Croup"), ("d.jsonl:1", "json"), ("x", "lines"), ("y", "csv")),
        *(("f.txt.gz", "packed"), ("z", "xml")),
    ]
    assert messages() == f"{path}: 4 files of no known format left out (README, picture.png, report.pdf, scan.PNG)\n"
    assert problems.broken == 0


def test_a_given_format_holds_for_all_files(folder, problems):
    path = folder({"a.txt": "one\ntwo", "sub/b.note": "three"})
    found = [(document.doc_id, document.text) for document in read(path, problems, "lines")]
    assert found == [("a.txt:1", "one"), ("a.txt:2", "two"), ("sub/b.note:1", "three")]


def test_a_file_that_cannot_be_read_is_reported_and_the_rest_goes_on(folder, problems, messages):
    packed = gzip.compress(b"cut off " * 1000)
    broken = {"a.txt.gz": packed[:30], "b.csv": "body\nflu\n", "c.pubtator.gz": packed[:30], "d.txt": b"\xff\x00"}
    path = folder({**broken, "e.txt": "flu"})
    assert [document.doc_id for document in read(path, problems)] == ["e.txt"]
    starts = ["a.txt.gz: [E121]", "b.csv: [E128]", "c.pubtator.gz: [E121]", "d.txt, line 1: this is not utf-8"]
    for line, start in zip(messages().splitlines(), starts, strict=True):
        assert line.startswith(f"{path}/{start}")
        assert line.endswith("; left out")
    assert problems.broken == 4
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        read(path, Problems(problems.console, strict=True))


def test_other_xml_and_json_is_counted_as_an_unknown_format(folder, problems, messages):
    path = folder(
        {"a.json": '{"name": "x"}', "b.json": "{not json", "c.xml": "<html/>", "d.xml": "<a/>", "e.txt": "flu"}
    )
    for strict in (False, True):
        found = Problems(problems.console, strict=strict)
        assert [document.doc_id for document in read(path, found)] == ["e.txt"]
        assert found.broken == 0
    names = "a.json, b.json, c.xml, d.xml"
    assert messages() == 2 * f"{path}: 4 files of no known format left out ({names})\n"


def test_a_file_that_breaks_in_its_middle_keeps_what_was_read(folder, problems, messages):
    document = "<document><id>1</id><passage><offset>0</offset><text>flu</text></passage></document>"
    path = folder({"a.xml": f"<collection>{document}<broken", "b.txt": "cold"})
    assert [document.text for document in read(path, problems)] == ["flu", "cold"]
    assert "[E127]" in messages()


def test_folders_that_cannot_be_listed_are_skipped(folder, monkeypatch):
    path = folder({"a/b.txt": "flu", "c.txt": "cold"})
    listdir = os.listdir

    def refuse(folder):
        if str(folder).endswith("/a"):
            raise PermissionError(13, "Permission denied")
        return listdir(folder)

    monkeypatch.setattr(os, "listdir", refuse)
    assert skipped_and_found(path) == ({"a": "this folder cannot be read (Permission denied)"}, ["c.txt"])


def test_symbolic_links_do_not_leave_the_folder_or_run_in_circles(folder, tmp_path):
    path = folder({"a.txt": "flu", "sub/b.txt": "cold"})
    (tmp_path / "outside.txt").write_text("secret")
    (path / "in.txt").symlink_to("sub/b.txt")
    (path / "sub" / "loop").symlink_to("..")
    (path / "out.txt").symlink_to(tmp_path / "outside.txt")
    (path / "parent").symlink_to(tmp_path)
    (path / "gone.txt").symlink_to("nothing.txt")
    (path / "self.txt").symlink_to("self.txt")
    os.mkfifo(path / "pipe.txt")
    skipped, found = skipped_and_found(path)
    assert found == ["a.txt", "in.txt", "sub/b.txt"]
    assert skipped.pop("pipe.txt") == "this is neither a file nor a folder"
    assert skipped.keys() == {"gone.txt", "out.txt", "parent", "self.txt", "sub/loop"}
    assert set(skipped.values()) == {"this symbolic link leaves the folder, or does not lead to a file"}


def test_very_deep_folders_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    depth = 1100  # deeper than functions can call each other
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(tmp_path)
    skipped, found = skipped_and_found(tmp_path)
    os.removedirs("/".join("d" * depth))
    assert (skipped, found) == ({}, [])


def test_file_names_that_are_not_unicode(folder, problems):
    path = folder({"a.txt": "flu"})
    os.rename(os.fsencode(path / "a.txt"), os.fsencode(path) + b"/\xff.txt")
    (document,) = read(path, problems)
    assert document.doc_id == "\ufffd.txt"
    document.position.encode()


def test_only_annotated_files_are_read_for_their_mentions(folder, problems, messages):
    path = folder(MIXED)
    documents = read(path, problems, gold=True)
    assert [document.doc_id for document in documents] == ["1", "2", "z"]
    assert all(document.mentions == () for document in documents)
    assert "7 files without annotated mentions left out" in messages()
