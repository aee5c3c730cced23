"""The folder of a saved component: its own files, its assets, and the manifest that lists both.

Components of one pipeline share their assets in the folder `shared` of the pipeline. A component that is saved alone
has this folder within its own.
"""

import os
import shutil
from itertools import chain
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Set, Tuple

import srsly

from .. import __version__
from ..errors import Errors, SapbertError
from ..files.output import temporary_folder
from ..store.assets import ASSETS_FOLDER, AssetWriter, ExternalAsset

FORMAT = 2
MANIFEST_FILE = "component.json"

_INSIDE = f"{ASSETS_FOLDER}/"
_OF_PIPELINE = f"../{_INSIDE}"
_PIPELINE_FILES = ("meta.json", "config.cfg")  # spaCy writes them before the components

Save = Callable[[Path, AssetWriter], None]


class Manifest(NamedTuple):
    """What belongs to a saved component. Paths are relative to its folder.

    Attributes:
        files: The size of each file in bytes, by path. They include the files of the assets.
        assets: The path of each asset, by its role in the component.
        external: The assets that stay where they are, by role. Their paths are absolute.
    """

    files: Dict[str, int]
    assets: Dict[str, str]
    external: Dict[str, ExternalAsset]


class SavedAssets(Dict[str, Path]):
    """The paths of the assets of a component, by role. A role that is missing is an error of its folder: E306."""

    def __init__(self, folder: Path, paths: Mapping[str, Path]) -> None:
        super().__init__(paths)
        self._folder = folder

    def __missing__(self, role: str) -> Path:
        raise SapbertError(Errors.E306.format(path=self._folder, reason=f"{MANIFEST_FILE} has no asset '{role}'"))


def is_in_pipeline(folder: Path) -> bool:
    """Return whether a folder is in the folder of a saved pipeline."""
    return all((folder.parent / name).is_file() for name in _PIPELINE_FILES)


def read_component(folder: Path, *, in_pipeline: bool) -> Tuple[Dict[str, Path], Dict[str, ExternalAsset]]:
    """Check that a saved component is complete.

    Args:
        folder: The folder of the component.
        in_pipeline: Whether the component may have assets in the folder of a pipeline.

    Returns:
        The assets and the external assets, by role. The latter are not checked.

    Raises:
        SapbertError: E306 a file is missing or damaged, E401 no component was saved there, E402 it was saved in another
            format version, E403 a file name leads out of the folder of the pipeline.
    """
    manifest = _read_manifest(folder)
    _check_names(chain(manifest.files, manifest.assets.values()), in_pipeline=in_pipeline)
    missing = next((name for name, size in manifest.files.items() if not _has_size(folder / name, size)), None)
    if missing:
        reason = f"{missing} is missing or cut off"
        if missing.startswith(_OF_PIPELINE):
            reason += f". It belongs to the whole pipeline, so copy the pipeline with its folder '{ASSETS_FOLDER}'"
        raise SapbertError(Errors.E306.format(path=folder, reason=reason))
    return {role: (folder / name).resolve() for role, name in manifest.assets.items()}, manifest.external


def write_component(folder: Path, save: Save, *, in_pipeline: bool, external: bool = False) -> None:
    """Write a component. It replaces a component in the same folder when all new files are complete.

    Args:
        folder: The folder of the component.
        save: Writes the component's own files into a folder, and adds its assets.
        in_pipeline: Whether to write the assets into the folder of the pipeline.
        external: Whether large assets stay where they are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    prefix = _OF_PIPELINE if in_pipeline else _INSIDE
    old = _sound_manifest(folder) or Manifest({}, {}, {})
    with temporary_folder(folder / "saving") as temporary:
        new = temporary / "component"
        new.mkdir()
        assets = AssetWriter(temporary / ASSETS_FOLDER, _saved_assets(folder, old, prefix), external=external)
        save(new, assets)
        files = {name: (new / name).stat().st_size for name in files_in(new)}
        for name in sorted(set(assets.names.values())):
            written = assets.folder / name
            files.update(_sizes(written if written.exists() else folder / prefix / name, prefix + name))
        manifest = {
            "format": FORMAT,
            "version": __version__,
            "files": files,
            "assets": {role: prefix + name for role, name in assets.names.items()},
            "external": {role: asset._asdict() for role, asset in assets.outside.items()},
        }
        srsly.write_json(new / MANIFEST_FILE, manifest)
        _move_assets(assets.folder, folder / prefix, like=new / MANIFEST_FILE)
        stale = [name for name in old.files if name not in files]
        _remove(folder, [MANIFEST_FILE, *(name for name in stale if not name.startswith(_OF_PIPELINE))])
        _move_files(new, folder)
    if in_pipeline:
        _remove_unused(folder, [name for name in stale if name.startswith(_OF_PIPELINE)])


def files_in(folder: Path) -> List[str]:
    """Return the paths of all files in a folder, relative to it."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def check_inside(names: Iterable[str]) -> None:
    """Check that no path leads out of a folder.

    Raises:
        SapbertError: E403 one does.
    """
    _check_names(names, in_pipeline=False)


