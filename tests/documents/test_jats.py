"""Articles of PMC, written here in the published format, are read from files and archives."""

import gzip
import io
import tarfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.formats import InputFormat
from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.errors import SapbertError

DOCTYPE = (
    '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving and Interchange DTD v1.3 20210610//EN" '
    '"JATS-archivearticle1-3.dtd">\n'
)
ARTICLE = """<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML"
 article-type="research-article" xml:lang="en">
<front><journal-meta><journal-title-group><journal-title>Journal of Examples</journal-title></journal-title-group>
</journal-meta><article-meta>
<article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="pmc">7654321</article-id>
<article-id pub-id-type="doi">10.1/a</article-id>
<title-group><article-title>Role of <italic>APC</italic><xref ref-type="fn" rid="f1"><sup>*</sup></xref></article-title>
<subtitle>a study</subtitle></title-group>
<contrib-group><contrib><name><surname>Doe</surname></name></contrib></contrib-group>
<pub-date pub-type="pmc-release"><year>2017</year></pub-date><pub-date pub-type="ppub"><year>2020</year></pub-date>
<pub-date pub-type="epub"><month>5</month><year>2019</year></pub-date>
<permissions><copyright-statement>Ours</copyright-statement>
<license license-type="open-access" xlink:href="https://creativecommons.org/licenses/by/4.0/"><license-p>By</license-p>
</license></permissions>
<abstract><title>Abstract</title><sec><title>Background</title><p>Flu
 is bad.</p></sec></abstract>
<abstract abstract-type="graphical"><p>Picture</p></abstract>
<kwd-group><kwd>flu</kwd><kwd><italic>APC</italic></kwd></kwd-group></article-meta></front>
<body><sec><label>1.</label><title>Methods</title>
<p>Of Ca<sup>2+</sup> and cancer<sup><xref ref-type="bibr" rid="b1">1</xref>,<xref ref-type="bibr">2</xref></sup>
(<xref ref-type="fig" rid="g">Fig. 1</xref>) [<xref ref-type="bibr">3</xref>], where
<inline-formula><alternatives><mml:math><mml:mi>x</mml:mi></mml:math><tex-math>\\begin{x}</tex-math></alternatives>
</inline-formula> holds:<disp-formula><mml:math><mml:mi>y</mml:mi></mml:math></disp-formula>
<list><list-item><label>a</label><p>one</p></list-item><list-item><p>two</p></list-item></list> end.</p>
<fig id="g"><label>Figure 1</label><caption><title>Cells</title><p>Red cells.</p></caption><graphic/></fig>
<table-wrap><label>Table 1</label><caption><p>Counts.</p></caption><table><tr><td>7</td></tr></table>
<table-wrap-foot><fn><p>Foot</p></fn></table-wrap-foot></table-wrap></sec>
<sec><title>Results</title><p>None<break/>found.</p></sec></body>
<back><ack><p>Thanks</p></ack><ref-list><ref><element-citation><article-title>Cited</article-title></element-citation>
</ref></ref-list></back>
<floats-group><fig><caption><p>Late figure.</p></caption></fig></floats-group>
<sub-article><front-stub/><body><p>Review</p></body></sub-article>
</article>"""
TEXT = """Role of APC: a study Background
Flu is bad.
Methods
Of Ca2+ and cancer (Fig. 1) [3], where x holds:
one
two
end.
Cells
Red cells.
Counts.
Results
None
found.
Late figure."""


def small(number, text="flu"):
    ids = f'<article-id pub-id-type="pmcid">PMC{number}</article-id>'
    return f"<article><front><article-meta>{ids}</article-meta></front><body><p>{text}</p></body></article>"


def test_an_article_as_it_is_published(read):
    (document,) = read("a.nxml", DOCTYPE + ARTICLE)
    assert (document.doc_id, document.title) == ("PMC7654321", "Role of APC: a study")
    assert document.text == TEXT
    assert document.meta == {
        "title": "Role of APC: a study",
        "pmcid": "PMC7654321",
        "pmid": "123",
        "doi": "10.1/a",
        "year": 2019,
        "journal": "Journal of Examples",
        "keywords": ["flu", "APC"],
        "license": "https://creativecommons.org/licenses/by/4.0/",
    }


