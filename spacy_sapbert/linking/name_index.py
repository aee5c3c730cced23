"""`NameIndex`: what is looked up of the names of a vocabulary, in memory, in the cache folder or with a pipeline."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..errors import CannotWriteError
from ..files.output import replacing
from ..files.values import parse_json, read_array
from ..kb.knowledge_base import KnowledgeBase
from ..store.artifact import Artifact, fingerprint_of, folder_artifact, opening
from ..store.cache import cache_dir, cached_folder
from ..text.languages import ENGLISH, LanguageRules, rules_of

logger = logging.getLogger(__name__)

Index = TypeVar("Index", bound="NameIndex")

NAMES_PER_CHUNK = 1 << 16


class NameIndex:
    """Arrays that are made of all names of a knowledge base, by the rules of a language.

    A saved index is a file for each array, memory-mapped later, and a manifest with its vocabulary and language.

    Attributes:
        ROLE: The role of the index among the artifacts of a component, and the name of its manifest and cache folder.
        VERSION: It changes whenever `build` would make other arrays of the same names.
        VERSION_KEY: The key of the version in the manifest.
        ARRAYS: The names of the arrays, as files without their ending.
    """

    ROLE: ClassVar[str]
    VERSION: ClassVar[int]
    VERSION_KEY: ClassVar[str] = "version"
    ARRAYS: ClassVar[Sequence[str]]

    def __init__(self, kb: KnowledgeBase, arrays: Sequence[np.ndarray], rules: LanguageRules = ENGLISH) -> None:
        self.kb = kb
        self.rules = rules
        self.arrays = [*map(np.asarray, arrays)]  # a memory map is slow to index

    @classmethod
    def build(cls: type[Index], kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> Index:
        """Make the index of all names of a knowledge base, except the stop names, by the rules of a language."""
        raise NotImplementedError

    @classmethod
    def cached(cls: type[Index], kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> Index:
        """Return the index of a knowledge base and a language.

        It is beside the knowledge base, as that of the package is, or comes from the cache folder, or is made there.
        """
        if cls._describes(beside := kb.path.with_name(cls.ROLE), kb, rules):
            return cls.load(kb, beside)

        def build(folder: Path) -> None:
            logger.info("Indexing %d names of %s into %s", kb.n_names, kb.path, folder)
            cls.build(kb, rules).save(folder)

        folder = cls.cache_of(kb, rules)
        return cls.load(kb, cached_folder(folder, cls.manifest(folder).name, build))

    @classmethod
    def cache_of(cls, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> Path:
        """Return the folder in the cache for a knowledge base and a language."""
        return cache_dir() / f"{cls.ROLE}s" / f"{kb.fingerprint[:16]}-{cls.VERSION}-{rules.code}"

    @classmethod
    def _facts(cls, kb: KnowledgeBase, rules: LanguageRules) -> dict[str, Any]:
        return {"store": kb.fingerprint, cls.VERSION_KEY: cls.VERSION, "language": rules.code}

    @classmethod
    def _describes(cls, folder: Path, kb: KnowledgeBase, rules: LanguageRules) -> bool:
        """Return whether a folder has the index of a knowledge base and a language, in this version."""
        with suppress(OSError, ValueError):  # no index, or a file of someone else
            return bool(parse_json(cls.manifest(folder).read_bytes()) == cls._facts(kb, rules))
        return False

    @classmethod
    def manifest(cls, folder: Path) -> Path:
        """Return the path of the manifest, which marks a folder as complete."""
        return folder / f"{cls.ROLE}.json"

    @classmethod
    def load(cls: type[Index], kb: KnowledgeBase, folder: Path) -> Index:
        """Open what `save` wrote, memory-mapped. An index of another version is made again.

        It is made in the cache folder, or in memory if that cannot be written.
        """
        rules, version, manifest = ENGLISH, 0, cls.manifest(folder)
        with opening(folder):
            if manifest.is_file():
                values = parse_json(manifest.read_text(encoding="utf-8"))
                rules, version = rules_of(values["language"]), values[cls.VERSION_KEY]
            if version == cls.VERSION:
                return cls(kb, [read_array(folder / f"{name}.npy") for name in cls.ARRAYS], rules)
        try:
            return cls.cached(kb, rules)
        except CannotWriteError as error:
            logger.warning("The names are indexed in memory: %s", error)
            return cls.build(kb, rules)

    def save(self, folder: Path) -> None:
        """Write the arrays and the manifest."""
        folder.mkdir(exist_ok=True)
        for name, array in zip(self.ARRAYS, self.arrays, strict=True):
            with replacing(folder / f"{name}.npy") as temporary, temporary.open("wb") as file:
                np.save(file, array, allow_pickle=False)
        with replacing(self.manifest(folder)) as temporary:
            temporary.write_text(json.dumps(self._facts(self.kb, self.rules), sort_keys=True), encoding="utf-8")

    def artifact(self) -> Artifact:
        """Return the index as an artifact of a component."""
        cache = self.cache_of(self.kb, self.rules)
        fingerprint = fingerprint_of(self.kb.fingerprint, f"{self.VERSION}-{self.rules.code}")
        source = cache if self.manifest(cache).is_file() else None
        parts = [*(f"{name}.npy" for name in self.ARRAYS), self.manifest(cache).name]
        return folder_artifact(self.ROLE, fingerprint, source, parts, self.save)


def chunks_of(names: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield names in chunks, each with the row of its first name."""
    first = 0
    while chunk := list(islice(names, NAMES_PER_CHUNK)):
        yield first, chunk
        first += len(chunk)
