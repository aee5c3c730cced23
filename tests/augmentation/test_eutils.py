import json
from collections import deque
from io import BytesIO
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlsplit

import pytest

from spacy_sapbert.augmentation import search
from spacy_sapbert.augmentation.search import TRIES, EutilsSearch
from spacy_sapbert.errors import SapbertError

from ..cases import cases

ABSTRACT = """<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://example.org/none.dtd">
<PubmedArticleSet>{}</PubmedArticleSet>"""
ARTICLE = """<PubmedArticle><MedlineCitation><PMID Version="1">{}</PMID><Article>
<ArticleTitle>Gout in <i>mice</i>.</ArticleTitle>{}</Article></MedlineCitation></PubmedArticle>"""
TEXTS = '<Abstract><AbstractText Label="AIM">To\n learn.</AbstractText><AbstractText>More.</AbstractText></Abstract>'
PMC = """<pmc-articleset><article><front><article-meta>
<article-id pub-id-type="pmid">11</article-id><article-id pub-id-type="pmcid">PMC7</article-id>
<title-group><article-title>Gout.</article-title></title-group><abstract><p>Short.</p></abstract></article-meta></front>
<body><sec><title>Results</title><p>Long: <list><list-item><p>one</p></list-item></list>.</p><p>End.</p></sec></body>
</article><article><front/></article></pmc-articleset>"""


class Ncbi:
    """Plays the part of the E-utilities: what it was asked, and what it answers next instead."""

    url = "http://ncbi.test/eutils"

    def __init__(self):
        self.asked = []
        self.faults = deque()

    def open(self, request, timeout):
        values = {key: value for key, (value,) in parse_qs(request.data.decode()).items()}
        self.asked.append((urlsplit(request.full_url).path, values))
        status, content = self.faults.popleft() if self.faults else (200, self.answer(*self.asked[-1]))
        if status is None:
            raise URLError(content)
        if status != 200:
            raise HTTPError(request.full_url, status, "", {}, BytesIO())
        return BytesIO(content.encode())

    def answer(self, path, values):
        if path == "/eutils/esearch.fcgi":
            return json.dumps({"esearchresult": {"idlist": ["1", "2", "3"][: int(values["retmax"])]}})
        if values["db"] == "pmc":
            return PMC
        articles = (ARTICLE.format(key, TEXTS if key != "2" else "") for key in values["id"].split(","))
        return ABSTRACT.format("".join(articles))


@pytest.fixture
def ncbi(monkeypatch):
    ncbi = Ncbi()
    monkeypatch.setattr(search, "urlopen", ncbi.open)
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    return ncbi


class Time:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self):
        self.now = 100.0
        self.slept = []

    def clock(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(round(seconds, 3))
        self.now += seconds


def make(ncbi, cache=None, database="pubmed"):
    time = Time()
    return EutilsSearch(database, ncbi.url, cache, clock=time.clock, sleep=time.sleep), time


def test_abstracts_of_pubmed(ncbi):
    search, _ = make(ncbi)
    hits = search.find("Gout [acute], AND/OR (1)", 2)
    assert [(hit.key, hit.whole) for hit in hits] == [("1", True), ("2", True)]
    path, values = ncbi.asked[0]
    assert (path, values["term"]) == ("/eutils/esearch.fcgi", "(gout acute , and/or 1) AND hasabstract")
    assert (values["retmax"], values["sort"], values["tool"]) == ("2", "relevance", "spacy-sapbert")
    # the second has no abstract
    (document,) = search.fetch(["3", "2"]).values()
    assert (document.doc_id, document.text) == ("3", "Gout in mice. AIM: To learn. More.")
    assert (document.title, document.position) == ("Gout in mice.", "pubmed")
    assert search.find("[]", 2) == []


def test_texts_of_pmc(ncbi):
    search, _ = make(ncbi, database="pmc")
    document = search.fetch(["7"])["7"]
    assert (document.doc_id, document.title, document.meta["pmid"]) == ("PMC7", "Gout.", "11")
    assert document.text == "Gout. Short.\nResults\nLong:\none\n.\nEnd."
    search.find("gout", 1)
    assert ncbi.asked[-1][1]["term"] == "(gout) AND open access[filter]"


@pytest.mark.parametrize(("key", "pause"), [(None, 0.333), ("secret", 0.1)])
def test_so_many_requests_a_second(ncbi, monkeypatch, key, pause):
    if key:
        monkeypatch.setenv("NCBI_API_KEY", key)
    search, time = make(ncbi)
    for name in "abcd":
        search.find(name, 1)
    assert time.slept == [pause] * 3
    assert {values.get("api_key") for _, values in ncbi.asked} == {key}


def test_answers_are_kept_without_the_key(ncbi, monkeypatch, tmp_path):
    monkeypatch.setenv("NCBI_API_KEY", "secret")

    def run():
        search, _ = make(ncbi, tmp_path / "kept")
        return search.fetch([hit.key for hit in search.find("gout", 3)]), search.counts

    first, counts = run()
    assert counts == {"requests": 2}
    monkeypatch.delenv("NCBI_API_KEY")
    assert run() == (first, {"answers_kept": 2})
    assert len(ncbi.asked) == 2
    files = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert len(files) == 2
    assert not any(b"secret" in path.read_bytes() for path in files)
    for path in files:
        path.write_bytes(path.read_bytes()[:-5])  # damaged
    assert run() == (first, {"requests": 2})


@pytest.mark.parametrize(*cases(__file__, "what_passes_is_tried_again"))
def test_what_passes_is_tried_again(ncbi, tmp_path, fault):
    ncbi.faults += [fault, fault]
    search, time = make(ncbi, tmp_path)
    assert len(search.find("gout", 3)) == 3
    assert time.slept == [2, 4]
    assert search.counts == {"requests": 3, "tries_again": 2}


def test_what_was_answered_before_is_not_asked_again_after_an_error(ncbi, tmp_path):
    search = make(ncbi, tmp_path)[0]
    hits = search.find("gout", 3)
    ncbi.faults += [(500, "")] * TRIES
    with pytest.raises(SapbertError, match=r"\[E605\] http://ncbi.* \(HTTP status 500\)"):
        search.fetch([hit.key for hit in hits])
    again = make(ncbi, tmp_path)[0]
    assert set(again.fetch([hit.key for hit in again.find("gout", 3)])) == {"1", "3"}
    assert again.counts == {"answers_kept": 1, "requests": 1}


def test_what_stays_is_reported(ncbi):
    ncbi.faults.append((400, ""))
    search, time = make(ncbi)
    with pytest.raises(SapbertError, match="HTTP status 400"):
        search.find("gout", 3)
    assert time.slept == []
    for answer, reason in (("<PubmedArticleSet>", "XML"), ("<a/>", "not PubMed")):
        ncbi.faults += [(200, answer)] * TRIES
        with pytest.raises(SapbertError, match=reason):
            search.fetch(["1"])
    ncbi.faults += [(200, "[" * 100_000)] * TRIES
    with pytest.raises(SapbertError, match="not the result of a search"):
        search.find("gout", 3)
    ncbi.faults += [(None, "refused")] * TRIES
    with pytest.raises(SapbertError, match=r"\[E605\].*refused"):
        search.find("gout", 1)
