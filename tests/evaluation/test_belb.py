import json
from functools import partial
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.belb import CORPORA, evaluate_belb
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.types import Name, Record

from ..belb_files import write_belb, write_corpus, write_kb

evaluate = partial(evaluate_belb, encoder="none")


@pytest.fixture
def belb(tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    write_belb(tmp_path)
    return tmp_path


def test_strict_recall(belb):
    result = evaluate(belb)
    # "blue fever" with the id of red fever is wrong; with both ids it is right. An unknown id is wrong.
    # Documents have 1 of 2, 1 of 2 and 1 of 1: the standard error is √(3/2 · (0.2² + 0.2² + 0.4²)) / 5 = 0.12
    assert result["corpora"]["ncbi_disease"] == {
        "documents": 3,
        "mentions": 5,
        "not_in_vocabulary": 1,
        "r@1": 60.0,
        "r@5": 80.0,
        "se": 12.0,
        "concepts": 3,
        "names": 4,
    }
    assert result["corpora"]["s800"] == {
        "documents": 1,
        "mentions": 2,
        "not_in_vocabulary": 0,
        "r@1": 100.0,
        "r@5": 100.0,
        "se": None,
        "concepts": 2,
        "names": 4,
    }
    assert result["split"] == "dev"
    assert [*result["corpora"], *result["missing"]] == ["ncbi_disease", "s800", *result["missing"]]
    assert {*result["corpora"], *result["missing"]} == {*CORPORA}


def test_what_is_missing_is_listed_with_the_reason(belb):
    write_corpus(belb, "bc5cdr", "chemical", [("1", [("zinc", [(0, 4, "MESH:D015032")])])], hash="a")
    write_corpus(belb, "bioid", "cell_line", [("1", [("[HeLa]", [(1, 5, "CVCL_1")])])], mention_markers="true")
    missing = evaluate(belb)["missing"]
    assert "no dev.bioc.json of type disease in" in missing["bc5cdr_disease"]
    assert "no file tables/kb.tsv.gz in" in missing["bc5cdr_chemical"]
    assert "python -m belb.kbs.ctd_chemicals" in missing["bc5cdr_chemical"]
    assert "no dev.bioc.json of type cell_line" in missing["bioid_cell_line"]
    assert "without --sentences and --markers" in missing["bioid_cell_line"]
    assert "python -m belb.corpora.medmentions" in missing["medmentions"]


@pytest.mark.parametrize(
    "options", [{"sentences": "true"}, {"max_mentions": "20"}, {"annotations_file": "a.json"}, {"entity_type": "GENE"}]
)
def test_parts_that_were_made_with_other_options_are_left_out(belb, options):
    write_corpus(belb, "linnaeus", "species", [("1", [("mice", [(0, 4, "10090")])])], **options)
    assert [*evaluate(belb, corpora=["linnaeus", "s800"])["missing"]] == ["linnaeus"]


def test_other_splits_and_chosen_corpora(belb):
    write_corpus(belb, "s800", "species", [("1", [("human", [(0, 5, "9606")])])], split="test")
    result = evaluate(belb, split="test", corpora=["s800", "nlm_chem"])
    assert result["corpora"]["s800"]["mentions"] == 1
    assert [*result["missing"]] == ["nlm_chem"]
    with pytest.raises(SapbertError, match=r"E125.*'validation' is not a split of BELB.*train, dev, test"):
        evaluate(belb, split="validation")
    with pytest.raises(SapbertError, match=r"E125.*'ncbi' is not a corpus of BELB.*ncbi_disease"):
        evaluate(belb, corpora=["ncbi"])
    with pytest.raises(SapbertError, match=r"E533.*linnaeus=own.*not to be measured"):
        evaluate(belb, corpora=["s800"], pipelines={"linnaeus": "own"})


def test_the_genes_of_a_corpus_alone(belb):
    genes = [([1], ["A1BG"]), ([2], ["A1BG"])]
    write_kb(belb, "ncbi_gene", genes, species=(9606, 10090), subsets="subsets:\n  gnormplus: [9606]\n")
    write_corpus(belb, "gnormplus", "gene", [("1", [("A1BG", [(0, 4, "1")])])])
    result = evaluate(belb, corpora=["gnormplus"])["corpora"]["gnormplus"]
    assert (result["r@1"], result["concepts"]) == (100.0, 1)


def test_a_pipeline_of_the_user(belb, tmp_path):
    record = Record("D000002", (Name("Red fever", "preferred", "test"),))
    nlp = spacy.blank("en")
    kb = build_knowledge_base([record], tmp_path / "own.kb")
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path), "encoder": "none"})
    nlp.to_disk(tmp_path / "own")
    # no table of BELB is needed
    (belb / "processed" / "kbs" / "ctd_diseases" / "tables" / "kb.tsv.gz").unlink()
    result = evaluate(belb, pipelines={"ncbi_disease": str(tmp_path / "own")}, corpora=["ncbi_disease"])
    # only "Blue fever" with D000002 among its ids is right: all mentions get this concept, if any
    figures = result["corpora"]["ncbi_disease"]
    assert (figures["r@1"], figures["not_in_vocabulary"], figures["concepts"]) == (20.0, 4, 1)


