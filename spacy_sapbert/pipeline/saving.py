"""Components that keep what they need in a folder: on disk, as bytes, and in a pickle."""

import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, Tuple, TypeVar

import srsly
from spacy.pipeline import Pipe
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError

FORMAT = 1
MANIFEST_FILE = "component.json"

Self = TypeVar("Self", bound="FolderPipe")


class FolderPipe(Pipe):
    """A component whose vocabulary and models are files of one folder.

    A subclass writes them in `_save` and opens them in `_load`. Its settings are attributes that stand in the
    pipeline's config and nowhere else, so that they can be overridden when a pipeline is loaded.
    """

    name: str
    vocab: Vocab
    _temporary: Any = None

    def _save(self, folder: Path) -> None:
        raise NotImplementedError

    def _load(self, folder: Path) -> None:
        raise NotImplementedError

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        """Write all that the component needs, so that the saved pipeline needs nothing else."""
        folder = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self._save(folder)
        srsly.write_json(folder / MANIFEST_FILE, {"format": FORMAT})

    def from_disk(self: Self, path: Any, *, exclude: Iterable[str] = tuple()) -> Self:
        """Open what `to_disk` wrote; it goes before any path in the config.

        RAISES (SapbertError): E401 nothing was saved there, E402 saved in another format version.
        """
        folder = ensure_path(path)
        if not (folder / MANIFEST_FILE).is_file():
            raise SapbertError(Errors.E401.format(path=folder))
        manifest = srsly.read_json(folder / MANIFEST_FILE)
        if manifest.get("format") != FORMAT:
            raise SapbertError(Errors.E402.format(path=folder, found=manifest.get("format"), wanted=FORMAT))
        self._load(folder)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            files = {
                path.relative_to(folder).as_posix(): path.read_bytes()
                for path in sorted(Path(folder).rglob("*"))
                if path.is_file()
            }
        data: bytes = srsly.msgpack_dumps(files)
        return data

    def from_bytes(self: Self, data: bytes, *, exclude: Iterable[str] = tuple()) -> Self:
        """Unpack the files into a temporary folder that lives as long as the component, and open them.

        RAISES (SapbertError): E403 a file name that leads out of the folder.
        """
        files: Dict[str, bytes] = srsly.msgpack_loads(data)
        self._temporary = tempfile.TemporaryDirectory(prefix="spacy_sapbert_")
        root = Path(self._temporary.name).resolve()
        for name, content in files.items():
            target = (root / name).resolve()
            if root not in target.parents:
                raise SapbertError(Errors.E403.format(name=name))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return self.from_disk(root)

    def _settings(self) -> Dict[str, Any]:
        """RETURNS (Dict[str, Any]): the arguments of `__init__` that make such a component again, beside its vocab."""
        raise NotImplementedError

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (type(self), self.vocab, self.name, self._settings(), self.to_bytes())


def _rebuild(cls: Any, vocab: Any, name: str, settings: Dict[str, Any], data: bytes) -> Any:
    return cls(vocab, name, **settings).from_bytes(data)
