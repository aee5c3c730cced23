"""Copy the assets of project.yml from a folder, for machines without a network.

    python scripts/mirror.py FOLDER

An asset with a checksum is any file in the folder that has this checksum, gzipped or not. An asset without a checksum
is the only file there with its name. Assets that are already in place stay.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from weasel.util import load_project_config

from spacy_sapbert.files.opening import without_gz
from spacy_sapbert.files.output import replacing

_BLOCK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"


def main(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)]) -> None:
    """Copy the assets of project.yml from a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    checksums = {checksum(path): path for path in files}
    for asset in load_project_config(Path.cwd())["assets"]:
        dest = Path(asset["dest"])
        if asset.get("url") and not dest.exists():
            source = checksums.get(asset["checksum"]) if asset.get("checksum") else only_one_named(dest, files)
            if source:
                copy(source, dest)
            typer.echo(f"{dest}: {source or 'not in the folder'}", err=True)


def only_one_named(dest: Path, files: Iterable[Path]) -> Path | None:
    found = [path for path in files if without_gz(path).name == without_gz(dest).name]
    return found[0] if len(found) == 1 else None


def checksum(path: Path) -> str:
    """Return the MD5 of the unpacked content of a file, as in project.yml."""
    digest = hashlib.md5(usedforsecurity=False)
    with unpacked(path) as handle:
        while block := handle.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def unpacked(path: Path) -> BinaryIO:
    with path.open("rb") as handle:
        is_packed = handle.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    return gzip.open(path) if is_packed else path.open("rb")  # type: ignore[return-value]


def copy(source: Path, dest: Path) -> None:
    """Copy a file, and gzip it if its new name ends in .gz."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    with replacing(dest) as temporary, unpacked(source) as read, opened(temporary, dest.suffix == ".gz") as write:
        shutil.copyfileobj(read, write, _BLOCK)


def opened(path: Path, packed: bool) -> BinaryIO:
    return gzip.open(path, "wb") if packed else path.open("wb")  # type: ignore[return-value]


if __name__ == "__main__":
    typer.run(main)
