"""Link documents in bounded memory and time, in any process: documents in, records out.

A process loads the pipeline once. No `Doc` and no pipeline leaves it.
"""

from __future__ import annotations

import faulthandler
import json
import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import spacy
from rich.console import Console
from spacy.language import Language

from .. import __version__
from ..documents.input_documents import Problems
from ..files.opening import sha256_of
from ..kb.languages import display_tag
from ..outputs.records import LISTED, LinkedDocument, Record, record_of
from ..store.artifact import ARTIFACTS_FOLDER
from ..types import Document
from .pipelines import DOCUMENTS_PER_BATCH, LinkingPipeline

if TYPE_CHECKING:
    from ..kb.code_systems import CodeOptions

CHARACTERS_PER_BATCH = 1_000_000
"""The most characters of the documents that are linked together, unless one document has more."""
CHARACTERS_PER_SECOND = 1000
"""The speed in characters per second that no pipeline should fall below."""
NO_LIMIT = 1 << 62
GRACE = 60.0
"""Seconds after which a process ends that does not notice its time limit, since it runs no Python code."""
_STANDARD_ERROR = 2  # the file itself: a notebook replaces sys.stderr by an object without one
_LONGEST = 1e6  # seconds; a longer time is more than a timer may hold
View = Callable[[LinkedDocument, "LoadedLinker"], Any]
"""What is wanted of a linked document."""


class LinkSettings(NamedTuple):
    """How to link. This travels to the processes, so it holds no pipeline.

    Attributes:
        pipeline: Folder or package of the pipeline.
        given: The documents have their mentions, see `LinkingPipeline`.
        corrections: A file of corrections, which replaces that of the pipeline.
        language: The language of preferred names; None for that of the pipeline.
        codes: Which codes of links in other vocabularies to add.
        max_characters: A longer document fails.
        seconds: Documents that are linked together may take this time in seconds, plus one second for each
            `CHARACTERS_PER_SECOND` of their characters. Infinity is no limit.
        threshold: A threshold that replaces those of the linkers.
        candidates: How many candidates to list of each link.
    """

    pipeline: str
    given: bool = False
    corrections: str | None = None
    language: str | None = None
    codes: CodeOptions | None = None
    max_characters: int = 1_000_000
    seconds: float = 60.0
    threshold: float | None = None
    candidates: int = 0


class Failure(NamedTuple):
    """Why a document has no links, and its file and line."""

    position: str
    reason: str


def cut(documents: Iterable[Document], max_characters: int) -> Iterator[list[Document]]:
    """Yield the documents that are linked together, in order. A document that is too long is alone."""
    most = min(max_characters, CHARACTERS_PER_BATCH)
    chunk: list[Document] = []
    characters = 0
    for document in documents:
        size = len(document.text)
        if chunk and (len(chunk) == DOCUMENTS_PER_BATCH or characters + size > most):
            yield chunk
            chunk, characters = [], 0
        chunk.append(document)
        characters += size
    if chunk:
        yield chunk


def linked_record(item: LinkedDocument, loaded: LoadedLinker) -> Record:
    """Return the record of a linked document."""
    record = record_of(item, loaded.kb, language=loaded.language, codes=loaded.codes)
    return record | {LISTED: loaded.candidates} if loaded.candidates else record


@lru_cache(maxsize=1)
def linker_of(settings: LinkSettings) -> DocumentLinker:
    """Return the linker of this process. It loads the pipeline when the first document comes."""
    return DocumentLinker(settings)


class DocumentLinker:
    """Links documents that `cut` returned, in bounded time."""

    def __init__(self, settings: LinkSettings) -> None:
        self.settings = settings
        self._loaded: LoadedLinker | None = None

    def load(self) -> LoadedLinker:
        """Return the loaded pipeline."""
        self._loaded = self._loaded or LoadedLinker(self.settings)
        return self._loaded

    def __call__(self, documents: Sequence[Document], view: View = linked_record) -> list[Any]:
        """Return the view of each document, or its `Failure`."""
        characters = sum(len(document.text) for document in documents)
        if len(documents) == 1 and characters > self.settings.max_characters:
            most = f"at most {self.settings.max_characters:,} are allowed"
            return [Failure(documents[0].position, f"the text has {characters:,} characters, and {most}")]
        loaded = self.load()
        limit = self.settings.seconds + characters / CHARACTERS_PER_SECOND
        try:
            with time_limit(limit):
                return loaded.link(documents, view)
        except TookTooLong:
            self._loaded = None  # a component may have stopped in the middle of a change
        if len(documents) == 1:
            return [Failure(documents[0].position, f"it took longer than {limit:,.0f} seconds")]
        return [result for document in documents for result in self([document], view)]


