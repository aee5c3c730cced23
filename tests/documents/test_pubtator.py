from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import Report
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention

RECORD = """\
1|t|Renal failure.
1|a|Breast and ovarian cancer were seen.
1\t0\t13\tRenal failure\tDisease\tD051437
1\t15\t40\tBreast and ovarian cancer\tDisease\tD001943|D010051\tBreast cancer|ovarian cancer
1\tCID\tD000001\tD051437
"""
DOCUMENT = Document(
    "1",
    "Renal failure. Breast and ovarian cancer were seen.",
    (
        Mention(0, 13, "Renal failure", "Disease", ("D051437",)),
        Mention(
            15, 40, "Breast and ovarian cancer", "Disease", ("D001943", "D010051"), ("Breast cancer", "ovarian cancer")
        ),
    ),
)


@pytest.fixture
def read(read_reporting, tmp_path):
    return partial(read_reporting, tmp_path / "corpus.txt", "pubtator")


def test_record_with_mentions_parts_and_relation(read):
    documents, report = read(RECORD)
    assert [document[:3] for document in documents] == [DOCUMENT[:3]]
    assert (documents[0].title, documents[0].position[-18:]) == ("Renal failure.", "corpus.txt, line 1")
    assert (report.documents, report.mentions, report.relations, report.broken) == (1, 2, 1, 0)


def test_medmentions_has_types_and_cuis_of_umls(read):
    """Types are joined by commas in the full corpus, CUIs have a prefix in ST21pv."""
    rows = "1\t0\t5\tDCTN4\tT116,T123\tC9000001\n1\t9\t12\tflu\tT038\tUMLS:C9000002\n"
    (document,), report = read(f"1|t|DCTN4 in flu\n1|a|A text.\n{rows}\n")
    assert document.mentions == (
        Mention(0, 5, "DCTN4", "T116,T123", ("C9000001",)),
        Mention(9, 12, "flu", "T038", ("C9000002",)),
    )
    assert report.labels == {"T116": 1, "T123": 1, "T038": 1}


@pytest.mark.parametrize(
    "text",
    [
        "\n\n" + RECORD + "\n" + RECORD.replace("1|", "2|").replace("\n1\t", "\n2\t") + "\n\n",
        RECORD + RECORD.replace("1|", "2|").replace("\n1\t", "\n2\t"),
        RECORD.replace("\n1|a|", "\n\n1|a|") + " \n" + RECORD.replace("1|", "2|").replace("\n1\t", "\n\n2\t"),
    ],
)
def test_blank_lines_may_be_many_or_missing(read, text):
    documents, report = read(text)
    assert [document[:3] for document in documents] == [DOCUMENT[:3], ("2", *DOCUMENT[1:3])]
    assert report.broken == 0


def test_duplicate_records_are_kept_and_counted_and_lines_before_them_are_broken(read):
    documents, report = read(f"9\t0\t3\tflu\tDisease\tD1\n{RECORD}\n{RECORD}")
    assert [document[:3] for document in documents] == [DOCUMENT[:3]] * 2
    assert (report.duplicates, report.broken) == (1, 1)


def test_a_mention_that_is_not_at_its_offsets_is_moved_or_takes_the_text_there(read):
    documents, report = read(
        '1|t|had flu and "a" cold\n1\t5\t8\tflu\tDisease\tD1\n1\t12\t20\t" a " cold\tDisease\tD2\n'
    )
    assert [mention.text for mention in documents[0].mentions] == ["flu", '"a" cold']
    assert (report.mismatched, report.moved, report.broken) == (2, 1, 0)
    assert [mismatch.line for mismatch in report.mismatches] == [2, 3]


@pytest.mark.parametrize(
    ("record", "text", "mentions"),
    [
        ("1|t|A|t|B\n1|a|\n1\t4\t5\tB\tGene\t-\n", "A|t|B", (Mention(4, 5, "B", "Gene"),)),
        ("1|t|\n1|a|flu\n1\t1\t4\tflu\tX\t-1\n", " flu", (Mention(1, 4, "flu", "X"),)),
        ("1|t|flu\n1\t0\t3\tflu\tX\n", "flu", (Mention(0, 3, "flu", "X"),)),
    ],
)
def test_bars_in_a_title_an_empty_one_and_mentions_without_an_id(read, record, text, mentions):
    documents, report = read(record)
    assert [document[:3] for document in documents] == [("1", text, mentions)]
    assert report.without_id == 1


