"""Check the sdist and the wheel in dist/ as `make release-check` does, and list what they need and hold.

    python scripts/release_check.py ENVIRONMENT

ENVIRONMENT is a virtual environment with the package and its requirements, such as `.venv`.

1. They are built once more, from a copy of the repository with other times and other rights. The bytes must be equal.
2. `twine check`, `check-wheel-contents` and `pyroma` must find nothing.
3. `build/spacy_sapbert.cdx.json` gets the requirements with versions and licenses (CycloneDX).
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SBOM = ROOT / "build" / "spacy_sapbert.cdx.json"
BIN = Path(sys.executable).parent
PACKAGE = "spacy-sapbert"
# pyroma takes two points off, since the package names no address to mail to
LOWEST_RATING = 8

# run in the environment: the names of the package and of all that it needs, without its extras
CLOSURE = """
import json, re, sys
from importlib.metadata import PackageNotFoundError, requires
from packaging.requirements import Requirement

def canonical(name):
    return re.sub("[-_.]+", "-", name).lower()

found, todo = set(), [(sys.argv[1], "")]
while todo:
    name, extra = todo.pop()
    if (name, extra) in found:
        continue
    try:
        needed = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        continue
    found.add((name, extra))
    for one in needed:
        if not one.marker or one.marker.evaluate({"extra": extra}):
            todo += [(canonical(one.name), part) for part in ("", *one.extras)]
print(json.dumps(sorted({name for name, _ in found})))
"""


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command, and show what it prints. Its failure ends the check."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    sys.stdout.write(done.stdout + done.stderr)
    if done.returncode:
        sys.exit(f"{Path(str(command[0])).name} found something, see above.")


def copy_of_the_repository(target: Path) -> None:
    """Copy the files under version control, and the new ones. They get other rights and the time of now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
        path.chmod(0o600)


def check_that_it_can_be_built_again() -> None:
    """Build from a copy of the repository, and compare the bytes with those in dist/."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_of_the_repository(copy)
        run(sys.executable, "-m", "build", "--quiet", cwd=copy)
        built = {path.name: path.read_bytes() for path in (copy / "dist").iterdir()}
    kept = {path.name: path.read_bytes() for path in DIST.iterdir()}
    different = sorted(name for name in built.keys() | kept.keys() if built.get(name) != kept.get(name))
    if different:
        sys.exit(f"A second build gave other files: {', '.join(different)}.")
    print(f"Equal bytes in two builds: {', '.join(sorted(kept))}")


def check_with_tools(wheel: Path, sdist: Path) -> None:
    run(BIN / "twine", "--no-color", "check", "--strict", wheel, sdist)
    run(BIN / "check-wheel-contents", wheel)
    run(BIN / "pyroma", "--min", LOWEST_RATING, sdist)


def write_sbom(environment: Path) -> None:
    """Write the requirements of the package in an environment, without what only tests and extras need."""
    python = environment / "bin" / "python"
    found = subprocess.run([str(python), "-c", CLOSURE, PACKAGE], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    needed = set(json.loads(found)) - {PACKAGE}
    SBOM.parent.mkdir(exist_ok=True)
    options = ["--pyproject", ROOT / "pyproject.toml", "--mc-type", "library", "--output-reproducible", "--of", "JSON"]
    run(BIN / "cyclonedx-py", "environment", *options, "-o", SBOM, python)
    content = reduced(json.loads(SBOM.read_text(encoding="utf-8")), needed)
    SBOM.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(content['components'])} requirements are listed in {SBOM.relative_to(ROOT)}")


def reduced(content: dict, needed: set[str]) -> dict:
    """Return a CycloneDX document with only some of its components.

    Args:
        content: The document.
        needed: The canonical names of the components to keep.
    """
    kept = [one for one in content["components"] if re.sub("[-_.]+", "-", one["name"]).lower() in needed]
    refs = {one["bom-ref"] for one in kept} | {content["metadata"]["component"]["bom-ref"]}
    graph = [
        {**one, "dependsOn": [ref for ref in one.get("dependsOn", ()) if ref in refs]}
        for one in content["dependencies"]
        if one["ref"] in refs
    ]
    return {**content, "components": kept, "dependencies": graph}


def main(environment: Path) -> None:
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    check_that_it_can_be_built_again()
    check_with_tools(wheel, sdist)
    write_sbom(environment)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
