import csv
import gzip
import json

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.evaluation.linking import evaluate_linking
from spacy_sapbert.evaluation.linking_errors import CLASSES, COLUMNS, ErrorReport, error_report
from spacy_sapbert.evaluation.running import LinkedMention
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.metrics.linking_accuracy import MentionScore
from spacy_sapbert.types import Candidate, Document, LinkedPart, Mention, Name, Record

from ..cases import cases

WRONG = MentionScore(True, {1: False, 5: False, 20: False}, {1: False, 5: False}, False, ())
# id, names with the preferred one first, parents
VOCABULARY = [
    ("D1", "Neoplasms|cancer|tumors", ()),
    ("D2", "Breast Neoplasms|breast cancer", ("ALT:1",)),
    ("D3", "Breast Cancer, Familial|hereditary breast cancer", ("D2",)),
    ("D4", "Heart Diseases|cardiac disease", ()),
    ("D5", "Heart Defects, Congenital|congenital heart defect|CHD", ("D4",)),
    ("D6", "Kidney Diseases", ()),
    ("D7", "Nephrosis, Lipoid|lipoid nephrosis", ()),
    ("D8", "Cold|common cold", ()),
    ("D9", "Cold Temperature|cold", ()),
    ("D10", "Thrombosis", ()),
    ("D11", "Thrombophilia", ()),
    ("D12", "Mitral Valve Prolapse|MVP", ()),
    ("D13", "Multiple Valve Proteins|MVPS", ()),
]
ALTERNATIVES = {"D1": ("ALT:1",)}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    records = [
        Record(
            concept_id,
            tuple(Name(name, "exact", "test") for name in names.split("|")),
            alternative_ids=ALTERNATIVES.get(concept_id, ()),
            parents=parents,
        )
        for concept_id, names, parents in VOCABULARY
    ]
    return build_knowledge_base(records, tmp_path_factory.mktemp("kb") / "test.kb")


@pytest.fixture
def judge(kb):
    """A function that reports one mention, given its parts as (text, ids of the candidates), and gives the line."""

    def run(mention, gold, *parts, long_form=None):
        linked_parts = []
        for text, ids in parts:
            names = [(concept_id, kb.get(concept_id).canonical_name) for concept_id in ids.split()]
            candidates = tuple(Candidate(id, 0.9 - i / 100, name) for i, (id, name) in enumerate(names))
            linked_parts.append(LinkedPart(text, long_form if text == long_form else None, candidates))
        annotated = Mention(0, len(mention), mention, "Disease", tuple(gold.split("|")))
        lines = []
        ErrorReport(kb, lines.append)(LinkedMention("1", annotated, long_form, tuple(linked_parts)), WRONG)
        (line,) = lines
        return line

    return run


@pytest.mark.parametrize(*cases(__file__, "every_class"))
def test_every_class(judge, mention, gold, parts, kind, why):
    line = judge(mention, gold, *parts)
    assert line["class"] == kind
    assert why in line["why"]


def test_a_short_form_that_was_preferred_is_reported_with_its_long_form(judge):
    line = judge("MVS", "D12", ("MVS", "D13 D12"), long_form="mitral valve slip")
    assert line["why"].endswith("not its long form: mitral valve slip")
    assert judge("MVS", "D12", ("mitral valve slip", "D13 D12"), long_form="mitral valve slip")["class"] == "other"


@pytest.mark.parametrize("text", ["CHD", "PROLAPSE OF A MITRAL VALVE", "type II prolapse", "Mitral-Valve prolapses"])
def test_names_headings_and_numerals_are_not_unresolved_short_forms(judge, text):
    gold = "D5" if text == "CHD" else "D12"
    assert judge(text, gold, (text, f"D13 {gold}"))["class"] != "abbreviation"


def test_of_a_composite_the_wrong_part_is_judged_against_what_is_missing(judge):
    line = judge("a", "D4|D3", ("heart", "D4"), ("all breast cancers", "D2 D3"))
    assert line["class"] == "hypernym"
    assert line["relation"] == "ancestor"
    assert "Heart" not in line["why"]
    assert line["rank"] == 2


def test_a_line(judge):
    assert judge("MVS", "D12", ("MVS", "D13 D9 D12"), long_form="long") == {
        "doc_id": "1",
        "start": 0,
        "end": 3,
        "mention": "MVS",
        "long_form": "long",
        "gold": [{"id": "D12", "name": "Mitral Valve Prolapse"}],
        "predicted": [{"text": "MVS", "id": "D13", "name": "Multiple Valve Proteins", "score": 0.9}],
        "rank": 3,
        "class": "abbreviation",
        "relation": None,
        "why": "the short form 'MVS' was looked up, not its long form: long",
    }
    empty = judge("MVS", "D12", ("MVS", ""))
    assert empty["rank"] is None
    assert empty["predicted"] == [{"text": "MVS", "id": None, "name": None, "score": None}]


