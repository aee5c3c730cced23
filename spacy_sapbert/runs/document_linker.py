"""Link documents with a saved pipeline, as a stream or in bounded memory and time: documents in, records out.

A process loads the pipeline once. No `Doc` and no pipeline leaves it.
"""

from __future__ import annotations

import faulthandler
import math
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import spacy
from rich.console import Console
from spacy.language import Language
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.util import raise_error

from .. import __version__
from ..documents.docs import DOC_ID
from ..documents.input_documents import Problems, fault
from ..errors import MissingComponentError, SapbertError
from ..files.opening import sha256_of
from ..kb.ids import display_tag
from ..kb.knowledge_base import KnowledgeBase
from ..outputs.records import LISTED, LinkedDocument, Record, record_of
from ..pipeline.factories import ASSERTION, GENE_SPECIES, LINKER, MATCHER, PREPARING, SECTIONS, SENTENCIZER
from ..pipeline.mentions import GOLD_SPANS, gold_doc, mentions_of
from ..pipeline.tokenizer import bound_tokenizer, describe_error, load_pipeline
from ..review.corrections_file import open_corrections
from ..store.artifact import ARTIFACTS_FOLDER
from ..types import Candidate, Document

if TYPE_CHECKING:
    from ..kb.code_systems import CodeOptions

AFTER_MENTIONS = frozenset({*PREPARING, LINKER, GENE_SPECIES, SENTENCIZER, SECTIONS, ASSERTION})
"""The components that run on given mentions."""
DOCUMENTS_PER_BATCH = 512
CHARACTERS_PER_BATCH = 1_000_000
"""The most characters of the documents that are linked together, unless one document has more."""
CHARACTERS_PER_SECOND = 1000
"""The speed in characters per second that no pipeline should fall below."""
NO_LIMIT = 1 << 62
LIMITS: dict[str, Any] = {"max_characters": 1_000_000, "seconds": 60.0}
"""The limits of the documents of a corpus, unless others are given."""
GRACE = 60.0
"""Seconds after which a process ends that does not notice its time limit, since it runs no Python code."""
_STANDARD_ERROR = 2  # the file itself: a notebook replaces sys.stderr by an object without one
_LONGEST = 1e6  # seconds; a longer time is more than a timer may hold
View = Callable[[LinkedDocument], Any]
"""What is wanted of a linked document."""


class LinkSettings(NamedTuple):
    """How to link.

    Attributes:
        pipeline: Folder or package of the pipeline, or the pipeline itself, if the settings stay in this process.
        given: The documents have their mentions. Only the components that process mentions then run.
        corrections: A file of corrections, which replaces that of the pipeline.
        language: The language of preferred names; None for that of the pipeline.
        codes: Which codes of links in other vocabularies to add.
        max_characters: A longer document fails.
        seconds: Documents that are linked together may take this time in seconds, plus one second for each
            `CHARACTERS_PER_SECOND` of their characters. Infinity is no limit.
        threshold: A threshold that replaces those of the linkers.
        candidates: How many candidates to list of each link.
    """

    pipeline: str | Language
    given: bool = False
    corrections: str | None = None
    language: str | None = None
    codes: CodeOptions | None = None
    max_characters: int = NO_LIMIT
    seconds: float = math.inf
    threshold: float | None = None
    candidates: int = 0


class Failure(NamedTuple):
    """Why a document has no links, and its file and line, or why a file cannot be read any further."""

    position: str
    reason: str


