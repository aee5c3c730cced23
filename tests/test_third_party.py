"""The list of what the package holds that others made: no data of the wheel may be missing there."""

import re
from fnmatch import fnmatch
from pathlib import Path

import spacy_sapbert

ROOT = Path(__file__).parents[1]
PACKAGE = Path(spacy_sapbert.__file__).parent
TEXT = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
# what was written for this package
OWN = (
    "py.typed", "meta.json", "errors.txt", "starter/matcher/*", "*.pyi", "serve/*",
    "outputs/*.css", "outputs/*.html", "outputs/*.json",
    "kb/catalog.yaml", "kb/*.sql", "kb/recipe.json", "kb/stop_names.json", "kb/systems.json",
    "vectors/*.sql", "evaluation/*.mplstyle",
    "kb/readers/*.json", "kb/readers/*.sql", "review/*.sql", "configs/*.cfg", "documents/TypeSystem.xml",
    "documents/*.json",
    "text/common_words/README.md", "text/synonyms/README.md", "text/synonyms/*_findings.txt", "text/synonyms/*_own.txt",
    "text/synonyms/*_different.txt",
    "text/short_forms/README.md", "text/notes/*", "text/languages/*",
    "text/formulas.txt", "text/gene_species.txt", "text/normalize.txt", "text/phrases.txt", "text/rewriting.txt",
    "text/word_classes.txt",
    *(f"text/common_words/{name}{kind}.txt" for name in ("de", "es", "fr", "nl", "pt") for kind in ("", "_keys")),
    *(f"text/common_words/en_{kind}.txt" for kind in ("analytes", "body", "foods", "general", "phrases")),
)  # fmt: skip


def listed():
    """The paths in the first column of the table. A folder ends in a slash."""
    rows = re.findall(r"^\| (`.+?) \|", TEXT, flags=re.MULTILINE)
    return {path for row in rows for path in re.findall(r"`(\S+?)`", row)} - {"spacy_sapbert/"}


def data_files():
    found = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file())
    return {name for name in found if not name.endswith((".py", ".pyc", ".so"))}


def test_every_data_file_is_listed_or_our_own():
    listed_paths = listed()
    missing = {
        name
        for name in data_files()
        if not any(name == path or (path.endswith("/") and name.startswith(path)) for path in listed_paths)
        and not any(fnmatch(name, pattern) for pattern in OWN)
    }
    assert missing == set()


def test_what_is_listed_is_there():
    assert len(listed()) >= 6
    assert {path for path in listed() if not (PACKAGE / path).exists()} == set()


def test_the_notices_of_the_sources_of_the_words_are_there():
    sources = (PACKAGE / "text" / "common_words" / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"\[(\S+)\]\(", sources):
        assert name in TEXT.partition("## Notices")[2]
    assert "The above copyright notice and this permission notice shall be included" in TEXT