@pytest.mark.parametrize(
    "whole",
    [
        "{}",
        "<pmc-articleset>{}</pmc-articleset>",
        '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header/><metadata>{}</metadata>'
        "</record></ListRecords></OAI-PMH>",
    ],
)
@pytest.mark.parametrize("name", ["a.xml", "a.xml.gz", "a.nxml"])
def test_the_root_shows_the_format(read, name, whole):
    content = ("<!-- note -->" + whole.format(small(1) + small(2) if "set" in whole else small(1))).encode()
    documents = read(name, gzip.compress(content) if name.endswith(".gz") else content)
    assert [(one.doc_id, one.text) for one in documents] == [("PMC1", "flu"), ("PMC2", "flu")][: len(documents)]
    assert len(documents) == (2 if "set" in whole else 1)


@pytest.mark.parametrize(
    ("ids", "doc_id"),
    [
        ('<article-id pub-id-type="pmc">PMC1</article-id>', "PMC1"),
        ('<article-id pub-id-type="pmcaid">1</article-id><article-id pub-id-type="pmid">2</article-id>', "PMC1"),
        ('<article-id pub-id-type="pmid">2</article-id><article-id pub-id-type="doi">3</article-id>', "2"),
        ('<article-id pub-id-type="doi">3</article-id>', "3"),
        ("", "a.nxml:1"),
    ],
)
def test_the_id(read, ids, doc_id):
    front = f"<front><article-meta>{ids}</article-meta></front>"
    assert read("a.nxml", f"<article>{front}<body><p>flu</p></body></article>")[0].doc_id == doc_id


def test_a_translated_abstract_takes_the_place_of_a_missing_one(read):
    abstract = '<trans-abstract xml:lang="es"><p>Gripe</p></trans-abstract>'
    (document,) = read("a.nxml", f"<article><front><article-meta>{abstract}</article-meta></front></article>")
    assert (document.text, document.meta) == ("Gripe", {"abstract_language": "es"})


def test_broken_articles_are_reported_and_the_rest_is_read(read, messages):
    content = f"<pmc-articleset><article/>\n{small(1, '')}\n{small(2)}</pmc-articleset>"
    assert [document.doc_id for document in read("a.xml", content)] == ["PMC2"]
    assert "a.xml, line 1: an article without the element <front>; left out" in messages()
    assert "line 2: the article PMC1 has no text" in messages()


XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="￾￿"))
INLINE = st.lists(st.tuples(st.sampled_from(["", "italic", "sup", "sub", "styled-content"]), XML_TEXT), max_size=4)


@settings(deadline=None)
@given(title=INLINE, paragraphs=st.lists(INLINE, max_size=4))
def test_random_articles_are_read_back(tmp_path_factory, title, paragraphs):
    def written(parts):
        return "".join(f"<{tag}>{escape(text)}</{tag}>" if tag else escape(text) for tag, text in parts)

    def plain(parts):
        return " ".join("".join(text for _, text in parts).split())

    front = f"<title-group><article-title>{written(title)}</article-title></title-group>"
    body = "".join(f"<p>{written(parts)}</p>" for parts in paragraphs)
    path = tmp_path_factory.getbasetemp() / "random.nxml"
    path.write_text(
        f"<article><front><article-meta>{front}</article-meta></front><body>{body}</body></article>", encoding="utf-8"
    )
    documents = list(read_documents(path, ReadOptions(None), Problems(Console(quiet=True))))
    lines = "\n".join(filter(None, map(plain, paragraphs)))
    text = " ".join(filter(None, (plain(title), lines)))
    assert [document.text for document in documents] == ([text] if text else [])


# --- archives


def member(name, content=b"", **values):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for key, value in values.items():
        setattr(entry, key, value)
    return entry, io.BytesIO(content)


def archive_of(*members, mode="w:gz"):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for entry, content in members:
            if content:
                content.seek(0)
            archive.addfile(entry, content)
    return packed.getvalue()