class LinkingPipeline:
    """Links documents with a pipeline, together and in bounded time.

    Args:
        problems: Reports the documents of a stream on which the pipeline fails.

    Attributes:
        nlp: The pipeline.
        linkers: Its linkers.
        kb: The knowledge base of the last linker.
        language: The language in which preferred names are shown.
        codes: The codes of links in other vocabularies, if they are wanted.
    """

    def __init__(self, settings: LinkSettings, problems: Problems | None = None) -> None:
        self.settings = settings
        self.problems = problems or Problems(Console(quiet=True))
        self._load()

    def _load(self) -> None:
        settings = self.settings
        self.nlp = load_pipeline(settings.pipeline) if isinstance(settings.pipeline, str) else settings.pipeline
        bound_tokenizer(self.nlp)
        self.linkers = self._made_by(LINKER)
        if not self.linkers:
            consequence, components = "it cannot link mentions", self.nlp.pipe_names
            raise MissingComponentError(component=LINKER, consequence=consequence, components=components)
        if settings.given:
            self._take_given_mentions()
        if settings.corrections:
            self.set_corrections(settings.corrections)
        for component in self.linkers:
            if settings.threshold is not None:
                component.threshold = settings.threshold
            if settings.candidates:
                component.linker.listed = settings.candidates
        self.kb: KnowledgeBase = self.linkers[-1].kb
        shown = settings.language
        self.language: str = self.linkers[-1].display_language if shown is None else display_tag(self.kb, shown)
        self.codes = settings.codes(self.kb) if settings.codes else None
        # spaCy limits the length because of the memory of parser and NER
        if not any(isinstance(component, (DependencyParser, EntityRecognizer)) for _, component in self.nlp.pipeline):
            self.nlp.max_length = NO_LIMIT

    def candidates(self, text: str, k: int) -> Sequence[Candidate]:
        """Return the k best candidates of the last linker for a text, with any score."""
        candidates: Sequence[Candidate] = self.linkers[-1].linker.generator([text], k)[0]
        return candidates

    def set_corrections(self, path: str | None) -> None:
        """Set the corrections that all components obey, which replace the pipeline's own. None has no corrections."""
        for component in self._made_by(LINKER, MATCHER):
            component.set_corrections(path)

    def identity(self) -> dict[str, Any]:
        """Return what the links depend on, besides the input: versions, settings and hashes of files, by name."""
        settings = self.settings
        identity: dict[str, Any] = {
            "spacy-sapbert": __version__,
            "spaCy": spacy.__version__,
            "vocabulary": self.kb.fingerprint[:16],
            "display language": self.language,
            "given mentions": settings.given,
            "max characters": settings.max_characters,
            "seconds": settings.seconds,
            "threshold": settings.threshold,
            "candidates": settings.candidates,
        }
        if settings.codes:
            identity |= settings.codes.identity()
        if settings.corrections:
            identity["corrections"] = open_corrections(settings.corrections).fingerprint
        folder = Path(self.nlp.path)
        for path in filter(Path.is_file, sorted(folder.rglob("*"))):
            name = path.relative_to(folder)
            is_shared = name.parts[0] == ARTIFACTS_FOLDER  # such a file has a hash in its name
            identity[f"pipeline/{name.as_posix()}"] = path.stat().st_size if is_shared else sha256_of(path)
        return identity

    def record(self, item: LinkedDocument) -> Record:
        """Return the record of a linked document."""
        record = record_of(item, self.kb, language=self.language, codes=self.codes)
        return record | {LISTED: self.settings.candidates} if self.settings.candidates else record

    def __call__(self, documents: Iterable[Document], view: View | None = None) -> Iterator[Any]:
        """Link documents as a stream: yield the view of each, in order, and report those that fail."""
        for chunk in cut(documents, self.settings.max_characters):
            for result in self.link(chunk, view):
                if isinstance(result, Failure):
                    self.problems.report(*result)
                else:
                    yield result

    def link(self, documents: Sequence[Document], view: View | None = None, *, independent: bool = True) -> list[Any]:
        """Link documents that `cut` returned, together and in bounded time.

        Args:
            view: What is wanted of a linked document; None for its record. The memory of new words is freed when all
                are linked, so it must not contain the `Doc`.
            independent: What was linked before has no effect on the links, not even on the last digit of a score.
                False is faster where texts repeat.

        Returns:
            The view of each document, or its `Failure`.
        """
        characters = sum(len(document.text) for document in documents)
        if len(documents) == 1 and characters > self.settings.max_characters:
            most = f"at most {self.settings.max_characters:,} are allowed"
            return [Failure(documents[0].position, f"the text has {characters:,} characters, and {most}")]
        view = view or self.record
        limit = self.settings.seconds + characters / CHARACTERS_PER_SECOND
        try:
            with time_limit(limit), self.nlp.memory_zone():
                results = self._link(documents, independent)
                return [result if isinstance(result, Failure) else view(result) for result in results]
        except TookTooLong:
            self._load()  # a component may have stopped in the middle of a change
        if len(documents) == 1:
            return [Failure(documents[0].position, f"it took longer than {limit:,.0f} seconds")]
        return [result for document in documents for result in self.link([document], view)]

    def _link(self, batch: Sequence[Document], independent: bool) -> Iterator[LinkedDocument | Failure]:
        """Link documents together, and those alone on which a component fails then. Yield the results in order."""
        for _, component in self.nlp.pipeline:
            if hasattr(component, "independent_streams"):
                component.independent_streams = independent
        self.nlp.default_error_handler = _leave_out
        waiting = deque(batch)
        for doc, document in self._piped(batch):
            while waiting[0] is not document:
                yield self._alone(waiting.popleft())
            yield self._linked(waiting.popleft(), doc)
        while waiting:
            yield self._alone(waiting.popleft())

    def _piped(self, batch: Sequence[Document]) -> Iterator[tuple[Doc, Document]]:
        inputs = ((self._input(document), document) for document in batch if not self._fault(document))
        try:
            yield from self.nlp.pipe(inputs, as_tuples=True, batch_size=len(batch))
        except SapbertError:
            raise
        except Exception:  # NER and parser do not leave out a document on which they fail
            return

    def _made_by(self, *factories: str) -> list[Any]:
        pipeline = self.nlp.pipeline
        return [component for name, component in pipeline if self.nlp.get_pipe_meta(name).factory in factories]

    def _take_given_mentions(self) -> None:
        """Let the components read a span group, which can have overlapping mentions, unlike `doc.ents`."""
        for name in self.nlp.pipe_names:
            if self.nlp.get_pipe_meta(name).factory not in AFTER_MENTIONS:
                self.nlp.disable_pipe(name)
        for _, component in self.nlp.pipeline:
            if hasattr(component, "spans_key"):
                component.spans_key = GOLD_SPANS

    def _fault(self, document: Document) -> str | None:
        return fault(document.text, self.nlp.max_length)

    def _input(self, document: Document) -> str | Doc:
        return gold_doc(self.nlp, document) if self.settings.given else document.text

    def _alone(self, document: Document) -> LinkedDocument | Failure:
        if reason := self._fault(document):
            return Failure(document.position, reason)
        self.nlp.default_error_handler = raise_error
        try:
            return self._linked(document, self.nlp(self._input(document)))
        except SapbertError:
            raise
        except Exception as error:  # a user's component can raise anything
            return Failure(document.position, f"the pipeline fails on it ({describe_error(error)})")
        finally:
            self.nlp.default_error_handler = _leave_out

    def _linked(self, document: Document, doc: Doc) -> LinkedDocument:
        doc.user_data[DOC_ID] = document.doc_id
        mentions: list[Span] = []
        for spans_key in {linker.spans_key: None for linker in self.linkers}:
            mentions += mentions_of(doc, spans_key)
        mentions.sort(key=attrgetter("start_char", "end_char"))
        return LinkedDocument(document, doc, mentions)


@lru_cache(maxsize=1)
def linker_of(settings: LinkSettings) -> LinkingPipeline:
    """Return the pipeline that this process loads once."""
    return LinkingPipeline(settings)


def _leave_out(name: str, component: Any, docs: list[Doc], error: Exception) -> Any:
    """Handle errors of `nlp.pipe`: only errors that the user can correct end the run, such as a missing encoder."""
    if isinstance(error, SapbertError):
        raise error


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
