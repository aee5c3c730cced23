import zlib

import numpy as np
import pytest
import spacy
import srsly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import DocBin, Span

from spacy_sapbert.documents.docbin import read_docbin, write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention

NLP = spacy.blank("en")
DOCUMENTS = [
    Document("1", "Renal failure.", (Mention(0, 5, "Renal", "Disease", ("D1", "D2"), ("a", "b")),)),
    Document("2", "", ()),
    Document("1", "xflux", (Mention(1, 4, "flu", "Disease"),)),
]


def write(path):
    return write_docbin((to_doc(NLP, document) for document in DOCUMENTS), path)


def test_corpus_comes_back_exactly(tmp_path):
    path = tmp_path / "new" / "gold.spacy"
    assert write(path) == 3
    write(tmp_path / "again.spacy")
    assert (tmp_path / "again.spacy").read_bytes() == path.read_bytes()
    assert all(doc.vocab is NLP.vocab for doc in read_docbin(path, NLP.vocab))
    path.write_bytes(path.read_bytes() + b"what follows the end")
    assert [document._replace(position="") for document in read_corpus(path)] == DOCUMENTS
    assert [path.name for path in path.parent.iterdir()] == ["gold.spacy"]


def test_the_format_has_two_names(tmp_path):
    write(tmp_path / "gold.spacy")
    first, second = (list(read_corpus(tmp_path / "gold.spacy", name)) for name in ("spacy", "docbin"))
    assert first == second != []
    assert guess_format(tmp_path / "gold.spacy") == "spacy"


def test_an_error_on_the_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "gold.spacy"
    write(path)
    old = path.read_bytes()

    def failing():
        yield NLP("one")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_docbin(failing(), path)
    assert path.read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["gold.spacy"]


def test_a_place_that_cannot_be_written_to_is_an_error_before_the_documents_are_made(tmp_path):
    (tmp_path / "file").touch()
    docs = iter([NLP("flu")])
    with pytest.raises(SapbertError, match=r"\[E507\]"):
        write_docbin(docs, tmp_path / "file" / "gold.spacy")
    assert next(docs).text == "flu"


def test_damaged_files_are_an_error(tmp_path):
    path = tmp_path / "gold.spacy"
    write(path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(SapbertError, match=r"\[E121\].*gold\.spacy"):
        list(read_corpus(path))
    path.write_text("no zlib")
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        list(read_docbin(path))


def changed(path, change):
    """Change what a `.spacy` file holds, see spaCy's `DocBin.to_bytes`."""
    write(path)
    content = srsly.msgpack_loads(zlib.decompress(path.read_bytes()))
    change(content)
    path.write_bytes(zlib.compress(srsly.msgpack_dumps(content)))
    return path


def with_user_data(**values):
    def change(content):
        data = srsly.msgpack_loads(content["user_data"][0], use_list=False)
        content["user_data"][0] = srsly.msgpack_dumps({**data, **values})

    return change


def with_content(values):
    return lambda content: content.update(values)


def other_tokens(content):
    content["tokens"] = (np.frombuffer(content["tokens"], dtype="uint64") + 1).tobytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("tokens"),
        lambda content: content.update(tokens=content["tokens"][:-8]),
        lambda content: content.update(tokens=content["tokens"][:-3]),
        lambda content: content.update(lengths=content["lengths"][:-4]),
        lambda content: content.update(lengths=b"\xff" * len(content["lengths"])),
        *map(with_content, [{"tokens": b""}, {"spaces": b""}, {"attrs": []}, {"attrs": [1, 2]}, {"strings": []}]),
        *map(with_content, [{"span_groups": [b"x"] * 3}, {"user_data": [b""] * 3}, {"user_data": [b"\x00\x00"] * 3}]),
        other_tokens,
        *(with_user_data(**values) for values in ({"doc_id": 7}, {"weight": "heavy"}, {"weight": float("nan")})),
        *(with_user_data(gold_mentions=mentions) for mentions in (7, [[0, 5]])),
        with_user_data(gold_mentions=[[0, 500, "Renal", "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[[5, 0, "Renal", "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[[-5, 3, "Renal", "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[["a", "b", "Renal", "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[[0, 5, 7, "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[[0, 5, "other", "Disease", ["D1"], []]]),
        with_user_data(gold_mentions=[[0, 5, "Renal", "Disease", [7], []]]),
        with_user_data(gold_mentions=[[0, 5, "Renal", "Disease", ["D1"], [], [[0, 500]]]]),
        with_user_data(gold_mentions=[[0, 5, "Renal", "Disease", ["D1"], [], [7]]]),
    ],
)
def test_files_that_unpack_but_are_wrong_are_an_error(tmp_path, change):
    path = changed(tmp_path / "gold.spacy", change)
    with pytest.raises(SapbertError, match=r"\[E121\].*gold\.spacy"):
        list(read_corpus(path))


@pytest.mark.parametrize("content", [b"", b"x", b"\x81", b"\xc0\xc0", b"[]", b"\x93\x01\x02\x03", b"\x91" * 100_000])
def test_other_packed_data_are_an_error(tmp_path, content):
    (tmp_path / "gold.spacy").write_bytes(zlib.compress(content))
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        list(read_docbin(tmp_path / "gold.spacy"))


def test_an_error_of_the_reader_is_not_blamed_on_the_file(tmp_path):
    write(tmp_path / "gold.spacy")
    docs = read_docbin(tmp_path / "gold.spacy")
    next(docs)
    with pytest.raises(ZeroDivisionError):
        docs.throw(ZeroDivisionError())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=8))
def test_changed_bytes_give_documents_or_a_named_error(tmp_path, places):
    path = tmp_path / "gold.spacy"
    write(path)
    content = bytearray(zlib.decompress(path.read_bytes()))
    for place, byte in places:
        content[place % len(content)] = byte
    path.write_bytes(zlib.compress(bytes(content)))
    try:
        documents = list(read_corpus(path))
    except SapbertError as error:
        documents = []
        message = str(error)
        assert "E121" in message
    assert all(0 <= m.start <= m.end <= len(doc.text) for doc in documents for m in doc.mentions)


def test_files_of_others_without_user_data(tmp_path):
    doc = NLP("flu season")
    doc.ents = [Span(doc, 0, 1, label="Disease", kb_id="D1")]
    DocBin(docs=[doc]).to_disk(tmp_path / "theirs.spacy")
    (document,) = read_corpus(tmp_path / "theirs.spacy")
    assert document[:3] == ("theirs.spacy:1", "flu season", (Mention(0, 3, "flu", "Disease", ("D1",)),))
