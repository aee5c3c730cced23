import pytest
import spacy
from spacy.tokens import DocBin, Span

from spacy_sapbert.corpora.docbin import read_docbin, write_docbin
from spacy_sapbert.corpora.docs import to_doc
from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import AnnotatedDocument, Mention

NLP = spacy.blank("en")
DOCUMENTS = [
    AnnotatedDocument("1", "Renal failure.", (Mention(0, 5, "Renal", "Disease", ("D1", "D2"), ("a", "b")),)),
    AnnotatedDocument("2", "", ()),
    AnnotatedDocument("1", "xflux", (Mention(1, 4, "flu", "Disease"),)),
]


def write(path):
    return write_docbin((to_doc(NLP, document) for document in DOCUMENTS), path)


def test_corpus_comes_back_exactly(tmp_path):
    path = tmp_path / "gold.spacy"
    assert write(path) == 3
    assert list(read_corpus(path)) == DOCUMENTS
    assert [path.name for path in tmp_path.iterdir()] == ["gold.spacy"]


def test_documents_use_the_given_vocabulary(tmp_path):
    write(tmp_path / "gold.spacy")
    docs = list(read_docbin(tmp_path / "gold.spacy", NLP.vocab))
    assert all(doc.vocab is NLP.vocab for doc in docs)
    assert docs[0].ents[0].kb_id_ == "D1|D2"


def test_same_documents_same_file(tmp_path):
    write(tmp_path / "one.spacy")
    write(tmp_path / "two.spacy")
    assert (tmp_path / "one.spacy").read_bytes() == (tmp_path / "two.spacy").read_bytes()


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


def test_folders_are_made(tmp_path):
    assert write(tmp_path / "new" / "gold.spacy") == 3


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
    with pytest.raises(SapbertError, match=r"\[E210\].*gold\.spacy"):
        list(read_corpus(path))
    path.write_text("no zlib")
    with pytest.raises(SapbertError, match=r"\[E210\]"):
        list(read_docbin(path))


def test_files_of_others_without_user_data(tmp_path):
    doc = NLP("flu season")
    doc.ents = [Span(doc, 0, 1, label="Disease", kb_id="D1")]
    DocBin(docs=[doc]).to_disk(tmp_path / "theirs.spacy")
    expected = AnnotatedDocument("theirs.spacy:1", "flu season", (Mention(0, 3, "flu", "Disease", ("D1",)),))
    assert list(read_corpus(tmp_path / "theirs.spacy")) == [expected]
