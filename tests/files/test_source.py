"""A file, its lines and its broken records, whoever reads it."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from spacy_sapbert.errors import BadRecordError, CannotReadError, SapbertError
from spacy_sapbert.files.opening import STDIN, file_manifest, sha256_of
from spacy_sapbert.files.source import MAX_PROBLEMS, BrokenRecord, Problem, Report, Source


def source_of(tmp_path, content: bytes, **settings) -> Source:
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    return Source(path, **settings)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a\rb\r", ["a", "b", ""]),
        (b"a\rb\nc", ["a\rb", "c"]),
        (b"\n\na", ["", "", "a"]),
        (b"", []),
        ("\ufeffé\n".encode(), ["é"]),
        ("é\n\u0a0a".encode("utf-16"), ["é", "\u0a0a"]),
        ("é\nb".encode("utf-32"), ["é", "b"]),
    ],
)
def test_lines(tmp_path, pack, content, expected):
    source = source_of(tmp_path, pack(content))
    assert list(source.lines()) == list(enumerate(expected, start=1))
    assert b"".join(source.chunks()) == content
    text = source.text()
    assert text.splitlines() == "\n".join(expected).splitlines()


def test_another_encoding(tmp_path):
    assert [*source_of(tmp_path, b"S\xf8ren\n", encoding="latin-1").lines()] == [(1, "Søren")]
    assert [*source_of(tmp_path, "a\nø".encode("utf-16-be"), encoding="utf-16-be").lines()] == [(1, "a"), (2, "ø")]


def test_standard_input(monkeypatch):
    stdin = io.BufferedReader(io.BytesIO(b"a\n\xff\nb"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    report = Report()
    source = Source(STDIN, report, lenient=True)
    assert [*source.lines()] == [(1, "a"), (3, "b")]
    assert source.place(2) == "standard input, line 2"
    assert [problem.line for problem in report.problems] == [2]
    assert not stdin.closed


def test_a_line_that_cannot_be_decoded(tmp_path):
    shown = []
    source = source_of(tmp_path, b"a\n\xffb\nc\n", lenient=True, report=Report(show=shown.append))
    assert [*source.lines()] == [(1, "a"), (3, "c")]
    assert source.report.broken == 1
    assert shown == source.report.problems == [Problem(source.path, 2, shown[0].reason)]
    assert shown[0].reason.startswith("this is not utf-8 (invalid start byte)")
    assert [line for line, _ in source.decoded_lines()] == ["a\n", "\ufffdb\n", "c\n"]
    for strict in (True, False):
        with pytest.raises(BadRecordError, match=r"E127.*a\.txt, line 2: this is not utf-8"):
            list(Source(source.path, strict=True, lenient=strict).lines())
    with pytest.raises(BadRecordError, match="line 2"):
        Source(source.path).text()
    with pytest.raises(BrokenRecord):
        source.text()


def test_lines_that_an_encoding_does_not_separate(tmp_path):
    with pytest.raises(BadRecordError, match="utf-16"):
        list(source_of(tmp_path, b"\xff\xfea\0\0\xdc\n\0", encoding="utf-16", lenient=True).lines())


def test_all_broken_records_are_counted_and_the_first_are_kept(tmp_path):
    source = source_of(tmp_path, b"")
    for line in range(1, MAX_PROBLEMS + 6):
        source.broken(line, "no id")
    report = source.report
    assert (report.broken, len(report.problems), MAX_PROBLEMS) == (1005, 1000, 1000)
    assert str(report.problems[0]) == f"{source.path}, line 1: no id"
    assert report.rows() == [("broken records, left out", 1005)]


def test_a_strict_source(tmp_path):
    with pytest.raises(BadRecordError, match=r"a\.txt, row 7: no id\. Correct the record"):
        source_of(tmp_path, b"", strict=True).broken(7, "no id", "row")


@pytest.mark.parametrize("path", ["missing", "a" * 5000, "a\0b", "."])
def test_a_path_that_cannot_be_read(tmp_path, path):
    for read in (Source.lines, Source.chunks):
        with pytest.raises(CannotReadError, match="E120"):
            list(read(Source(tmp_path / path)))
    with pytest.raises(SapbertError):
        sha256_of(tmp_path / path)


def test_checksum(tmp_path):
    source = source_of(tmp_path, b"abc")
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_manifest(source.path) == {"file": "a.txt", "bytes": 3, "sha256": digest}
    assert sha256_of(Path(source.path)) == digest
