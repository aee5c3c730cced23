import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import guess_format, read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Mention


def test_each_row_is_a_document(read_reporting, tmp_path):
    path = tmp_path / "mentions.tsv"
    path.write_text('mention\tid\nhead "spinning\t404640003\n\n feel  sick \tUMLS:C0027497|C0231218\nno idea\t-1\n')
    documents, report = read_reporting(path, "names")
    assert [document[:3] for document in documents] == [
        (f"mentions.tsv:{line}", text, (Mention(0, len(text), text, "Mention", ids),))
        for line, text, ids in [
            (2, 'head "spinning', ("404640003",)),
            (4, "feel  sick", ("C0027497", "C0231218")),
            (5, "no idea", ()),
        ]
    ]
    assert (report.documents, report.without_id, report.duplicates, report.broken) == (3, 1, 0, 0)


@pytest.mark.parametrize(
    ("format", "before", "row", "after"),
    [
        *(("names", "cold\tD2", row, "flu\tD1") for row in ("flu", "flu\tD1\tmore", "\tD1")),
        *(
            ("askapatient", "22253000\tPain\tcold", f"22253000\tPain{rest}", "C0000001\tPain\tflu")
            for rest in ("", "\t ", "\tache\tache")
        ),
    ],
)
def test_broken_rows_are_reported_and_the_rest_goes_on(read_reporting, tmp_path, format, before, row, after):
    path = tmp_path / "mentions.tsv"
    documents, report = read_reporting(path, format, f"{before}\n{row}\n{after}\n")
    assert [document.text for document in documents] == ["cold", "flu"]
    assert [problem.line for problem in report.problems] == [2]
    with pytest.raises(SapbertError, match=r"\[E127\].*mentions\.tsv, line 2"):
        list(read_corpus(path, format, strict=True))


cells = st.text(alphabet='abc é"', min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(cells, st.sampled_from(["D1", "C0000001", "OMIM:145250"])), min_size=1))
def test_what_is_written_is_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "mentions.tsv"
    path.write_text("\n".join("\t".join(row) for row in rows), encoding="utf8")
    mentions = [document.mentions[0] for document in read_corpus(path)]
    assert [(mention.text, *mention.ids) for mention in mentions] == rows


def test_the_text_of_a_mention_with_a_sentence_is_the_sentence(read_reporting, tmp_path):
    rows = [
        "cold\tD1\tThe scolded child had a Cold, a bad cold.",
        "flu\tD2\tanti-influenza",
        "croup\tD3\tThe child coughs.",
        "flu\tD2\t",
        "İ\tD4\tAn İ is one letter.",
    ]
    documents, report = read_reporting(tmp_path / "mentions.tsv", "names", "\n".join(rows))
    assert [(document.text[:9], *document.mentions[0][:3]) for document in documents] == [
        ("The scold", 24, 28, "Cold"),
        ("anti-infl", 7, 10, "flu"),
        ("flu", 0, 3, "flu"),
        ("An İ is o", 3, 4, "İ"),
    ]
    assert (report.repeated, report.broken) == (1, 1)
    assert report.problems[0].line == 3
    assert report.problems[0].reason == "the mention 'croup' does not occur in its sentence"


@pytest.mark.parametrize(
    "header", ["id\tmention", "mention\tid\tsentence", "sentence\tid\tmention", "id\tsentence\tmention"]
)
def test_the_header_gives_the_order_of_the_columns(read_reporting, tmp_path, header):
    row = {"mention": "flu", "id": "D1", "sentence": "bad flu"}
    content = header + "\n" + "\t".join(row[column] for column in header.split("\t")) + "\nflu\n"
    (document,), report = read_reporting(tmp_path / "mentions.tsv", None, content)
    assert document.mentions[0][2:5] == ("flu", "Mention", ("D1",))
    assert document.text == ("bad flu" if "sentence" in header else "flu")
    assert report.problems[0].reason.startswith(f"1 columns instead of {header.count(chr(9)) + 1}: ")


