import pytest

from spacy_sapbert.documents.docbin import read_docbin
from spacy_sapbert.documents.docs import annotated_labels, unsure_spans
from spacy_sapbert.documents.reader import read_corpus

PUBTATOR = """\
1|t|Lithium-induced flu
1|a|
1\t0\t7\tLithium\tChemical\tD008094
1\t8\t19\tinduced flu\tDisease\tD1
1\t0\t99\ttoo long\tDisease\tD1
"""
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
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "corpus.txt"
    path.write_text(PUBTATOR)
    return path


@pytest.fixture
def medmentions(corpus, tmp_path):
    path = tmp_path / "corpus_pubtator.txt"
    path.write_text(MEDMENTIONS)
    return path


@pytest.fixture
def output(tmp_path):
    return tmp_path / "gold.spacy"


@pytest.fixture
def run(command, output):
    """A function that converts corpora. RETURNS: the documents, and the rows of the report or the error."""

    def run(*arguments):
        output.unlink(missing_ok=True)
        done = command("convert", *arguments, "-o", output)
        assert (done.status, output.exists()) in ((0, True), (1, False)), done.err
        assert done.out == b""
        if done.status:
            return [], done.err
        rows = [line.strip().rsplit("  ", 1) for line in done.err.splitlines()]
        rows = [[cell.strip() for cell in row] for row in rows]
        return list(read_corpus(output)), rows

    return run


def texts(documents):
    return [mention.text for document in documents for mention in document.mentions]


def test_files_become_one_docbin_and_the_report_goes_to_standard_error(run, corpus, tmp_path, output):
    (tmp_path / "mentions.tsv").write_text("cold\tD2\n")
    documents, report = run(corpus, tmp_path / "mentions.tsv")
    assert texts(documents) == ["Lithium", "induced flu", "cold"]
    for row in (["documents", "2"], ["broken records, left out", "1"], ["type Chemical", "1"]):
        assert row in report
    assert [row for row in report if row[-1] == "0"] == []
    assert "line 5: offsets 0-99" in " ".join(" ".join(row) for row in report)
    first = next(read_docbin(output))
    assert [span.text for span in first.spans["gold"]] == ["Lithium", "induced flu"]  # its token is split


def test_folders_are_read_without_files_of_other_formats(run, corpus, medmentions, tmp_path):
    folder = tmp_path / "corpora"
    (folder / "more").mkdir(parents=True)
    corpus.rename(folder / "b.txt")
    medmentions.rename(folder / "more" / "a.txt")
    (folder / "notes.md").write_text("Not a corpus.")
    documents, report = run(folder)
    assert [document.doc_id for document in documents] == ["1", "1", "2"]
    assert any("1 files of no known format left out (notes.md)" in row[0] for row in report)
    assert "E127" in run(folder, "--strict")[1]


def test_types_are_filtered_and_renamed_and_the_rest_counted(run, corpus, medmentions):
    documents, report = run(corpus, "--types", "Chemical", "--rename", "Chemical=Drug")
    assert [(mention.text, mention.label) for mention in documents[0].mentions] == [("Lithium", "Drug")]
    assert ["mentions of other types, left out", "1"] in report
    documents, _ = run(corpus, "--rename", "Disease=Disorder", "--rename", "Chemical=Drug")
    assert [mention.label for mention in documents[0].mentions] == ["Drug", "Disorder"]
    for name in ("T116", "T123"):  # a mention of both
        assert texts(run(medmentions, "--types", name)[0]) == ["DCTN4"]