# --- manifests


def _read_manifest(folder: Path, *, any_format: bool = False) -> Manifest:
    if not (folder / MANIFEST_FILE).is_file():
        raise SapbertError(Errors.E401.format(path=folder))
    try:
        manifest: Any = srsly.read_json(folder / MANIFEST_FILE)
        found, version = manifest["format"], manifest["version"]
        if found != FORMAT and not any_format:
            raise SapbertError(Errors.E402.format(path=folder, found=found, version=version, wanted=FORMAT))
        if found != FORMAT:
            return Manifest(_of_type(manifest["files"], int), {}, {})
        external = {
            role: ExternalAsset(**_of_type(asset, (str, dict)))._replace(files=_of_type(asset["files"], int))
            for role, asset in _of_type(manifest["external"], dict).items()
        }
        return Manifest(_of_type(manifest["files"], int), _of_type(manifest["assets"], str), external)
    except SapbertError:
        raise
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise SapbertError(Errors.E306.format(path=folder, reason=f"{MANIFEST_FILE}: {error!r}")) from error


def _of_type(value: Any, wanted: Any) -> Dict[str, Any]:
    """Return an object of a manifest, if it is one, and its values have the wanted type."""
    if not isinstance(value, dict) or not all(isinstance(one, wanted) for one in value.values()):
        raise TypeError(f"{str(value)[:100]} has values of a wrong type")
    return value


def _check_names(names: Iterable[str], *, in_pipeline: bool) -> None:
    for name in names:
        inner = Path(name[len(_OF_PIPELINE) :] if in_pipeline and name.startswith(_OF_PIPELINE) else name)
        if inner.anchor or ".." in inner.parts or "\0" in name:
            raise SapbertError(Errors.E403.format(name=name))


def _sound_manifest(folder: Path) -> Optional[Manifest]:
    """Return the manifest of a component that was saved in any format, or None if it is missing or damaged."""
    try:
        manifest = _read_manifest(folder, any_format=True)
        _check_names(chain(manifest.files, manifest.assets.values()), in_pipeline=True)
    except SapbertError:
        return None
    return manifest


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:  # such as a name that is too long
        return False


# --- assets


def _saved_assets(folder: Path, old: Manifest, prefix: str) -> Set[str]:
    """Return the names of the complete assets that a manifest lists."""
    others = map(_sound_manifest, _neighbors(folder)) if prefix == _OF_PIPELINE else iter(())
    found: Set[str] = set()
    for manifest in filter(None, (old, *others)):
        files: Dict[str, List[bool]] = {}
        for name, size in manifest.files.items():
            if name.startswith(prefix):
                asset = name[len(prefix) :].partition("/")[0]
                files.setdefault(asset, []).append(_has_size(folder / name, size))
        found.update(asset for asset, complete in files.items() if all(complete))
    return found


def _sizes(path: Path, name: str) -> Dict[str, int]:
    """Return the sizes of the files of an asset, by their paths in the manifest."""
    if path.is_file():
        return {name: path.stat().st_size}
    return {f"{name}/{inner}": (path / inner).stat().st_size for inner in files_in(path)}


def _neighbors(folder: Path) -> List[Path]:
    """Return the folders of the other components of a pipeline that have a manifest."""
    found = (path.parent for path in folder.parent.glob(f"*/{MANIFEST_FILE}"))
    return sorted(path for path in found if path.name != folder.name)


def _move_assets(written: Path, folder: Path, *, like: Path) -> None:
    """Move new assets to their place. Only an asset that no manifest lists, or an incomplete one, is replaced."""
    for source in sorted(written.iterdir()) if written.is_dir() else ():
        for path in (source, *source.rglob("*")):
            if path.is_file():
                shutil.copymode(like, path)
        target = folder / source.name
        folder.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(source, target)


def _remove_unused(folder: Path, names: Iterable[str]) -> None:
    """Remove files of assets that no component of the pipeline needs any more.

    If a manifest cannot be read, nothing is removed, since that component may need them.
    """
    manifests = [_sound_manifest(other) for other in (folder, *_neighbors(folder))]
    if all(manifests):
        used = {name for manifest in manifests if manifest for name in manifest.files}
        _remove(folder, [name for name in names if name not in used])


# --- files


def _remove(folder: Path, names: Iterable[str]) -> None:
    """Remove files, and the folders that they leave empty."""
    for name in names:
        path = folder / name
        path.unlink(missing_ok=True)
        for parent in path.parents:
            if parent == folder or not parent.is_dir() or any(parent.iterdir()):
                break
            parent.rmdir()


def _move_files(new: Path, folder: Path) -> None:
    """Move the files of a component to its folder. The manifest, which marks it as complete, comes last."""
    for name in sorted(files_in(new), key=MANIFEST_FILE.__eq__):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copymode(new / MANIFEST_FILE, new / name)  # safetensors makes its files readable by the owner only
        os.replace(new / name, folder / name)
