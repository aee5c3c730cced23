import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents


def test_a_text_file_is_one_document(read):
    (document,) = read("note.txt", "\ufeffFirst line.\r\n\r\nSecond line.\n")
    assert (document.doc_id, document.text) == ("note.txt", "First line.\r\n\r\nSecond line.\n")
    assert document.position.endswith("note.txt")


def test_lines_are_documents_if_wanted(read):
    documents = read("note.txt", "one\r\n\n two\n", "lines")
    assert [(document.doc_id, document.text) for document in documents] == [
        ("note.txt:1", "one"),
        ("note.txt:3", " two"),
    ]


@pytest.mark.parametrize(
    ("encoding", "given"),
    [("latin-1", "latin-1"), ("cp1252", "cp1252"), ("utf-16", None), ("utf-32", None), ("utf-16-le", "utf-16-le")],
)
@pytest.mark.parametrize("format", ["text", "lines", "csv"])
def test_other_encodings(read, problems, encoding, given, format):
    content = "text\r\nsténose\nNaïve – no\n".replace("–", "-").encode(encoding)
    documents = read("a", content, format, encoding=given)
    found = "|".join(document.text for document in documents).replace("\r", "").replace("\n", "|").strip("|")
    assert found.removeprefix("text|") == "sténose|Naïve - no"
    assert problems.broken == 0


@pytest.mark.parametrize("format", ["text", "lines", "names"])
def test_a_text_in_an_unknown_encoding_names_the_option(read, messages, problems, format):
    assert read("a", "sténose".encode("latin-1"), format) == []
    assert "this is not utf-8" in messages()
    assert "if it has another encoding, give --encoding" in messages()
    assert problems.broken == 1


QUIET = Console(quiet=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(deadline=None)
@given(text=TEXTS, encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
def test_every_text_is_read_as_it_was_written(tmp_path_factory, text, encoding):
    assume(not (encoding == "utf-16" and text.startswith("\0")))  # it begins with the mark of UTF-32
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(text.encode(encoding))
    if text.startswith("\ufeff") and encoding == "utf-8":
        text = text[1:]
    (document,) = read_documents(path, ReadOptions("text"), Problems(QUIET, strict=True))
    assert document.text == text
    lines = [line.removesuffix("\r") for line in text.split("\n" if "\n" in text else "\r")]
    documents = read_documents(path, ReadOptions("lines"), Problems(QUIET, strict=True))
    assert [document.text for document in documents] == [line for line in lines if line.strip()]


def test_names_can_have_ids(read, messages):
    documents = read("a.tsv", "x1\tflu\n\tcold\nx3\n", "names", text_column="2", id_column="1")
    assert [(document.doc_id, document.text) for document in documents] == [("x1", "flu"), ("a.tsv:2", "cold")]
    assert [document.mentions[0][:3] for document in documents] == [(0, 3, "flu"), (0, 4, "cold")]
    assert "line 3: no name in column 2; left out" in messages()


def test_keys_of_json_lines_can_be_named(read):
    content = '{"pmid": 7, "head": "On flu", "abstract": "It is bad.", "title": "x"}\n'
    (document,) = read("a.jsonl", content, text_column="abstract", id_column="pmid", title_column="head")
    assert document[:2] == ("7", "On flu It is bad.")
    assert (document.title, document.meta) == ("On flu", {"head": "On flu", "title": "x"})


def test_ids_that_occur_twice_are_reported_and_read(read, messages, problems):
    content = "".join(f'{{"id": "x", "text": "{row}"}}\n' for row in range(15))
    assert len(read("a.jsonl", content)) == 15
    assert (problems.broken, problems.duplicates) == (0, 14)
    lines = messages().splitlines()
    assert len(lines) == 10
    assert "a.jsonl, line 2: an earlier document has the same id 'x'; both are linked" in lines[0]
    assert lines[-1].endswith("further ones are not shown")
