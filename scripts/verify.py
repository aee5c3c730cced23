"""Check what spaCy's projects do not check: checksums of assets, and that every output was made.

`spacy project assets` reports a wrong checksum, but succeeds. `spacy project run` does not check that a command made
its outputs.

    python scripts/verify.py assets ROOT [FOLDER …]
    python scripts/verify.py outputs PATH …
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from weasel.util import get_checksum, load_project_config

ASSETS = Path("assets")
MIRROR = "without a network: spacy project run mirror . --vars.mirror FOLDER"

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def assets(
    root: Annotated[Path, typer.Argument(help="Folder of the assets. Files outside of `assets` are your own.")],
    folders: Annotated[list[str] | None, typer.Argument(help="Check only these folders.")] = None,
) -> None:
    """Check that the assets of project.yml exist. In the folder `assets`, also check their checksums."""
    listed = load_project_config(Path.cwd())["assets"]
    chosen = [one for one in listed if not folders or any(below(one["dest"], folder) for folder in folders)]
    for asset in chosen:
        if not asset.get("url") and not place(asset, root).exists():
            typer.echo(f"{place(asset, root)} is not there; what is open serves", err=True)
    fail([f"{place(asset, root)} {found}" for asset in chosen if (found := problem(asset, root))])


def below(dest: str, folder: str) -> bool:
    return Path(dest).is_relative_to(ASSETS / folder)


def place(asset: dict[str, Any], root: Path) -> Path:
    return root / Path(asset["dest"]).relative_to(ASSETS)


def problem(asset: dict[str, Any], root: Path) -> str | None:
    """Return the problem of an asset that has a URL, or None."""
    path = place(asset, root)
    if not asset.get("url"):
        return None
    if not path.exists():
        return f"is not there; get it with: spacy project assets ({MIRROR})"
    if root == ASSETS and asset.get("checksum") not in (None, get_checksum(path)):
        return "is another file than the one that was measured on; delete it to get it again"
    return None


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


if __name__ == "__main__":
    app()
