"""Base classes of our components: save to a folder, and process documents in batches."""

from pathlib import Path
from types import SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    ClassVar,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
)

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe, TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.util import ensure_path, minibatch
from spacy.vocab import Vocab

from ..errors import DamagedError, MismatchError, SapbertError
from ..files.output import ScratchFolder
from ..store.artifact import (
    KB,
    ArtifactWriter,
    ExternalArtifact,
    check_inside,
    files_in,
    is_in_pipeline,
    opening,
    read_component,
    write_component,
)
from ..store.cache import cache_dir
from .attributes import Attribute
from .component_settings import Component, check_setting, settings_of
from .factories import EXTERNAL, INSIDE
from .mentions import mentions_of

if TYPE_CHECKING:
    from thinc.api import Optimizer

Self = TypeVar("Self", bound="SavedInFolder")


class SavedInFolder:
    """An object with a vocabulary and models that are saved in one folder.

    A subclass writes them in `_save` and opens them in `_load`. What other components may share is an asset.
    """

    name: str
    vocab: Vocab
    storage: str = INSIDE
    _temporary: Any = None

    def _save(self, folder: Path, artifacts: ArtifactWriter) -> None:
        raise NotImplementedError

    def _load(self, folder: Path, artifacts: Mapping[str, Path]) -> None:
        raise NotImplementedError

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Write all that the component needs, so that the saved pipeline is complete.

        In the folder of a pipeline, vocabulary, encoder and vectors are shared with the other components. Otherwise,
        the folder of the component holds them.

        It replaces a component that was saved in the same folder. That may be the one from which this component was
        loaded.
        """
        folder = ensure_path(path)
        self._write(folder, in_pipeline=is_in_pipeline(folder))

    def from_disk(self: Self, path: Any, *, exclude: Iterable[str] = tuple()) -> Self:
        """Open what `to_disk` wrote. It takes precedence over any path in the config.

        Raises:
            NotFoundError: No component was saved there.
            MismatchError: It was saved in another format, or an external file has moved or changed.
            NewerVersionError: A newer version saved it.
            DamagedError: A file is missing or damaged.
            SapbertError: E403 a file name leads out of the folder of the pipeline.
        """
        folder = ensure_path(path)
        self._read(folder, in_pipeline=True)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        """Return all saved files as bytes."""
        with ScratchFolder() as folder:
            self._write(folder, in_pipeline=False)
            files = {name: (folder / name).read_bytes() for name in files_in(folder)}
        data: bytes = srsly.msgpack_dumps(files)
        return data

    def from_bytes(self: Self, data: bytes, *, exclude: Iterable[str] = tuple()) -> Self:
        """Unpack the files into a temporary folder that exists as long as the component, and open them.

        Raises:
            DamagedError: The bytes are of another kind.
            SapbertError: E403 a file name leads out of the folder.
        """
        files = _unpack(data)
        check_inside(files)
        temporary = ScratchFolder()
        folder = temporary.path
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self._read(folder, in_pipeline=False)
        self._temporary = temporary
        return self

    def _write(self, folder: Path, *, in_pipeline: bool) -> None:
        check_setting(self, "storage", self.storage in (INSIDE, EXTERNAL), f"'{INSIDE}' or '{EXTERNAL}'")
        write_component(folder, self._save, in_pipeline=in_pipeline, external=self.storage == EXTERNAL)

    def _read(self, folder: Path, *, in_pipeline: bool) -> None:
        inside, external = read_component(folder, in_pipeline=in_pipeline)
        outside = {role: self._find(role, artifact) for role, artifact in external.items()}
        with opening(folder):
            self._load(folder, {**inside, **outside})

    def _find(self, role: str, artifact: ExternalArtifact) -> Path:
        """Return where an external artifact is: where it was, or else where the settings say that it is now."""
        saved, kb = Path(artifact.path), getattr(self, "_kb", None)
        if role == KB:
            from ..kb.storage import STARTER, vocabulary_path

            moved = None if kb in (None, STARTER) else vocabulary_path(str(kb))
            remedy = f"load the pipeline with the config override `components.{self.name}.kb` = its new path"
        else:
            moved = cache_dir() / saved.parent.name / saved.name
            remedy = f"put it into {moved.parent}, or set SPACY_SAPBERT_CACHE to the cache folder that holds it"

        reasons = []
        for path in filter(None, (saved, moved)):
            reason = artifact.why_not(path) or (_why_not_kb(artifact, path) if role == KB else None)
            if reason is None:
                return path
            reasons.append(reason)
        found = "; ".join(reasons)
        reason = f"{self.name} was saved with storage = 'external', and the file has moved or changed: {found}"
        changed = "If it has changed, put the old file back, or assemble the pipeline again."
        raise MismatchError(f"If it has moved, {remedy}. {changed}", path=saved, reason=reason)


class MentionComponent(Component):
    """A component that writes one attribute of the mentions. `find` returns its value for each mention.

    Attributes:
        writes: The attribute. It is not written if it is empty, unless it replaces an earlier value.
    """

    writes: ClassVar[Attribute[Any]]

    def annotate(self, doc: Doc, found: Sequence[Any]) -> None:
        for mention, value in zip(mentions_of(doc, self.spans_key), found):
            if value or self.writes.get(mention):
                self.writes.set(mention, value)


class FolderPipe(SavedInFolder, Component):
    """A component that is saved in one folder.

    The settings are attributes that are only saved in the pipeline's config. They can therefore be overridden when a
    pipeline is loaded.
    """

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (type(self), self.vocab, self.name, settings_of(self), self.to_bytes())


class BatchedPipe(FolderPipe, TrainablePipe):
    """A component that processes documents in batches of its own size. It is trainable only if `training` is set.

    A subclass defines `predict` and `set_annotations`, and for training `_begin_training`, `_train` and `_trainer`. Its
    `model` is None until it is trained.

    Attributes:
        scored_as: The name of the argument by which the scorer gets the component.
    """

    scored_as: ClassVar[str]
    cfg = property()  # missing, as `find-threshold` of spaCy asks: the config has all settings
    _trainer: Any = None
    batch_size: int
    independent_streams: bool = False
    """Whether each call of `pipe` first forgets earlier texts. It then gives the same results whatever came before.

    Otherwise a text is encoded once, and later documents get its vector. Vectors differ in the last digits if a text is
    encoded together with other texts.
    """

    def pipe(self, stream: Iterable[Doc], *, batch_size: Optional[int] = None) -> Iterator[Doc]:
        """Process a stream of documents. Repeated texts are looked up once per batch.

        Args:
            stream: The documents.
            batch_size: Ignored. spaCy always passes the pipeline's own value; the component has its own setting.
        """
        if self.independent_streams:
            self._forget()
        for docs in minibatch(stream, size=self.batch_size):
            read: Iterable[Doc] = docs
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:
                read = Pipe.pipe(self, docs)  # one by one, so that a broken document does not affect the others
            yield from read

    def _forget(self) -> None:
        """Forget what was found for earlier texts."""

    def _begin_training(self, examples: List[Example]) -> None:
        raise NotImplementedError

    def _train(self, examples: List[Example]) -> Optional[float]:
        """Add to the gradients. Return the loss, or None if there is nothing to learn from the examples."""
        raise NotImplementedError

    @property
    def is_trainable(self) -> bool:
        """Whether `training` is set."""
        return self.training is not None

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Optional[Language] = None) -> None:
        """Prepare for training. A component without `training` does not change.

        Args:
            get_examples: Returns the training data.
            nlp: The pipeline.
        """
        if self.training is not None:
            examples = list(get_examples())
            validate_examples(examples, f"{type(self).__name__}.initialize")
            self._begin_training(examples)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional["Optimizer"] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Train on annotated documents. The predicted documents need what earlier components write.

        Make those components annotating components: the abbreviation resolver and the composite splitter for a linker,
        a linker for the signal "mentions" of a retriever.

        Args:
            examples: The training data.
            drop: Ignored. Dropout is a setting of `training`.
            sgd: The optimizer.
            losses: Losses by component.

        Returns:
            The `losses`, with the mean loss per mention or document added.
        """
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.update")
        loss = self._train(examples) if self.is_trainable else None
        if loss is not None:
            losses[self.name] += loss
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def finish_update(self, sgd: "Optimizer") -> None:
        """Update the weights. What depends on them is computed again at the next use."""
        if self._trainer is not None:
            self._trainer.finish_update(sgd)

    def score(self, examples: Iterable[Example], **settings: Any) -> Dict[str, Any]:
        """Return the measures of the `scorer`, which also receives the component."""
        return self.scorer(examples, **{self.scored_as: self}, **settings) if self.scorer else {}

    def use_params(self, params: Dict[Any, Any]) -> Iterator[None]:
        """Use other weights inside the block, if there is a model."""
        if self.model is None:
            yield
        else:
            yield from super().use_params(params)


def _why_not_kb(artifact: ExternalArtifact, path: Path) -> Optional[str]:
    """Return why a file is not the vocabulary that was saved, or None."""
    from ..kb.knowledge_base import KnowledgeBase

    try:
        is_same = KnowledgeBase(path).fingerprint == artifact.fingerprint
    except SapbertError as error:
        return f"{path} cannot be opened: {error}"
    return None if is_same else f"{path} holds another vocabulary"


def _unpack(data: bytes) -> Dict[str, bytes]:
    try:
        files: Dict[str, bytes] = srsly.msgpack_loads(data)
        if {*map(type, files)} - {str} or {*map(type, files.values())} - {bytes}:
            raise ValueError("they do not hold files")
        return files
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedError("Create them with `to_bytes`.", path="A saved component in bytes", reason=error) from error


def _rebuild(cls: Any, vocab: Any, name: str, settings: Dict[str, Any], data: bytes) -> Any:
    return cls(SimpleNamespace(vocab=vocab, lang=vocab.lang), name, **settings).from_bytes(data)