class LoadedLinker:
    """A pipeline, and what the records of its links need. `nlp` replaces the pipeline of the settings."""

    def __init__(self, settings: LinkSettings, nlp: Language | None = None) -> None:
        self._failures = _Failures()
        self.pipeline = LinkingPipeline(nlp or settings.pipeline, self._failures, given=settings.given)
        if settings.corrections:
            self.pipeline.set_corrections(settings.corrections)
        if settings.threshold is not None:
            self.pipeline.set_threshold(settings.threshold)
        if settings.candidates:
            self.pipeline.list_candidates(settings.candidates)
        self.candidates = settings.candidates
        self.kb = self.pipeline.kb
        self.language = (
            self.pipeline.display_language if settings.language is None else display_tag(self.kb, settings.language)
        )
        self.codes = settings.codes(self.kb) if settings.codes else None

    def identity(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the links depend on, besides the input: versions, settings and hashes of files, by name."""
        versions = {"spacy-sapbert": __version__, "spaCy": spacy.__version__, "vocabulary": self.kb.fingerprint[:16]}
        identity: dict[str, Any] = {**versions, **settings}
        folder = Path(self.pipeline.nlp.path)
        for path in filter(Path.is_file, sorted(folder.rglob("*"))):
            name = path.relative_to(folder)
            is_shared = name.parts[0] == ARTIFACTS_FOLDER  # such a file has a hash in its name
            identity[f"pipeline/{name.as_posix()}"] = path.stat().st_size if is_shared else sha256_of(path)
        return identity

    def link(self, documents: Sequence[Document], view: View) -> list[Any]:
        """Return the view of each document, or its `Failure`."""
        numbered = [document._replace(position=str(number)) for number, document in enumerate(documents)]
        linked = self.pipeline(numbered, batch_size=len(numbered), short_lived=True, independent_batches=True)
        results: dict[int, Any] = {}
        for item in linked:
            number = int(item.document.position)
            results[number] = view(item._replace(document=documents[number]), self)
        while self._failures.reasons:
            position, reason = self._failures.reasons.popitem()
            results[int(position)] = Failure(documents[int(position)].position, reason)
        return [results[number] for number in range(len(documents))]


class _Failures(Problems):
    """Keeps why documents failed, by their positions."""

    def __init__(self) -> None:
        super().__init__(Console(quiet=True))
        self.reasons: dict[str, str] = {}

    def report(self, position: str, reason: object) -> None:
        self.reasons[position] = str(reason)


def digest_of(content: Any) -> str:
    """Return a hash of data that JSON can hold. Other objects count by their texts."""
    return blake2b(json.dumps(content, default=str).encode(), digest_size=16).hexdigest()


# --- the time limit


class TookTooLong(BaseException):
    """The time limit is over. It is not an `Exception`, so that no component handles it as an error of its own."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in the block after some time, and end the process `GRACE` seconds later.

    Only the main thread of a process can be interrupted, and only on systems with SIGALRM, which Windows lacks.
    Elsewhere the block runs without a limit.

    Args:
        seconds: The limit in seconds of clock time; infinity for none.
    """
    here = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not here or math.isinf(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        with watched(seconds):
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)


@contextmanager
def watched(seconds: float) -> Iterator[None]:
    """End the process, with a traceback, if it is still in the block `GRACE` seconds after a limit."""
    # a timer of the system, since the block may never give back Python's lock
    faulthandler.dump_traceback_later(min(seconds, _LONGEST) + GRACE, exit=True, file=_STANDARD_ERROR)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _raise(number: int, frame: object) -> None:
    raise TookTooLong
