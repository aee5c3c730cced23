"""Check that the outputs of the commands are those that were recorded, byte by byte.

    python scripts/golden.py [--entries "link kb/m*"] [--record] [--manifest FILE] [--keep FOLDER]

The inputs are public vocabularies and corpora, in the folder that SPACY_SAPBERT_DATA names. The manifest has a checksum
for each output. Equal outputs need an equal processor and equal versions, which the manifest also has. Elsewhere,
record the outputs of the parent commit first, into a file outside of the repository, and compare with that.
"""

import gzip
import hashlib
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import srsly
import tomllib
import typer

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SPACY_SAPBERT_DATA") or ROOT.parent / "shared" / "data").resolve()
MANIFEST = ROOT / "tests" / "golden.json"
LISTED = srsly.read_yaml(ROOT / "tests" / "golden.yaml")
RECIPES: dict[str, dict[str, Any]] = LISTED["recipes"]
COMMANDS: dict[str, str] = {
    **LISTED["commands"],
    **{f"made/{name}.yaml": " ".join(["recipe", name, *recipe["sources"]]) for name, recipe in RECIPES.items()},
    **{f"kb/{name}.kb": f"kb build made/{name}.yaml --output {{out}}" for name in RECIPES},
}
HELP = "help.txt"
PACKAGES = ("torch", "numpy", "spacy", "transformers", "tokenizers", "faiss-cpu", "lightgbm", "scikit-learn", "typer")
FAILED = "failed"
WEIGHTS = ("*.safetensors", "parameters.json")
"""The files of a trained pipeline or encoder that are compared."""

WITHOUT_EDITABLE = "import sys\nsys.meta_path = [item for item in sys.meta_path if '__editable__' not in str(item)]\n"
"""Takes away what an editable installation adds: without it, missing modules would come from other sources."""

# One thread and the same instructions, so that sums have one order.
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_VERBOSE"), "1"),
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "FAISS_OPT_LEVEL": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
    "CUDA_VISIBLE_DEVICES": "",
}


class Failed(Exception):
    """A command that failed."""


class Run:
    """Makes outputs in a new folder, each at most once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []
        for name, target in {"data": DATA, "configs": ROOT / "configs"}.items():
            (folder / name).symlink_to(target)
        install(folder / "site")

    def make(self, name: str) -> None:
        """Make an output and those that it needs.

        Raises:
            Failed: A command failed.
        """
        if name in self.made:
            return
        words = [word.format(out=name) for word in shlex.split(COMMANDS[name])]
        for needed in COMMANDS:
            if needed != name and any(word == needed or word.startswith(f"{needed}/") for word in words):
                self.make(needed)
        started = cpu_time()
        (self.folder / name).parent.mkdir(exist_ok=True)
        self._run(name, words)
        self.made.append(name)
        typer.echo(f"{cpu_time() - started:6.1f} s  {name}", err=True)

    def _run(self, name: str, words: list[str]) -> None:
        path, (program, *arguments) = self.folder / name, words
        if program in INPUTS:
            path.write_text(INPUTS[program](self.folder, *arguments), encoding="utf-8")
        else:
            paths = {"PYTHONPATH": f"{self.folder / 'site'}:{ROOT}", "SPACY_SAPBERT_CACHE": str(self.folder / "cache")}
            environment = {**os.environ, **ENVIRONMENT, **paths}
            command = [sys.executable, *python_arguments(words)]
            done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True)
            if done.returncode:
                raise Failed(f"{name}: {shlex.join(words)}\n{done.stderr.decode()[-2000:]}")
            if name not in words:
                path.write_bytes(done.stdout)

    def compared(self) -> list[str]:
        """Return the outputs that were made to be compared."""
        return [name for name in self.made if not name.startswith("made/")]

    def checksums(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the checksums of an output. A knowledge base has several, and a folder one for each file of weights."""
        path = self.folder / name
        if path.suffix == ".kb":
            yield from ((f"{name} {part}", value) for part, value in parts_of_kb(path))
        elif path.is_dir():
            last = path / "model-last"
            for weights in sorted(file for pattern in WEIGHTS for file in last.rglob(pattern)):
                yield f"{name} {weights.name}", sha256(weights.read_bytes())
        else:
            yield name, sha256(path.read_bytes())


# --- inputs that a function makes


def read(path: Path) -> str:
    """Return the text of a file, which can be gzipped."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def first(folder: Path, n: str, name: str) -> str:
    """Return the first documents of a corpus in PubTator's format."""
    return "\n\n".join(re.split(r"\n{2,}", read(folder / name).strip("\n"))[: int(n)]) + "\n"


def head(folder: Path, n: str, name: str) -> str:
    """Return the first lines of a file."""
    return "".join(read(folder / name).splitlines(keepends=True)[: int(n)])


def with_ids(folder: Path, name: str) -> str:
    """Return the lines of MEDIC whose concepts the corpora have: few enough to be encoded many times."""
    ids = {label for labels in sorted((folder / "data/labels").glob("*.txt")) for label in read(labels).split()}
    lines = read(folder / name).splitlines(keepends=True)
    return "".join(line for line in lines if not ids.isdisjoint(line.partition("||")[0].split("|")))


def recipe(folder: Path, name: str, *sources: str) -> str:
    """Return a recipe, as JSON, which YAML contains. The sources are made before."""
    return json.dumps(RECIPES[name])


