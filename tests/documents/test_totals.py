import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.formats import STDIN, InputFormat
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.documents.totals import total_documents

DOCUMENT = "<document><id>1</id><passage><offset>0</offset><text>flu</text></passage></document>"


def total(*paths, format=None):
    return total_documents([(path, ReadOptions(format)) for path in paths])


@pytest.mark.parametrize(
    ("name", "content", "number"),
    [
        ("a.txt", "one\ntwo\n", 1),
        ("a.jsonl", '{"text": "one"}\n{"text": "two"}', 2),
        ("a.jsonl", "", 0),
        ("a.csv", 'id,text\n1,"two\nlines, ""quoted"""\n2,b\n', 2),
        ("a.tsv", "id\ttext\n1\ta\n", 1),
        ("a.pubtator", "1|t|A\n1|a|b\n\n2|t|C\n", 2),
        ("a.xml", f"<collection>{DOCUMENT}\n{DOCUMENT}</collection>", 2),
        ("a.json", "{}", None),
        ("a.spacy", "", None),
        ("a.jsonl.gz", "", 0),
    ],
)
def test_the_documents_of_a_file(tmp_path, name, content, number):
    (tmp_path / name).write_text(content)
    assert total(tmp_path / name) == number


def test_the_documents_of_several_inputs(tmp_path):
    for name in ("a.txt", "sub/b.txt", "sub/c.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("flu\ncold\n")
    assert total(tmp_path) == 2
    assert total(tmp_path, tmp_path / "a.txt") == 3
    assert total(tmp_path, format=InputFormat.lines) == 6
    assert total(tmp_path, STDIN) is None
    (tmp_path / "sub" / "d.jsonl.gz").write_bytes(b"\x1f\x8bcut off")
    assert total(tmp_path) is None


def test_the_rows_of_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"text": ["a", "b", "c"]}), tmp_path / "a.parquet", row_group_size=2)
    assert total(tmp_path / "a.parquet") == 3


@settings(deadline=None)
@given(texts=st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1), min_size=1))
def test_the_total_is_what_is_read(tmp_path_factory, texts):
    """Rows with sound texts, whose lines end in all ways."""
    path = tmp_path_factory.getbasetemp() / "total.csv"
    rows = ['"' + text.replace('"', '""') + '\nend"' for text in texts]
    path.write_bytes("\r\n".join(["text", *rows]).encode())
    documents = read_documents(path, ReadOptions(InputFormat.csv), Problems(None))
    assert total(path) == sum(1 for _ in documents) == len(texts)
