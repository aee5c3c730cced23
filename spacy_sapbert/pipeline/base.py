"""Base classes of our components: save to a folder, and process documents in batches."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple, TypeVar

import srsly
from spacy.pipeline import Pipe, TrainablePipe
from spacy.tokens import Doc
from spacy.util import ensure_path, minibatch
from spacy.vocab import Vocab

from .. import __version__
from ..errors import Errors, SapbertError
from .component_settings import settings_of

FORMAT = 1
MANIFEST_FILE = "component.json"

Self = TypeVar("Self", bound="FolderPipe")


class FolderPipe(Pipe):
    """A component with a vocabulary and models that are saved in one folder.

    A subclass writes them in `_save` and opens them in `_load`. Its settings are attributes that are only saved in the
    pipeline's config. They can therefore be overridden when a pipeline is loaded.
    """

    name: str
    vocab: Vocab
    _temporary: Any = None

    def _save(self, folder: Path) -> None:
        raise NotImplementedError

    def _load(self, folder: Path) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        settings = settings_of(self)
        named = [f"{name}={settings[name]!r}" for name in ("kb", "encoder", "spans_key") if name in settings]
        return f"{type(self).__name__}({self.name!r}, {', '.join(named)})"

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Write all that the component needs, so that the saved pipeline is complete.

        It replaces a component that was saved in the same folder. That may be the one from which this component was
        loaded.
        """
        folder = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".saving_", dir=folder) as temporary:
            new = Path(temporary)
            self._save(new)
            sizes = {name: (new / name).stat().st_size for name in _files(new)}
            srsly.write_json(new / MANIFEST_FILE, {"format": FORMAT, "version": __version__, "files": sizes})
            _replace(folder, new)

    def from_disk(self: Self, path: Any, *, exclude: Iterable[str] = tuple()) -> Self:
        """Open what `to_disk` wrote. It takes precedence over any path in the config.

        Raises:
            SapbertError: E306 a file is missing or damaged, E401 no component was saved there, E402 it was saved in
                another format version, E403 a file name leads out of the folder.
        """
        folder = ensure_path(path)
        for name, size in _saved_files(folder).items():
            if not (folder / name).is_file() or (folder / name).stat().st_size != size:
                raise SapbertError(Errors.E306.format(path=folder, reason=f"{name} is missing or cut off"))
        self._load(folder)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        """Return all saved files as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            files = {name: (Path(folder) / name).read_bytes() for name in _files(Path(folder))}
        data: bytes = srsly.msgpack_dumps(files)
        return data

    def from_bytes(self: Self, data: bytes, *, exclude: Iterable[str] = tuple()) -> Self:
        """Unpack the files into a temporary folder that exists as long as the component, and open them.

        Raises:
            SapbertError: E403 a file name leads out of the folder, E408 the bytes are of another kind.
        """
        files = _unpack(data)
        _check_names(files)
        temporary = tempfile.TemporaryDirectory(prefix="spacy_sapbert_")
        folder = Path(temporary.name)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self.from_disk(folder)
        self._temporary = temporary
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (type(self), self.vocab, self.name, settings_of(self), self.to_bytes())


class BatchedPipe(FolderPipe, TrainablePipe):
    """A component that processes documents in batches of its own size. It is trainable only if `training` is set.

    A subclass defines `predict` and `set_annotations`. Its `model` is None until it is trained.
    """

    batch_size: int
    training: Any

    def __call__(self, doc: Doc) -> Doc:
        """Process one document."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: Optional[int] = None) -> Iterator[Doc]:
        """Process a stream of documents. Repeated texts are looked up once per batch.

        Args:
            stream: The documents.
            batch_size: Ignored. spaCy always passes the pipeline's own value; the component has its own setting.
        """
        for docs in minibatch(stream, size=self.batch_size):
            read: Iterable[Doc] = docs
            try:
                self.set_annotations(docs, self.predict(docs))
            except Exception:
                read = Pipe.pipe(self, docs)  # one by one, so that a broken document does not affect the others
            yield from read

    @property
    def is_trainable(self) -> bool:
        """Whether `training` is set."""
        return self.training is not None

    def use_params(self, params: Dict[Any, Any]) -> Iterator[None]:
        """Use other weights inside the block, if there is a model."""
        if self.model is None:
            yield
        else:
            yield from super().use_params(params)


def _files(folder: Path) -> List[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _unpack(data: bytes) -> Dict[str, bytes]:
    try:
        files = srsly.msgpack_loads(data)
    except ValueError as error:
        raise SapbertError(Errors.E408.format(reason=repr(error))) from error
    if not isinstance(files, dict) or {*map(type, files)} - {str} or {*map(type, files.values())} - {bytes}:
        raise SapbertError(Errors.E408.format(reason="they do not hold files"))
    return files


def _saved_files(folder: Path) -> Dict[str, int]:
    """Return the size of each file of the component that is saved in a folder."""
    if not (folder / MANIFEST_FILE).is_file():
        raise SapbertError(Errors.E401.format(path=folder))
    try:
        manifest = srsly.read_json(folder / MANIFEST_FILE)
        found, version, files = manifest["format"], manifest["version"], dict(manifest["files"])
    except (ValueError, TypeError, KeyError) as error:
        raise SapbertError(Errors.E306.format(path=folder, reason=f"{MANIFEST_FILE}: {error!r}")) from error
    if found != FORMAT:
        raise SapbertError(Errors.E402.format(path=folder, found=found, version=version, wanted=FORMAT))
    _check_names(files)
    return files


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if Path(name).anchor or ".." in Path(name).parts:
            raise SapbertError(Errors.E403.format(name=name))


def _replace(folder: Path, new: Path) -> None:
    """Move a saved component to a folder. The manifest, which marks it as complete, comes last."""
    for name in _stale_files(folder, new):
        (folder / name).unlink(missing_ok=True)
        parent = (folder / name).parent
        if parent.is_dir() and not any(parent.iterdir()):
            parent.rmdir()
    for name in sorted(_files(new), key=MANIFEST_FILE.__eq__):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copymode(new / MANIFEST_FILE, new / name)  # safetensors makes its files readable by the owner only
        os.replace(new / name, folder / name)


def _stale_files(folder: Path, new: Path) -> List[str]:
    """Return the manifest of the component that was saved before, and the files that only it has."""
    try:
        old = _saved_files(folder)
    except SapbertError:
        old = {}
    return [MANIFEST_FILE, *sorted(set(old) - set(_files(new)))]


def _rebuild(cls: Any, vocab: Any, name: str, settings: Dict[str, Any], data: bytes) -> Any:
    return cls(vocab, name, **settings).from_bytes(data)
