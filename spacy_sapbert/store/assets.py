"""Assets of saved components: files or folders that several components of a pipeline share."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..files.output import TEMPORARY, temporary_folder
from .cache import cache_dir, make_once

ASSETS_FOLDER = "shared"
"""The folder of the assets, in the folder of the pipeline or of a component that is saved alone."""
KB = "kb"
"""The role of the knowledge base among the assets of a component."""

Write = Callable[[Path], object]


class ExternalAsset(NamedTuple):
    """An asset that stays where it is when a component is saved.

    Attributes:
        path: The file or the folder.
        fingerprint: A hash of its content, which the asset itself also records.
        files: The size of each file in bytes, by its path in the folder. For a file, the path is ".".
    """

    path: str
    fingerprint: str
    files: Mapping[str, int]

    @classmethod
    def at(cls, path: Path, fingerprint: str, parts: Collection[str]) -> ExternalAsset:
        """Describe an asset.

        Args:
            path: The file or the folder.
            fingerprint: A hash of its content.
            parts: The files in the folder that belong to it. For a file, ".".
        """
        return cls(str(path.resolve()), fingerprint, {part: (path / part).stat().st_size for part in sorted(parts)})

    def why_not(self, path: Path) -> str | None:
        """Return why the asset cannot be at a path, or None. Nothing is read but the sizes of files."""
        for part, size in self.files.items():
            if not (path / part).is_file():
                return f"{path / part} does not exist"
            found = (path / part).stat().st_size
            if found != size:
                return f"{path / part} has {found} bytes instead of {size}"
        return None


class AssetWriter:
    """Collects the assets of a component that is saved. Assets that are already saved are not written again.

    The name of an asset is its kind and a hash of its content. Components with the same content therefore find the
    same asset.

    Args:
        folder: The folder for new assets.
        saved: The names of the assets that are already saved.
        external: Whether large assets stay where they are.

    Attributes:
        names (dict[str, str]): The name of each asset, by its role in the component.
        outside (dict[str, ExternalAsset]): The assets that stay where they are, by role.
    """

    def __init__(self, folder: Path, saved: Collection[str] = (), *, external: bool = False) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self.outside: dict[str, ExternalAsset] = {}
        self._saved = saved
        self._external = external

    def add(
        self,
        role: str,
        kind: str,
        fingerprint: str,
        write: Write,
        *,
        suffix: str = "",
        large: bool = False,
        source: Path | None = None,
        parts: Collection[str] = (".",),
    ) -> None:
        """Add an asset.

        Args:
            role: What the component uses it for, such as "kb". It finds the asset under this key when it is loaded.
            kind: The first part of the name.
            fingerprint: A hash of the content, of at least 16 characters.
            write: Writes the asset to a path.
            suffix: The end of the name of a file.
            large: Whether the asset grows with the vocabulary, so that it may stay outside of the component.
            source: Where a large asset is now. It is written to the cache folder if it is nowhere, or would not last
                there.
            parts: The files in the folder `source` that belong to the asset.
        """
        name = f"{kind}-{fingerprint[:16]}{suffix}"
        if self._external and large:
            place = source if source and _lasts(source, name) else _in_cache(name, write)
            self.outside[role] = ExternalAsset.at(place, fingerprint, parts)
            return
        self.names[role] = name
        path = self.folder / name
        if name not in self._saved and not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write(path)


def fingerprint_of(*values: Any) -> str:
    """Return a hash of values that JSON can write."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _lasts(path: Path, name: str) -> bool:
    """Return whether an asset stays where it is: not in a saved component, and not in a temporary folder.

    In a saved component it has the given name. A user may have an own folder `shared`.
    """
    folders = path.absolute().parents
    is_saved = folders[0].name == ASSETS_FOLDER and path.name == name
    return not is_saved and not any(folder.name.startswith(TEMPORARY) for folder in folders)


def _in_cache(name: str, write: Write) -> Path:
    path = cache_dir() / "assets" / name

    def make() -> None:
        with temporary_folder(path) as temporary:
            write(temporary / name)
            os.replace(temporary / name, path)

    make_once(path, path.exists, make)
    return path
