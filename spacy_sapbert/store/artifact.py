"""`Artifact`: a file or folder that several components of a pipeline share, saved, in the cache, or outside.

The folder of a saved component has its own files and its artifacts, and a manifest that lists both. Components of one
pipeline share their artifacts in the folder `shared` of the pipeline. A component that is saved alone has this folder
within its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..errors import DamagedError, Errors, MismatchError, NotFoundError, SapbertError
from ..files.output import TEMPORARY, replacing, temporary_folder
from ..files.values import check_not_newer
from .cache import cache_dir, make_once

ARTIFACTS_FOLDER = "shared"
"""The folder of the artifacts, in the folder of the pipeline or of a component that is saved alone."""
KB = "kb"
"""The role of the knowledge base among the artifacts of a component."""
ENCODER_FOLDER = "encoder"
"""The role and the kind of an encoder among the artifacts of a component."""


# what libraries raise for a damaged file
_DAMAGE = (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, EOFError, RuntimeError)
FORMAT = 2
MANIFEST_FILE = "component.json"

_INSIDE = f"{ARTIFACTS_FOLDER}/"
_OF_PIPELINE = f"../{_INSIDE}"
_PIPELINE_FILES = ("meta.json", "config.cfg")  # spaCy writes them before the components


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


def folder_artifact(
    kind: str,
    fingerprint: str,
    source: Path | None,
    parts: Sequence[str],
    build: Callable[[Path], object] | None = None,
) -> Artifact:
    """Return files that grow with the vocabulary as an artifact: those in a folder, or else those that are built.

    Args:
        kind: See `Artifact`.
        fingerprint: See `Artifact`.
        source: The folder with the files, if there is one.
        parts: The names of the files.
        build: Writes the files into a new folder. It is not needed with a `source`.
    """

    def copy(folder: Path) -> None:
        assert source is not None
        folder.mkdir(parents=True, exist_ok=True)
        for name in parts:
            with replacing(folder / name) as temporary:  # each copy is either complete or missing
                shutil.copyfile(source / name, temporary)

    write = copy if source or not build else build
    return Artifact(kind, fingerprint, write, large=True, source=source, parts=parts)


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


def _lasts(path: Path, name: str) -> bool:
    """Return whether an artifact stays where it is: not in a saved component, and not in a temporary folder.

    In a saved component it has the given name. A user may have an own folder `shared`.
    """
    folders = path.absolute().parents
    is_saved = folders[0].name == ARTIFACTS_FOLDER and path.name == name
    return not is_saved and not any(folder.name.startswith(TEMPORARY) for folder in folders)


# --- the folder of a component


Save = Callable[[Path, ArtifactWriter], None]


class Manifest(NamedTuple):
    """What belongs to a saved component. Paths are relative to its folder.

    Attributes:
        files: The size of each file in bytes, by path. They include the files of the artifacts.
        artifacts: The path of each artifact, by its role in the component.
        external: The artifacts that stay where they are, by role. Their paths are absolute.
    """

    files: dict[str, int]
    artifacts: dict[str, str]
    external: dict[str, ExternalArtifact]


def is_in_pipeline(folder: Path) -> bool:
    """Return whether a folder is in the folder of a saved pipeline."""
    return all((folder.parent / name).is_file() for name in _PIPELINE_FILES)


def read_component(folder: Path, *, in_pipeline: bool) -> tuple[dict[str, Path], dict[str, ExternalArtifact]]:
    """Read the manifest of a saved component.

    Args:
        in_pipeline: Whether the component may have artifacts in the folder of a pipeline.

    Returns:
        The paths of the artifacts and the external artifacts, by role. The latter are not checked.
    """
    manifest = _read_manifest(folder)
    check_inside(chain(manifest.files, manifest.artifacts.values()), in_pipeline=in_pipeline)
    for name in manifest.files:
        if not (folder / name).is_file():
            remedy = "Assemble the pipeline again."
            if name.startswith(_OF_PIPELINE):
                remedy = f"It belongs to the whole pipeline, so copy the pipeline with its folder '{ARTIFACTS_FOLDER}'."
            raise DamagedError(remedy, path=folder, reason=f"{name} is missing")
    return {role: (folder / name).resolve() for role, name in manifest.artifacts.items()}, manifest.external


def write_component(folder: Path, save: Save, *, in_pipeline: bool, external: bool = False) -> None:
    """Write a component. It replaces a component in the same folder when all new files are complete.

    Args:
        save: Writes the component's own files into a folder, and adds its artifacts.
        in_pipeline: Whether to write the artifacts into the folder of the pipeline.
        external: Whether large artifacts stay where they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prefix = _OF_PIPELINE if in_pipeline else _INSIDE
    old = _known_manifest(folder)
    with temporary_folder(folder / "saving") as temporary:
        new = temporary / "component"
        new.mkdir()
        writer = ArtifactWriter(temporary / ARTIFACTS_FOLDER, folder / prefix, external=external)
        save(new, writer)
        files = {name: (new / name).stat().st_size for name in files_in(new)}
        for name in sorted(set(writer.names.values())):
            written = writer.folder / name
            files.update(_sizes(written if written.exists() else folder / prefix / name, prefix + name))
        manifest = {
            "format": FORMAT,
            "version": __version__,
            "files": files,
            "assets": {role: prefix + name for role, name in writer.names.items()},
            "external": {role: artifact._asdict() for role, artifact in writer.outside.items()},
        }
        import srsly  # imported here, because a vocabulary needs no spaCy

        srsly.write_json(new / MANIFEST_FILE, manifest)
        _move_artifacts(writer.folder, folder / prefix, like=new / MANIFEST_FILE)
        stale = [name for name in old.files if name not in files] if old else []
        _remove(folder, [MANIFEST_FILE, *(name for name in stale if not name.startswith(_OF_PIPELINE))])
        _move_files(new, folder)
    if in_pipeline:
        _remove_unused(folder, [name for name in stale if name.startswith(_OF_PIPELINE)])


