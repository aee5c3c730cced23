from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Corpus

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import annotated_labels, set_annotated, to_doc, unsure_spans
from spacy_sapbert.documents.examples import add_gold_mentions, document_corpus, mention_corpus, pieces_of
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
        assert shown(example.predicted.ents) == [("BRCA1", "Gene", ""), ("breast and ovarian cancer", "Disease", "")]
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


@pytest.fixture
def article(nlp):
    doc = nlp.make_doc("Flu in mice. Ovarian cancer in men and in mice of the last year.")
    doc.ents = [Span(doc, 0, 1, label="Disease"), Span(doc, 4, 6, label="Disease", kb_id="D010051")]
    set_annotated(doc, ["Disease"], {"Species": ["mice", "men"]})
    return doc


def test_pieces_keep_entities_spans_and_annotated_types(article):
    first, second, *_ = pieces_of(article, 5)
    assert (first.text, second.text) == ("Flu in mice. ", "Ovarian cancer in men and ")  # the entity is whole
    assert shown(second.ents) == [("Ovarian cancer", "Disease", "D010051")]
    assert [(span.text, span.label_) for span in unsure_spans(second)] == [("men", "Species")]
    assert annotated_labels(first) == annotated_labels(second) == ["Disease"]


def test_pieces_end_before_sentences(article):
    assert [len(piece) for piece in pieces_of(article, 11)] == [11, 5]
    for token in article:
        token.is_sent_start = token.i in (0, 4)
    assert [piece.text for piece in pieces_of(article, 11)] == ["Flu in mice. ", article[4:15].text_with_ws, "."]


def test_an_entity_longer_than_a_piece_is_cut(article):
    assert [piece.text for piece in pieces_of(article, 1)] == [token.text_with_ws for token in article]


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1), st.integers(4, 9))
def test_pieces_are_the_document_and_cut_no_entity(lengths, max_length):
    doc = spacy.blank("en").make_doc(" ".join("x" * sum(length for length, _ in lengths)))
    start = 0
    for length, is_entity in lengths:
        doc.ents = [*doc.ents, *([Span(doc, start, start + length, label="A")] if is_entity else [])]
        start += length
    pieces = list(pieces_of(doc, max_length))
    assert " ".join(piece.text.strip() for piece in pieces) == doc.text
    assert all(1 <= len(piece) <= max_length for piece in pieces)
    assert [len(ent) for piece in pieces for ent in piece.ents] == [len(ent) for ent in doc.ents]


@pytest.mark.parametrize("gold_preproc", [False, True])
def test_long_documents_of_a_corpus_are_split(nlp, path, gold_preproc):
    read = document_corpus(path, gold_preproc=gold_preproc, max_length=4, limit=1)
    examples = list(read(nlp))
    whole = next(iter(document_corpus(path, gold_preproc=gold_preproc, limit=1)(nlp)))
    assert len(examples) > 1
    assert "".join(example.reference.text_with_ws for example in examples) == whole.reference.text_with_ws
    assert [ent.text for one in examples for ent in one.reference.ents] == [ent.text for ent in whole.reference.ents]
    assert all(example.predicted.text == example.reference.text and not example.predicted.ents for example in examples)


def test_pieces_keep_the_tokens_of_documents_without_known_spaces(nlp, tmp_path):
    write_docbin([Doc(nlp.vocab, ["preBRCA1", "-", "related", "cancer", "."])], tmp_path / "corpus.spacy")
    examples = list(document_corpus(str(tmp_path / "corpus.spacy"), max_length=2)(nlp))
    assert [[token.text for token in example.predicted] for example in examples] == [
        ["preBRCA1", "-"],
        ["related", "cancer"],
        ["."],
    ]


@pytest.mark.parametrize("max_length", [-1, 0, 9, 1000])
def test_documents_are_whole_without_a_limit_and_up_to_it(nlp, path, max_length):
    (example,) = document_corpus(path, max_length=max_length, limit=1)(nlp)
    assert example.reference.text == TEXT
