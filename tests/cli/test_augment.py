import json
from pathlib import Path

import pytest
import srsly

from spacy_sapbert.augmentation.metamaplite import file_stem
from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

CONFIG = Path(__file__).parents[2] / "configs" / "augment.cfg"

# In training two concepts have a document each; ovarian and breast cancer have none.
TRAIN = """\
1|t|Cystic fibrosis and aspirin.
1|a|
1	0	15	Cystic fibrosis	Disease	D003550
1	20	27	aspirin	Chemical	D001241
"""
DEV = """\
900|t|Ovarian neoplasms in the evaluation set.
900|a|Text.

901|t|Ovarian neoplasms by title: a review.
901|a|Text.
"""
DOCUMENTS = {
    "a": ("10", "Ovarian neoplasms.", "Ovarian cancer, ovarian tissue, breast and ovarian cancer."),
    "b": ("11", "", "Cystic fibrosis (CF) is rare. Aspirin helps in CF. Lungs: cancer, breast."),
    "c": ("900", "", "Ovarian neoplasms again."),
    "d": ("", "Ovarian NEOPLASMS by title - a review", "More."),
    "e": ("", "", "Ovarian tissue, but aspirin only."),
    "f": ("", "", "Lithium."),
}
LABELS = ("D003550", "D001241", "D010051", "D001943", "C9")


@pytest.fixture
def place(tmp_path, monkeypatch, small_kb):
    """A folder with the files that the page names."""
    monkeypatch.chdir(tmp_path)
    Path("abstracts").mkdir()
    keys = ("pmid", "title", "text")
    records = [{"id": key, **dict(zip(keys, values, strict=True))} for key, values in DOCUMENTS.items()]
    srsly.write_jsonl("abstracts/a.jsonl", records)
    Path("train.pubtator").write_text(TRAIN)
    Path("dev.pubtator").write_text(DEV)
    Path("labels.txt").write_text("\n".join(LABELS))
    Path("medic.kb").write_bytes(small_kb.path.read_bytes())
    return tmp_path


@pytest.fixture
def run(place, command):
    """A function that calls the command with the usual settings and others; gives what it counted, or the error."""

    def run(*options, **settings):
        given = {"kb": "medic.kb", "train": "train.pubtator", "labels": "labels.txt", "exclude": "dev.pubtator"}
        sources = {} if settings.get("eutils") else {"documents": "abstracts"}
        dotted = [
            part
            for name, value in {**given, **sources, **settings}.items()
            for part in (f"--augment.{name}", value if isinstance(value, str) else json.dumps(value))
        ]
        finished = command("augment", CONFIG, "-o", "out.spacy", *options, *dotted)
        return json.loads(finished.out) if finished.status == 0 else finished.err

    return run


def written(path="out.spacy"):
    return {doc.user_data["doc_id"]: doc for doc in read_docbin(Path(path))}


def mentions(doc):
    return [(ent.text, ent.kb_id_) for ent in doc.ents]


def test_scarce_concepts_get_documents(run):
    counts = run()
    assert counts["concepts"] == {"searched": 4, "unseen_in_training": 2, "found_nothing": 0, "not_in_vocabulary": 1}
    found = {"documents": 6, "duplicates": 0, "excluded_by_pmid": 1, "excluded_by_title": 1, "taken": 3}
    assert {name: counts["documents"].get(name, 0) for name in found} == found
    assert counts["segments"]["cut"] == 3
    docs = written()
    assert mentions(docs["a:0"]) == [
        ("Ovarian neoplasms", "D010051"),
        ("Ovarian cancer", "D010051"),
        ("breast and ovarian cancer", "D001943|D010051"),
    ]
    assert mentions(docs["b:0"]) == [
        ("Cystic fibrosis", "D003550"),
        ("CF", "D003550"),
        ("Aspirin", "D001241"),
        ("CF", "D003550"),
    ]
    assert mentions(docs["e:0"]) == [("aspirin", "D001241")]
    assert {doc.user_data["weight"] for doc in docs.values()} == {0.3}
    provenance = docs["b:0"].user_data["provenance"]
    assert (provenance["pmid"], provenance["source"], provenance["annotator"]) == ("11", "a.jsonl", "concept_matcher")
    assert list(provenance["concepts"]) == ["D001943", "D001241", "D003550"]
    assert counts["written"] == {"documents": 3, "augmented": 3, "manual": 0, "concepts": 4, "searched_concepts": 4}


def test_documents_of_evaluation_sets_are_not_written(run):
    def n_excluded(**settings):
        counts = run(**settings)["documents"]
        return counts["excluded_by_pmid"], counts["excluded_by_title"]

    assert n_excluded() == (1, 1)
    assert not {"c:0", "d:0"} & set(written())
    Path("dev.pubtator").write_text("7|t|Other.\n7|a|\n")
    assert n_excluded() == (0, 0)
    assert {"c:0", "d:0"} <= set(written())
    # so are those of the training set and those that are mixed in
    Path("same.pubtator").write_text("900|t|Other.\n900|a|\n")
    assert n_excluded(train="same.pubtator") == (1, 0)


def test_each_filter_has_its_switch(run):
    counts = run()["annotations"]
    assert counts["after_inverted_names"] < counts["after_verbs"]
    assert counts["after_overlaps"] < counts["after_inverted_names"]
    left = run(abbreviation_filter=False, verb_filter=False, inversion_filter=False)["annotations"]
    assert list(left)[2] == "after_overlaps"
    assert ("cancer, breast", "D001943") in mentions(written()["b:0"])
    run(overlap_filter=False)
    doc = written()["a:0"]
    assert len(doc.spans["gold"]) == 4
    assert list(doc.user_data["provenance"]["filters"]) == ["false_abbreviations", "verbs", "inverted_names"]


