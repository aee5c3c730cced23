"""Link a stream of documents with a saved pipeline."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, cast

import spacy
from spacy.language import Language
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.tokens import Doc
from spacy.util import is_package, raise_error

from ..documents.docs import DOC_ID
from ..documents.input_documents import Problems, sound
from ..encoders.fork_safety import use_one_thread_after_fork
from ..errors import Errors, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..outputs.records import LinkedDocument
from ..pipeline.factories import ASSERTION, GENE_SPECIES, LINKER, MATCHER, PREPARING, SENTENCIZER
from ..pipeline.gold_mentions import GOLD_SPANS, gold_doc
from ..pipeline.mentions import mentions_of
from ..pipeline.tokenizer import bound_tokenizer
from ..types import Candidate, Document

# the components that run on given mentions
_AFTER_MENTIONS = frozenset({*PREPARING, LINKER, GENE_SPECIES, SENTENCIZER, ASSERTION})
_ENTITIES = frozenset({"doc.ents", "doc.spans"})
_NO_LIMIT = 1 << 62
DOCUMENTS_PER_BATCH = 512
DOCUMENTS_PER_ZONE = 1000  # a new zone takes time, since the words of its texts are looked up again


def load_pipeline(name: str) -> Language:
    """Load a pipeline, which then takes linear time to tokenize a text, see `BoundedTokenizer`.

    Args:
        name: A folder, or the name of an installed package.

    Raises:
        SapbertError: E501 there is no such pipeline. E502 it cannot be loaded.
    """
    try:
        nlp = spacy.load(name)
    except SapbertError:
        raise
    except Exception as error:  # configs, components and models raise errors without a common base class
        code = Errors.E502 if Path(name).exists() or is_package(name) else Errors.E501
        raise SapbertError(code.format(name=name, reason=_describe(error))) from error
    bound_tokenizer(nlp)
    return nlp


class _Feed:
    """Numbers the documents for `nlp.pipe`, and keeps each one until its result is there.

    Worker processes never end if their results are not read. Therefore the feed does not raise inside `nlp.pipe`, and
    `nlp.pipe` is always read to its end. In case of an error, the feed just ends early.

    Attributes:
        stream: The inputs with their numbers. After a failure of `nlp.pipe`, the next run continues with the rest.
        pending: The documents without a result, in order.
        taken: The number of documents passed to `nlp.pipe`.
        ended: Whether no further document will come.
        failure: The error that ended the feed early, if any.
    """

    def __init__(self, documents: Iterable[Document], make_input: Callable[[Document], str | Doc]) -> None:
        self.pending: dict[int, Document] = {}
        self.taken = 0
        self.ended = False
        self.failure: Exception | None = None
        self.stream = self._generate(documents, make_input)

    def _generate(
        self, documents: Iterable[Document], make_input: Callable[[Document], str | Doc]
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

    def taken_before(self, number: int | None) -> Iterator[Document]:
        """Yield the pending documents before this number (None: all), and remove them."""
        for earlier in list(takewhile(lambda other: number is None or other < number, self.pending)):
            yield self.pending.pop(earlier)

    def stop(self, results: Iterable[object]) -> None:
        """End the feed, and wait for the results of the remaining documents."""
        self.ended = True
        for _ in results:
            pass


class LinkingPipeline:
    """Links documents, and reports documents on which a component fails.

    Args:
        pipeline: A folder, the name of an installed package, or the pipeline itself.
        problems: Reports the documents that are left out.
        given: The documents have their mentions. Only the components that process mentions then run.

    Raises:
        SapbertError: E501, E502 the pipeline cannot be loaded. E503 it has no linker.
    """

    def __init__(self, pipeline: str | Language, problems: Problems, *, given: bool = False) -> None:
        self.nlp = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        bound_tokenizer(self.nlp)
        self.problems = problems
        self.given = given
        if not self._linkers():
            components = ", ".join(self.nlp.pipe_names) or "none"
            raise SapbertError(Errors.E503.format(name=pipeline, components=components))
        if given:
            self._take_given_mentions()
        self.spans_keys = tuple(dict.fromkeys(linker.spans_key for linker in self._linkers()))
        # spaCy limits the length because of the memory of parser and NER
        if not any(isinstance(component, (DependencyParser, EntityRecognizer)) for _, component in self.nlp.pipeline):
            self.nlp.max_length = _NO_LIMIT

    @property
    def kb(self) -> KnowledgeBase:
        """The knowledge base of the last linker."""
        return cast(KnowledgeBase, self._linkers()[-1].kb)

    @property
    def display_language(self) -> str:
        """The language in which the last linker shows preferred names; see its setting."""
        return cast(str, self._linkers()[-1].display_language)

    def candidates(self, text: str, k: int) -> Sequence[Candidate]:
        """Return the k best candidates of the last linker for a text, with any score."""
        found: Sequence[Candidate] = self._linkers()[-1].linker.generator([text], k)[0]
        return found

    def set_corrections(self, path: str | None) -> None:
        """Set the corrections that all components obey, which replace the pipeline's own. None has no corrections."""
        for name in self._names(frozenset({LINKER, MATCHER})):
            cast(Any, self.nlp.get_pipe(name)).set_corrections(path)

    def set_threshold(self, threshold: float) -> None:
        """Set the threshold of all linkers, which replaces the pipeline's own."""
        for linker in self._linkers():
            linker.threshold = threshold

    def __call__(
        self,
        documents: Iterable[Document],
        *,
        batch_size: int | None = None,
        n_process: int = 1,
        short_lived: bool = False,
        independent_batches: bool = False,
    ) -> Generator[LinkedDocument, None, None]:
        """Link documents as a stream.

        If a component fails on a batch, each document of the batch is tried on its own.

        Args:
            documents: The documents.
            batch_size: As for `nlp.pipe`; None for 512.
            n_process: As for `nlp.pipe`.
            short_lived: Free the memory of the new words of a document some time after the next one is asked for (see
                `Language.memory_zone`). A document must not be used after that. It has no effect on several processes.
            independent_batches: Link each batch as if it were the first. The links of a document then depend on its
                batch only, to the last digit of a score.

        Yields:
            The linked documents, in the order of the input.
        """
        if n_process > 1:
            use_one_thread_after_fork()
        for _, component in self.nlp.pipeline:
            if hasattr(component, "independent_streams"):
                component.independent_streams = independent_batches
        feed = _Feed(sound(documents, self.problems, self.nlp.max_length), self._input)
        size = batch_size or DOCUMENTS_PER_BATCH
        # one call of `nlp.pipe` for each batch, where the main process links
        at_once = size if n_process == 1 and (short_lived or independent_batches) else None
        results = self._results(feed, size, n_process, at_once, short_lived and n_process == 1)
        batch = 0
        try:
            for doc, number, first in results:
                yield from self._one_by_one(feed.taken_before(number), batch)
                batch = number - (number - first) % size
                yield self._linked(feed.pending.pop(number), doc, batch)
            yield from self._one_by_one(feed.taken_before(None), batch)
        finally:
            feed.stop(results if n_process > 1 else ())
            results.close()
        if feed.failure:
            raise feed.failure

    def _results(
        self, feed: _Feed, batch_size: int, n_process: int, at_once: int | None, in_zones: bool
    ) -> Generator[tuple[Doc, int, int], None, None]:
        """Yield the results of `nlp.pipe` with their numbers, and that of the first document of the call.

        Documents on which it fails stay in the feed.

        Args:
            feed: The documents.
            batch_size: As for `nlp.pipe`.
            n_process: As for `nlp.pipe`.
            at_once: The most documents for one call of `nlp.pipe`; None for all.
            in_zones: Whether to free the memory of new words after `DOCUMENTS_PER_ZONE` documents.
        """
        # An error in a worker process must not raise here. In the main process it may, as NER and parser do.
        self.nlp.default_error_handler = _leave_in_feed
        while not feed.ended:
            end = feed.taken + DOCUMENTS_PER_ZONE
            with self.nlp.memory_zone() if in_zones else nullcontext():
                while not feed.ended and feed.taken < end:
                    yield from self._piped(feed, batch_size, n_process, at_once)

    def _piped(
        self, feed: _Feed, batch_size: int, n_process: int, at_once: int | None
    ) -> Generator[tuple[Doc, int, int], None, None]:
        """Yield the results of one call of `nlp.pipe`, see `_results`."""
        taken = feed.taken
        inputs = islice(feed.stream, at_once)
        try:
            piped = self.nlp.pipe(inputs, as_tuples=True, batch_size=batch_size, n_process=n_process)
            yield from ((doc, number, taken) for doc, number in piped)
        except SapbertError:
            raise
        except Exception:
            if feed.taken == taken:
                raise

    def finds_new_names(self) -> bool:
        """Return whether a component can find mentions that are not names of its vocabulary."""
        metas = map(self.nlp.get_pipe_meta, self.nlp.pipe_names)
        others = [meta for meta in metas if meta.factory not in (MATCHER, *_AFTER_MENTIONS)]
        # a component that does not declare what it assigns can find mentions, such as a user's function
        return any(not meta.assigns or _ENTITIES.intersection(meta.assigns) for meta in others)

    def _linkers(self) -> list[Any]:
        return [self.nlp.get_pipe(name) for name in self._names(frozenset({LINKER}))]

    def _names(self, factories: frozenset[str]) -> list[str]:
        return [name for name in self.nlp.pipe_names if self.nlp.get_pipe_meta(name).factory in factories]

    def _take_given_mentions(self) -> None:
        """Let the components read a span group, which can have overlapping mentions, unlike `doc.ents`."""
        self.nlp.select_pipes(enable=self._names(_AFTER_MENTIONS))
        for _, component in self.nlp.pipeline:
            if hasattr(component, "spans_key"):
                component.spans_key = GOLD_SPANS

    def _input(self, document: Document) -> str | Doc:
        return gold_doc(self.nlp, document) if self.given else document.text

    def _one_by_one(self, documents: Iterable[Document], batch: int) -> Iterator[LinkedDocument]:
        for document in documents:
            doc = self._alone(document)
            if doc is not None:
                yield self._linked(document, doc, batch)

    def _alone(self, document: Document) -> Doc | None:
        self.nlp.default_error_handler = raise_error
        try:
            return self.nlp(self._input(document))
        except SapbertError:
            raise
        except Exception as error:  # a user's component can raise anything
            self.problems.report(document.position, f"the pipeline fails on it ({_describe(error)})")
            return None
        finally:
            self.nlp.default_error_handler = _leave_in_feed

    def _linked(self, document: Document, doc: Doc, batch: int) -> LinkedDocument:
        doc.user_data[DOC_ID] = document.doc_id
        mentions = [mention for spans_key in self.spans_keys for mention in mentions_of(doc, spans_key)]
        mentions.sort(key=lambda span: (span.start_char, span.end_char))
        return LinkedDocument(document, doc, mentions, batch)


def _leave_in_feed(name: str, component: Any, docs: list[Doc], error: Exception) -> Any:
    """Handle errors of `nlp.pipe`: only errors that the user can correct end the run, such as a missing encoder."""
    if isinstance(error, SapbertError):
        raise error


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
