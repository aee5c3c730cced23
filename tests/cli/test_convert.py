import pytest
import spacy
import typer
from typer.testing import CliRunner

from spacy_sapbert.cli.convert import convert
from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import annotated_labels, unsure_spans
from spacy_sapbert.documents.reader import read_corpus
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
    """Run the command on inputs, an output, and options."""
    given = [str(argument) for argument in arguments]
    n_paths = next((number for number, argument in enumerate(given) if argument.startswith("-")), len(given))
    app = typer.Typer()
    app.command("convert")(convert)
    return CliRunner().invoke(app, [*given[: n_paths - 1], "-o", *given[n_paths - 1 :]])


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
    assert [row for row in counts if row[-1] == "0"] == []
    assert "line 5: offsets 0-99" in " ".join(result.stderr.split())


def test_ids_are_compared_with_those_of_a_vocabulary(corpus, small_kb, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--kb", small_kb.path)
    counts = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in result.stderr.splitlines()]
    assert ["… with ids, of which the vocabulary has none", "1"] in counts
    assert mentions(tmp_path / "gold.spacy") == ["Lithium", "induced flu"]
    corpus.write_text(PUBTATOR.replace("D008094", "DOID:1"))
    refused = run(corpus, tmp_path / "none.spacy", "--kb", small_kb.path)
    assert "[E572] None of the 2 concept ids" in str(refused.exception)
    assert "ids such as DOID:1, D1." in str(refused.exception)
    assert not (tmp_path / "none.spacy").exists()


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
    assert "[E127]" in str(result.exception)
    assert not (tmp_path / "gold.spacy").exists()


def test_output_must_be_a_spacy_file(corpus):
    result = run(corpus, corpus)
    assert "[E533]" in str(result.exception)
    assert corpus.read_text() == PUBTATOR