words = st.text(alphabet="aé-_ İ", min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(words, words, words), min_size=1))
def test_a_mention_in_its_sentence_is_found(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "sentences.tsv"
    lines = [f"{mention}\tD1\t{before} {mention} {after}\n" for before, mention, after in rows]
    path.write_text("mention\tid\tsentence\n" + "".join(lines), encoding="utf8")
    documents = list(read_corpus(path, strict=True))
    for document, (before, mention, after) in zip(documents, rows, strict=True):
        assert document.text == f"{before} {mention} {after}"
        (found,) = document.mentions
        assert found.text.lower().replace("i̇", "i") == mention.lower().replace("i̇", "i")
        assert document.text[found.start : found.end] == found.text


# --- AskAPatient and TwADR-L


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="latin-1"):
        path = tmp_path / "AskAPatient.fold-0.test.txt"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_each_row_of_askapatient_is_a_document(read_reporting, written):
    path = written('22253000\tPain\t it "hurt \n\n11433011000036107\tDrug\tmy pills\r\nC0000001\tPain\tache|s\n')
    documents, report = read_reporting(path, "askapatient")
    assert [document[:3] for document in documents] == [
        (f"{path.name}:{line}", text, (Mention(0, len(text), text, "Mention", (concept_id,)),))
        for line, text, concept_id in [
            (1, 'it "hurt', "SNOMEDCT:22253000"),
            (3, "my pills", "SNOMEDCT:11433011000036107"),
            (4, "ache|s", "C0000001"),
        ]
    ]
    assert (report.documents, report.duplicates, report.broken) == (3, 0, 0)


def test_the_files_are_latin_1_unless_given(written):
    for encoding, given_encoding in (("latin-1", None), ("utf-8", "utf-8")):
        path = written("22253000\tPain\tn\xe4usea\n", encoding)
        (document,) = read_corpus(path, "askapatient", encoding=given_encoding)
        assert document.text == "n\xe4usea"


def test_the_format_is_guessed_by_the_cuis_of_twadr_l(written):
    assert guess_format(written("C0000001\tPain\tache\nC0000001\tPain\thurts\n")) == "askapatient"


@pytest.mark.parametrize(
    "text",
    ["25763772\taspirin\tD001241\n10021369\tflu\tD007251\n", "22253000\tPain\tache\n22253000\tPain\thurts\n"],
    ids=["of PubMed", "of SNOMED CT"],
)
def test_numbers_may_be_any_ids_so_the_format_is_not_guessed(written, text):
    with pytest.raises(SapbertError, match="E124"):
        guess_format(written(text))


texts = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc", "Zs"]), min_size=1)