def test_the_knowledge_base_is_built_once_and_again_for_other_tables(belb):
    folder = belb / "cache" / "belb"
    evaluate(belb, corpora=["s800"])
    (built,) = folder.glob("*.kb")
    time = built.stat().st_mtime_ns
    evaluate(belb, corpora=["s800"])
    assert built.stat().st_mtime_ns == time
    (belb / "processed" / "kbs" / "ncbi_taxonomy").rename(belb / "old")
    write_kb(belb, "ncbi_taxonomy", [([9606], ["Homo sapiens", "human"]), ([10090], ["Mus", "house mouse"])])
    assert evaluate(belb, corpora=["s800"])["corpora"]["s800"]["names"] == 4
    assert len([*folder.glob("*.kb")]) == 2


def test_nothing_of_belb_is_there(tmp_path):
    with pytest.raises(SapbertError, match=r"E105.*no corpus of BELB in .*belb\.corpora\.ncbi_disease"):
        evaluate(tmp_path)


def test_broken_files_stop_before_anything_is_linked(belb):
    (path,) = belb.glob("processed/corpora/s800/*/dev.bioc.json")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SapbertError, match=r"E121.*dev\.bioc\.json.*not BioC JSON"):
        evaluate(belb)
    path.write_text(json.dumps(json.loads(whole)).replace("Humans", "Hümans"), encoding="latin-1")
    with pytest.raises(SapbertError, match=r"E\d\d\d.*dev\.bioc\.json"):
        evaluate(belb)
    path.write_bytes(whole)
    path.with_name("conf.yaml").write_text("a: [")
    with pytest.raises(SapbertError, match=r"E127.*conf\.yaml.*not YAML"):
        evaluate(belb)


@pytest.mark.slow
def test_the_development_parts_of_public_corpora(data_dir, script, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    arguments = ["--data", data_dir, "--encoder", "none", "--corpus", "ncbi_disease", "--corpus", "s800", tmp_path]
    monkeypatch.setattr("sys.argv", ["belb.py", *map(str, arguments)])
    script("../benchmarks/belb").main()
    result = json.loads(capsys.readouterr().out)
    assert result["annotated"] == {"ncbi_disease": {"kept": 787, "left_out": 0}, "s800": {"kept": 560, "left_out": 133}}
    ncbi, s800 = result["corpora"].values()
    assert (ncbi["documents"], ncbi["mentions"], ncbi["concepts"]) == (100, 787, 11915)
    assert (s800["documents"], s800["mentions"], s800["concepts"]) == (89, 560, 9999)
    assert [ncbi["r@1"], s800["r@1"]] == pytest.approx([86.4, 86.6], abs=1)
