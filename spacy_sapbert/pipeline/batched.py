"""What components have in common that read several documents at once, and may learn."""

from typing import Any, Dict, Iterable, Iterator, Optional

from spacy.pipeline import Pipe, TrainablePipe
from spacy.tokens import Doc
from spacy.util import minibatch

from .saving import FolderPipe


class BatchedPipe(FolderPipe, TrainablePipe):
    """Reads documents in batches of its own size, and learns only where a `learning` is set.

    A subclass has `predict` and `set_annotations`. Its `model` is None until it learns.
    """

    batch_size: int
    learning: Any

    def __call__(self, doc: Doc) -> Doc:
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: Optional[int] = None) -> Iterator[Doc]:
        """Read a stream of documents; what they have in common is looked up once a batch.

        batch_size (int | None): not used: spaCy always gives the pipeline's own, the component has a setting.
        """
        for docs in minibatch(stream, size=self.batch_size):
            read: Iterable[Doc] = docs
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:
                read = Pipe.pipe(self, docs)  # one by one: a broken document takes none of the others with it
            yield from read

    @property
    def is_trainable(self) -> bool:
        return self.training is not None

    def use_params(self, params: Dict[Any, Any]) -> Iterator[None]:
        if self.model is None:
            yield
        else:
            yield from super().use_params(params)
