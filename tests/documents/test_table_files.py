import csv
import io
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.errors import SapbertError

CSV = '\ufeffpmid,title,text,year\r\n7,On flu,"It is, ""bad"".\nVery.",2020\r\n\r\n,,No id,\r\n'


def ids_and_texts(documents):
    return [(document.doc_id, document.text) for document in documents]


def test_a_table_with_named_columns(read):
    first, second = read("a.csv", CSV, id_column="pmid")
    assert first[:2] == ("7", 'On flu It is, "bad".\nVery.')
    assert (first.title, first.meta) == ("On flu", {"title": "On flu", "year": "2020"})
    assert first.position.endswith("a.csv, line 2")
    assert second[:2] == ("a.csv:5", "No id")
    assert second.position.endswith("a.csv, line 5")


def test_default_columns_and_ids(read):
    assert ids_and_texts(read("a.csv", "id,text\nx,flu\n")) == [("x", "flu")]
    assert ids_and_texts(read("b.csv", "text\nflu\n")) == [("b.csv:2", "flu")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_of_a_csv_file_shows_its_delimiter(read, delimiter):
    rows = [["id", "text"], ["x", 'flu, "cold"; \t or not']]
    handle = io.StringIO()
    csv.writer(handle, delimiter=delimiter).writerows(rows)
    assert ids_and_texts(read("a.csv", handle.getvalue())) == [tuple(rows[1])]


def test_a_tsv_file_has_no_quotes(read):
    assert ids_and_texts(read("a.tsv", 'id\ttext\nx\t"flu" is bad\n')) == [("x", '"flu" is bad')]


def test_a_tsv_file_with_quotes_is_read_as_csv(read, messages):
    content = 'id\ttext\nx\t"two\nlines"\n'
    assert read("a.tsv", content) != []
    assert "line 3: 1 cells instead of 2; if cells are in quotes, give --format csv; left out" in messages()
    assert ids_and_texts(read("b.tsv", content, "csv")) == [("x", "two\nlines")]


def test_a_table_without_a_header_has_numbered_columns(read):
    (document,) = read("a.csv", "x,2020,flu; cold; croup\n", id_column="1", text_column="3")
    assert (document.doc_id, document.text, document.meta) == ("x", "flu; cold; croup", {"2": "2020"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"\[E128\] .*a.csv has no column text\. Its columns are: pmid, abstract\. .*--column text="),
        ({"text_column": "abstract", "id_column": "id"}, r"\[E128\] .* no column id\. .*--column id="),
        ({"text_column": "abstract", "title_column": "title"}, r"\[E128\] .* no column title\. .*--column title="),
    ],
)
def test_a_missing_column_is_an_error_with_all_columns(read, options, message):
    with pytest.raises(SapbertError, match=message):
        read("a.csv", "pmid,abstract\n1,flu\n", **options)


def test_the_message_about_a_table_without_a_header_is_short(read):
    with pytest.raises(SapbertError, match=r"NAME is its number\.$") as raised:
        read("a.csv", "7," + "very long text " * 1000 + ",x" * 1000 + "\n")
    assert len(str(raised.value)) < 600


def test_a_header_in_another_encoding_names_the_option(read):
    with pytest.raises(SapbertError, match=r"\[E127\] .*this is not utf-8 .* give --encoding"):
        read("a.csv", "id,résumé,text\n1,a,flu\n".encode("latin-1"))
    with pytest.raises(SapbertError, match=r"\[E127\]"):
        read("a.tsv", "id\trésumé\ttext\n1\ta\tflu\n".encode("latin-1"))


def test_a_first_row_in_another_encoding_is_a_broken_row(read, messages):
    assert ids_and_texts(read("a.csv", b"1,\xe9\n2,flu\n", text_column="2", id_column="1")) == [("2", "flu")]
    assert "line 1: this is not utf-8" in messages()


def test_a_column_that_is_there_twice_is_an_error(read):
    with pytest.raises(SapbertError, match=r"\[E305\] .* column text more than once"):
        read("a.csv", "text,text\na,b\n")


def test_broken_rows_are_reported_and_the_rest_is_read(read, messages):
    content = b'id,text\n1,a,b\n2,flu\n3,sten\xe9ose\n"4"x,a\n5,"two\nst\xe9"\n6,cold\n7,"open\n8,croup\n'
    assert ids_and_texts(read("a.csv", content)) == [("2", "flu"), ("6", "cold")]
    reasons = messages().splitlines()
    assert "line 2: 3 cells instead of 2" in reasons[0]
    assert "line 4: this is not utf-8" in reasons[1]
    assert "line 5: ',' expected after" in reasons[2]
    assert "line 6: this is not utf-8" in reasons[3]
    assert "line 9: its quotation mark is not closed, so lines 9 to 10 are lost; close or double it" in reasons[4]
    assert len(reasons) == 5


def test_rows_that_lack_empty_cells_are_kept(read, messages):
    content = "id,text,note\n1,flu\n2,cold,,,\n3\n4,cancer, breast,x\n"
    assert ids_and_texts(read("a.csv", content)) == [("1", "flu"), ("2", "cold")]
    assert [line.partition(": ")[2][:7] for line in messages().splitlines()] == ["1 cells", "4 cells"]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@settings(deadline=None)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS)), delimiter=st.sampled_from(",;\t"))
def test_what_is_written_is_read(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with path.open("w", newline="", encoding="utf8") as handle:
        writer = csv.writer(handle, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("id", "text", "note"), *rows])
    documents = list(read_documents(path, ReadOptions("csv"), Problems(Console(quiet=True), strict=True)))
    wanted = [row for row in rows if any(row)]
    assert [(document.text, document.meta["note"]) for document in documents] == [row[1:] for row in wanted]
    assert all(document.doc_id == row[0] for document, row in zip(documents, wanted, strict=True) if row[0])


