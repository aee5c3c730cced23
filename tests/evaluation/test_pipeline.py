import json

import pytest
import spacy
import spacy.cli
from spacy.language import Language
from typer.testing import CliRunner

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.pipeline import evaluate_pipeline
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

from .conftest import ASPIRIN, BREAST, CF, LITHIUM, OVARIAN, UNKNOWN, document


def figures(gold, found, right, p, r, f1, **others):
    return {"gold": gold, "found": found, "right": right, "p": p, "r": r, "f1": f1, **others}


PATTERNS = {
    "aspirin": "Chemical",
    "breast and ovarian cancer": "Disease",
    "cystic fibrosis": "Disease",
    "CF": "Disease",
    "cold": "Disease",
    "zebra": "Disease",
}
FIRST = "aspirin for breast and ovarian cancer, and for cystic fibrosis"
SECOND = "a zebra with a cold, aspirin and lithium"


def pipeline(small_kb, patterns=PATTERNS, **settings):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": text} for text, label in patterns.items()])
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none", **settings})
    return nlp


@pytest.fixture(scope="module")
def nlp(small_kb):
    return pipeline(small_kb)


@pytest.fixture
def documents():
    return [
        document(
            FIRST,
            ("aspirin", "X2", "Chemical"),
            ("breast and ovarian cancer", f"{BREAST}|{OVARIAN}"),
            ("ovarian cancer", OVARIAN),
            ("cystic fibrosis", ASPIRIN),
        ),
        document(SECOND, ("cold", "", "Disease"), ("lithium", LITHIUM, "Chemical"), ("zebra", UNKNOWN), doc_id="2"),
        document("nothing", doc_id="3"),
    ]


def test_all_measures_by_hand(nlp, documents):
    """Found are, in the first text, aspirin, the composite and cystic fibrosis; then zebra (NIL), cold and aspirin."""
    result = evaluate_pipeline(nlp, documents)
    assert (result["documents"], result["without_a_name"], result["other_labels"]) == (3, 1, {})
    assert result["ner"] == figures(
        *(7, 6, 5, 83.33, 71.43, 76.92),
        types={"Chemical": figures(2, 2, 1, 50.0, 50.0, 50.0), "Disease": figures(5, 4, 4, 100.0, 80.0, 88.89)},
    )
    assert result["ner_untyped"] == figures(7, 6, 5, 83.33, 71.43, 76.92)
    assert result["span_id"] == figures(
        *(6, 5, 2, 40.0, 33.33, 36.36),
        types={"Chemical": figures(2, 2, 1, 50.0, 50.0, 50.0), "Disease": figures(4, 3, 1, 33.33, 25.0, 28.57)},
    )
    assert result["span_id_single"] == figures(5, 4, 1, 25.0, 20.0, 22.22)
    # gold: aspirin, breast, ovarian; lithium, unknown. Found: aspirin, breast, ovarian, CF; cold, aspirin
    assert result["document_id"] == figures(
        *(5, 6, 3, 50.0, 60.0, 54.55),
        types={"Chemical": figures(2, 2, 1, 50.0, 50.0, 50.0), "Disease": figures(4, 4, 2, 50.0, 50.0, 50.0)},
    )


def test_several_types_leave_out_the_others(nlp, documents):
    both = evaluate_pipeline(nlp, documents, type=["Chemical", "Disease"])
    assert both == evaluate_pipeline(nlp, documents)
    one = evaluate_pipeline(nlp, documents, type=["Chemical", "Gene"])
    assert one == evaluate_pipeline(nlp, documents, type="Chemical")
    with pytest.raises(SapbertError, match=r"E105.*of type Gene, Species"):
        evaluate_pipeline(nlp, documents, type=["Gene", "Species"])


def test_labels_with_other_names(small_kb, documents):
    nlp = pipeline(small_kb, {text: label.upper() for text, label in PATTERNS.items()})
    result = evaluate_pipeline(nlp, documents)
    assert result["other_labels"] == {"CHEMICAL": 2, "DISEASE": 4}
    assert (result["ner"]["right"], result["ner_untyped"]["right"], result["span_id"]["right"]) == (0, 5, 2)
    assert result["ner"]["types"]["DISEASE"] == figures(0, 4, 0, None, None, None)
    assert result["ner"]["f1"] is result["span_id"]["types"]["Disease"]["r"] is None  # nothing was compared by label
    assert result["ner_untyped"]["f1"] > 0
    assert "DISEASE" in result["span_id"]["types"]
    shown = evaluate_pipeline(nlp, documents, labels={"DISEASE": "Disease", "CHEMICAL": "Chemical"})
    assert shown == evaluate_pipeline(pipeline(small_kb), documents)
    of_type = evaluate_pipeline(nlp, documents, type="Disease")
    assert (of_type["other_labels"], of_type["ner"]["found"]) == ({"CHEMICAL": 2, "DISEASE": 4}, 0)


