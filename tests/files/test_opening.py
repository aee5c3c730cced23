"""Files that are made to exhaust memory. The bounds are lowered, so that small files pass them."""

import gzip
import io
import json
import sys
import tracemalloc
import zipfile
import zlib
from types import SimpleNamespace

import pytest
from rich.console import Console

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files import opening
from spacy_sapbert.files.opening import STDIN, bounded, open_text, open_unpacked
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary

LONG = 100_000
ATOM = "C9000001|ENG|P|L1|PF|S1|Y|A1||||ABC|PT|X1|name|0|N||\n"


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setattr(opening, "LONGEST_LINE", LONG)


@pytest.fixture
def small_files(monkeypatch):
    """The ratio counts for small files as well."""
    monkeypatch.setattr(opening, "FREE", 1 << 16)
    monkeypatch.setattr(opening, "LARGEST_RATIO", 100)


def read_all(path, **settings):
    with open_text(path, **settings) as lines:
        return sum(map(len, lines))


# --- lines


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_longest_line(tmp_path, short_lines, pack):
    path = tmp_path / "a"
    path.write_bytes(pack(b"x\n" + b"a" * LONG + b"\n" + b"b" * LONG))
    assert read_all(path) == 2 * LONG + 3
    path.write_bytes(pack(b"x\n" + b"a" * 5 * LONG + b"\nb"))
    with pytest.raises(SapbertError, match=r"E586.*a has more than 100,000 bytes in line 2,"):
        read_all(path)
    assert read_all(path, lines=False) == 5 * LONG + 4


def test_a_long_line_does_not_fill_the_memory(tmp_path, short_lines):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a" * 50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(SapbertError, match="E586"):
            read_all(path)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "cp037"])
def test_the_longest_line_in_an_encoding_with_other_line_ends(tmp_path, short_lines, encoding):
    path = tmp_path / "a"
    path.write_bytes(("abcdefg\n" * LONG).encode(encoding))
    assert read_all(path, encoding=encoding) == 8 * LONG
    # each character has the byte of a line end, or two
    path.write_bytes(("x\n" + ("\u008e" if encoding == "cp037" else "\u0a0a") * 2 * LONG).encode(encoding))
    with pytest.raises(SapbertError, match=r"E586.*a has more than .* in line 2,"):
        read_all(path, encoding=encoding)


LINES = ["lines", "jsonl", "csv", "tsv", "names"]


@pytest.mark.parametrize("format", [*LINES, "text"])
def test_documents(tmp_path, short_lines, format):
    path = tmp_path / "a.txt.gz"
    header = b"id\ttext" if format == "tsv" else b"id,text"
    path.write_bytes(gzip.compress(header + b'\n"' + b"a" * 5 * LONG))
    problems = Problems(Console(file=io.StringIO()))
    with pytest.raises(SapbertError, match=r"E586"):
        list(read_documents(path, ReadOptions(format, text_column="1" if format == "names" else None), problems))


def test_standard_input_is_bounded_and_stays_open(short_lines, monkeypatch):
    stdin = io.BufferedReader(io.BytesIO(b"a" * 5 * LONG))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
    with pytest.raises(SapbertError, match="E586"):
        list(read_documents(STDIN, ReadOptions("lines"), Problems(Console(file=io.StringIO()))))
    assert not stdin.closed


@pytest.mark.parametrize("format", ["biosyn", "huner", "medic", "ctd", "obo", "scispacy", "json", "obograph", "umls"])
def test_vocabularies(tmp_path, short_lines, format):
    path = tmp_path / ("MRCONSO.RRF.gz" if format == "umls" else "a.gz")
    path.write_bytes(gzip.compress(b'["' + b"a" * 5 * LONG))
    with pytest.raises(SapbertError, match=r"E586"):
        list(read_vocabulary(path, format, report=ReadReport()))


def test_one_line_of_json_and_xml_is_held_up_to_the_bound(tmp_path, short_lines):
    path = tmp_path / "a.json"
    names = [{"id": f"D{i}", "name": "a" * 400} for i in range(200)]
    path.write_text(json.dumps(names))
    assert len(list(read_vocabulary(path, "json", report=ReadReport()))) == 200
    path.write_text(json.dumps(names * 2), encoding="utf-8")
    with pytest.raises(SapbertError, match=r"E586"):
        list(read_vocabulary(path, "json", report=ReadReport()))
    path.write_text(json.dumps({"documents": [{"id": "1", "passages": [{"offset": 0, "text": "a" * 5 * LONG}]}]}))
    with pytest.raises(SapbertError, match="E586"):
        list(read_corpus(path, "bioc"))


def test_a_long_line_of_small_elements_is_read(tmp_path, short_lines):
    """BioC in XML is often one line. Only an element is held in memory."""
    document = "<document><id>1</id><passage><offset>0</offset><text>fever</text></passage></document>"
    path = tmp_path / "a.xml"
    path.write_text(f"<collection>{document * 5000}</collection>")
    assert path.stat().st_size > 4 * LONG
    assert len(list(read_corpus(path, "bioc"))) == 5000


@pytest.mark.parametrize(
    "begin", ["<collection><document><id>", "<collection a='", "<collection><!--", "<collection><x>"]
)
def test_a_long_element_is_reported(tmp_path, short_lines, begin):
    path = tmp_path / "a.xml"
    path.write_text(begin + "a" * 5 * LONG)
    with pytest.raises(SapbertError, match="E586"):
        list(read_corpus(path, "bioc"))


# --- packed files


def test_a_file_that_unpacks_too_far(tmp_path, small_files):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"a\n" * 500_000))
    with pytest.raises(SapbertError, match=r"E586.*a\.gz.*100 times"):
        read_all(path)
    with pytest.raises(SapbertError, match="E586"), open_unpacked(path) as file:
        file.read()


def test_repetitive_tables_pass(tmp_path, monkeypatch):
    """Real files pass the default bounds: a table whose rows are alike unpacks to less than 200 times its size."""
    monkeypatch.setattr(opening, "FREE", 1 << 16)
    rows = "".join(ATOM.replace("C9000001", f"C{i:07}") for i in range(20_000)).encode()
    packed = gzip.compress(rows)
    assert 5 < len(rows) / len(packed) < 200
    path = tmp_path / "MRCONSO.RRF.gz"
    path.write_bytes(packed)
    assert read_all(path) == len(rows)
    assert len(list(read_vocabulary(path, "umls", report=ReadReport()))) == 20_000


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("inner", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_archives(tmp_path, small_files, method, inner):
    path = tmp_path / "umls.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("MRCONSO.RRF" + ("" if inner is bytes else ".gz"), inner(ATOM.encode() * 50_000))
    with pytest.raises(SapbertError, match=r"E586.*umls\.zip"):
        list(read_vocabulary(path, "umls", report=ReadReport()))


def test_spacy_files(tmp_path, small_files):
    path = tmp_path / "a.spacy"
    path.write_bytes(zlib.compress(b"\0" * 5_000_000))
    with pytest.raises(SapbertError, match=r"E586.*a\.spacy"):
        list(read_docbin(path))


def test_the_bytes_stay_the_same(tmp_path, short_lines):
    content = b"".join(b"x" * i + b"\n" for i in range(700))
    for size in (1, 7, 1000, -1):
        stream = bounded(tmp_path, io.BytesIO(content))
        assert b"".join(iter(lambda stream=stream, size=size: stream.read(size), b"")) == content
    assert list(bounded(tmp_path, io.BytesIO(content))) == content.splitlines(keepends=True)
