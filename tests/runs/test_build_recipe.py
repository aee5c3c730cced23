"""`build_recipe` builds what `kb build` builds."""

import pytest
from typer.testing import CliRunner

import spacy_sapbert
from spacy_sapbert.cli import app
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.runs.build_recipe import BuildReport, build_recipe


def test_a_recipe_of_a_table_and_a_corpus(tmp_path):
    (tmp_path / "names.tsv").write_text("id\tname\nD:1\tasthma\nD:2\tfever\n")
    (tmp_path / "corpus.pubtator").write_text("1|t|Bronchial asthma\n1\t0\t16\tBronchial asthma\tDisease\tD:1\n")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"sources: [{tmp_path}/names.tsv]\nmentions: [{tmp_path}/corpus.pubtator]\n")
    report = BuildReport()
    kb = spacy_sapbert.build_recipe(recipe, tmp_path / "out.kb", report=report)
    assert "Bronchial asthma" in list(kb.names())
    assert report.rows.rows_read == 2
    result = CliRunner().invoke(app, ["kb", "build", str(recipe), "-o", str(tmp_path / "other.kb")])
    assert result.exit_code == 0
    assert (tmp_path / "other.kb").read_bytes() == kb.path.read_bytes()


def test_no_concept(tmp_path):
    (tmp_path / "names.tsv").write_text("id\tname\n")
    recipe, report = tmp_path / "recipe.yaml", BuildReport()
    recipe.write_text(f"sources: [{tmp_path}/names.tsv]\n")
    with pytest.raises(SapbertError):
        build_recipe(recipe, tmp_path / "out.kb", report=report)
    assert report.builder.n_concepts == 0