def test_nothing_but_the_text_is_given(nlp, documents):
    empty = [one._replace(mentions=()) for one in documents[:2]]
    with pytest.raises(SapbertError, match=r"E105.*with a concept id.*are: none"):
        evaluate_pipeline(nlp, empty)
    result = evaluate_pipeline(nlp, [*documents, *empty])
    assert result["span_id"]["found"] == 10
    assert result["span_id"]["right"] == 2


def test_gold_mentions_can_be_given_but_not_their_ids(nlp, documents):
    result = evaluate_pipeline(nlp, documents, gold_mentions=True, labels={"Disease": "Another"})
    # those that overlap as well
    assert result["ner"]["right"] == result["ner"]["found"] == result["ner"]["gold"] == 7
    # found: aspirin, the composite, ovarian, CF, cold, lithium; zebra is no name
    assert result["span_id"] == figures(
        *(6, 6, 4, 66.67, 66.67, 66.67),
        types={"Chemical": figures(2, 2, 2, 100.0, 100.0, 100.0), "Disease": figures(4, 4, 2, 50.0, 50.0, 50.0)},
    )
    assert nlp.get_pipe("sapbert_linker").spans_key is None
    assert nlp.pipe_names == ["entity_ruler", "composite_splitter", "sapbert_linker"]


def test_mentions_that_cut_a_token_count(nlp):
    cut = document("noncystic fibrosis and antiCF aspirin", ("cystic fibrosis", CF), ("CF", CF), ("aspirin", ASPIRIN))
    assert evaluate_pipeline(nlp, [cut])["ner_untyped"] == figures(3, 1, 1, 100.0, 33.33, 50.0)
    assert evaluate_pipeline(nlp, [cut], gold_mentions=True)["ner"]["right"] == 3


@Language.component("wants_names")
def wants_names(doc):
    """Stands for a network that sees where names are."""
    assert {span.text for span in doc.spans["names"]} >= {"aspirin"}
    return doc


def test_spans_that_others_want_are_found_beside_gold_mentions(small_kb, documents):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(small_kb.path), "spans_key": "names"})
    nlp.add_pipe("wants_names")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    result = evaluate_pipeline(nlp, documents[:1], gold_mentions=True)
    assert result["ner"]["right"] == result["ner"]["found"] == 4
    assert nlp.get_pipe("concept_matcher").spans_key == "names"


def test_a_linker_of_a_span_group(small_kb, documents):
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(small_kb.path), "spans_key": "found", "composites": False})
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none", "spans_key": "found"})
    first = evaluate_pipeline(nlp, documents[:1])
    # aspirin, ovarian cancer, cystic fibrosis; breast alone is no name
    assert first["ner"]["right"] == first["ner"]["found"] == 3
    assert first["span_id"]["right"] == 2
    assert evaluate_pipeline(nlp, documents[:1], gold_mentions=True)["ner"]["right"] == 4


