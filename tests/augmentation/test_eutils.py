import json
import threading
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from spacy_sapbert.augmentation.documents import SourceDocument
from spacy_sapbert.augmentation.eutils import TRIES, Eutils, EutilsSearch
from spacy_sapbert.errors import SapbertError

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
    """Plays the part of the E-utilities on this machine: what it was asked, and what it answers next instead."""

    def __init__(self):
        self.asked = []
        self.faults = deque()
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, content = answer(self.path, {key: value for key, (value,) in parse_qs(body).items()})
                self.send_response(status)
                self.end_headers()
                self.wfile.write(content.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/eutils"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def answer(self, path, values):
        self.asked.append((path, values))
        if self.faults:
            return self.faults.popleft()
        if path == "/eutils/esearch.fcgi":
            return 200, json.dumps({"esearchresult": {"idlist": ["1", "2", "3"][: int(values["retmax"])]}})
        if values["db"] == "pmc":
            return 200, PMC
        articles = (ARTICLE.format(key, TEXTS if key != "2" else "") for key in values["id"].split(","))
        return 200, ABSTRACT.format("".join(articles))


@pytest.fixture(scope="module")
def server():
    ncbi = Ncbi()
    yield ncbi
    ncbi.server.shutdown()
    ncbi.server.server_close()


@pytest.fixture
def ncbi(server, monkeypatch):
    server.asked.clear()
    server.faults.clear()
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    return server


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


def make(ncbi, cache=None):
    time = Time()
    return Eutils(ncbi.url, cache, clock=time.clock, sleep=time.sleep), time


def test_abstracts_of_pubmed(ncbi):
    search = EutilsSearch(make(ncbi)[0], "pubmed")
    hits = search.find("Gout [acute], AND/OR (1)", 2)
    assert [(hit.key, hit.whole) for hit in hits] == [("1", True), ("2", True)]
    path, values = ncbi.asked[0]
    assert (path, values["term"]) == ("/eutils/esearch.fcgi", "(gout acute , and/or 1) AND hasabstract")
    assert (values["retmax"], values["sort"], values["tool"]) == ("2", "relevance", "spacy-sapbert")
    # the second has no abstract
    title = "Gout in mice."
    assert search.fetch(["3", "2"]) == {"3": SourceDocument("3", f"{title} AIM: To learn. More.", title, "3", "pubmed")}
    assert search.find("[]", 2) == []


def test_texts_of_pmc(ncbi):
    search = EutilsSearch(make(ncbi)[0], "pmc")
    text = "Gout. Short. Long: one. End."
    assert search.fetch(["7"]) == {"7": SourceDocument("PMC7", text, "Gout.", "11", "pmc")}
    search.find("gout", 1)
    assert ncbi.asked[-1][1]["term"] == "(gout) AND open access[filter]"


@pytest.mark.parametrize(("key", "pause"), [(None, 0.333), ("secret", 0.1)])
def test_so_many_requests_a_second(ncbi, monkeypatch, key, pause):
    if key:
        monkeypatch.setenv("NCBI_API_KEY", key)
    eutils, time = make(ncbi)
    for name in "abcd":
        EutilsSearch(eutils, "pubmed").find(name, 1)
    assert time.slept == [pause] * 3
    assert {values.get("api_key") for _, values in ncbi.asked} == {key}


def test_answers_are_kept_without_the_key(ncbi, monkeypatch, tmp_path):
    monkeypatch.setenv("NCBI_API_KEY", "secret")

    def run():
        search = EutilsSearch(make(ncbi, tmp_path / "kept")[0], "pubmed")
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


@pytest.mark.parametrize(
    "fault",
    [
        (429, ""),
        (503, "later"),
        (200, "<html>"),
        (200, '{"error": "API rate limit exceeded"}'),
        (200, '{"esearchresult": {"ERROR": "Search Backend failed"}}'),
        (200, '{"esearchresult": {"idlist": [1]}}'),
        (200, '{"esearchresult": {"idlist": ["\\ud800"]}}'),
        (200, '{"esearchresult": {"idlist": ["1&db=other"]}}'),
        (200, "[]"),
    ],
)
def test_what_passes_is_tried_again(ncbi, tmp_path, fault):
    ncbi.faults += [fault, fault]
    eutils, time = make(ncbi, tmp_path)
    assert len(EutilsSearch(eutils, "pubmed").find("gout", 3)) == 3
    assert time.slept == [2, 4]
    assert eutils.counts == {"requests": 3, "tries_again": 2}


def test_what_was_answered_before_is_not_asked_again_after_an_error(ncbi, tmp_path):
    search = EutilsSearch(make(ncbi, tmp_path)[0], "pubmed")
    hits = search.find("gout", 3)
    ncbi.faults += [(500, "")] * TRIES
    with pytest.raises(SapbertError, match=r"\[E605\] http://127.* \(HTTP status 500\)"):
        search.fetch([hit.key for hit in hits])
    again = EutilsSearch(make(ncbi, tmp_path)[0], "pubmed")
    assert set(again.fetch([hit.key for hit in again.find("gout", 3)])) == {"1", "3"}
    assert again.counts == {"answers_kept": 1, "requests": 1}


def test_what_stays_is_reported(ncbi):
    ncbi.faults.append((400, ""))
    eutils, time = make(ncbi)
    with pytest.raises(SapbertError, match="HTTP status 400"):
        EutilsSearch(eutils, "pubmed").find("gout", 3)
    assert time.slept == []
    ncbi.faults += [(200, "<a>")] * TRIES
    with pytest.raises(SapbertError, match="not well-formed XML"):
        EutilsSearch(eutils, "pubmed").fetch(["1"])
    ncbi.faults += [(200, '<?xml version="1.0" encoding="GBK"?><a/>')] * TRIES
    with pytest.raises(SapbertError, match="not well-formed XML: multi-byte"):
        EutilsSearch(eutils, "pubmed").fetch(["1"])
    ncbi.faults += [(200, "[" * 100_000)] * TRIES
    with pytest.raises(SapbertError, match="not the result of a search"):
        EutilsSearch(eutils, "pubmed").find("gout", 3)
    time = Time()
    nobody = Eutils("http://127.0.0.1:1", clock=time.clock, sleep=time.sleep)
    with pytest.raises(SapbertError, match=r"\[E605\].*refused"):
        EutilsSearch(nobody, "pubmed").find("gout", 1)