def test_documents_that_lack_the_concept_are_left_out(run):
    Path("labels.txt").write_text("D010051\nD001241\n")
    Path("train.pubtator").write_text(
        TRAIN.replace("\n1\t20", "\n\n2|t|\n2|a|aspirin for\n2\t0").replace("\t27\t", "\t7\t")
    )
    counts = run(k=1)
    assert counts["concepts"]["searched"] == 1  # ovarian neoplasms; aspirin has a document
    assert set(written()) == {"a:0"}
    assert counts["segments"]["without_the_concept"] == 1
    assert "without_the_concept" not in run(k=1, relevance_filter=False)["segments"]
    assert set(written()) == {"a:0", "e:0"}
    assert run(all_concepts=True)["concepts"]["searched"] == 2


def test_the_same_input_gives_the_same_file_with_manual_documents_mixed_in(run, command):
    assert command("convert", "train.pubtator", "-o", "train.spacy").status == 0
    settings = {"mix_with": "train.spacy", "seed": 3, "weight": 0.2}
    assert run(**settings)["written"]["manual"] == 1
    weights = {key: doc.user_data["weight"] for key, doc in written().items()}
    assert weights == {"1": 1.0, "a:0": 0.2, "b:0": 0.2, "e:0": 0.2}
    first = Path("out.spacy").read_bytes()
    run(**settings)
    assert Path("out.spacy").read_bytes() == first


def test_segments_have_so_many_tokens(run):
    assert run(max_tokens=8)["segments"]["cut"] > 3
    assert {"b:0", "b:1"} <= set(written())
    assert run(max_tokens=10, tokenizer="starter-transformer")["segments"]["cut"] > 3


def test_metamaplite_elsewhere(run, place, tmp_path):
    records = [
        Record("C0000001", (Name("x", "preferred", "U"),), alternative_ids=("D010051", "D001943")),
        Record("C0000002", (Name("y", "preferred", "U"),)),
    ]
    build_knowledge_base(records, tmp_path / "umls.kb")
    counts = run("-o", "texts")
    assert counts["segments"] == {"cut": 3, "files": 3}
    assert not Path("out.spacy").exists()
    text = "Ovarian neoplasms. Ovarian cancer, ovarian tissue, breast and ovarian cancer."
    assert (Path("texts") / f"{file_stem(text)}.txt").read_text() == text
    mmi = "1|MMI|9.00|x|C0000001|[neop]|x|text|0/17;19/14||\n1|MMI|1.00|y|C0000002|[neop]|x|text|35/7||\nbroken\n"
    (Path("texts") / f"{file_stem(text)}.mmi").write_text(mmi)
    counts = run(annotations="texts", mapping_kb="umls.kb")
    # of two targets the one whose preferred name is in the text
    assert mentions(written()["a:0"]) == [("Ovarian neoplasms", "D010051"), ("Ovarian cancer", "D010051")]
    assert counts["segments"]["without_output"] == 2
    assert (counts["annotations"]["found"], counts["annotations"]["mapped"]) == (3, 2)
    assert written()["a:0"].user_data["provenance"]["annotator"] == "metamaplite"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eutils": "medline"}, "Choose one of: pubmed, pmc"),
        ({"eutils": "pubmed", "documents": "abstracts"}, "[E533]"),
        ({"metamaplite": "a", "annotations": "b"}, "[E533]"),
        ({"metamaplite": "abstracts"}, "MetaMapLite"),
        ({"documents": "nowhere"}, "[E504]"),
        ({"annotations": "abstracts"}, "[E604]"),
        ({"eutils": "pubmed", "eutils_url": "http://127.0.0.1:1"}, "[E605]"),
        ({"labels": "empty"}, "[E105]"),
        ({"mapping": ["empty"]}, "[E105]"),
        ({"exclude": "empty"}, "[E124]"),
        ({"mix_with": "dev.pubtator"}, "[E121]"),
        ({"k": 1, "labels": "one"}, "[E611]"),
        ({"k": 0}, "[E406]"),
        ({"train": None, "labels": None}, "[E533]"),
        ({"unknown": 1}, "[E541]"),
    ],
)
def test_bad_input_is_reported(run, place, monkeypatch, settings, message):
    monkeypatch.setattr("spacy_sapbert.augmentation.search.TRIES", 1)
    Path("empty").touch()
    Path("one").write_text("D003550\n")
    error = run(**settings)
    assert isinstance(error, str)
    assert message in error
    assert not Path("out.spacy").exists()


def test_the_output_must_be_a_training_file_and_not_an_input(run, command, place):
    assert "[E533]" in run("-o", "out.txt")
    assert (
        "--output"
        in command("augment", CONFIG, "--augment.documents", "abstracts", "--augment.labels", "labels.txt").err
    )
    assert command("convert", "train.pubtator", "-o", "train.spacy").status == 0
    before = Path("train.spacy").read_bytes()
    assert "[E533]" in run("-o", "train.spacy", mix_with="train.spacy")
    assert Path("train.spacy").read_bytes() == before


def test_the_commands_of_the_page_run(place, run_page):
    Path("texts").mkdir()
    text = "Ovarian neoplasms. Ovarian cancer, ovarian tissue, breast and ovarian cancer."
    brat = "T1\tMMLite 0 17\tOvarian neoplasms\nN1\tReference T1 ConceptId:D010051\tx\n"
    (Path("texts") / f"{file_stem(text)}.ann").write_text(brat)
    run_page("documents", section="Create training documents for rare concepts", commands_only=True)
    assert set(written("augmented.spacy")) == {"a:0", "1"}