def test_the_concept_retriever_is_not_run(ranking_nlp, documents, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.evaluation.pipeline.RETRIEVER", "fake_retriever")
    assert evaluate_pipeline(ranking_nlp, documents)["other_labels"] == {"FOUND": 2}


def test_predictions(nlp, documents, tmp_path):
    path = tmp_path / "out.jsonl"
    evaluate_pipeline(nlp, documents, predictions=path)
    first, second, third = map(json.loads, path.read_text().splitlines())
    assert [row["text"] for row in first["gold"]] == [mention.text for mention in documents[0].mentions]
    assert first["found"][1] == {
        "start": 12,
        "end": 37,
        "text": "breast and ovarian cancer",
        "label": "Disease",
        "ids": [BREAST, OVARIAN],
    }
    assert second["found"][0]["ids"] == []
    assert second["ner"] == {"gold": 3, "found": 3, "right": 2}
    measures = "ner", "ner_untyped", "span_id", "span_id_single", "document_id"
    nothing = {measure: {"gold": 0, "found": 0, "right": 0} for measure in measures}
    assert third == {"doc_id": "3", "gold": [], "found": [], **nothing}


def test_what_cannot_be_measured(nlp, documents, tmp_path):
    with pytest.raises(SapbertError, match=r"E105.*of type Gene.*Chemical, Disease"):
        evaluate_pipeline(nlp, documents, type="Gene", predictions=tmp_path / "out.jsonl")
    assert not list(tmp_path.iterdir())
    with pytest.raises(SapbertError, match="E105"):
        evaluate_pipeline(nlp, [])
    with pytest.raises(SapbertError, match="E503"):
        evaluate_pipeline(spacy.blank("en"), documents)


def test_a_pipeline_that_finds_nothing(small_kb, documents):
    with pytest.warns(UserWarning, match=r"W557.*3 documents.*entity_ruler, composite_splitter, sapbert_linker"):
        result = evaluate_pipeline(pipeline(small_kb, {}), documents)
    assert result["ner"]["f1"] == result["document_id"]["f1"] == 0.0


def scores_of_spacy(nlp, documents, folder):
    """What `python -m spacy evaluate` gives on the corpus that `convert` makes."""
    nlp.to_disk(folder / "pipeline")
    write_docbin((to_doc(spacy.blank("en"), one, split_tokens=True) for one in documents), folder / "corpus.spacy")
    given = [str(folder / name) for name in ("pipeline", "corpus.spacy", "scores.json")]
    finished = CliRunner().invoke(spacy.cli.app, ["evaluate", *given[:2], "--output", given[2]])
    assert finished.exit_code == 0, finished.output
    return json.loads((folder / "scores.json").read_text())


def percentages(scores, names="prf"):
    return {one: round(100 * value, 2) for one, value in zip(("p", "r", "f1"), (scores[n] for n in names), strict=True)}


def assert_agreement(result, scores):
    expected = {"ner": percentages(scores, ("ents_p", "ents_r", "ents_f"))}
    expected["span_id_single"] = percentages(scores, ("span_id_p", "span_id_r", "span_id_f"))
    for measure, wanted in expected.items():
        assert {name: result[measure][name] for name in wanted} == wanted
    by_type = {label: percentages(one) for label, one in scores["ents_per_type"].items()}
    ours = result["ner"]["types"].items()
    # spaCy writes 0 where there were no cases, and so nothing to measure
    assert {label: {name: one[name] or 0.0 for name in ("p", "r", "f1")} for label, one in ours} == by_type


def without_overlaps(documents):
    """Entities cannot overlap, so that spaCy measures the longest."""
    nlp = spacy.blank("en")
    for one in documents:
        doc = to_doc(nlp, one, split_tokens=True)
        kept = {(ent.start_char, ent.end_char) for ent in doc.ents}
        yield one._replace(mentions=tuple(mention for mention in one.mentions if (mention.start, mention.end) in kept))


@pytest.mark.parametrize("finder", ["entity_ruler", "concept_matcher"])
def test_agreement_with_spacy_evaluate(small_kb, documents, tmp_path, finder):
    nlp = pipeline(small_kb)
    if finder == "concept_matcher":
        nlp.replace_pipe("entity_ruler", "concept_matcher", config={"kb": str(small_kb.path)})
        nlp.rename_pipe("entity_ruler", "concept_matcher")
    cut = document("antiCF and aspirin", ("CF", CF), ("aspirin", CF, "Chemical"), doc_id="4")
    corpus = list(without_overlaps([*documents, cut]))
    result = evaluate_pipeline(nlp, corpus)
    scores = scores_of_spacy(nlp, corpus, tmp_path)
    assert 0 < scores["span_id_f"] < scores["ents_f"] < 1
    assert evaluate_pipeline(nlp, read_corpus(tmp_path / "corpus.spacy")) == result
    assert_agreement(result, scores)


def test_what_cannot_match_has_no_percentages(small_kb):
    """The corpus may have Drug for what the pipeline calls Chemical, so a recall of 0 would say nothing."""
    gold = document(FIRST, ("aspirin", ASPIRIN, "Drug"), ("breast and ovarian cancer", f"{BREAST}|{OVARIAN}"))
    result = evaluate_pipeline(pipeline(small_kb), [gold])
    for measure in ("ner", "span_id", "document_id"):
        types = result[measure]["types"]
        for label in ("Drug", "Chemical"):
            assert [types[label][name] for name in ("p", "r", "f1")] == [None] * 3
        assert types["Disease"]["r"] == 100.0
    mapped = evaluate_pipeline(pipeline(small_kb), [gold], labels={"Chemical": "Drug"})
    assert mapped["ner"]["types"]["Drug"]["f1"] == 100.0


def test_replaced_ids_are_followed_and_counted(tmp_path):
    """HP:0000002 was replaced. OMIM:219700 is the same concept in another vocabulary."""
    cold = Record("HP:0000001", (Name("cold", "preferred", "HPO"),), alternative_ids=("HP:0000002", "OMIM:219700"))
    nlp = pipeline(build_knowledge_base([cold], tmp_path / "replaced.kb"))
    gold = document("cold and cold", ("cold", "HP:0000002"), doc_id="1"), document("a cold", ("cold", "OMIM:219700"))
    result = evaluate_pipeline(nlp, gold)
    assert (result["replaced"], result["without_a_name"], result["document_id"]["right"]) == (1, 0, 2)