@pytest.fixture
def write_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(columns, name="a.parquet", **options):
        parquet.write_table(pyarrow.table(columns), tmp_path / name, **options)
        return name

    return write


def test_a_parquet_file(read, write_parquet):
    import datetime
    import decimal

    columns = {
        "id": [7, None],
        "title": ["On flu", None],
        "text": ["It is bad.", "cold"],
        "day": [datetime.date(2020, 1, 2), None],
        "price": [decimal.Decimal("1.50"), None],
        "score": [math.nan, 0.5],
        "tags": [["a", "b"], None],
        "more": [{"x": 1}, None],
        "picture": [b"\xff", None],
    }
    first, second = read(write_parquet(columns, row_group_size=1))
    assert first[:2] == ("7", "On flu It is bad.")
    assert first.meta == {
        "title": "On flu",
        "day": "2020-01-02",
        "price": "1.50",
        "score": None,
        "tags": ["a", "b"],
        "more": {"x": 1},
    }
    assert second[:2] == ("a.parquet:2", "cold")
    assert second.position.endswith("a.parquet, row 2")


def test_whole_numbers_that_pandas_made_floats_are_ids(read, write_parquet):
    assert ids_and_texts(read(write_parquet({"id": [31000001.0, math.nan], "text": ["a", "b"]}))) == [
        ("31000001", "a"),
        ("a.parquet:2", "b"),
    ]


def test_categories_of_pandas_are_texts(read, write_parquet):
    pyarrow = pytest.importorskip("pyarrow")
    column = pyarrow.array(["flu", "cold", "flu"]).dictionary_encode()
    assert [document.text for document in read(write_parquet({"text": column}))] == ["flu", "cold", "flu"]


def test_a_column_of_another_type_is_an_error(read, write_parquet):
    with pytest.raises(SapbertError, match=r"\[E305\] .*the column text has the type int64"):
        read(write_parquet({"text": [1]}))
    with pytest.raises(SapbertError, match=r"\[E128\] .*has no column text\. Its columns are: body"):
        read(write_parquet({"body": ["a"]}))


def test_parquet_is_read_in_batches(read, write_parquet, tmp_path, problems):
    name = write_parquet({"text": [f"flu {row}" for row in range(3000)]}, row_group_size=1000)
    documents = read_documents(tmp_path / name, ReadOptions(None), problems)
    assert [next(documents).text, next(documents).text] == ["flu 0", "flu 1"]
    assert sum(1 for _ in documents) == 2998


def emptied(content):
    """The content with zeros instead of its first half."""
    return content[:100] + bytes(len(content) // 2 - 100) + content[len(content) // 2 :]


@pytest.mark.parametrize(
    "damage",
    [
        emptied,
        lambda content: content.replace(b"naive", b"na\xefve"),  # a name of a column that is not a text
        *(lambda _, other=other: other for other in (b"", b"PAR1", b"not parquet at all, but long enough")),
    ],
)
def test_a_damaged_parquet_file_is_reported(read, write_parquet, tmp_path, damage):
    texts = [f"flu {row} " * 50 for row in range(3000)]
    path = tmp_path / write_parquet({"text": texts, "naive": texts}, compression="gzip")
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        read("a.parquet", damage(path.read_bytes()))


@pytest.mark.parametrize(
    ("type", "value"), [("timestamp[s]", 2**40), ("duration[s]", 2**62), ("date32[day]", 2**30), ("time64[us]", 2**62)]
)
def test_impossible_dates_and_times_are_reported(read, tmp_path, type, value):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    when = pa.array([value], pa.type_for_alias(type))
    parquet.write_table(pa.table({"text": ["flu"], "when": when}), tmp_path / "a.parquet")
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        read("a.parquet")


def test_without_pyarrow_the_extra_is_named(read, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(SapbertError, match=r"\[E542\] .*pip install 'spacy-sapbert\[parquet\]'"):
        read("a.parquet", b"PAR1")


TOLD = "the first line is a header, and its column {} has the names"


@pytest.mark.parametrize(
    ("name", "content", "names", "heading"),
    [
        ("a.csv", 'id,term,count\n1,flu,3\n2,"cancer, breast",1\n', ["flu", "cancer, breast"], "term"),
        ("a.csv", "file_name;Preferred Name\r\nx;flu\r\n", ["flu"], "Preferred Name"),
        ("a.tsv", 'code\tmention\n1\t"flu" or not\n', ['"flu" or not'], "mention"),
        ("a.txt", "Term\nflu\ncancer, breast\n", ["flu", "cancer, breast"], "Term"),
        ("a.txt", 'id,term\n1,"cancer, breast"\n', ["cancer, breast"], "term"),
        ("a.csv", "flu\ncancer, breast\n", ["flu", "cancer, breast"], ""),
        ("a.txt", "cancer, breast\nterm pregnancy\n", ["cancer, breast", "term pregnancy"], ""),
        ("a.tsv", "flu\tx\ncold\ty\n", ["flu", "cold"], ""),
    ],
)
def test_a_header_of_names_is_seen_and_told(read, messages, name, content, names, heading):
    found = read(name, content, "names")
    assert [document.text for document in found] == names
    assert all(document.mentions[0].text == document.text for document in found)
    assert (TOLD.format(heading) in messages()) == bool(heading)


def test_the_column_of_names_is_asked_for(read):
    content = "código,diagnóstico\n1,gripe\n2,tos\n"
    with pytest.raises(SapbertError, match=r"\[E128\] .* columns are: código, diagnóstico\. .*--column text=NAME"):
        read("a.csv", content, "names")
    assert [document.text for document in read("a.csv", content, "names", text_column="2")][1:] == ["gripe", "tos"]
