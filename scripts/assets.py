"""What spaCy's projects do not do with files: get assets without a network, check them and the outputs, remove outputs.

    python scripts/assets.py mirror FOLDER
    python scripts/assets.py verify ROOT [FOLDER …]
    python scripts/assets.py outputs PATH …
    python scripts/assets.py clean

`spacy project assets` reports a wrong checksum, but succeeds. `spacy project run` does not check that a command made
its outputs.
"""

import gzip
import hashlib
import shutil
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from weasel.util import get_checksum, load_project_config

from spacy_sapbert.files.opening import without_gz
from spacy_sapbert.files.output import replacing

ASSETS = Path("assets")
MADE = ("corpus", "training", "metrics", "packages")
BLOCK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"

app = typer.Typer(add_completion=False, no_args_is_help=True)


def listed_assets() -> list[dict[str, Any]]:
    assets: list[dict[str, Any]] = load_project_config(Path.cwd())["assets"]
    return assets


@app.command()
def mirror(folder: Annotated[Path, typer.Argument(exists=True, file_okay=False)]) -> None:
    """Copy the assets of project.yml from a folder.

    An asset with a checksum is any file in the folder that has this checksum, gzipped or not. An asset without one is
    the only file there with its name. Assets that are already in place stay.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    checksums = {checksum(path): path for path in files}
    for asset in listed_assets():
        dest = Path(asset["dest"])
        if asset.get("url") and not dest.exists():
            source = checksums.get(asset["checksum"]) if asset.get("checksum") else only_named(dest, files)
            if source:
                copy(source, dest)
            typer.echo(f"{dest}: {source or 'not in the folder'}", err=True)


def only_named(dest: Path, files: list[Path]) -> Path | None:
    """Return the only file with the name of an asset, gzipped or not."""
    named = [path for path in files if without_gz(path).name == without_gz(dest).name]
    return named[0] if len(named) == 1 else None


def checksum(path: Path) -> str:
    """Return the MD5 of the unpacked content of a file, as in project.yml."""
    digest = hashlib.md5(usedforsecurity=False)
    with unpacked(path) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def unpacked(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        is_packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path) if is_packed else path.open("rb")  # type: ignore[return-value]


def copy(source: Path, dest: Path) -> None:
    """Copy a file, and gzip it if its new name ends in .gz."""
    dest.parent.mkdir(parents=True, exist_ok=True)
    opened = gzip.open if dest.suffix == ".gz" else open
    with replacing(dest) as temporary, unpacked(source) as read, opened(temporary, "wb") as write:
        shutil.copyfileobj(read, write, BLOCK)


@app.command()
def verify(
    root: Annotated[Path, typer.Argument(help="Folder of the assets. Files outside of `assets` are your own.")],
    folders: Annotated[list[str] | None, typer.Argument(help="Check only these folders.")] = None,
) -> None:
    """Check that the assets of project.yml exist. In the folder `assets`, also check their checksums."""
    problems = []
    for asset in listed_assets():
        dest = Path(asset["dest"])
        path = root / dest.relative_to(ASSETS)
        if folders and not any(dest.is_relative_to(ASSETS / folder) for folder in folders):
            continue
        if not asset.get("url"):
            if not path.exists():
                typer.echo(f"{path} is not there; what is open serves", err=True)
        elif not path.exists():
            offline = "without a network: spacy project run mirror . --vars.mirror FOLDER"
            problems.append(f"{path} is not there; get it with: spacy project assets ({offline})")
        elif root == ASSETS and asset.get("checksum") not in (None, get_checksum(path)):
            problems.append(f"{path} is another file than the one that was measured on; delete it to get it again")
    fail(problems)


@app.command()
def outputs(paths: Annotated[list[Path], typer.Argument(help="Outputs to check: files and folders.")]) -> None:
    """Check that every output exists and is not empty."""
    fail([f"{path} was not made; see what its command said" for path in paths if is_missing(path)])


def is_missing(path: Path) -> bool:
    return not (any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size)


def fail(problems: list[str]) -> None:
    for line in problems:
        typer.echo(line, err=True)
    if problems:
        raise SystemExit(1)


@app.command()
def clean() -> None:
    """Remove everything that the project made. The assets stay."""
    for name in MADE:
        shutil.rmtree(name, ignore_errors=True)
    Path("project.lock").unlink(missing_ok=True)


if __name__ == "__main__":
    app()