def files_in(folder: Path) -> list[str]:
    """Return the paths of all files in a folder, relative to it."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check_inside(names: Iterable[str], *, in_pipeline: bool = False) -> None:
    """Check that no path leads out of the folder of a component, or of its pipeline."""
    for name in names:
        inner = Path(name[len(_OF_PIPELINE) :] if in_pipeline and name.startswith(_OF_PIPELINE) else name)
        if inner.anchor or ".." in inner.parts:
            raise SapbertError(Errors.E403.format(name=name))


def _read_manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST_FILE
    if not path.is_file():
        what = f"saved component in {folder}"
        raise NotFoundError("Save the pipeline again with `nlp.to_disk`.", what=what)
    with opening(path):
        content = json.loads(path.read_text(encoding="utf-8"))
        check_not_newer(folder, content["format"], FORMAT)
        if content["format"] != FORMAT:
            reason = f"spacy-sapbert {content['version']} saved it in format {content['format']}, this reads {FORMAT}"
            remedy = "Assemble the pipeline again, or install the version that saved it."
            raise MismatchError(remedy, path=folder, reason=reason)
        external = {role: ExternalArtifact(**artifact) for role, artifact in content["external"].items()}
        return Manifest(dict(content["files"]), dict(content["assets"]), external)


def _known_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a component that may be missing, damaged or of another version."""
    try:
        manifest = _read_manifest(folder)
        check_inside(chain(manifest.files, manifest.artifacts.values()), in_pipeline=True)
    except SapbertError:
        return None
    return manifest


def _sizes(path: Path, name: str) -> dict[str, int]:
    """Return the sizes of the files of an artifact, by their paths in the manifest."""
    if path.is_file():
        return {name: path.stat().st_size}
    return {f"{name}/{inner}": (path / inner).stat().st_size for inner in files_in(path)}


def _move_files(new: Path, folder: Path) -> None:
    """Move the files of a component to its folder. The manifest, which marks it as complete, comes last."""
    for name in sorted(files_in(new), key=MANIFEST_FILE.__eq__):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copymode(new / MANIFEST_FILE, new / name)  # safetensors makes its files readable by the owner only
        os.replace(new / name, folder / name)


def _move_artifacts(written: Path, folder: Path, *, like: Path) -> None:
    """Move new artifacts to their folder, with the permissions of a file."""
    for source in sorted(written.iterdir()) if written.is_dir() else ():
        for path in (source, *source.rglob("*")):
            if path.is_file():
                shutil.copymode(like, path)
        folder.mkdir(parents=True, exist_ok=True)
        os.replace(source, folder / source.name)


def _remove_unused(folder: Path, names: Iterable[str]) -> None:
    """Remove files of artifacts that no component of the pipeline needs any more.

    If a manifest cannot be read, nothing is removed, since that component may need them.
    """
    manifests = [_known_manifest(path.parent) for path in folder.parent.glob(f"*/{MANIFEST_FILE}")]
    if all(manifests):
        used = {name for manifest in manifests if manifest for name in manifest.files}
        _remove(folder, [name for name in names if name not in used])


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files, and the folders that they leave empty."""
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or not parent.is_dir() or any(parent.iterdir()):
                break
            parent.rmdir()
