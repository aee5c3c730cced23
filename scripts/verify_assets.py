"""Check that the assets of project.yml are there and have their checksums.

`spacy project assets` reports a wrong checksum, but succeeds all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from weasel.util import get_checksum, load_project_config


def problem(asset: dict[str, Any]) -> str | None:
    """RETURNS (str | None): what is wrong with an asset that has a URL; None if nothing is."""
    path = Path(asset["dest"])
    if not path.exists():
        return "is not there; get it with: spacy project assets"
    if asset.get("checksum") not in (None, get_checksum(path)):
        return "is another file than the one that was trained on; delete it to get it again"
    return None


def main() -> None:
    assets = load_project_config(Path.cwd())["assets"]
    problems = {asset["dest"]: problem(asset) for asset in assets if asset.get("url")}
    for path, found in problems.items():
        if found:
            typer.echo(f"{path} {found}", err=True)
    for path in (asset["dest"] for asset in assets if not asset.get("url")):
        if not Path(path).exists():
            typer.echo(f"{path} is not there; the open vocabularies serve", err=True)
    if any(problems.values()):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