def test_ids_get_the_prefix_of_their_type(run, corpus):
    mentions = "1\t0\t4\tTP53\tGene\t7157\n1\t8\t12\tmice\tSpecies\t10090|9606\n1\t14\t17\tflu\tDisease\tD1\n"
    corpus.write_text(f"1|t|TP53 in mice, flu\n1|a|\n{mentions}")
    prefixes = ("--id-prefix", "Gene=NCBIGene", "--id-prefix", "Species=NCBITaxon", "--id-prefix", "Disease=OMIM")
    (document,) = run(corpus, *prefixes, "--rename", "Gene=Protein")[0]
    assert [(mention.label, mention.ids) for mention in document.mentions] == [
        ("Protein", ("NCBIGene:7157",)),
        ("Species", ("NCBITaxon:10090", "NCBITaxon:9606")),
        ("Disease", ("D1",)),
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--types", "disease"), r"\[W202\].*disease.*Chemical, Disease"),
        (("--rename", "Sign=Disease"), "W202.*Sign.*--rename"),
        (("--id-prefix", "Gene=NCBIGene"), "W202.*Gene"),
        (("--rename", "Disease=Sign", "--annotates", "Disease"), "W202.*Disease.*Chemical, Sign"),
    ],
)
def test_a_type_that_does_not_occur_is_reported(run, corpus, options, message):
    with pytest.warns(UserWarning, match=message):
        run(corpus, *options)


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (("--strict",), ("[E127]",)),
        (("--rename", "Disease"), ("[E533]", "--rename")),
        (("--rename", "=Disease"), ("[E533]", "--rename")),
        (("--rename", "Disease="), ("[E533]", "--rename")),
        (("--tokenizer", "spacy-sapbert.Tokeniser.v1"), ("[E125]", "spacy-sapbert.BiomedicalTokenizer.v1")),
        (
            ("--format", "names"),
            ("[E211]", "broken records: 5", "line 1: 1 columns instead of 2 or 3: mention, id, sentence.", "line 3: 6"),
        ),
    ],
)
def test_nothing_is_written_after_an_error(run, corpus, options, messages):
    error = run(corpus, *options)[1]
    assert all(message in error for message in messages)
    assert "Line 4" not in error


def test_output_must_be_a_spacy_file(command, corpus):
    assert "[E533]" in command("convert", corpus, "-o", corpus).err
    assert corpus.read_text() == PUBTATOR


def test_the_documents_of_a_split_are_converted(run, corpus, medmentions, tmp_path):
    ids = tmp_path / "pmids.txt"
    ids.write_text("1\n9\n")
    with pytest.warns(UserWarning, match=r"\[W203\] 1 of the 2 ids of .*pmids\.txt .*'9'"):
        documents, report = run(medmentions, "--ids", ids)
    assert texts(documents) == ["DCTN4", "flu"]
    for label in ("documents", "documents outside the split, left out", "ids of the split without a document"):
        assert [label, "1"] in report
    ids.write_text("7\n2\n")  # in several files
    corpus.write_text(PUBTATOR.replace("1|", "7|").replace("\n1\t", "\n7\t"))
    assert texts(run(corpus, medmentions, "--ids", ids)[0]) == ["Lithium", "induced flu", "cold"]
    for text, code in {"\n": "E105", "8\n9\n": "E305"}.items():
        ids.write_text(text)
        assert f"[{code}]" in run(medmentions, "--ids", ids)[1]


def test_an_encoding_is_that_of_the_format_unless_it_is_given(run, tmp_path):
    fold = tmp_path / "AskAPatient.fold-0.test.txt"
    for encoding, option in (("latin-1", []), ("utf-8", ["--encoding", "utf-8"])):
        fold.write_text("22253000\tPain\tn\xe4usea\n", encoding=encoding)
        assert texts(run(fold, "--format", "askapatient", *option)[0]) == ["n\xe4usea"]


def test_the_tokenizer_is_that_of_the_option(run, corpus, output):
    corpus.write_text("1|t|The Na+/K+ pump\n1|a|\n")
    for name, pump in {"spacy.Tokenizer.v1": "Na+/K+", "spacy-sapbert.BiomedicalTokenizer.v1": "Na"}.items():
        run(corpus, "--tokenizer", name)
        assert next(read_docbin(output))[1].text == pump


def test_passages_with_one_id_become_one_document(run, corpus):
    corpus.write_text("1|t|Lithium (Li).\n1|a|\n\n1|t|Li\n1|a|\n1\t0\t2\tLi\tChemical\tD008094\n")
    (document,), report = run(corpus)
    assert "2 records are passages of 1 documents" in " ".join(" ".join(row) for row in report)
    assert (document.text, document.mentions[0][:3]) == ("Lithium (Li).\nLi", (14, 16, "Li"))


def test_annotated_types_are_stored(run, corpus, output, tmp_path):
    corpus.write_text("1|t|TP53 in mice\n1|a|\n1\t0\t4\tTP53\tFamilyName\t7157\n")
    (tmp_path / "words.txt").write_text("Mice\n")
    run(corpus, "--rename", "FamilyName=Gene", "--annotates", "Gene", "--unsure", "Gene=words.txt")
    (doc,) = read_docbin(output)
    assert list(annotated_labels(doc)) == ["Gene"]
    assert [span.text for span in unsure_spans(doc)] == ["mice"]