INPUTS: dict[str, Callable[..., str]] = {"first": first, "head": head, "with-ids": with_ids, "recipe": recipe}


# --- the place where the commands run


def install(site: Path) -> None:
    """Let Python find these sources and their entry points, whatever is installed, and nothing of other sources."""
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    about = site / f"{project['name'].replace('-', '_')}-0.dist-info"
    about.mkdir(parents=True)
    about.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    groups = [(group, points.items()) for group, points in project["entry-points"].items()]
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{name} = {at}" for name, at in points))]
    about.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")
    site.joinpath("sitecustomize.py").write_text(WITHOUT_EDITABLE)


def python_arguments(words: list[str]) -> list[str]:
    """Return a command line as arguments of Python."""
    if words[0].startswith("scripts/"):
        return [str(ROOT / words[0]), *words[1:]]
    return ["-m", *words] if words[0] == "spacy" else ["-m", "spacy_sapbert", *words]


# --- what is compared


def sha256(content: bytes) -> str:
    """Return a checksum."""
    return hashlib.sha256(content).hexdigest()


def parts_of_kb(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the fingerprint of a knowledge base, and the checksums of its tables and of its metadata."""
    with closing(sqlite3.connect(path)) as database:
        dump = [line for line in database.iterdump() if not line.startswith('INSERT INTO "meta"')]
        meta = dict(database.execute("SELECT key, value FROM meta ORDER BY key"))
    yield "fingerprint", json.loads(meta["fingerprint"])
    yield "tables", sha256("\n".join(dump).encode())
    yield "meta", sha256(json.dumps(meta).encode())


def cpu_time() -> float:
    """Return the seconds of processor time that the commands took. Unlike others, they do not depend on the load."""
    times = os.times()
    return times.children_user + times.children_system


def machine() -> dict[str, str]:
    """Return what the outputs depend on besides the sources."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else None
    versions = {name: version(name) for name in PACKAGES}
    return {"cpu": cpu[1] if cpu else sys.platform, "python": sys.version.split()[0], **versions}


def selected(patterns: str) -> list[str]:
    """Return the outputs that some pattern chooses, or the folder of that name."""
    given = patterns.split() or ["*"]
    return [
        name
        for name in COMMANDS
        if not name.startswith("made/") and any(fnmatch(name, part) or name.startswith(f"{part}/") for part in given)
    ]


def make_all(names: list[str], run: Run) -> dict[str, str]:
    """Make outputs and those that they need, and return the checksums of all."""
    found = {}
    for name in names:
        try:
            run.make(name)
        except Failed as error:
            typer.echo(str(error), err=True)
            found[name] = FAILED
    for name in run.compared():
        found |= run.checksums(name)
    return dict(sorted(found.items()))


def main(
    entries: Annotated[str, typer.Option(help="Names, folders or patterns of outputs. Default: all.")] = "",
    record: Annotated[bool, typer.Option("--record", help="Write the manifest instead of comparing with it.")] = False,
    manifest: Annotated[Path, typer.Option(help="Manifest to compare with, or to write.")] = MANIFEST,
    keep: Annotated[Path | None, typer.Option(help="Folder to copy the outputs to.")] = None,
) -> None:
    """Make outputs, and compare them with a manifest."""
    if not DATA.is_dir():
        typer.echo(f"There is no data in {DATA}. Set SPACY_SAPBERT_DATA to its folder. Nothing was compared.")
        return
    if not (chosen := selected(entries)):
        raise typer.BadParameter(f"no output is called {entries}", param_hint="--entries")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder))
        found = make_all(chosen, run)
        if keep:
            for name in run.compared():
                copy(run.folder / name, keep / name)
        if record and HELP in run.made:
            copy(run.folder / HELP, manifest.with_name(f"{manifest.stem}_help.txt"))
    known = json.loads(read(manifest)) if manifest.exists() else {"machine": machine(), "outputs": {}}
    if record and FAILED in found.values():
        raise typer.Exit(1)  # the errors are shown
    if record:
        content = {"machine": machine(), "outputs": found}
        if entries:
            content = {**known, "outputs": {**known["outputs"], **found}}
        manifest.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    elif not compare(known, found, {*chosen, *run.compared()} if entries else None):
        raise typer.Exit(1)


def compare(known: dict[str, dict[str, str]], found: dict[str, str], names: set[str] | None) -> bool:
    """Show which outputs differ from the manifest, of these names or of all, and return whether none does."""
    recorded = {name: value for name, value in known["outputs"].items() if names is None or name.split()[0] in names}
    different = [name for name in sorted({*recorded, *found}) if recorded.get(name) != found.get(name)]
    for name in different:
        state = "new" if name not in recorded else "missing" if name not in found else "different"
        typer.echo(f"{name}: {'failed' if found.get(name) == FAILED else state}")
    before, here = known["machine"], machine()
    if others := [f"{name}: {before.get(name)}, here {here[name]}" for name in here if before.get(name) != here[name]]:
        typer.echo("\n".join(["The manifest is of another machine or other versions, so outputs can differ:", *others]))
        typer.echo("Record the parent commit with `make golden RECORD=1 MANIFEST=FILE`, FILE being outside of the")
        typer.echo("repository. Then compare with `make golden MANIFEST=FILE`.")
    typer.echo(f"{len(found) - len(different):,} outputs are equal, {len(different):,} differ")
    return not different


def copy(source: Path, target: Path) -> None:
    """Copy a file or a folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


if __name__ == "__main__":
    typer.run(main)
