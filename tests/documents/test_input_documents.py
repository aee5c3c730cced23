import codecs
import io
import json

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.formats import (
    FORMATS,
    INPUT_FORMATS,
    format_named,
    import_function,
    opened_format,
    output_format,
)
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents, sound
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import open_file
from spacy_sapbert.types import Document

# no surrogates: they are no Unicode text
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


def problems():
    return Problems(Console(file=io.StringIO(), markup=False, soft_wrap=True))


def read(path, content, reading):
    path.write_bytes(content)
    found = problems()
    return list(read_documents(path, reading, found)), found


LINE_FORMATS = ("lines", "jsonl", "names")


@settings(deadline=None)
@given(format=st.sampled_from(INPUT_FORMATS), gold=st.booleans(), content=st.binary())
@example(format="pubtator", gold=True, content=b"1|t|a\n1|a|b\n1\t0\t1\ta\tX\tD1\n1\t9\t99\tq\tX\tD1")
@example(format="jsonl", gold=False, content=b'{"text": "a"}\r\n\xef\xbb\xbf{}')
@example(format="csv", gold=False, content=b'text\n"a\n\xff"\nb\n"c')
@example(format="lines", gold=False, content=b"\xff\xfea\x00\n")
@example(format="bioc", gold=True, content=b'[{"a": [{"passages": [], "id": 1}]}]')
def test_any_bytes_are_read_or_reported(folder, format, gold, content):
    assume(not content.startswith(b"\x1f\x8b"))  # which would be gzipped
    if format == "parquet":
        pytest.importorskip("pyarrow")
    found = problems()
    (folder / "any").write_bytes(content)
    documents, error = [], None
    try:
        documents.extend(read_documents(folder / "any", ReadOptions(format, gold=gold), found))
    except SapbertError as raised:
        error = raised
    assert all(document.text.startswith(document.title) for document in documents)
    messages = found.console.file.getvalue()
    assert messages.count("left out") == found.broken
    if format in LINE_FORMATS and not error:
        marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        text = content.decode("utf-16" if marked else "utf-8", errors="replace")
        end = "\n" if "\n" in text else "\r"
        filled = [line for line in text.split(end) if line.lstrip("\ufeff").strip()]
        assert len(documents) + found.broken == len(filled)
    if format == "text" and not gold:
        assert len(documents) + found.broken == 1


@settings(deadline=None)
@given(records=st.lists(st.fixed_dictionaries({"id": st.text(), "text": st.text()}, optional={"extra": JSON})))
def test_every_json_object_with_a_text_is_read(folder, records):
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    documents, found = read(folder / "a.jsonl", content, ReadOptions("jsonl"))
    assert found.broken == 0
    for number, (document, record) in enumerate(zip(documents, records, strict=True), start=1):
        assert document.doc_id == (record["id"] or f"a.jsonl:{number}")
        assert document.text == record["text"]
        assert document.meta == {key: value for key, value in record.items() if key == "extra"}


def test_pubtator_documents_know_their_line_and_title(folder):
    content = b"\n1|t|A\n1|a|b c\n1\t0\t1\tA\tX\tD1\n2|t|\n2|a|d\n3|t|e\n"
    documents, _ = read(folder / "a.txt", content, ReadOptions("pubtator"))
    found = [(document.doc_id, document.title, document.text, document.position[-6:]) for document in documents]
    assert found == [("1", "A", "A b c", "line 2"), ("2", "", " d", "line 5"), ("3", "e", "e", "line 7")]
    assert all(document.mentions == () for document in documents)


def test_what_is_no_text_or_too_long_is_left_out():
    texts = ["", " \n", "\0", "long", "ok"]
    found = problems()
    kept = list(sound((Document(text, text, position="here") for text in texts), found, max_length=3))
    assert [document.text for document in kept] == ["ok"]
    assert found.broken == 4


def test_strict_raises_at_the_first_problem():
    strict = Problems(Console(file=io.StringIO()), strict=True)
    with pytest.raises(SapbertError, match=r"\[E127\] a.txt, line 3: torn"):
        strict.report("a.txt, line 3", "torn")
    assert strict.broken == 0


@pytest.mark.parametrize(
    ("format", "names"),
    [
        ("text", ["a.TXT"]),
        ("csv", ["a.csv"]),
        ("tsv", ["a.tsv.gz", "a.TAB"]),
        ("parquet", ["a.parquet"]),
        ("bioc", ["a.xml", "a.json"]),
        ("spacy", ["a.spacy"]),
        ("pubtator", ["a.PubTator"]),
        ("jsonl", ["a.jsonl", "a.ndjson.gz"]),
    ],
)
def test_input_formats_by_name(tmp_path, format, names):
    assert [format_of(tmp_path / name) for name in names] == [format] * len(names)


def format_of(path, content=""):
    path.write_text(content)
    with open_file(path) as opened:
        return opened_format(path, opened.stream)


def test_the_content_of_a_text_file_shows_whether_it_is_pubtator(tmp_path):
    assert format_of(tmp_path / "a.txt", "\n12|t|Title\n12|a|Abstract") == "pubtator"
    assert format_of(tmp_path / "a.txt", "31000001\n31000002\n") == format_of(tmp_path / "a.txt", "text") == "text"


@pytest.mark.parametrize("format", FORMATS.values())
def test_the_functions_of_a_format_exist(format):
    names = (format.read, format.annotated, format.write, format.document, format.record)
    assert all(callable(import_function(name)) for name in names if name)


def test_formats_have_other_names(folder):
    content = b"1|t|flu\n1|a|\n1\t0\t3\tflu\tX\tD1\n"
    documents, _ = read(folder / "a.other", content, ReadOptions("ncbi", gold=True))
    assert documents == list(read_corpus(folder / "a.other", "ncbi")) == list(read_corpus(folder / "a.other"))
    assert format_named("docbin") == "spacy"


def test_output_formats_by_name(tmp_path):
    assert output_format(None) == "jsonl"
    assert output_format(tmp_path / "a.HTML") == "html"
    assert output_format(tmp_path / "a.tsv.gz") == "tsv"
    assert output_format(tmp_path / "a.bioc.json") == "biocjson"
    assert output_format(tmp_path / "a.CSV") == "csv"
    assert output_format(tmp_path) == "jsonl"  # like a device or a pipe, it is not a file


@pytest.mark.parametrize("name", ["a", "a.dat", "a.json", "a.gz", "csv"])
def test_an_output_without_a_known_ending_is_an_error(tmp_path, name):
    with pytest.raises(SapbertError, match=r"\[E551\] .*\.csv, .*parquet, .*pubtator, bioc"):
        output_format(tmp_path / name)


@pytest.mark.parametrize(
    "line",
    [
        '{"text": ' + "[" * 100_000,
        '{"text": "a", "n": ' + "1" * 5000 + "}",
        '{"text": "a", "n": NaN}',
        '{"text": "a", "n": 1e999}',
        '{"text": "\\ud800"}',
    ],
)
def test_json_that_cannot_be_held_costs_its_line_only(folder, line):
    documents, found = read(folder / "deep", f'{line}\n{{"text": "b"}}\n'.encode(), ReadOptions("jsonl"))
    assert [document.text for document in documents] == ["b"]
    assert found.broken == 1
    assert "line 1: this is not JSON" in found.console.file.getvalue()
