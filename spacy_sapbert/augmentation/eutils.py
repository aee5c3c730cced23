"""Search PubMed and PubMed Central through NCBI's E-utilities, with a request limit and a cache of answers."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ..errors import Errors, SapbertError
from ..files.output import replacing
from ..files.values import parse_json
from .documents import SourceDocument
from .search import Hit

URL = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
KEY_VARIABLE = "NCBI_API_KEY"
DATABASES = ("pubmed", "pmc")

# NCBI's limits: requests per second without and with a key.
RATE, RATE_WITH_KEY = 3, 10
TRIES = 5
TIMEOUT = 60
FETCHED_AT_ONCE = 200

_ONLY = {"pubmed": "hasabstract", "pmc": "open access[filter]"}
_NO_LETTER = re.compile(r"[^\w\s.,'/+-]+")


class Eutils:
    """Sends requests to the E-utilities, and caches the answers.

    The key comes from the environment variable NCBI_API_KEY. It is sent with requests, but never written to a file.

    Args:
        url: The address of the E-utilities.
        cache: The folder for cached answers. None caches nothing.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.

    Attributes:
        counts: The counts `requests` (sent), `answers_kept` (read from the cache) and `tries_again`.
    """

    def __init__(
        self,
        url: str = URL,
        cache: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self.counts: Counter[str] = Counter()
        self._cache = cache
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        self._clock = clock
        self._sleep = sleep
        self._next = clock()

    def ask(self, tool: str, values: Mapping[str, str], is_whole: Callable[[bytes], str | None]) -> bytes:
        """Return the answer to a request.

        Args:
            tool: "esearch" or "efetch".
            values: The parameters of the request.
            is_whole: Returns the fault of an answer, or None if it is valid. An invalid answer is requested again, and
                never cached.
        """
        question = urlencode(sorted(values.items()))
        kept = self._kept(tool, question)
        if kept and kept.is_file() and is_whole(answer := kept.read_bytes()) is None:
            self.counts["answers_kept"] += 1
            return answer
        answer = self._try(tool, question, is_whole)
        if kept:
            with replacing(kept, parents=True) as temporary:
                temporary.write_bytes(answer)
        return answer

    def _kept(self, tool: str, question: str) -> Path | None:
        name = hashlib.sha256(f"{self.url} {tool} {question}".encode()).hexdigest()
        return self._cache / name[:2] / f"{tool}-{name[:32]}" if self._cache else None

    def _try(self, tool: str, question: str, is_whole: Callable[[bytes], str | None]) -> bytes:
        reason: object = ""
        for number in range(TRIES):
            if number:
                self.counts["tries_again"] += 1
                self._sleep(2.0**number)
            self._wait()
            self.counts["requests"] += 1
            try:
                answer = self._send(tool, question)
            except HTTPError as error:
                reason = f"HTTP status {error.code}"
                error.close()
                if error.code != 429 and error.code < 500:
                    break
            except (URLError, OSError) as error:
                reason = getattr(error, "reason", error)
            else:
                if (wrong := is_whole(answer)) is None:
                    return answer
                reason = wrong
        raise SapbertError(Errors.E605.format(url=self.url, reason=reason, variable=KEY_VARIABLE))

    def _send(self, tool: str, question: str) -> bytes:
        secret = f"&{urlencode({'api_key': self._key})}" if self._key else ""
        body = f"{question}&tool=spacy-sapbert{secret}".encode()
        # POST: the ids of many documents are too long for a URL, and logs must not show the key
        with urlopen(Request(f"{self.url}/{tool}.fcgi", body), timeout=TIMEOUT) as response:
            answer: bytes = response.read()
        return answer

    def _wait(self) -> None:
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + 1 / (RATE_WITH_KEY if self._key else RATE)


class EutilsSearch:
    """Searches PubMed (title and abstract) or the open access part of PubMed Central (full text).

    Args:
        eutils: The client.
        database: "pubmed" or "pmc".
    """

    def __init__(self, eutils: Eutils, database: str) -> None:
        self._eutils = eutils
        self._database = database

    @property
    def counts(self) -> Counter[str]:
        return self._eutils.counts

    def find(self, name: str, limit: int) -> list[Hit]:
        # in lower case and without brackets, because "AND" is an operator and "[…]" the name of a field
        words = " ".join(_NO_LETTER.sub(" ", name).lower().split())
        if not words:
            return []
        values = {
            "db": self._database,
            "term": f"({words}) AND {_ONLY[self._database]}",
            "retmax": str(limit),
            "retmode": "json",
            "sort": "relevance",
        }
        answer = self._eutils.ask("esearch", values, _search_fault)
        return [Hit(key) for key in parse_json(answer)["esearchresult"]["idlist"]]

    def fetch(self, keys: Sequence[str]) -> dict[str, SourceDocument]:
        found: dict[str, SourceDocument] = {}
        for start in range(0, len(keys), FETCHED_AT_ONCE):
            values = {"db": self._database, "id": ",".join(keys[start : start + FETCHED_AT_ONCE]), "retmode": "xml"}
            answer = self._eutils.ask("efetch", values, _fetch_fault)
            found.update(_READERS[self._database](ElementTree.fromstring(answer)))
        return {key: found[key] for key in keys if key in found}


def _search_fault(answer: bytes) -> str | None:
    try:
        content = parse_json(answer)
        result = content["esearchresult"]
        fault = content.get("error") or result.get("ERROR")
        ids = result.get("idlist")
        if fault or not (isinstance(ids, list) and all(map(_is_key, ids))):
            return str(fault or "the answer has no list of ids")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"the answer is not the result of a search ({type(error).__name__})"
    return None


def _is_key(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isalnum()


def _fetch_fault(answer: bytes) -> str | None:
    try:
        ElementTree.fromstring(answer)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        return f"the answer is not well-formed XML: {error}"
    return None


# --- read the answers


def read_pubmed(root: Element) -> dict[str, SourceDocument]:
    """Return the articles with an abstract in PubMed's XML, by PMID."""
    found = {}
    for citation in root.iter("MedlineCitation"):
        pmid = _text(citation.find("PMID"))
        title = _text(citation.find("Article/ArticleTitle"))
        abstract = " ".join(
            filter(None, (_labelled(part) for part in citation.iterfind("Article/Abstract/AbstractText")))
        )
        if pmid and abstract:
            found[pmid] = SourceDocument(pmid, f"{title} {abstract}".strip(), title, pmid, "pubmed")
    return found


