"""Hashes that are the same in every process and on every machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

from .opening import open_unpacked, reading


def hash64(text: str) -> int:
    """Return a 64-bit hash of a text. Collisions are practically impossible."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf8"), digest_size=8).digest(), "little")


def sha256_of(path: Path, *, unpacked: bool = False) -> str:
    """Return the SHA-256 of a file, as it is on the disk, or unpacked if it is gzipped."""
    digest = hashlib.sha256()
    with reading(path), open_unpacked(path) if unpacked else path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_manifest(path: Path) -> dict[str, str | int]:
    """Return name, size and checksum of a file, for the metadata of what is made from it."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256_of(path)}
