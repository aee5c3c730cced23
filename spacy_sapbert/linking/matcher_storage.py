"""Save name matchers as assets of components, and open them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..kb.storage import open_saved_knowledge_base, save_knowledge_base
from ..store.assets import AssetWriter, fingerprint_of
from .name_matcher import HASHES_FILE, MANIFEST_FILE, ROWS_FILE, NameMatcher, keys_version, matcher_cache

MATCHER = "matcher"
"""The role of the keys of the names among the assets of a component."""


def save_matcher(matcher: NameMatcher, assets: AssetWriter) -> None:
    """Add the knowledge base and the keys of its names to the assets of a component."""
    save_knowledge_base(matcher.kb, assets)
    cache = matcher_cache(matcher.kb, matcher.rules)

    def write(folder: Path) -> None:
        folder.mkdir()
        matcher.save(folder)

    assets.add(
        MATCHER,
        "matcher",
        fingerprint_of(matcher.kb.fingerprint, keys_version(matcher.rules)),
        write,
        large=True,
        source=cache if (cache / MANIFEST_FILE).is_file() else None,
        parts=[HASHES_FILE, ROWS_FILE, MANIFEST_FILE],
    )


def load_matcher(assets: Mapping[str, Path]) -> NameMatcher:
    """Open what `save_matcher` added.

    Args:
        assets: The assets of a component, by role.
    """
    return NameMatcher.load(open_saved_knowledge_base(assets), assets[MATCHER])
