import json

import pytest
import spacy
from spacy.language import Language

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.evaluation.running import link_gold_mentions
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Document, Mention, Name, Record

from .conftest import document


def record(concept_id, *names, alternatives=()):
    return Record(concept_id, tuple(Name(name, "exact", "test") for name in names), alternative_ids=alternatives)


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        record("C1", "Breast Cancer", "breast tumour"),
        record("C2", "Ovarian Cancer", alternatives=("OMIM:2",)),
        record("C3", "Cystic Fibrosis"),
        record("C4", "Asthma"),
        record("C5", "Lung Cancer"),
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "test.kb")


@pytest.fixture
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path)})
    return nlp


def test_counts_and_percentages(nlp):
    text = "Asthma, the breast tumours, a lung cyst and an Unknown thing."
    result = evaluate_linking(
        nlp,
        [
            document(text, ("Asthma", "C4"), ("breast tumours", "C1"), ("lung cyst", "C4"), ("Unknown thing", "X9")),
            document("Asthma or so", ("Asthma", "C4|X9"), doc_id="2"),
            Document("3", "asthma", (Mention(0, 6, "asthma", "Disease"),)),
        ],
    )
    assert result["mentions"] == 5
    assert result["covered"] == 3
    assert result["lenient"] == {"acc@1": 66.67, "acc@5": 100.0}
    assert result["strict"] == {"acc@1": 66.67, "acc@5": 100.0}
    assert result["lenient_all"] == {"acc@1": 60.0, "acc@5": 80.0}
    assert result["strict_all"] == {"acc@1": 40.0, "acc@5": 60.0}
    assert result["exact_match_floor"] == 33.33
    assert result["candidate_recall@20"] == 100.0
    assert result["slices"]["seen"] == {"n": 1, "lenient": both(100.0), "strict": both(100.0)}
    assert result["slices"]["unseen"]["n"] == 2
    assert result["slices"]["composite"] == {"n": 0, "lenient": both(None), "strict": both(None)}


def both(value):
    return {"acc@1": value, "acc@5": value}


def test_spelling_is_corrected(nlp, kb):
    misspelt = document("Brest cancer.", ("Brest cancer", "C1"))
    nlp.get_pipe("sapbert_linker").k = 1
    before = links_of(nlp, misspelt)
    nlp.add_pipe("spelling_corrector", before="sapbert_linker", config={"kb": str(kb.path)})
    assert [before, links_of(nlp, misspelt)] == [["Brest cancer"], ["Breast cancer"]]
    assert nlp.get_pipe("spelling_corrector").spans_key is None


def links_of(nlp, one):
    return [part.text for linked in link_gold_mentions(nlp, [one]) for part in linked.parts]


def test_abbreviations_are_resolved_and_composites_split(nlp):
    text = "Cystic fibrosis (CF) and asthma. CF patients had breast and ovarian cancer."
    mentions = [("Cystic fibrosis", "C3"), ("CF patients", "C3"), ("breast and ovarian cancer", "C1|OMIM:2")]
    result = evaluate_linking(nlp, [document(text, *mentions)])
    assert result["strict"]["acc@1"] == 100.0
    assert result["slices"]["abbreviation"] == {"n": 1, "lenient": both(100.0), "strict": both(100.0)}
    assert result["slices"]["composite"] == {"n": 1, "lenient": both(100.0), "strict": both(100.0)}
    nlp.remove_pipe("composite_splitter")
    without = evaluate_linking(nlp, [document(text, *mentions)])
    assert without["slices"]["composite"]["lenient"]["acc@1"] == 100.0
    assert without["slices"]["composite"]["strict"]["acc@1"] == 0.0


def test_only_mentions_of_the_type(nlp):
    text = "asthma and lung cancer"
    documents = [document(text, ("asthma", "C4", "Disease"), ("lung cancer", "C1", "Phenotype"))]
    assert evaluate_linking(nlp, documents, type="Disease")["lenient_all"]["acc@1"] == 100.0
    assert evaluate_linking(nlp, documents)["mentions"] == 2
    with pytest.raises(SapbertError, match=r"E105.*of type Chemical.*Disease, Phenotype"):
        evaluate_linking(nlp, documents, type="Chemical")


def test_mentions_that_cut_tokens_overlap_or_share_a_place_all_count(nlp):
    text = "non-asthma lung cancer"
    mentions = [("asthma", "C4"), ("lung cancer", "C5"), ("lung cancer", "C1"), ("asthma lung cancer", "C4|C5")]
    result = evaluate_linking(nlp, [document(text, *mentions)] * 2)
    assert result["mentions"] == 8
    assert result["lenient"]["acc@1"] == 75.0


def test_a_lost_mention_counts_as_wrong(nlp):
    lost = Mention(7, 8, " ", "Disease", ("C4",))
    documents = [Document("7", "asthma  asthma", (Mention(0, 6, "asthma", "Disease", ("C4",)), lost))]
    with pytest.warns(UserWarning, match=r"W510.*1 of 2 mentions.*document 7"):
        result = evaluate_linking(nlp, documents)
    assert result["covered"] == 2
    assert result["lenient"]["acc@1"] == result["lenient_all"]["acc@5"] == 50.0


def test_the_pipeline_is_left_as_it_was_and_nothing_else_of_it_runs(nlp):
    @Language.component("failing")
    def fail(doc):
        raise AssertionError

    nlp.add_pipe("failing", first=True)
    nlp.get_pipe("sapbert_linker").spans_key = "mine"
    evaluate_linking(nlp, [document("asthma", ("asthma", "C4"))])
    assert nlp.get_pipe("sapbert_linker").spans_key == "mine"
    assert nlp.get_pipe("composite_splitter").spans_key is None
    with pytest.raises(ZeroDivisionError):
        evaluate_linking(nlp, (1 / 0 for _ in range(1)))
    assert nlp.get_pipe("sapbert_linker").spans_key == "mine"


def test_predictions(nlp, tmp_path):
    path = tmp_path / "out.jsonl"
    text = "Cystic fibrosis (CF). CF or asthma"
    evaluate_linking(nlp, [document(text, ("CF", "C3"), ("asthma", "C1"))], predictions=path)
    first, second = map(json.loads, path.read_text().splitlines())
    assert [first[key] for key in ("doc_id", "start", "end", "text", "label")] == ["1", 17, 19, "CF", "Disease"]
    assert first["gold"] == ["C3"]
    assert first["long_form"] == "Cystic fibrosis"
    assert first["parts"][0]["candidates"][0] == {"id": "C3", "score": 1.0, "name": "Cystic Fibrosis"}
    assert first["strict"] == first["lenient"] == {"acc@1": True, "acc@5": True}
    assert first["slices"] == ["unseen", "abbreviation"]
    assert second["lenient"] == {"acc@1": False, "acc@5": True}


def test_a_run_that_fails_leaves_the_predictions_of_the_last_one(nlp, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("before")
    with pytest.raises(SapbertError, match="E105"):
        evaluate_linking(nlp, [Document("1", "nothing")], predictions=path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.jsonl", "before")]
    with pytest.raises(SapbertError, match="E507"):
        evaluate_linking(nlp, [], predictions=tmp_path / "no" / "out.jsonl")