def test_nothing_is_written_without_a_document(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--format", "names")
    assert "[E211]" in str(result.exception)
    assert "broken records: 5" in str(result.exception)
    assert f"{corpus}, line 1: 1 columns instead of 2 or 3: mention, id, sentence." in str(result.exception)
    assert f"{corpus}, line 3: 6 columns" in str(result.exception)
    assert "Line 4" not in str(result.exception)
    assert not (tmp_path / "gold.spacy").exists()


def test_types_can_be_given_other_names(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--rename", "Disease=Disorder", "--rename", "Chemical=Drug")
    assert result.exit_code == 0, result.output
    labels = [mention.label for document in read_corpus(tmp_path / "gold.spacy") for mention in document.mentions]
    assert labels == ["Drug", "Disorder"]


def test_ids_get_the_prefix_of_their_type(tmp_path):
    mentions = "1\t0\t4\tTP53\tGene\t7157\n1\t8\t12\tmice\tSpecies\t10090|9606\n1\t14\t17\tflu\tDisease\tD1\n"
    (tmp_path / "corpus.txt").write_text(f"1|t|TP53 in mice, flu\n1|a|\n{mentions}")
    prefixes = ("--id-prefix", "Gene=NCBIGene", "--id-prefix", "Species=NCBITaxon", "--id-prefix", "Disease=OMIM")
    result = run(tmp_path / "corpus.txt", tmp_path / "gold.spacy", *prefixes, "--rename", "Gene=Protein")
    assert result.exit_code == 0, result.output
    found = [one for document in read_corpus(tmp_path / "gold.spacy") for one in document.mentions]
    expected = [
        ("Protein", ("NCBIGene:7157",)),
        ("Species", ("NCBITaxon:10090", "NCBITaxon:9606")),
        ("Disease", ("D1",)),
    ]
    assert [(one.label, one.ids) for one in found] == expected


def test_a_prefix_for_a_type_that_is_not_there_is_told(corpus, tmp_path):
    with pytest.warns(UserWarning, match="W202.*Gene"):
        run(corpus, tmp_path / "gold.spacy", "--id-prefix", "Gene=NCBIGene")


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
    assert "E533" in str(result.exception)
    assert "--rename" in str(result.exception)


MEDMENTIONS = """\
1|t|DCTN4 in flu
1|a|
1\t0\t5\tDCTN4\tT116,T123\tC9000001
1\t9\t12\tflu\tT047\tC9000002

2|t|A cold
2|a|
2\t2\t6\tcold\tT047\tC9000003
"""


@pytest.fixture
def medmentions(tmp_path):
    path = tmp_path / "corpus_pubtator.txt"
    path.write_text(MEDMENTIONS)
    return path


def listed(tmp_path, text):
    path = tmp_path / "pmids.txt"
    path.write_text(text)
    return path


def test_the_documents_of_a_split_are_converted(medmentions, tmp_path):
    ids = listed(tmp_path, "1\n9\n")
    with pytest.warns(UserWarning, match=r"\[W203\] 1 of the 2 ids of .*pmids\.txt .*'9'"):
        result = run(medmentions, tmp_path / "gold.spacy", "--ids", ids)
    assert mentions(tmp_path / "gold.spacy") == ["DCTN4", "flu"]
    counts = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in result.stderr.splitlines()]
    for row in (
        ["documents", "1"],
        ["documents outside the split, left out", "1"],
        ["ids of the split without a document", "1"],
        ["type T123", "1"],
    ):
        assert row in counts


def test_the_documents_of_a_split_may_stand_in_several_files(medmentions, corpus, tmp_path):
    corpus.write_text(PUBTATOR.replace("1|", "7|").replace("\n1\t", "\n7\t"))
    result = run(corpus, medmentions, tmp_path / "gold.spacy", "--ids", listed(tmp_path, "7\n2\n"))
    assert result.exit_code == 0, result.output
    assert mentions(tmp_path / "gold.spacy") == ["Lithium", "induced flu", "cold"]


@pytest.mark.parametrize(("text", "code"), [("\n", "E105"), ("8\n9\n", "E214")])
def test_a_list_without_ids_or_of_other_documents_writes_nothing(medmentions, tmp_path, text, code):
    result = run(medmentions, tmp_path / "gold.spacy", "--ids", listed(tmp_path, text))
    assert f"[{code}]" in str(result.exception)
    assert not (tmp_path / "gold.spacy").exists()


def test_a_mention_of_several_types_is_taken_for_each(medmentions, tmp_path):
    for type in ("T116", "T123"):
        result = run(medmentions, tmp_path / "gold.spacy", "--types", type)
        assert result.exit_code == 0, result.output
        assert mentions(tmp_path / "gold.spacy") == ["DCTN4"]


def test_an_encoding_is_that_of_the_format_unless_it_is_given(tmp_path):
    fold = tmp_path / "AskAPatient.fold-0.test.txt"
    for encoding, option in (("latin-1", []), ("utf-8", ["--encoding", "utf-8"])):
        fold.write_text("22253000\tPain\tn\xe4usea\n", encoding=encoding)
        result = run(fold, tmp_path / "gold.spacy", "--format", "askapatient", *option)
        assert result.exit_code == 0, result.output
        assert mentions(tmp_path / "gold.spacy") == ["n\xe4usea"]


def test_another_tokenizer_keeps_more_mentions(tmp_path):
    (tmp_path / "corpus.txt").write_text("1|t|The Na+/K+ pump\n1|a|\n1\t4\t6\tNa\tChemical\tD012964\n")
    for tokenizer, kept in {"spacy.Tokenizer.v1": 0, "spacy-sapbert.BiomedicalTokenizer.v1": 1}.items():
        result = run(tmp_path / "corpus.txt", tmp_path / "gold.spacy", "--tokenizer", tokenizer)
        assert result.exit_code == 0, result.output
        assert sum(len(doc.ents) for doc in read_docbin(tmp_path / "gold.spacy")) == kept


def test_a_tokenizer_that_there_is_not(corpus, tmp_path):
    result = run(corpus, tmp_path / "gold.spacy", "--tokenizer", "spacy-sapbert.Tokeniser.v1")
    assert "E125" in str(result.exception)
    assert "spacy-sapbert.BiomedicalTokenizer.v1" in str(result.exception)


def test_passages_with_one_id_become_one_document(corpus, tmp_path):
    corpus.write_text("1|t|Lithium (Li).\n1|a|\n\n1|t|Li\n1|a|\n1\t0\t2\tLi\tChemical\tD008094\n")
    joined, alone = tmp_path / "joined.spacy", tmp_path / "alone.spacy"
    result = run(corpus, joined)
    assert "2 records are passages of 1 documents" in " ".join(result.stderr.split())
    (document,) = read_corpus(joined)
    assert (document.text, document.mentions[0][:3]) == ("Lithium (Li).\nLi", (14, 16, "Li"))
    separate = run(corpus, alone, "--no-join-passages")
    assert "are passages of" not in separate.stderr
    assert [one.text for one in read_corpus(alone)] == ["Lithium (Li).", "Li"]


def test_annotated_types_are_stored_and_a_misspelled_one_is_told(tmp_path):
    path, words, output = tmp_path / "a.txt", tmp_path / "words.txt", tmp_path / "out.spacy"
    path.write_text("1|t|TP53 in mice\n1|a|\n1\t0\t4\tTP53\tFamilyName\t7157\n")
    words.write_text("Mice\n")
    options = ("--rename", "FamilyName=Gene", "--annotates", "Gene", "--unsure", f"Gene={words}")
    assert run(path, output, *options).exit_code == 0
    (doc,) = read_docbin(output)
    assert list(annotated_labels(doc)) == ["Gene"]
    assert [span.text for span in unsure_spans(doc)] == ["mice"]
    with pytest.warns(UserWarning, match=r"W202.*Genes.*Gene"):
        run(path, output, "--rename", "FamilyName=Gene", "--annotates", "Genes")
