"""What the result of a run depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import spacy

from .. import __version__
from ..files.opening import sha256_of
from ..store.artifact import ARTIFACTS_FOLDER

if TYPE_CHECKING:
    from .document_linker import LoadedLinker


class Identity(NamedTuple):
    """What the result of a run depends on. A run goes on with parts of another one only if all of it is the same.

    Attributes:
        settings: The settings and versions, by name.
        files: A hash of each file of the pipeline, by its path in the pipeline.
    """

    settings: Mapping[str, Any]
    files: Mapping[str, str]

    def differences(self, now: Identity) -> list[str]:
        """Return in words what differs from a later run."""
        settings = [
            f"{name} was {self.settings.get(name)} and is {now.settings.get(name)}"
            for name in {**self.settings, **now.settings}
            if self.settings.get(name) != now.settings.get(name)
        ]
        names = sorted({*self.files, *now.files})
        changed = [name for name in names if self.files.get(name) != now.files.get(name)]
        return settings + ([f"files of the pipeline have changed ({', '.join(changed)})"] if changed else [])

    def digest(self) -> str:
        """Return a hash of all of it."""
        return blake2b(json.dumps(self, sort_keys=True).encode(), digest_size=16).hexdigest()


def identity_of(loaded: LoadedLinker, settings: Mapping[str, Any]) -> Identity:
    """Return what the links of a pipeline depend on, besides the input.

    Args:
        loaded: The pipeline.
        settings: Settings that change the links, by name.
    """
    versions = {"spacy-sapbert": __version__, "spaCy": spacy.__version__}
    folder = loaded.pipeline.nlp.path
    return Identity(
        {**versions, "vocabulary": loaded.kb.fingerprint[:16], **settings}, _hashes(Path(folder)) if folder else {}
    )


def _hashes(folder: Path) -> dict[str, str]:
    """Return a hash of each file of a pipeline. Shared assets have one in their names, so only their sizes are read."""
    files = ((path, path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        name.as_posix(): str(path.stat().st_size) if name.parts[0] == ARTIFACTS_FOLDER else sha256_of(path)
        for path, name in files
    }
