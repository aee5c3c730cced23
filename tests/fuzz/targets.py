"""All targets."""

from __future__ import annotations

from collections.abc import Sequence

from . import readers, saved_files, texts, web
from .running import Target

TARGETS: Sequence[Target] = tuple(
    target for module in (readers, saved_files, texts, web) for target in module.targets()
)