@settings(deadline=None)
@given(st.lists(st.tuples(st.from_regex(r"\A[0-9]{3,15}[01]0[0-9]\Z"), texts, texts), min_size=1))
def test_rows_of_askapatient_are_read(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("written") / "fold.txt"
    path.write_bytes("".join("\t".join(row) + "\n" for row in rows).encode("latin-1"))
    mentions = [document.mentions[0] for document in read_corpus(path, "askapatient")]
    assert [mention.ids[0] for mention in mentions] == [f"SNOMEDCT:{concept_id}" for concept_id, _, _ in rows]
    assert [mention.text for mention in mentions] == [text for *_, text in rows]


# --- COMETA


HEADING = ["ID", "Term", *(f"{which} SNOMED {what}" for which in ("General", "Specific") for what in ("Label", "ID"))]
HEADING += ["Example"]


def row(number, term, example, general="100001", specific="200002"):
    return [str(number), term, "General", general, "Specific", specific, example]


def write(path, *rows, heading=HEADING):
    with path.open("w", newline="", encoding="utf8") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows([heading, *rows])
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "test.csv"


@pytest.mark.parametrize(("format", "concept_id"), [("cometa-general", "100001"), ("cometa-specific", "200002")])
def test_a_row_is_its_example_with_the_term_in_it(path, format, concept_id):
    write(path, row(27, "Flu shot", "My flu shot hurt ."))
    mention = Mention(3, 11, "flu shot", "Mention", (f"SNOMEDCT:{concept_id}",))
    assert [document[:3] for document in read_corpus(path, format)] == [("27", "My flu shot hurt .", (mention,))]


@pytest.mark.parametrize(
    ("term", "example"),
    [
        ("flu", "Influenza , fluids ."),
        ("flu", "The flu is no flu ."),
        ("crohn's", "My crohn ' s is back ."),
        ("flu", ""),
    ],
)
def test_a_term_that_does_not_stand_exactly_once_in_its_example_is_alone(read_reporting, path, term, example):
    write(path, row(1, term, example))
    (document,), report = read_reporting(path, "cometa-general")
    assert document.text == term
    assert document.mentions[0][:3] == (0, len(term), term)
    assert (report.alone, report.mismatched) == (1, 0)


def test_terms_are_no_patterns_and_may_end_in_punctuation(path):
    write(path, row(1, "b12 (shot)", "A b12 (shot) , b12 ."), row(2, "a.b", "axb then a.b"))
    found = [document.mentions[0][:3] for document in read_corpus(path, "cometa-general")]
    assert found == [(2, 12, "b12 (shot)"), (9, 12, "a.b")]


def test_columns_are_found_by_name_and_quotes_are_undone(path):
    heading = ["", *HEADING, "Example Link"]
    write(path, ["0", *row(5, "flu", '" It is flu "\tthey\nsay'), "https://example.org"], heading=heading)
    (document,) = read_corpus(path, "cometa-specific")
    assert document.text == '" It is flu "\tthey\nsay'
    assert document.mentions[0].text == "flu"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1\tflu", "2 cells instead of 7"),
        ("1\t\tG\t100001\tS\t200002\tI am ill .", "no term"),
        ("1\tflu\tG\t100001.0\tS\t200002\tI am ill .", "'100001.0' is not a SNOMED CT id"),
        ('1\tflu\tG\t100001\tS\t200002\t"I am" ill .', "the text from here to line 3 is not a row"),
    ],
)
def test_broken_rows_of_cometa_are_reported(read_reporting, path, line, reason):
    write(path, row(1, "cold", "A cold ."), row(2, "REPLACED", ""), row(3, "ache", "An ache ."))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:2], f"{line}\n", lines[3]]))
    documents, report = read_reporting(path, "cometa-general")
    assert [document.mentions[0].text for document in documents] == ["cold", "ache"]
    assert [problem.line for problem in report.problems] == [3]
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"\[E127\].*test\.csv, line 3"):
        list(read_corpus(path, "cometa-general", strict=True))


def test_a_term_may_have_no_id(read_reporting, path):
    write(path, row(1, "flu", "A flu .", general=""), row(2, "flu", "A flu .", general="-1"))
    documents, report = read_reporting(path, "cometa-general")
    assert [document.mentions[0].ids for document in documents] == [(), ()]
    assert report.without_id == 2


@pytest.mark.parametrize("heading", [[], ["mention", "id"], ["ID", "Term", "Specific SNOMED ID", "Example"]])
def test_a_file_without_the_columns_is_reported(path, heading):
    write(path, heading=heading)
    with pytest.raises(SapbertError, match=r"\[E128\].*test\.csv has no column (ID|General SNOMED ID)"):
        list(read_corpus(path, "cometa-general"))


def test_which_of_the_two_ids_cannot_be_guessed(path):
    write(path, row(1, "flu", "A flu ."))
    with pytest.raises(SapbertError, match=r"\[E124\].*cometa-general, cometa-specific"):
        list(read_corpus(path))


terms = st.text(alphabet="flu (é\"'.", min_size=1).map(str.strip).filter(bool)


@settings(deadline=None)
@given(st.lists(st.tuples(terms, terms), min_size=1))
def test_rows_of_cometa_are_read(tmp_path_factory, pairs):
    path = tmp_path_factory.mktemp("written") / "chv.csv"
    write(path, *(row(number, *pair) for number, pair in enumerate(pairs)))
    documents = list(read_corpus(path, "cometa-general"))
    assert [document.doc_id for document in documents] == [str(number) for number in range(len(pairs))]
    for (term, example), document in zip(pairs, documents, strict=True):
        mention = document.mentions[0]
        assert document.text in (term, example)
        assert document.text[mention.start : mention.end] == mention.text == term