def _labelled(part: Element) -> str:
    label, text = part.get("Label"), _text(part)
    return f"{label}: {text}" if label and text else text


def read_pmc(root: Element) -> dict[str, SourceDocument]:
    """Return the articles with a text in PMC's XML, by their number without "PMC"."""
    found = {}
    for article in root.iter("article"):
        ids = {item.get("pub-id-type"): _text(item) for item in article.iterfind("front/article-meta/article-id")}
        key = (ids.get("pmc") or ids.get("pmcid") or ids.get("pmcaid") or "").upper().removeprefix("PMC")
        title = _text(article.find("front/article-meta/title-group/article-title"))
        parts = (*article.iterfind("front/article-meta/abstract"), *article.iterfind("body"))
        text = " ".join(filter(None, (_text(item) for part in parts for item in _paragraphs(part))))
        if key and text:
            pmid = ids.get("pmid", "")
            found[key] = SourceDocument(f"PMC{key}", f"{title} {text}".strip(), title, pmid, "pmc")
    return found


_READERS: dict[str, Callable[[Element], dict[str, SourceDocument]]] = {"pubmed": read_pubmed, "pmc": read_pmc}


def _paragraphs(element: Element) -> Iterator[Element]:
    """Yield the paragraphs; a list inside a paragraph belongs to it."""
    for child in element:
        if child.tag == "p":
            yield child
        else:
            yield from _paragraphs(child)


def _text(element: Any) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
