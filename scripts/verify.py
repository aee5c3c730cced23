"""Check what spaCy's projects do not: that assets are the files they should be, and that outputs were made.

`spacy project assets` reports a wrong checksum, but succeeds all the same; `spacy project run` does not look whether a
command made what it promises.

    python scripts/verify.py assets [FOLDER …]
    python scripts/verify.py outputs PATH …
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from weasel.util import get_checksum, load_project_config

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command()
def assets(
    folders: Annotated[list[Path] | None, typer.Argument(help="Look in these; by default in all.")] = None,
) -> None:
    """Check that the assets of project.yml are there and have their checksums."""
    listed = load_project_config(Path.cwd())["assets"]
    chosen = [one for one in listed if not folders or any(Path(one["dest"]).is_relative_to(some) for some in folders)]
    for asset in chosen:
        if not asset.get("url") and not Path(asset["dest"]).exists():
            typer.echo(f"{asset['dest']} is not there; what is open serves", err=True)
    fail([f"{asset['dest']} {found}" for asset in chosen if (found := problem(asset))])


def problem(asset: dict[str, Any]) -> str | None:
    """RETURNS (str | None): what is wrong with an asset that has a URL; None if nothing is."""
    path = Path(asset["dest"])
    if not asset.get("url"):
        return None
    if not path.exists():
        return "is not there; get it with: spacy project assets"
    if asset.get("checksum") not in (None, get_checksum(path)):
        return "is another file than the one that was trained on; delete it to get it again"
    return None


@app.command()
def outputs(paths: Annotated[list[Path], typer.Argument(help="Files and folders that commands make.")]) -> None:
    """Check that there is something in every output."""
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
