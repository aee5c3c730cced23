"""A loaded pipeline that links a stream of documents."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, cast

import spacy
from spacy.language import Language
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.util import is_package, raise_error

from ..corpora.docs import DOC_ID, to_doc
from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..pipeline.factories import LINKER, MATCHER, PREPARING
from ..pipeline.mentions import mentions_of
from ..types import AnnotatedDocument
from .documents import InputDocument, Problems, sound

_GIVEN = "given"
# what still runs where the mentions are given
_AFTER_MENTIONS = frozenset({*PREPARING, LINKER})
_ENTITIES = frozenset({"doc.ents", "doc.spans"})
_NO_LIMIT = 1 << 62


class LinkedDocument(NamedTuple):
    """A document with its linked mentions, in order of their offsets."""

    document: InputDocument
    doc: Doc
    mentions: list[Span]


def load_pipeline(name: str) -> Language:
    """
    Args:
        name: a folder, or the name of an installed package.

    Raises:
        SapbertError: E501 there is no such pipeline, E502 it cannot be loaded.
    """
    try:
        return spacy.load(name)
    except SapbertError:
        raise
    except Exception as error:  # config, components and models each raise their own, with no common base
        code = Errors.E502 if Path(name).exists() or is_package(name) else Errors.E501
        raise SapbertError(code.format(name=name, reason=_told(error))) from error


class _Feed:
    """Numbers documents on their way into `nlp.pipe`, and keeps each until it comes out again.

    A worker process that is not waited for never ends, so the feed neither raises in the middle of `nlp.pipe` nor lets
    it be broken off: in both cases it ends early.

    Attributes:
        stream (Generator): inputs with their numbers; where one run of `nlp.pipe` fails, the next takes what follows.
        pending: what went in and has not come out, in order.
        taken (int): how many went in.
        ended (bool): there is nothing more to come.
        failure: why it ended early.
    """

    def __init__(self, documents: Iterable[InputDocument], make_input: Callable[[InputDocument], str | Doc]) -> None:
        self.pending: dict[int, InputDocument] = {}
        self.taken = 0
        self.ended = False
        self.failure: Exception | None = None
        self.stream = self._generate(documents, make_input)

    def _generate(
        self, documents: Iterable[InputDocument], make_input: Callable[[InputDocument], str | Doc]
    ) -> Generator[tuple[str | Doc, int], None, None]:
        try:
            for number, document in enumerate(documents):
                if self.ended:
                    return
                self.pending[number] = document
                self.taken += 1
                yield make_input(document), number
        except Exception as error:
            self.failure = error
        self.ended = True

    def taken_before(self, number: int | None) -> Iterator[InputDocument]:
        """Yield what went in before this one (None: anything) and is pending; it no longer is."""
        for earlier in list(takewhile(lambda other: number is None or other < number, self.pending)):
            yield self.pending.pop(earlier)

    def stop(self, results: Iterable[object]) -> None:
        """End the feed, and wait for the results of what is still in it."""
        self.ended = True
        for _ in results:
            pass


class LinkingPipeline:
    """Links documents, and reports those on which a component fails.

    Args:
        pipeline: a folder, the name of an installed package, or the pipeline itself.
        problems: takes what is left out.
        given: the documents say what their mentions are. Only the components that work on mentions then run.

    Raises:
        SapbertError: E501, E502 the pipeline cannot be loaded, E503 it has no linker.
    """

    def __init__(self, pipeline: str | Language, problems: Problems, *, given: bool = False) -> None:
        self.nlp = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        self.problems = problems
        self.given = given
        if not self._linkers():
            components = ", ".join(self.nlp.pipe_names) or "none"
            raise SapbertError(Errors.E503.format(name=pipeline, components=components))
        if given:
            self._take_given_mentions()
        self.spans_keys = tuple(dict.fromkeys(linker.spans_key for linker in self._linkers()))
        # spaCy's limit is for the memory that parser and NER take
        if not any(isinstance(component, (DependencyParser, EntityRecognizer)) for _, component in self.nlp.pipeline):
            self.nlp.max_length = _NO_LIMIT

    @property
    def kb(self) -> KnowledgeBase:
        """The vocabulary of the last linker."""
        return cast(KnowledgeBase, self._linkers()[-1].kb)

    def set_threshold(self, threshold: float) -> None:
        """Link from now on what scores above this, whatever the pipeline says."""
        for linker in self._linkers():
            linker.threshold = threshold

    def __call__(
        self, documents: Iterable[InputDocument], *, batch_size: int | None = None, n_process: int = 1
    ) -> Generator[LinkedDocument, None, None]:
        """Link documents as a stream.

        A component may fail on a batch as a whole: each document of it is then tried on its own.

        Args:
            batch_size: as for `nlp.pipe`.

        Yields:
            in the order of the documents.
        """
        feed = _Feed(sound(documents, self.problems, self.nlp.max_length), self._input)
        results = self._results(feed, batch_size, n_process)
        try:
            for doc, number in results:
                yield from self._one_by_one(feed.taken_before(number))
                yield self._linked(feed.pending.pop(number), doc)
            yield from self._one_by_one(feed.taken_before(None))
        finally:
            feed.stop(results if n_process > 1 else ())
        if feed.failure:
            raise feed.failure

    def _results(self, feed: _Feed, batch_size: int | None, n_process: int) -> Iterator[tuple[Doc, int]]:
        """What comes out of `nlp.pipe`; what it fails on stays in the feed."""
        # An error in a worker process must not raise here. NER and parser take no handler, so elsewhere they may.
        self.nlp.default_error_handler = _leave_in_feed
        while not feed.ended:
            taken = feed.taken
            try:
                yield from self.nlp.pipe(feed.stream, as_tuples=True, batch_size=batch_size, n_process=n_process)
            except SapbertError:
                raise
            except Exception:
                if feed.taken == taken:
                    raise

    def finds_new_names(self) -> bool:
        """Return whether a component may find mentions that are no names of its vocabulary."""
        metas = map(self.nlp.get_pipe_meta, self.nlp.pipe_names)
        others = [meta for meta in metas if meta.factory not in (MATCHER, *_AFTER_MENTIONS)]
        # what does not say what it assigns, such as a function of the user's, may find some
        return any(not meta.assigns or _ENTITIES.intersection(meta.assigns) for meta in others)

    def _linkers(self) -> list[Any]:
        return [self.nlp.get_pipe(name) for name in self._names(frozenset({LINKER}))]

    def _names(self, factories: frozenset[str]) -> list[str]:
        return [name for name in self.nlp.pipe_names if self.nlp.get_pipe_meta(name).factory in factories]

    def _take_given_mentions(self) -> None:
        """Link a span group, which unlike `doc.ents` can hold mentions that overlap."""
        self.nlp.select_pipes(enable=self._names(_AFTER_MENTIONS))
        for _, component in self.nlp.pipeline:
            if hasattr(component, "spans_key"):
                component.spans_key = _GIVEN

    def _input(self, document: InputDocument) -> str | Doc:
        if document.mentions is None:
            return document.text
        annotated = AnnotatedDocument(document.doc_id, document.text, document.mentions)
        return to_doc(self.nlp, annotated, spans_key=_GIVEN, split_tokens=True)

    def _one_by_one(self, documents: Iterable[InputDocument]) -> Iterator[LinkedDocument]:
        for document in documents:
            doc = self._alone(document)
            if doc is not None:
                yield self._linked(document, doc)

    def _alone(self, document: InputDocument) -> Doc | None:
        self.nlp.default_error_handler = raise_error
        try:
            return self.nlp(self._input(document))
        except SapbertError:
            raise
        except Exception as error:  # whatever a component of the user's raises
            self.problems.report(document.place, f"the pipeline fails on it ({_told(error)})")
            return None
        finally:
            self.nlp.default_error_handler = _leave_in_feed

    def _linked(self, document: InputDocument, doc: Doc) -> LinkedDocument:
        doc.user_data[DOC_ID] = document.doc_id
        mentions = [mention for spans_key in self.spans_keys for mention in mentions_of(doc, spans_key)]
        return LinkedDocument(document, doc, sorted(mentions, key=lambda span: (span.start_char, span.end_char)))


def _leave_in_feed(name: str, component: Any, docs: list[Doc], error: Exception) -> Any:
    """An error handler for `nlp.pipe`. What the user can mend, such as a missing encoder, ends the run."""
    if isinstance(error, SapbertError):
        raise error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
