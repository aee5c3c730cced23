from pathlib import Path

import pytest
import spacy
from spacy.tokens import Span
from spacy.training import Corpus

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.examples import add_gold_mentions, document_corpus, mention_corpus
from spacy_sapbert.errors import SapbertError, TrainingDataError
from spacy_sapbert.types import Document, Mention

TEXT = "preBRCA1-related breast and ovarian cancer."


@pytest.fixture
def nlp():
    return spacy.blank("en")


@pytest.fixture
def path(nlp, tmp_path):
    mentions = (
        Mention(3, 8, "BRCA1", "Gene"),  # inside a token
        Mention(17, 42, "breast and ovarian cancer", "Disease", ("D001943", "D010051")),
        Mention(17, 23, "breast", "Organ"),  # inside the mention before
    )
    documents = [Document(str(number), TEXT, mentions) for number in range(3)]
    write_docbin((to_doc(nlp, one, split_tokens=True) for one in documents), tmp_path / "corpus.spacy")
    return str(tmp_path / "corpus.spacy")


def shown(spans):
    return [(span.text, span.label_, span.kb_id_) for span in spans]


def test_predicted_documents_have_the_mentions_but_not_their_ids(nlp, path):
    for example in mention_corpus(path)(nlp):
        assert example.predicted.text == TEXT
        assert shown(example.predicted.ents) == [
            ("BRCA1", "Gene", ""),
            ("breast and ovarian cancer", "Disease", ""),
        ]
        assert shown(example.reference.ents)[1] == ("breast and ovarian cancer", "Disease", "D001943|D010051")


def test_a_span_group_keeps_what_overlaps(nlp, path):
    (example, *_) = mention_corpus(path, spans_key="gold")(nlp)
    assert [span.text for span in example.predicted.spans["gold"]] == ["BRCA1", "breast and ovarian cancer", "breast"]
    assert not example.predicted.ents


@pytest.mark.parametrize(("limit", "number"), [(0, 3), (2, 2), (5, 3)])
def test_limit(nlp, path, limit, number):
    assert len(list(mention_corpus(path, limit=limit)(nlp))) == number


def test_what_is_no_span_of_the_tokens_is_left_out(nlp):
    reference, doc = nlp.make_doc("breast cancers"), nlp.make_doc("breastcancers x")
    reference.ents = [Span(reference, 0, 1, label="A"), Span(reference, 1, 2, label="B")]
    add_gold_mentions(doc, reference, None)
    assert not doc.ents


@pytest.mark.parametrize("reader", [mention_corpus, document_corpus])
def test_a_corpus_of_another_format_is_reported_with_the_command_that_converts_it(nlp, tmp_path, reader):
    path = tmp_path / "train.tsv"
    path.write_text("flu\tD1\n")
    # `spacy train` ends without a traceback
    with pytest.raises(SystemExit, match=rf"E571.*spacy-sapbert convert {path} -o train.spacy") as raised:
        list(reader(path)(nlp))
    assert isinstance(raised.value, TrainingDataError)


def test_documents_are_read_as_spacy_reads_them(nlp, path):
    ours, theirs = list(document_corpus(path, limit=2)(nlp)), list(Corpus(path, limit=2)(nlp))
    assert len(ours) == 2
    assert [one.to_dict() for one in ours] == [one.to_dict() for one in theirs]
    assert list(document_corpus(str(Path(path).parent))(nlp))  # a folder


def test_a_file_that_is_none_is_reported(nlp, tmp_path):
    with pytest.raises(SapbertError, match="E120"):
        list(mention_corpus(str(tmp_path / "no.spacy"))(nlp))
