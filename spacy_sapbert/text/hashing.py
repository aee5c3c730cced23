"""A string hash that is the same in every process and on every machine."""

from __future__ import annotations

from hashlib import blake2b


def hash64(text: str) -> int:
    """Return a 64-bit hash of a text. Collisions are practically impossible."""
    return int.from_bytes(blake2b(text.encode("utf8"), digest_size=8).digest(), "little")
