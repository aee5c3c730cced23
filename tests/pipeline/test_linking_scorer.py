import pytest
import spacy
from spacy.training import Example

from spacy_sapbert.pipeline.scorers import make_linking_scorer, score_links


@pytest.fixture
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
    return nlp


def example(nlp, text, gold, found=None):
    """gold, found: texts of mentions, the gold ones with their ids; where nothing is said, all of these are found."""
    reference, predicted = nlp.make_doc(text), nlp.make_doc(text)
    for doc, mentions in ((reference, gold), (predicted, gold if found is None else dict.fromkeys(found, ""))):
        starts = {mention: text.index(mention) for mention in mentions}
        doc.ents = [
            doc.char_span(start, start + len(mention), label="X", kb_id=mentions[mention] if doc is reference else "")
            for mention, start in starts.items()
        ]
    return Example(nlp(predicted), reference)


def scores(nlp, *examples):
    return score_links(examples, linker=nlp.get_pipe("sapbert_linker"))


def test_lenient_and_strict(nlp):
    found = scores(
        nlp,
        example(nlp, "breast cancer", {"breast cancer": "D001943"}),
        example(nlp, "breast cancers", {"breast cancers": "D001943|D010051"}),  # one part for two concepts
        example(nlp, "breast and ovarian cancer", {"breast and ovarian cancer": "D001943|D010051"}),
        example(nlp, "aspirin", {"aspirin": "D008094"}),
    )
    candidates = {"link_acc": 0.75, "link_strict": 0.5, "link_recall": 1.0, "link_lambda": 0.2}
    # of one concept: breast cancer is right, aspirin is not
    assert found == {**candidates, "span_id_p": 0.5, "span_id_r": 0.5, "span_id_f": 0.5}


def test_ids_as_evaluate_pipeline_compares_them(nlp):
    nlp.get_pipe("sapbert_linker").threshold = 0.99
    found = scores(
        nlp,
        example(nlp, "lithium", {"lithium": "D008094"}),
        example(nlp, "aspirin, lithium", {"aspirin": "X2"}, ["aspirin", "lithium"]),
        example(nlp, "lithium salt", {"lithium salt": "D008094"}),  # below the threshold
        example(nlp, "lithium", {"lithium": "D999999"}),  # no concept of the vocabulary
        example(nlp, "breast and ovarian cancer", {"breast and ovarian cancer": "D001943|D010051"}),
    )
    # of four gold mentions two are right, of four that were found as well
    assert (found["span_id_p"], found["span_id_r"], found["span_id_f"]) == (0.5, 0.5, 0.5)
    assert found["link_acc"] == 1.0


def test_the_threshold_does_not_count(nlp):
    nlp.get_pipe("sapbert_linker").threshold = 1.0
    assert scores(nlp, example(nlp, "a breast cancer", {"a breast cancer": "D001943"}))["link_acc"] == 1.0


def test_mentions_that_were_not_found_are_wrong(nlp):
    found = scores(nlp, example(nlp, "aspirin, lithium", {"aspirin": "X2", "lithium": "D008094"}, ["aspirin"]))
    assert found["link_acc"] == 0.5  # aspirin is right: alternative ids are ids


@pytest.mark.parametrize("ids", ["", "NIL", "D999999", "D001241|D999999"])
def test_what_the_vocabulary_cannot_tell_does_not_count(nlp, ids):
    missed = {"span_id_p": 0.0, "span_id_r": 0.0, "span_id_f": 0.0} if ids == "D999999" else {}
    assert scores(nlp, example(nlp, "aspirin", {"aspirin": ids})) == {"link_lambda": 0.2, **missed}


def test_spacy_asks_for_it(nlp):
    (config,) = [nlp.get_pipe_config("sapbert_linker")["scorer"]]
    assert config == {"@scorers": "spacy-sapbert.linking_scorer.v1"}
    assert make_linking_scorer() is score_links
    assert nlp.evaluate([example(nlp, "aspirin", {"aspirin": "D001241"})])["link_acc"] == 1.0
