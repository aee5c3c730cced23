"""Link a stream of documents with a saved pipeline."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from spacy.language import Language
from spacy.pipeline import DependencyParser, EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.util import minibatch, raise_error

from ..documents.docs import DOC_ID
from ..documents.input_documents import Problems, sound
from ..errors import MissingComponentError, SapbertError
from ..kb.knowledge_base import KnowledgeBase
from ..outputs.records import LinkedDocument
from ..pipeline.factories import ASSERTION, GENE_SPECIES, LINKER, MATCHER, PREPARING, SECTIONS, SENTENCIZER
from ..pipeline.mentions import GOLD_SPANS, gold_doc, mentions_of
from ..pipeline.tokenizer import bound_tokenizer, describe_error, load_pipeline
from ..types import Candidate, Document

AFTER_MENTIONS = frozenset({*PREPARING, LINKER, GENE_SPECIES, SENTENCIZER, SECTIONS, ASSERTION})
"""The components that run on given mentions."""
_NO_LIMIT = 1 << 62
DOCUMENTS_PER_BATCH = 512
DOCUMENTS_PER_ZONE = 1000  # a new zone takes time, since the words of its texts are looked up again


class LinkingPipeline:
    """Links documents, and reports documents on which a component fails.

    Args:
        pipeline: A folder, the name of an installed package, or the pipeline itself.
        given: The documents have their mentions. Only the components that process mentions then run.

    Attributes:
        kb: The knowledge base of the last linker.
        display_language: The language in which the last linker shows preferred names; see its setting.
    """

    def __init__(self, pipeline: str | Language, problems: Problems, *, given: bool = False) -> None:
        self.nlp = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        bound_tokenizer(self.nlp)
        self.problems = problems
        self.given = given
        self._linkers = self._made_by(LINKER)
        if not self._linkers:
            consequence, components = "it cannot link mentions", self.nlp.pipe_names
            raise MissingComponentError(component=LINKER, consequence=consequence, components=components)
        if given:
            self._take_given_mentions()
        self.kb: KnowledgeBase = self._linkers[-1].kb
        self.display_language: str = self._linkers[-1].display_language
        # spaCy limits the length because of the memory of parser and NER
        if not any(isinstance(component, (DependencyParser, EntityRecognizer)) for _, component in self.nlp.pipeline):
            self.nlp.max_length = _NO_LIMIT

    def candidates(self, text: str, k: int) -> Sequence[Candidate]:
        """Return the k best candidates of the last linker for a text, with any score."""
        candidates: Sequence[Candidate] = self._linkers[-1].linker.generator([text], k)[0]
        return candidates

    def set_corrections(self, path: str | None) -> None:
        """Set the corrections that all components obey, which replace the pipeline's own. None has no corrections."""
        for component in self._made_by(LINKER, MATCHER):
            component.set_corrections(path)

    def set_threshold(self, threshold: float) -> None:
        """Set the threshold of all linkers, which replaces the pipeline's own."""
        for linker in self._linkers:
            linker.threshold = threshold

    def list_candidates(self, n: int) -> None:
        """List the first candidates of each link, see `Linker.listed`."""
        for component in self._linkers:
            component.linker.listed = n

    def __call__(
        self,
        documents: Iterable[Document],
        *,
        batch_size: int = DOCUMENTS_PER_BATCH,
        short_lived: bool = False,
        independent_batches: bool = False,
    ) -> Generator[LinkedDocument, None, None]:
        """Link documents as a stream.

        If a component fails on a batch, each document of the batch is tried on its own.

        Args:
            short_lived: Free the memory of the new words of a document some time after the next one is asked for (see
                `Language.memory_zone`). A document must not be used after that.
            independent_batches: Link each batch as if it were the first. The links of a document then depend on its
                batch only, to the last digit of a score.

        Yields:
            The linked documents, in the order of the input.
        """
        for _, component in self.nlp.pipeline:
            if hasattr(component, "independent_streams"):
                component.independent_streams = independent_batches
        self.nlp.default_error_handler = _leave_out
        batches = minibatch(sound(documents, self.problems, self.nlp.max_length), batch_size)
        rest = next(batches, None)
        while rest is not None:
            with self.nlp.memory_zone() if short_lived else nullcontext():
                for batch in islice(chain([rest], batches), -(-DOCUMENTS_PER_ZONE // batch_size)):
                    yield from self._link(batch)
            rest = next(batches, None)

    def _link(self, batch: Sequence[Document]) -> Iterator[LinkedDocument]:
        """Link documents together, and those alone on which a component fails then."""
        waiting = deque(batch)
        for doc, document in self._piped(batch):
            while waiting[0] is not document:
                yield from self._alone(waiting.popleft())
            yield self._linked(waiting.popleft(), doc)
        while waiting:
            yield from self._alone(waiting.popleft())

    def _piped(self, batch: Sequence[Document]) -> Iterator[tuple[Doc, Document]]:
        inputs = ((self._input(document), document) for document in batch)
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

    def _input(self, document: Document) -> str | Doc:
        return gold_doc(self.nlp, document) if self.given else document.text

    def _alone(self, document: Document) -> Iterator[LinkedDocument]:
        self.nlp.default_error_handler = raise_error
        try:
            doc = self.nlp(self._input(document))
        except SapbertError:
            raise
        except Exception as error:  # a user's component can raise anything
            self.problems.report(document.position, f"the pipeline fails on it ({describe_error(error)})")
        else:
            yield self._linked(document, doc)
        finally:
            self.nlp.default_error_handler = _leave_out

    def _linked(self, document: Document, doc: Doc) -> LinkedDocument:
        doc.user_data[DOC_ID] = document.doc_id
        mentions: list[Span] = []
        for spans_key in {linker.spans_key: None for linker in self._linkers}:
            mentions += mentions_of(doc, spans_key)
        mentions.sort(key=attrgetter("start_char", "end_char"))
        return LinkedDocument(document, doc, mentions)


def _leave_out(name: str, component: Any, docs: list[Doc], error: Exception) -> Any:
    """Handle errors of `nlp.pipe`: only errors that the user can correct end the run, such as a missing encoder."""
    if isinstance(error, SapbertError):
        raise error
