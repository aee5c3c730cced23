import pytest
from spacy.training import Example

from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.pipeline.scorers import make_concepts_scorer, score_concepts
from spacy_sapbert.types import Document, Mention

BREAST, OVARIAN, CF = "D001943", "D010051", "D003550"


@pytest.fixture
def retriever(ranking_nlp):
    retriever = ranking_nlp.get_pipe("retriever")
    retriever.rankings = {
        "one two": [(CF, 1.0), (BREAST, 0.1)],
        "three": [*((f"Q{i}", 1.0) for i in range(6)), (CF, 0.0)],
    }
    return retriever


def example(nlp, text, ids):
    reference = nlp.make_doc(text)
    reference.ents = [reference.char_span(0, len(text.split()[0]), label="X", kb_id=ids)]
    return Example(nlp.make_doc(text), reference)


def test_shares_at_ten(ranking_nlp, retriever):
    examples = [example(ranking_nlp, "one two", f"OMIM:114480|{OVARIAN}"), example(ranking_nlp, "three", CF)]
    assert score_concepts(examples, retriever=retriever, unused=1) == {
        "concepts_p": pytest.approx(0.1),
        "concepts_r": 0.75,
        "concepts_f": pytest.approx(0.15 / 0.85),
        "concepts_r5": 0.25,
    }
    assert [doc.text for doc in retriever.calls[0][0]] == ["one two", "three"]
    assert not retriever.calls[0][0][0].ents


@pytest.mark.parametrize("ids", ["", "NIL", "D999999"])
def test_what_the_vocabulary_cannot_tell_does_not_count(ranking_nlp, retriever, ids):
    assert score_concepts([example(ranking_nlp, "three", ids)], retriever=retriever) == {}
    both = [example(ranking_nlp, "three", ids), example(ranking_nlp, "three", f"{CF}|D999999")]
    assert score_concepts(both, retriever=retriever)["concepts_r"] == 1.0


def test_a_wrong_ranking(ranking_nlp, retriever):
    assert set(score_concepts([example(ranking_nlp, "one two", OVARIAN)], retriever=retriever).values()) == {0.0}


def test_mentions_that_overlap_count(ranking_nlp, retriever):
    mentions = tuple(Mention(0, end, "one two"[:end], "X", (one,)) for end, one in ((3, BREAST), (7, CF)))
    reference = to_doc(ranking_nlp, Document("1", "one two", mentions))
    examples = [Example(ranking_nlp.make_doc("one two"), reference)]
    assert score_concepts(examples, retriever=retriever)["concepts_p"] == 0.2


def test_spacy_gets_it():
    assert make_concepts_scorer() is score_concepts
