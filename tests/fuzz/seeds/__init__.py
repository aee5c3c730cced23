"""Small sound files of every format, all made up: GROUP/FORMAT/NUMBER/FILE. The tests change them."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent


def seeds_of(group: str) -> dict[str, list[dict[str, bytes]]]:
    """Return the seeds of each format of a group."""
    formats = sorted((FOLDER / group).iterdir())
    return {path.name: [*map(files_in, sorted(path.iterdir()))] for path in formats}


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the content of all files in a folder, by their paths."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


VOCABULARIES, CORPORA, DOCUMENTS = map(seeds_of, ("vocabularies", "corpora", "documents"))
REQUESTS = json.loads((FOLDER / "requests.json").read_text(encoding="utf-8"))
