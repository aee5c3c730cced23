"""Measure the figures of the README, with the date and the commit: `make figures`.

Each part is another benchmark or command, and keeps its output in a folder of the commit. A finished part is not
measured again, so that an interrupted run goes on. `docs/results/figures.json` has the results, and a test compares the
README with it.

    python benchmarks/figures.py FOLDER -o docs/results/figures.json [--data FOLDER]
"""

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

from common import new_parser
from corpora import DISEASES

HERE = Path(__file__).parent
PIPELINE = "+ composites"
COLUMNS = {"vocabulary": "MEDIC", "vocabulary + train": "+ train"}
ONE_CORE = {"OMP_NUM_THREADS": "1"}
DISEASE_TYPES = ("SpecificDisease", "Modifier", "DiseaseClass", "CompositeMention")
DOCUMENTS = {
    "ncbi": [word for label in DISEASE_TYPES for word in ("--rename", f"{label}=Disease")] + ["--type", "Disease"],
    "bc5cdr": ["--type", "Disease", "--type", "Chemical"],
}


def run(path: Path, *command: object) -> Any:
    """Return the JSON that a command prints; `path` keeps it."""
    if not path.is_file():
        words = [sys.executable, *map(str, command)]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_CORE)
        path.write_text(done.stdout)
    return json.loads(path.read_text())


def linked(folder: Path, encoder: str, data: Path) -> dict[str, Any]:
    corpora = [word for name in DISEASES for word in ("--corpus", name)]
    found = run(folder / f"{encoder}.json", HERE / "linking.py", "--encoder", encoder, "--data", data, *corpora)
    return {name: {COLUMNS[kb]: found[name][kb][PIPELINE] for kb in COLUMNS} for name in DISEASES}


def accuracy(folder: Path, data: Path) -> dict[str, Any]:
    """Return lenient and strict Acc@1 by row, corpus and vocabulary."""
    rows: dict[str, Any] = {}
    for row, encoder in (("n-grams", "none"), ("default", "starter")):
        results = linked(folder, encoder, data)
        rows[row] = {
            name: {kb: [one["lenient"]["acc@1"], one["strict"]["acc@1"]] for kb, one in columns.items()}
            for name, columns in results.items()
        }
        rows["exact match"] = {
            name: {kb: [one["exact_match_floor"]] for kb, one in columns.items()} for name, columns in results.items()
        }
    return rows


def documents(folder: Path, data: Path) -> dict[str, float]:
    """Return F1 of the concepts of documents, of the pipeline in the package."""
    found = {}
    for name, types in DOCUMENTS.items():
        corpus = data / DISEASES[name].dev.path
        command = ("-m", "spacy_sapbert", "evaluate", "pipeline", "spacy_sapbert", corpus, *types)
        measured = run(folder / f"documents_{name}.json", *command)
        found[name] = measured["document_id"]["f1"]
    return found


def commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def main() -> None:
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    measured = commit()
    folder = args.folder / measured
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "date": date.today().isoformat(),
        "commit": measured,
        "acc@1, lenient and strict": accuracy(folder, args.data),
        "f1 of the concepts of documents": documents(folder, args.data),
    }
    args.output.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
