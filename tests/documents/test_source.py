import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.source import NEAR, Report, join_passages, locate
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention


def located(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    return span and text[slice(*span)]


@pytest.mark.parametrize(
    ("text", "start", "end", "surface", "found"),
    [
        ("The patient had hepatic failure.", 14, 29, "hepatic failure", "hepatic failure"),
        ("had flu", 5, 8, "flu", "flu"),
        # the text is found twice, or not at all
        ("flu, flu and colds", 2, 5, "flu", None),
        ('seizures "plus"', 0, 15, 'seizures " plus "', 'seizures "plus"'),
        # other ways to write it
        ("The β subunit", 4, 5, "beta", "β"),
        ("TNF rises", 0, 3, "tumor necrosis factor", "TNF"),
        # it is far from its offsets
        ("x" * 10 + " " * (NEAR + 10) + "flu", 0, 3, "flu", None),
    ],
)
def test_a_text_close_to_wrong_offsets_is_found(text, start, end, surface, found):
    assert located(text, start, end, surface) == found


def test_offsets_that_agree_count_even_where_the_text_repeats():
    assert locate("flu and flu", Mention(8, 11, "flu", "Disease")) == (8, 11)


@pytest.mark.parametrize(("start", "end"), [(-1, 3), (3, 3), (3, 2), (0, 99), (99, 102)])
def test_offsets_that_are_no_part_of_the_text_give_nothing(start, end):
    assert locate("a short text", Mention(start, end, "flu", "Disease")) is None


@given(st.text("ab ", max_size=60), st.integers(-5, 70), st.integers(-5, 70), st.text("ab ", max_size=5))
def test_located_spans_are_never_empty_nor_outside(text, start, end, surface):
    span = locate(text, Mention(start, end, surface, "Disease"))
    assert span is None or 0 <= span[0] < span[1] <= len(text)


PASSAGES = """\
1|t|Cystic fibrosis (CF).
1|a|It is common.
1\t0\t15\tCystic fibrosis\tDisease\tD003550

1|t|Methods
1|a|CF was treated.
1\t8\t10\tCF\tDisease\tD003550

2|t|Asthma.
2|a|

1|t|Results
1|a|CF was cured.
1\t8\t10\tCF\tDisease\tD003550
"""


@pytest.fixture
def read(tmp_path):
    def read_text(text, report, name="corpus.txt"):
        path = tmp_path / name
        path.write_text(text)
        return list(read_corpus(path, report=report, join_passages=report is not None))

    return read_text


def test_consecutive_records_with_one_id_are_one_document(read):
    counts = Report()
    first, asthma, later = read(PASSAGES, counts)
    assert first.text == "Cystic fibrosis (CF). It is common.\nMethods CF was treated."
    assert first.mentions == (
        Mention(0, 15, "Cystic fibrosis", "Disease", ("D003550",)),
        Mention(44, 46, "CF", "Disease", ("D003550",)),
    )
    assert first.text[44:46] == "CF"
    assert (asthma.text, later.doc_id, later.text) == ("Asthma.", "1", "Results CF was cured.")
    assert (counts.joined, counts.documents_of_joined) == (2, 1)
    assert "2 records are passages of 1 documents" in counts.joined_message()


def test_records_can_stay_separate(read):
    assert [document.doc_id for document in read(PASSAGES, None)] == ["1", "1", "2", "1"]


def test_a_document_that_is_there_twice_stays_two_documents(read):
    counts = Report()
    twice = "1|t|A.\n1|a|b\n\n1|t|C.\n1|a|d\n\n" * 2
    assert [document.text for document in read(twice, counts)] == ["A. b\nC. d"] * 2
    assert (counts.joined, counts.documents_of_joined) == (4, 2)


def test_bioc_documents_are_joined_and_pieces_move(read):
    places = '<location offset="0" length="6"/><location offset="19" length="6"/>'
    annotation = f'<annotation id="1"><infon key="type">Disease</infon>{places}<text>breast cancer</text></annotation>'
    passages = ("A title.", ""), ("breast and ovarian cancer", annotation)
    documents = "".join(
        f"<document><id>7</id><passage><offset>0</offset><text>{text}</text>{inside}</passage></document>"
        for text, inside in passages
    )
    (document,) = read(f"<collection>{documents}</collection>", Report(), "a.xml")
    (mention,) = document.mentions
    assert mention.offsets == ((9, 15), (28, 34))
    assert [document.text[start:end] for start, end in mention.offsets] == ["breast", "cancer"]


def test_what_was_read_before_an_error_is_kept():
    def records():
        yield from (Document("1", "a"), Document("1", "b"))
        raise SapbertError("broken")

    joined = join_passages(records(), Report())
    assert next(joined).text == "a\nb"
    with pytest.raises(SapbertError, match="broken"):
        next(joined)


def test_tables_of_mentions_are_not_joined(read):
    counts = Report()
    assert len(read("mention\tid\tsentence\nflu\tD1\tA flu.\ncold\tD2\tA cold.\n", counts, "a.tsv")) == 2
    assert counts.joined == 0
