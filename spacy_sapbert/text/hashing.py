"""One hash of strings that is the same in every process and on every machine."""

from __future__ import annotations

from hashlib import blake2b


def hash64(text: str) -> int:
    """Return 64 bits that stand for a text in arrays; two texts share them about never."""
    return int.from_bytes(blake2b(text.encode("utf8"), digest_size=8).digest(), "little")
