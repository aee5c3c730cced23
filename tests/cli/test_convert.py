import pytest
import spacy
import typer
from typer.testing import CliRunner

from spacy_sapbert.cli.convert import convert
from spacy_sapbert.corpora.docbin import read_docbin
from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.errors import SapbertError

PUBTATOR = """\
1|t|Lithium-induced flu
1|a|
1\t0\t7\tLithium\tChemical\tD008094
1\t8\t19\tinduced flu\tDisease\tD1
1\t0\t99\ttoo long\tDisease\tD1
"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(PUBTATOR)
    return path


def run(*arguments):
    app = typer.Typer()
    app.command("convert")(convert)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def mentions(path):
    return [mention.text for document in read_corpus(path) for mention in document.mentions]


def test_files_become_one_docbin_and_the_report_goes_to_standard_error(corpus, tmp_path):
    names = tmp_path / "mentions.tsv"
    names.write_text("cold\tD2\n")
    result = run(corpus, names, tmp_path / "gold.spacy")
    assert result.exit_code == 0, result.output
    assert mentions(tmp_path / "gold.spacy") == ["Lithium", "induced flu", "cold"]
    assert result.stdout == ""
    counts = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in result.stderr.splitlines()]
    assert ["documents", "2"] in counts
    assert ["broken records, left out", "1"] in counts
    assert ["type Chemical", "1"] in counts
    assert "line 5: offsets 0-99" in " ".join(result.stderr.split())


def test_types_are_filtered_and_the_rest_counted(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--types", "Disease")
    assert mentions(tmp_path / "gold.spacy") == ["induced flu"]
    assert "mentions of other types, left out" in result.stderr


def test_type_that_does_not_occur_is_told(corpus, tmp_path):
    with pytest.warns(UserWarning, match=r"\[W202\].*disease.*Chemical, Disease"):
        run(corpus, tmp_path / "gold.spacy", "--types", "disease")


def test_tokens_are_split_on_demand(corpus, tmp_path):
    vocab = spacy.blank("en").vocab
    n_spans = []
    for option in ("--no-split-tokens", "--split-tokens"):
        run(corpus, tmp_path / "gold.spacy", option)
        (doc,) = read_docbin(tmp_path / "gold.spacy", vocab)
        n_spans.append(len(doc.spans["gold"]))
    assert n_spans[1] == 2
    assert mentions(tmp_path / "gold.spacy") == ["Lithium", "induced flu"]


def test_strict_stops_at_the_broken_record_and_writes_nothing(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--strict")
    assert isinstance(result.exception, SapbertError)
    assert "[E201]" in str(result.exception)
    assert not (tmp_path / "gold.spacy").exists()


def test_output_must_be_a_spacy_file(corpus):
    result = run(corpus, corpus)
    assert "[E212]" in str(result.exception)
    assert corpus.read_text() == PUBTATOR


def test_nothing_is_written_without_a_document(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--format", "names")
    assert "[E211]" in str(result.exception)
    assert "broken records: 5" in str(result.exception)
    assert not (tmp_path / "gold.spacy").exists()


def test_types_can_be_given_other_names(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--rename", "Disease=Disorder", "--rename", "Chemical=Drug")
    assert result.exit_code == 0, result.output
    labels = [mention.label for document in read_corpus(tmp_path / "gold.spacy") for mention in document.mentions]
    assert labels == ["Drug", "Disorder"]


def test_types_are_chosen_by_their_old_names(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--types", "Chemical", "--rename", "Chemical=Drug")
    assert result.exit_code == 0, result.output
    assert mentions(tmp_path / "gold.spacy") == ["Lithium"]


def test_a_type_to_rename_that_is_not_there_is_told(corpus, tmp_path):
    with pytest.warns(UserWarning, match="W202.*Sign.*--rename"):
        run(corpus, tmp_path / "gold.spacy", "--rename", "Sign=Disease")


@pytest.mark.parametrize("pair", ["Disease", "=Disease", "Disease="])
def test_a_new_name_needs_an_old_one(corpus, tmp_path, pair):
    result = run(corpus, tmp_path / "gold.spacy", "--rename", pair)
    assert isinstance(result.exception, SapbertError)
    assert "E532" in str(result.exception)
    assert "--rename" in str(result.exception)
