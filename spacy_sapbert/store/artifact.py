"""`Artifact`: a file or folder that several components of a pipeline share, saved, in the cache, or outside."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DamagedError, SapbertError
from ..files.output import TEMPORARY, temporary_folder
from .cache import cache_dir, make_once

ARTIFACTS_FOLDER = "shared"
"""The folder of the artifacts, in the folder of the pipeline or of a component that is saved alone."""
KB = "kb"
"""The role of the knowledge base among the artifacts of a component."""
ENCODER_FOLDER = "encoder"
"""The role and the kind of an encoder among the artifacts of a component."""


# what libraries raise for a damaged file
_DAMAGE = (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, EOFError, RuntimeError)


class Artifact(NamedTuple):
    """What a component needs and others may share. Its name is its kind and a hash of its content.

    Attributes:
        kind: The first part of the name.
        fingerprint: A hash of the content, of at least 16 characters.
        write: Writes it to a path.
        suffix: The end of the name of a file.
        large: Whether it grows with the vocabulary, so that it may stay outside of the component.
        source: Where a large one is now, if it is in a file or folder.
        parts: The files in the folder `source` that belong to it.
    """

    kind: str
    fingerprint: str
    write: Callable[[Path], object]
    suffix: str = ""
    large: bool = False
    source: Path | None = None
    parts: Collection[str] = (".",)

    @property
    def name(self) -> str:
        """The name of the file or folder."""
        return f"{self.kind}-{self.fingerprint[:16]}{self.suffix}"

    def outside(self) -> ExternalArtifact:
        """Return where it stays. It is written to the cache folder if it is nowhere, or would not last there."""
        path = self.source if self.source and _lasts(self.source, self.name) else self._in_cache()
        sizes = {part: (path / part).stat().st_size for part in sorted(self.parts)}
        return ExternalArtifact(str(path.resolve()), self.fingerprint, sizes)

    def _in_cache(self) -> Path:
        path = cache_dir() / "assets" / self.name

        def make() -> None:
            with temporary_folder(path) as temporary:
                self.write(temporary / self.name)
                os.replace(temporary / self.name, path)

        make_once(path, path.exists, make)
        return path


class ExternalArtifact(NamedTuple):
    """An artifact that stays where it is when a component is saved.

    Attributes:
        path: The file or the folder.
        fingerprint: A hash of its content, which it also records.
        files: The size of each file in bytes, by its path in the folder. For a file, the path is ".".
    """

    path: str
    fingerprint: str
    files: Mapping[str, int]

    def why_not(self, path: Path) -> str | None:
        """Return why the artifact cannot be at a path, or None. Nothing is read but the sizes of files.

        Another vocabulary has other sizes, and a file that was cut off has another size. Reading all of it would take
        minutes for a vocabulary of 10 GB.
        """
        for part, size in self.files.items():
            if not (path / part).is_file():
                return f"{path / part} does not exist"
            present = (path / part).stat().st_size
            if present != size:
                return f"{path / part} has {present} bytes instead of {size}"
        return None


class ArtifactWriter:
    """Collects the artifacts of a component that is saved. What is already there is not written again.

    Args:
        saved: The folder of those that are already saved, if there is one.
        external: Whether large artifacts stay where they are.

    Attributes:
        names (dict[str, str]): The name of each artifact, by its role in the component.
        outside (dict[str, ExternalArtifact]): The artifacts that stay where they are, by role.
    """

    def __init__(self, folder: Path, saved: Path | None = None, *, external: bool = False) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.outside: dict[str, ExternalArtifact] = {}
        self._saved = saved
        self._external = external

    def add(self, role: str, artifact: Artifact) -> None:
        """Add an artifact.

        Args:
            role: What the component uses it for. It finds the artifact under this key when it is loaded.
        """
        if self._external and artifact.large:
            self.outside[role] = artifact.outside()
            return
        self.names[role] = artifact.name
        if not any((folder / artifact.name).exists() for folder in (self.folder, self._saved) if folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            artifact.write(self.folder / artifact.name)


def fingerprint_of(*values: Any) -> str:
    """Return a hash of values that JSON can write."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


@contextmanager
def opening(path: Path) -> Iterator[None]:
    """Turn the errors of libraries in a block that opens a file or folder of ours into a named one."""
    try:
        yield
    except SapbertError:
        raise
    except _DAMAGE as error:
        reason = f"{type(error).__name__}: {error}"
        remedy = "If it is in the cache, delete it. Otherwise, assemble the pipeline again."
        raise DamagedError(remedy, path=path, reason=reason) from error


def saved_artifacts(folder: Path, kind: str, suffix: str = "") -> list[Path]:
    """Return the artifacts of a kind in the folder of a saved pipeline. Any other folder has none."""
    return sorted((folder / ARTIFACTS_FOLDER).glob(f"{kind}-*{suffix}")) if os.path.isdir(folder) else []


def first_external(external: ExternalArtifact, paths: Iterable[Path], why_not: Callable[[Path], str | None]) -> Path:
    """Return the first path at which an external artifact is."""
    reasons = []
    for path in paths:
        try:
            reason = external.why_not(path) or why_not(path)
        except SapbertError as error:
            reason = f"{path} cannot be opened: {error}"
        if reason is None:
            return path
        reasons.append(reason)
    raise ValueError("; ".join(reasons))


def _lasts(path: Path, name: str) -> bool:
    """Return whether an artifact stays where it is: not in a saved component, and not in a temporary folder.

    In a saved component it has the given name. A user may have an own folder `shared`.
    """
    folders = path.absolute().parents
    is_saved = folders[0].name == ARTIFACTS_FOLDER and path.name == name
    return not is_saved and not any(folder.name.startswith(TEMPORARY) for folder in folders)
