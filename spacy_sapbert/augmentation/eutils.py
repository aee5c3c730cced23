"""Search PubMed and PubMed Central through NCBI's E-utilities, with a request limit and a cache of answers."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from ..documents.jats import read_jats
from ..documents.pubmed import read_pubmed
from ..documents.source import DocumentSource
from ..errors import Errors, SapbertError
from ..files.opening import OpenedFile
from ..files.output import replacing
from ..files.values import parse_json
from ..types import Document
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
Answer = TypeVar("Answer")


class EutilsSearch:
    """Searches PubMed (title and abstract) or the open access part of PubMed Central (full text).

    The key comes from the environment variable NCBI_API_KEY. It is sent with requests, but never written to a file.
    Without a folder for them, no answers are cached.

    Attributes:
        counts: The counts `requests` (sent), `answers_kept` (read from the cache) and `tries_again`.
    """

    def __init__(
        self,
        database: str,
        url: str = URL,
        cache: Path | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._database = database
        self._url = url.rstrip("/")
        self._cache = cache
        self._key = os.environ.get(KEY_VARIABLE, "").strip()
        self._clock = clock
        self._sleep = sleep
        self._next = clock()

    def find(self, name: str, limit: int) -> list[Hit]:
        # in lower case and without brackets, because "AND" is an operator and "[…]" the name of a field
        words = " ".join(_NO_LETTER.sub(" ", name).lower().split())
        if not words:
            return []
        term = f"({words}) AND {_ONLY[self._database]}"
        values = {"term": term, "retmax": str(limit), "retmode": "json", "sort": "relevance"}
        return [Hit(key) for key in self._ask("esearch", values, _read_keys)]

    def fetch(self, keys: Sequence[str]) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        for start in range(0, len(keys), FETCHED_AT_ONCE):
            values = {"id": ",".join(keys[start : start + FETCHED_AT_ONCE]), "retmode": "xml"}
            documents.update(self._ask("efetch", values, self._read_documents))
        return {key: documents[key] for key in keys if key in documents}

    def _read_documents(self, answer: bytes) -> dict[str, Document]:
        """Return the documents with more than a title, by their numbers without "PMC"."""
        source = DocumentSource(Path("answer"), opened=OpenedFile(BytesIO(answer), None, lambda: 0))
        read = read_pubmed(source) if self._database == "pubmed" else read_jats(source)
        return {
            document.doc_id.removeprefix("PMC"): document._replace(position=self._database)
            for document in read
            if document.text != document.title
        }

    def _ask(self, tool: str, values: Mapping[str, str], read: Callable[[bytes], Answer]) -> Answer:
        """Return what `read` makes of the answer to a request.

        An answer that it cannot read is requested again, and never cached.
        """
        question = urlencode(sorted({"db": self._database, **values}.items()))
        name = hashlib.sha256(f"{self._url} {tool} {question}".encode()).hexdigest()
        cached = self._cache / name[:2] / f"{tool}-{name[:32]}" if self._cache else None
        if cached and cached.is_file():
            try:
                result = read(cached.read_bytes())
            except ValueError:
                pass
            else:
                self.counts["answers_kept"] += 1
                return result
        answer, result = self._try(tool, question, read)
        if cached:
            with replacing(cached, parents=True) as temporary:
                temporary.write_bytes(answer)
        return result

    def _try(self, tool: str, question: str, read: Callable[[bytes], Answer]) -> tuple[bytes, Answer]:
        reason: object = ""
        for number in range(TRIES):
            if number:
                self.counts["tries_again"] += 1
                self._sleep(2.0**number)
            self._wait()
            self.counts["requests"] += 1
            try:
                answer = self._send(tool, question)
                return answer, read(answer)
            except HTTPError as error:
                reason = f"HTTP status {error.code}"
                error.close()
                if error.code != 429 and error.code < 500:
                    break
            except (URLError, OSError) as error:
                reason = getattr(error, "reason", error)
            except ValueError as error:
                reason = error
        raise SapbertError(Errors.E605.format(url=self._url, reason=reason, variable=KEY_VARIABLE))

    def _send(self, tool: str, question: str) -> bytes:
        secret = f"&{urlencode({'api_key': self._key})}" if self._key else ""
        body = f"{question}&tool=spacy-sapbert{secret}".encode()
        # POST: the ids of many documents are too long for a URL, and logs must not show the key
        with urlopen(Request(f"{self._url}/{tool}.fcgi", body), timeout=TIMEOUT) as response:
            answer: bytes = response.read()
        return answer

    def _wait(self) -> None:
        now = self._clock()
        if now < self._next:
            self._sleep(self._next - now)
        self._next = max(now, self._next) + 1 / (RATE_WITH_KEY if self._key else RATE)


def _read_keys(answer: bytes) -> list[str]:
    """Return the keys of the documents in the result of a search."""
    try:
        content = parse_json(answer)
        result = content.get("esearchresult", {})
        if fault := content.get("error") or result.get("ERROR"):
            raise ValueError(fault)
        keys: list[str] = result["idlist"]
        if not all(key.isascii() and key.isalnum() for key in keys):
            raise ValueError("a key has other signs than letters and digits")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the answer is not the result of a search ({error})") from error
    return keys
