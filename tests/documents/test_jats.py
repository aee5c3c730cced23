"""Articles of PMC, written here in the published format, are read from files and archives."""

import gzip
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents

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
