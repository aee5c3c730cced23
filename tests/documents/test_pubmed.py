"""Files of PubMed, written here in the published format, are read, and newer records replace older ones."""

import gzip
import io
import time
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, pubmed_files, read_all, read_documents
from spacy_sapbert.documents.pubmed import pmids_of, superseded
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import STDIN

HEAD = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "pubmed_250101.dtd">
"""
RECORD = """<PubmedArticle>
<MedlineCitation Status="MEDLINE" Owner="NLM">
<PMID Version="1">123</PMID>
<DateRevised><Year>2024</Year></DateRevised>
<Article PubModel="Print">
<Journal><ISSN IssnType="Print">0000-0000</ISSN>
<JournalIssue CitedMedium="Print"><PubDate><Year>2019</Year><Month>Jun</Month></PubDate></JournalIssue>
<Title>Journal of Examples</Title></Journal>
<ArticleTitle>[Effect of <i>APC</i> on
 Ca<sup>2+</sup>.]</ArticleTitle>
<Abstract><AbstractText Label="METHODS" NlmCategory="METHODS">We  looked.</AbstractText>
<AbstractText Label="RESULTS">Flu &lt; cold.</AbstractText><CopyrightInformation>Ours</CopyrightInformation></Abstract>
<AuthorList><Author><LastName>Doe</LastName></Author></AuthorList>
<Language>eng</Language><Language>ger</Language>
<PublicationTypeList><PublicationType UI="D016428">Journal Article</PublicationType></PublicationTypeList>
<ArticleDate DateType="Electronic"><Year>2018</Year></ArticleDate>
</Article>
<MeshHeadingList>
<MeshHeading><DescriptorName MajorTopicYN="N" UI="D000001">A</DescriptorName></MeshHeading>
<MeshHeading><DescriptorName UI="D000002" MajorTopicYN="Y">B</DescriptorName></MeshHeading>
<MeshHeading><DescriptorName UI="D000003" MajorTopicYN="N">C</DescriptorName>
<QualifierName UI="Q000001" MajorTopicYN="Y">x</QualifierName></MeshHeading>
</MeshHeadingList>
<CommentsCorrectionsList><CommentsCorrections RefType="Cites"><PMID Version="1">999</PMID></CommentsCorrections>
</CommentsCorrectionsList>
</MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="doi">10.1/a</ArticleId><ArticleId IdType="pmc">PMC7</ArticleId>
</ArticleIdList><ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1/b</ArticleId></ArticleIdList>
</Reference></ReferenceList></PubmedData>
</PubmedArticle>"""


def file_of(*records):
    return f"{HEAD}<PubmedArticleSet>\n{''.join(records)}\n</PubmedArticleSet>"


def record(pmid, title="T", *, version=1, inner="", after=""):
    identity = f'<PMID Version="{version}">{pmid}</PMID>'
    article = f"<Article><ArticleTitle>{title}</ArticleTitle>{inner}</Article>"
    return f"<PubmedArticle><MedlineCitation>{identity}{article}{after}</MedlineCitation></PubmedArticle>\n"


def deleted(*pmids):
    return "<DeleteCitation>" + "".join(f'<PMID Version="1">{pmid}</PMID>\n' for pmid in pmids) + "</DeleteCitation>"


def abstract(text):
    return f"<Abstract><AbstractText>{text}</AbstractText></Abstract>"


def other_abstract(text, type, language="", label=""):
    attributes = f' Language="{language}"' * bool(language)
    labelled = f' Label="{label}"' * bool(label)
    return f'<OtherAbstract Type="{type}"{attributes}><AbstractText{labelled}>{text}</AbstractText></OtherAbstract>'


def test_a_record_as_it_is_published(read):
    (document,) = read("a.xml", file_of(RECORD))
    assert document.doc_id == "123"
    assert document.title == "[Effect of APC on Ca2+.]"
    assert document.text == "[Effect of APC on Ca2+.] METHODS: We looked. RESULTS: Flu < cold."
    assert document.position.endswith("a.xml, line 4")
    assert document.meta == {
        "title": document.title,
        "year": 2019,
        "language": ["eng", "ger"],
        "journal": "Journal of Examples",
        "doi": "10.1/a",
        "pmcid": "PMC7",
        "publication_types": ["Journal Article"],
        "mesh": ["D000001", "D000002", "D000003"],
        "mesh_major": ["D000002", "D000003"],
    }


@pytest.mark.parametrize(
    ("dates", "year"),
    [
        ("<PubDate><Year>2001</Year></PubDate>", 2001),
        ("<PubDate><MedlineDate>1998 Dec-1999 Jan</MedlineDate></PubDate>", 1998),
        ("<PubDate><MedlineDate>12 Winter 2000</MedlineDate></PubDate>", 2000),
        ("<PubDate><Season>Fall</Season></PubDate><ArticleDate><Year>2003</Year></ArticleDate>", 2003),
        ("<ArticleDate><Year>20031</Year></ArticleDate>", None),
        ("", None),
    ],
)
def test_the_year(read, dates, year):
    dates = dates.replace("<PubDate>", "<Journal><JournalIssue><PubDate>")
    dates = dates.replace("</PubDate>", "</PubDate></JournalIssue></Journal>")
    (document,) = read("a.xml", file_of(record(1, inner=dates)))
    assert document.meta.get("year") == year


@pytest.mark.parametrize(
    ("inner", "after", "text", "meta"),
    [
        (abstract("A."), other_abstract("B.", "PIP"), "T A.", {}),
        (
            "",
            other_abstract("B.", "PIP", "fre", "BUT"),
            "T BUT: B.",
            {"abstract_type": "PIP", "abstract_language": "fre"},
        ),
        (
            abstract(""),
            other_abstract("B.", "Publisher", "fre") + other_abstract("C.", "KIE"),
            "T C.",
            {"abstract_type": "KIE", "abstract_language": "eng"},
        ),
        ("", other_abstract("Abstract available from the publisher.", "Publisher", "fre"), "T", {}),
        ('<Abstract><AbstractText Label="UNLABELLED">A.</AbstractText></Abstract>', "", "T A.", {}),
        ("<VernacularTitle>V</VernacularTitle>", "", "T", {}),
    ],
)
def test_which_abstract_is_read(read, inner, after, text, meta):
    (document,) = read("a.xml", file_of(record(1, inner=inner, after=after)))
    assert document.text == text
    assert document.meta == {"title": "T", **meta}


def test_a_title_in_another_language_takes_the_place_of_a_missing_one(read):
    (document,) = read("a.xml", file_of(record(1, "", inner="<VernacularTitle>Grippe</VernacularTitle>")))
    assert (document.title, document.text) == ("Grippe", "Grippe")


def test_formulas_become_their_text(read):
    formula = (
        '<mml:math xmlns:mml="http://www.w3.org/1998/Math/MathML"><mml:semantics><mml:mi>x</mml:mi><mml:mo>=</mml:mo>'
        "<mml:mn>2</mml:mn><mml:annotation>\\x</mml:annotation></mml:semantics></mml:math>"
    )
    (document,) = read("a.xml", file_of(record(1, inner=abstract(f"If {formula} holds"))))
    assert document.text == "T If x=2 holds"


def test_a_chapter_of_a_book(read):
    book = (
        '<PubmedBookArticle><BookDocument><PMID Version="1">5</PMID><Book><BookTitle>Genes</BookTitle><PubDate>'
        "<Year>1993</Year></PubDate></Book><ArticleTitle>Marfan</ArticleTitle><Language>eng</Language>"
        f"{abstract('Rare.')}</BookDocument></PubmedBookArticle>"
    )
    (document,) = read("a.xml", file_of(book))
    assert document[:2] == ("5", "Marfan Rare.")
    assert document.meta == {"title": "Marfan", "year": 1993, "language": ["eng"], "book": "Genes"}


def test_a_version_is_named(read):
    (document,) = read("a.xml", file_of(record(1, version=3)))
    assert document.meta["version"] == 3


def test_broken_records_are_reported_and_the_rest_is_read(read, messages, problems):
    nameless = "<PubmedArticle><MedlineCitation><Article/></MedlineCitation></PubmedArticle>\n"
    content = file_of(record("x1"), record(-5), record(2, ""), record("1" * 10), nameless, record(3))
    assert [document.doc_id for document in read("a.xml", content)] == ["3"]
    assert problems.broken == 5
    assert "a.xml, line 4: the PMID of this record is not a number; left out" in messages()
    assert "line 6: record 2 has neither a title nor an abstract" in messages()
    assert "line 8: this record has no PMID" in messages()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (file_of(record(1), record(2))[:-60], "E127"),
        ('<!DOCTYPE PubmedArticleSet [<!ENTITY a "b">]>' + file_of(record(1)).removeprefix(HEAD), "E206"),
        (file_of(record(1), record(2, "&nbsp;")), "E206"),
        ("<collection/>", "E121"),
    ],
)
def test_faults_end_the_file(read, content, code):
    with pytest.raises(SapbertError, match=rf"\[{code}\]"):
        read("a.xml", content, "pubmed")


def test_documents_before_the_damage_are_read(tmp_path, problems):
    path = tmp_path / "a.xml.gz"
    packed = gzip.compress(file_of(*(record(pmid, f"T{pmid * 7919 % 10007}") for pmid in range(1, 5_000))).encode())
    path.write_bytes(packed[: len(packed) // 2])
    found = []
    documents = read_documents(path, ReadOptions(None), problems)
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        found.extend(document.doc_id for document in documents)
    assert 100 < len(found) < 5_000
    assert found == [str(pmid) for pmid in range(1, len(found) + 1)]
    assert list(pmids_of(path)[:, 0])[: len(found)] == list(range(1, len(found) + 1))


def test_very_deep_markup(read):
    deep, too_deep = ("<i>" * levels + "x" + "</i>" * levels for levels in (900, 20_000))
    assert read("a.xml", file_of(record(1, deep)))[0].text == "x"
    with pytest.raises(SapbertError, match="more than 1,000 levels"):
        read("b.xml", file_of(record(1, too_deep)))


XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"))
ARTICLES = st.lists(
    st.tuples(
        st.integers(0, 999_999_999),
        st.integers(1, 300),
        XML_TEXT,
        st.lists(st.tuples(XML_TEXT, XML_TEXT), max_size=3),
        st.integers(1000, 9999) | st.none(),
    ),
    max_size=5,
)


def collapsed(text):
    return " ".join(text.split())


@settings(deadline=None)
@given(articles=ARTICLES)
def test_random_articles_are_read_back(tmp_path_factory, articles):
    records, wanted = [], []
    for pmid, version, title, parts, year in articles:
        date = f"<Journal><JournalIssue><PubDate><Year>{year}</Year></PubDate></JournalIssue></Journal>" if year else ""
        abstract_texts = "".join(f"<AbstractText Label={quoteattr(a)}>{escape(b)}</AbstractText>" for a, b in parts)
        body = f"{date}<Abstract>{abstract_texts}</Abstract>"
        records.append(record(pmid, escape(title), version=version, inner=body))
        texts = [
            f"{a.strip()}: {collapsed(b)}" if a.strip() and a.strip().upper() != "UNLABELLED" else collapsed(b)
            for a, b in parts
            if collapsed(b)
        ]
        text = " ".join(part for part in (collapsed(title), *texts) if part)
        if text:
            wanted.append((str(pmid), text, year, version if version > 1 else None))
    path = tmp_path_factory.getbasetemp() / "random.xml"
    path.write_text(file_of(*records), encoding="utf-8")
    problems = Problems(Console(quiet=True))
    documents = list(read_documents(path, ReadOptions(None), problems))
    found = [(one.doc_id, one.text, one.meta.get("year"), one.meta.get("version")) for one in documents]
    assert found == wanted
    assert problems.broken == len(articles) - len(wanted)


@pytest.fixture
def files(tmp_path):
    """A function that writes files into a folder, by their names."""

    def write(**contents):
        paths = []
        for name, records in contents.items():
            path = tmp_path / f"{name}.xml"
            path.write_text(file_of(*records))
            paths.append(path)
        return paths

    return write


def texts(inputs, console=None):
    problems = Problems(console or Console(quiet=True))
    return [
        (document.doc_id, document.text)
        for document in read_all([(path, ReadOptions(None)) for path in inputs], problems)
    ]


def test_later_files_replace_and_delete_records(files, tmp_path):
    base, update = files(
        pubmed25n0001=[record(1, "old"), record(2, "kept"), record(3, "gone")],
        pubmed25n0002=[record(1, "new"), record(4, "more"), deleted(3, 77)],
    )
    wanted = [("2", "kept"), ("1", "new"), ("4", "more")]
    console = Console(file=io.StringIO(), width=200)
    assert texts([base, update], console) == wanted
    assert console.file.getvalue() == "2 records of PubMed left out, since a newer record replaces or deletes them\n"
    assert sorted(texts([update, base])) == sorted(wanted)
    assert texts([tmp_path]) == wanted
    left_out = superseded({path: pmids_of(path) for path in (update, base)})
    assert {path: list(numbers) for path, numbers in left_out.items()} == {base: [0, 2]}


def test_in_one_file_the_highest_version_and_then_the_last_record_counts(files):
    (path,) = files(a=[record(1, "a"), record(1, "b", version=2), record(1, "c"), record(2, "d"), record(2, "e")])
    assert texts([path]) == [("1", "b"), ("2", "e")]


def test_an_older_version_in_a_later_file_does_not_replace_a_newer_one(files):
    paths = files(a=[record(1, "second", version=2)], b=[record(1, "first again")])
    assert texts(paths) == [("1", "second")]


def test_a_deleted_record_can_come_back(files):
    assert texts(files(a=[record(1, "a")], b=[deleted(1)], c=[record(1, "c")])) == [("1", "c")]
    assert texts(files(a=[record(1, "a"), deleted(1)])) == []


def test_the_names_of_the_files_and_not_their_folders_give_the_order(files, tmp_path):
    old, new = files(pubmed25n0001=[record(1, "old")], pubmed25n0002=[record(1, "new")])
    for folder, path in (("z", old), ("a", new)):
        (tmp_path / folder).mkdir()
        path.rename(tmp_path / folder / path.name)
    assert texts([tmp_path]) == [("1", "new")]


def test_files_that_may_be_of_pubmed(files, tmp_path):
    (path,) = files(a=[record(1)])
    (tmp_path / "b.xml.gz").write_bytes(b"\x1f\x8bdamaged")
    (tmp_path / "c.txt").write_text("flu")
    inputs = [(tmp_path, ReadOptions(None)), (STDIN, ReadOptions("pubmed"))]
    assert pubmed_files(inputs) == [path, tmp_path / "b.xml.gz"]
    assert pubmed_files([(tmp_path, ReadOptions(None, gold=True)), (path, ReadOptions("bioc"))]) == []


def test_one_file_is_read_with_given_numbers(files, problems):
    (path,) = files(a=[record(1), record(2), record(3)])
    found = read_documents(path, ReadOptions(None), problems, {path: np.array([0, 2], np.int32)})
    assert [document.doc_id for document in found] == ["2"]


EVENTS = st.lists(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.booleans()), max_size=6), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=60)
@given(contents=EVENTS, filler=st.sampled_from(["", " " * 70_000]))
def test_the_newest_records_are_those_of_a_plain_search(tmp_path_factory, contents, filler):
    folder = tmp_path_factory.mktemp("newest")
    newest, wanted = {}, []
    for rank, events in enumerate(contents):
        records = []
        for place, (pmid, version, is_deleted) in enumerate(events):
            text = f"{rank} {place}"
            event = (version, rank, place, None if is_deleted else text)
            newest[pmid] = max(newest.get(pmid, event), event, key=lambda one: one[:3])
            wanted += [] if is_deleted else [(str(pmid), text)]
            gone = f'<DeleteCitation><PMID Version="{version}">{pmid}</PMID></DeleteCitation>'
            records.append(filler + (gone if is_deleted else record(pmid, text, version=version)))
        (folder / f"{rank}.xml").write_text(file_of(*records))
    kept = {(str(pmid), event[3]) for pmid, event in newest.items()}
    assert texts([folder]) == [pair for pair in wanted if pair in kept]


FOREIGN = b"<a><PubmedArticle><MedlineCitation><PMID>1</PMID></MedlineCitation></PubmedArticle></a>"


@pytest.mark.parametrize("content", [b"", b"no XML", b"\x1f\x8b\x08damaged", b"<a/>", FOREIGN])
def test_a_file_without_records_supersedes_nothing(tmp_path, content):
    path = tmp_path / "a.xml"
    path.write_bytes(content)
    assert len(pmids_of(path)) == 0
    assert superseded({path: pmids_of(path)}) == superseded({}) == {}


def test_reading_and_searching_take_linear_time(tmp_path):
    def seconds(n):
        path = tmp_path / f"{n}.xml"
        path.write_text(file_of(*(record(pmid, "T" * 200) for pmid in range(n))))
        started = time.process_time()
        assert len(texts([path])) == n
        return time.process_time() - started

    seconds(100)
    assert seconds(8000) < 8 * max(seconds(2000), 0.02)