BROKEN = [
    ("1\t0\t99\tflu x\tDisease\tD1", "offsets 0-99"),
    ("1\t3\t4\t \tDisease\tD1", "only blanks"),
    ("1\tzero\t3\tflu\tDisease\tD1", "not both whole numbers"),
    ("1\t0\t3\tflu", "4 columns"),
    ("1\t0\t3\tflu\tDisease\tD1\t\tmore", "8 columns"),
    ("2\t0\t3\tflu\tDisease\tD1", "a line of document 2"),
    ("2|a|another abstract", "a line of document 2"),
    ("1|a|the second", "a second abstract"),
    ("the abstract goes on here", "neither a title"),
]


@pytest.mark.parametrize(("line", "reason"), BROKEN)
def test_a_broken_line_is_reported_and_the_rest_goes_on(read, line, reason):
    text = f"1|t|flu here\n1|a|and there\n{line}\n1\t0\t3\tflu\tDisease\tD1\n"
    documents, report = read(text)
    assert documents[0].mentions == (Mention(0, 3, "flu", "Disease", ("D1",)),)
    assert report.broken == 1
    assert report.problems[0].line == 3
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"\[E127\].*corpus\.txt, line 3: "):
        read(text, strict=True)


words = st.text(alphabet="abcé-, ", min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(words, words, st.data()), min_size=1, max_size=4))
def test_what_is_written_is_read(tmp_path_factory, records):
    documents, lines = [], []
    for number, (title, abstract, data) in enumerate(records):
        text = f"{title} {abstract}"
        start = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(start + 1, len(text)))
        mentions = (Mention(start, end, text[start:end], "Disease", ("D1",)),) if text[start:end].strip() else ()
        documents.append(Document(str(number), text, mentions))
        lines += [f"{number}|t|{title}", f"{number}|a|{abstract}"]
        lines += [f"{number}\t{start}\t{end}\t{mention.text}\tDisease\tD1" for mention in mentions]
    path = tmp_path_factory.mktemp("written") / "corpus.txt"
    path.write_text("\n".join(lines), encoding="utf8")
    found = [document[:3] for document in read_corpus(path, strict=True)]
    assert found == [document[:3] for document in documents]


@pytest.mark.parametrize(
    ("name", "format", "counts", "n_ids"),
    [
        # one id less than in the raw file: it occurs there with and without a stray blank
        ("ncbi_disease/NCBItrainset_corpus.txt.gz", "ncbi", (593, 1, 5145, 0, 0, 1), {None: 647}),
        ("ncbi_disease/NCBIdevelopset_corpus.txt", "ncbi", (100, 0, 787, 0, 0, 0), {None: 170}),
        # `D002544|-1` in the development set has one id, so it is not among those without
        (
            "bc5cdr/CDR_TrainingSet.PubTator.txt.gz",
            "pubtator",
            (500, 0, 5203 + 4182, 44 + 32, 1038, 0),
            {"Chemical": 664, "Disease": 664},
        ),
        (
            "bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
            "pubtator",
            (500, 0, 5347 + 4244, 43 + 17 - 1, 1012, 0),
            {"Chemical": 659, "Disease": 604},
        ),
    ],
)
def test_counts_of_the_public_corpora(data_dir, name, format, counts, n_ids):
    report = Report()
    documents = list(read_corpus(data_dir / "corpora" / name, format, strict=True, report=report))
    r = report
    assert (r.documents, r.duplicates, r.mentions, r.without_id, r.relations, r.mismatched) == counts
    mentions = [mention for document in documents for mention in document.mentions]
    for label, n in n_ids.items():
        assert len({i for mention in mentions if label in (None, mention.label) for i in mention.ids}) == n


@pytest.mark.parametrize("start", ["\x1c0", "0\x1f", "²", "٣", "1" * 5000, "1_0"])
def test_an_offset_that_is_no_number_costs_its_row_only(read, start):
    # a row of seven columns is no relation, whatever its second column holds
    row = f"1\t{start}\t13\tRenal failure\tDisease\tD051437\tRenal failure\n"
    (document,), report = read(RECORD + row)
    assert document[:3] == DOCUMENT[:3]
    assert [problem.line for problem in report.problems] == [6]
    with pytest.raises(SapbertError, match=r"E127.*line 6"):
        read(RECORD + row, strict=True)


def test_messages_quote_only_the_beginning_of_long_texts(read):
    text = "flu " * 20_000
    rows = "".join(f"1\t0\t{len(text)}\t{number} {text}\tDisease\tD1\n" for number in range(200))
    _, report = read(f"1|t|{text}x\n1|a|\n{rows}")
    assert report.mismatched == 200
    assert sum(len(problem.reason) for problem in report.mismatches) < 200 * 300
