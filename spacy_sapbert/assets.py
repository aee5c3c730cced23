"""Assets of saved components: files or folders that several components of a pipeline share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

ASSETS_FOLDER = "shared"
"""The folder of the assets, in the folder of the pipeline or of a component that is saved alone."""


class AssetWriter:
    """Collects the assets of a component that is saved. Assets that are already saved are not written again.

    The name of an asset is its kind and a hash of its content. Components with the same content therefore find the
    same asset.

    Args:
        folder: The folder for new assets.
        saved: The names of the assets that are already saved.

    Attributes:
        names (dict[str, str]): The name of each asset, by its role in the component.
    """

    def __init__(self, folder: Path, saved: Collection[str] = ()) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}
        self._saved = saved

    def add(self, role: str, kind: str, fingerprint: str, write: Callable[[Path], object], suffix: str = "") -> None:
        """Add an asset.

        Args:
            role: What the component uses it for, such as "kb". It finds the asset under this key when it is loaded.
            kind: The first part of the name.
            fingerprint: A hash of the content, of at least 16 characters.
            write: Writes the asset to a path.
            suffix: The end of the name of a file.
        """
        name = self.names[role] = f"{kind}-{fingerprint[:16]}{suffix}"
        path = self.folder / name
        if name not in self._saved and not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            write(path)


def fingerprint_of(*values: Any) -> str:
    """Return a hash of values that JSON can write."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
