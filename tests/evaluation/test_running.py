import warnings

import pytest
import spacy
from spacy.language import Language
from spacy.util import minibatch

from spacy_sapbert.errors import EmptyError, SapbertError
from spacy_sapbert.evaluation import running
from spacy_sapbert.evaluation.running import GoldMentions, run_pipeline, warn_of_unknown_ids, with_known_ids
from spacy_sapbert.types import Document, Mention


def document(*ids, label="Disease"):
    mentions = tuple(Mention(0, 1, "x", label, of_one) for of_one in ids)
    return Document("1", "x", mentions)


KNOWN = document(("D999999",), ("OMIM:114480",))  # an alternative id of D001943
UNKNOWN = document(("DOID:1", "DOID:2"), ("DOID:1",))
EMPTY = document((), ())


@pytest.mark.parametrize("documents", [[KNOWN, UNKNOWN], [UNKNOWN, EMPTY, KNOWN, UNKNOWN], [EMPTY], []])
def test_documents_pass_if_an_id_is_known_or_there_is_none(small_kb, documents):
    assert list(with_known_ids(documents, small_kb)) == documents


def test_both_kinds_of_ids_are_shown(small_kb):
    shown = r"E572.*None of the 2 .*small\.kb.* such as DOID:1, DOID:2\. .* such as D009369, D001943, D010051\."
    with pytest.raises(SapbertError, match=shown):
        next(with_known_ids([UNKNOWN, EMPTY, UNKNOWN], small_kb))


def test_only_mentions_of_the_type_are_chosen(small_kb):
    documents = [document(("D001943",), label="T1,T2"), document(("DOID:1",), (), label="Other")]
    gold = GoldMentions("T2")
    assert [len(one.mentions) for one in with_known_ids(gold(documents), small_kb)] == [1, 0]
    gold.check()
    assert [len(one.mentions) for one in GoldMentions(None, with_ids=True)(documents)] == [1, 1]
    missing = GoldMentions("T3")
    assert [len(one.mentions) for one in missing(documents)] == [0, 0]
    with pytest.raises(EmptyError, match=r"no mention of type T3 .* are: Other, T1, T2\."):
        missing.check()
    with pytest.raises(SapbertError, match="E572"):
        next(with_known_ids(GoldMentions("Other")(documents), small_kb))


def test_documents_are_read_no_further_than_needed(small_kb):
    taken = []

    def stream():
        for one in [UNKNOWN, KNOWN, KNOWN, KNOWN]:
            taken.append(one)
            yield one

    assert next(with_known_ids(stream(), small_kb)) == UNKNOWN
    assert len(taken) == 2


def test_the_share_of_mentions_without_a_known_id_is_reported(small_kb):
    part = document(("DOID:1", "D001943"))  # one of its ids is known
    with pytest.warns(UserWarning, match=r"W571\] 3 of the 5 .*\(60\.0 %\), such as D999999, DOID:1, DOID:2"):
        warn_of_unknown_ids([KNOWN, UNKNOWN, part, EMPTY], small_kb)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unknown_ids([part, EMPTY], small_kb)


def test_components_read_few_long_documents_together(monkeypatch):
    """A network takes memory for all tokens of the documents that spaCy gives it."""
    together = []

    class Reading:
        def __call__(self, doc):
            return doc

        def pipe(self, docs, batch_size):
            for batch in minibatch(docs, batch_size):
                together.append([doc.text for doc in batch])
                yield from batch

    monkeypatch.setattr(running, "CHARACTERS_PER_BATCH", 10)
    nlp = spacy.blank("en")
    Language.factory("reading_together", func=lambda nlp, name: Reading())
    nlp.add_pipe("reading_together")
    texts = ["abcd", "efgh", "i", "a much longer text", "jk"]
    batches = run_pipeline(nlp, [Document(text, text) for text in texts], disable=(), gold_mentions=False)
    assert [(document.text, doc.text) for batch in batches for document, doc in batch] == [(t, t) for t in texts]
    assert together == [["abcd", "efgh", "i"], ["a much longer text"], ["jk"]]