MEMBERS = [
    member("PMC1", type=tarfile.DIRTYPE),
    member("PMC1/1.jpg", b"\xff" * 3000),
    member("PMC1/1.nxml", (DOCTYPE + small(1)).encode()),
    member("../outside.xml", small(2, "word " * 40_000).encode()),
    member("link.nxml", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    member("hard.nxml", type=tarfile.LNKTYPE, linkname="PMC1/1.nxml"),
    member("supplement.xml", b"<other/>"),
    member("broken.nxml", b"<article><front>"),
    member("last.nxml", small(3).encode()),
]


@pytest.mark.parametrize(("name", "mode"), [("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar", "w")])
def test_the_articles_of_an_archive_are_read(read, messages, problems, tmp_path, name, mode):
    before = set(tmp_path.parent.iterdir())
    documents = read(name, archive_of(*MEMBERS, mode=mode))
    assert [document.doc_id for document in documents] == ["PMC1", "PMC2", "PMC3"]
    assert documents[0].position == f"{tmp_path}/{name}/PMC1/1.nxml, line 2"
    assert f"{name}/broken.nxml: [E127]" in messages()
    assert problems.broken == 1
    assert f"{name}: 4 files that are not articles left out\n" in messages()
    assert {path.name for path in tmp_path.iterdir()} == {name}
    assert set(tmp_path.parent.iterdir()) == before


def test_archives_of_a_folder_are_read(tmp_path, problems, messages):
    (tmp_path / "a.tar.gz").write_bytes(archive_of(*MEMBERS))
    (tmp_path / "b.tar").write_bytes(archive_of(member("a.csv", b"1,2"), mode="w"))
    assert len(list(read_documents(tmp_path, ReadOptions(None), problems))) == 3
    assert "1 files of no known format left out (1 .tar that is without articles)" in messages()


BIOC = (
    "<collection><document><id>PMC1</id><passage><infon key='type'>front</infon><offset>0</offset><text>T</text>"
    "</passage></document></collection>"
)


def test_archives_of_bioc_are_known_by_their_first_file(read, tmp_path):
    (document,) = read("a.tar.gz", archive_of(member("PMC1.xml", BIOC.encode())))
    assert (document.doc_id, document.title) == ("PMC1", "T")
    content = b'[{"documents": [{"id": "PMC2", "passages": [{"offset": 0, "text": "flu"}]}]}]'
    (document,) = read("b.tar.gz", archive_of(member("readme.txt"), member("PMC2.json", content)))
    assert (document.doc_id, document.text) == ("PMC2", "flu")


@pytest.mark.parametrize("format", [None, InputFormat.jats])
def test_articles_without_annotated_mentions_are_refused(read, format):
    with pytest.raises(SapbertError, match=r"\[E533\] --gold .*has the format jats"):
        read("a.tar.gz", archive_of(*MEMBERS), format, gold=True)


def test_an_archive_without_articles_is_reported(read):
    with pytest.raises(SapbertError, match=r"\[E121\] .*contains no article of the format jats"):
        read("a.tar", archive_of(member("a.txt", b"flu"), mode="w"))


NUMBERS = [member(f"{number}.nxml", small(number).encode()) for number in range(50)]


@pytest.mark.parametrize(
    ("name", "cut", "code"),
    [
        ("a.tar", lambda packed: packed[:20_000], "E121"),  # within a file or its header
        ("a.tar", lambda packed: packed[: 20 * 512], "E121"),  # between two files
        ("a.tar", lambda packed: packed[:20_480] + b"x" * 512 + packed[20_992:], "E121"),  # a header that is none
        ("a.tar.gz", lambda packed: packed[: len(packed) // 2], "E121"),
    ],
)
def test_articles_before_the_damage_are_read(tmp_path, problems, name, cut, code):
    (tmp_path / name).write_bytes(cut(archive_of(*NUMBERS, mode="w:gz" if name.endswith(".gz") else "w")))
    found = []
    documents = read_documents(tmp_path / name, ReadOptions(InputFormat.jats), problems)
    with pytest.raises(SapbertError, match=rf"\[{code}\]"):
        found.extend(document.doc_id for document in documents)
    assert 0 < len(found) < 50
    assert found == [f"PMC{number}" for number in range(len(found))]


def test_too_large_a_file_is_left_out_unread(read, messages, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.documents.input_documents._LARGEST_PACKED", 300)
    large, fine = member("large.xml", small(1, "flu " * 100).encode()), member("fine.xml", small(2).encode())
    assert [document.doc_id for document in read("a.tar", archive_of(large, fine, mode="w"))] == ["PMC2"]
    assert "large.xml: this file has" in messages()


def test_a_header_that_would_fill_the_memory_is_refused(read):
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 40
    content = header.tobuf(tarfile.GNU_FORMAT) + b"9 a=b\n" * 1000
    with pytest.raises(SapbertError, match=r"\[E121\]"):
        read("a.tar", content)