ids = st.sampled_from([concept_id for concept_id, *_ in VOCABULARY])
texts = st.text("abcABCIXV- '()/é1", max_size=12) | st.sampled_from(
    [name for _, names, _ in VOCABULARY for name in names.split("|")]
)


@given(
    gold=st.lists(ids, min_size=1, max_size=3, unique=True),
    parts=st.lists(st.tuples(texts, st.lists(ids, max_size=4, unique=True)), max_size=3),
)
def test_every_error_has_a_class_and_a_reason(kb, gold, parts):
    linked = LinkedMention(
        "1",
        Mention(0, 1, "x", "Disease", tuple(gold)),
        None,
        tuple(LinkedPart(text, None, tuple(Candidate(one, 0.5, "name") for one in found)) for text, found in parts),
    )
    lines = []
    report = ErrorReport(kb, lines.append)
    if parts and all(found and found[0] in gold for _, found in parts):  # right by the lenient measure
        return
    report(linked, WRONG)
    (line,) = lines
    assert line["why"]
    assert report.summary()[line["class"]] == {"n": 1, "share": 100.0}
    if line["relation"]:
        assert line["predicted"]
    json.dumps(line)


def test_circles_of_parents_end(tmp_path):
    records = [Record(one, (Name(f"name {one}", "exact", "t"),), parents=(above,)) for one, above in ("AB", "BC", "CA")]
    lines = []
    report = ErrorReport(build_knowledge_base(records, tmp_path / "circle.kb"), lines.append)
    part = LinkedPart("a name", None, (Candidate("B", 0.9, "name B"), Candidate("A", 0.8, "name A")))
    report(LinkedMention("1", Mention(0, 1, "a name", "D", ("A",)), None, (part,)), WRONG)
    assert lines[0]["relation"] == "ancestor"


@pytest.fixture
def nlp(kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path), "encoder": "none"})
    return nlp


@pytest.fixture
def documents():
    text = "A cold and\na\tthrombophilia, cancer"
    found = [("cold", "D9"), ("a\tthrombophilia", "D10"), ("cancer", "D1"), ("cancer", "X1"), ("cold", "D8|D9")]
    mentions = [
        Mention(s := text.index(name), s + len(name), name, "D", tuple(gold.split("|"))) for name, gold in found
    ]
    return [Document("doc", text, tuple(mentions))]


def test_only_covered_errors_are_reported(nlp, documents, tmp_path):
    path = tmp_path / "errors.jsonl"
    with error_report(nlp, path) as report:
        result = evaluate_linking(nlp, documents, each=report)
        assert not path.exists()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert result["covered"] == 4
    classes = {line["mention"]: line["class"] for line in lines}
    assert classes == {"cold": "homonym", "a\tthrombophilia": "overlapping"}
    summary = report.summary()
    assert tuple(summary) == CLASSES
    assert summary["homonym"] == summary["overlapping"] == {"n": 1, "share": 50.0}
    assert summary["hypernym"] == {"n": 0, "share": 0.0}
    assert [error.linked.mention.text for error in report.examples["homonym"]] == ["cold"]
    assert report.has_relations


def test_a_table_has_one_line_an_error(nlp, documents, tmp_path):
    path = tmp_path / "errors.tsv.gz"
    with error_report(nlp, path) as report:
        evaluate_linking(nlp, documents, each=report)
    with gzip.open(path, "rt") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 2
    assert rows[1]["mention"] == "a thrombophilia"
    assert [rows[0][column] for column in ("gold", "gold_names", "predicted")] == ["D9", "Cold Temperature", "D8"]
    assert rows[0]["rank"] == "2"
    assert rows[0]["relation"] == ""


def test_examples_are_two_different_mentions(kb):
    report = ErrorReport(kb, lambda line: None)
    for text in ("Thrombotic", "thrombotic", "thrombotics", "thrombotical"):
        part = LinkedPart(text, None, (Candidate("D11", 0.9, "Thrombophilia"), Candidate("D10", 0.8, "Thrombosis")))
        report(LinkedMention("1", Mention(0, 1, text, "D", ("D10",)), None, (part,)), WRONG)
    assert [error.linked.mention.text for error in report.examples["other"]] == ["Thrombotic", "thrombotics"]
    assert report.summary()["other"]["n"] == 4
