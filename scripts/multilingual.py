"""Prepare what `spacy-sapbert pretrain` needs for a table of several languages, and pack the trained table.

    python scripts/multilingual.py base FOLDER
    python scripts/multilingual.py pairs ENGLISH.txt TABLES --words WORDS.tsv --output pairs.txt
    python scripts/multilingual.py wheel TABLE_FOLDER OUTPUT_FOLDER

`base` repeats the rows of the starter table, so that English names keep their vectors and other words find free rows.
`pairs` draws pairs from tables of translated names, and puts English pairs behind them. `wheel` makes a package of the
trained table, which `encoder = "starter-multilingual"` opens.
"""

import base64
import csv
import hashlib
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, combinations
from pathlib import Path
from typing import Annotated

import typer

import spacy_sapbert
from spacy_sapbert import starter
from spacy_sapbert.encoders.folder import MULTILINGUAL_PACKAGE
from spacy_sapbert.encoders.static import StaticEncoder
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output, replacing
from spacy_sapbert.files.values import hash64
from spacy_sapbert.text import languages
from spacy_sapbert.text.normalize import lower
from spacy_sapbert.training.pair_files import (
    find_shared_names,
    is_writable,
    pair_line,
    read_pairs,
    read_shared_names,
    shared_names_path,
)

CARD = Path(__file__).parents[1] / "configs" / "multilingual-table.md"
TIMES = 2
ENGLISH = ("en", "source_value", "source_text", "?term_label")
# how often a pair with English is drawn, by column: names of languages with fewer sources more often
WEIGHTS = {
    "de": 3,
    "fr": 3,
    "es": 2,
    "pt": 1,
    "nl": 1,
    "ja": 1,
    "zh": 1,
    "vi": 1,
    "translation_value": 2,
    "translation_text": 2,
    "?layperson": 2,
}
EUROPEAN = ("es", "fr", "de", "pt", "nl")
WORD, ACROSS, OWN = 20, 3, 10  # the same for words, for words of two other languages, and for synonyms
LONGEST, LONGEST_OTHER = 100, 110  # characters of names
HELD_OUT = 10  # one of so many codes is kept for measurements

app = typer.Typer(add_completion=False, no_args_is_help=True)
Pair = tuple[str, str, str]


@app.command()
def base(output: Path) -> None:
    """Write the starter table with each row twice. It reads names without accents."""
    import torch

    table = StaticEncoder("starter")
    n_words, weights = table.subwords.words, table.model.weight.detach()
    parts = weights[:n_words], weights[n_words:]
    n_rows = {"words": TIMES * n_words, "ngrams": TIMES * len(parts[1])}
    larger = StaticEncoder(**n_rows, text_normalizer="unaccented+greek")
    larger.trained = table.trained
    larger.replace(
        torch.nn.Embedding.from_pretrained(torch.cat([part.repeat(TIMES, 1) for part in parts]), sparse=True)
    )
    larger.save(output)


def rows_of(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the English name of each row of a table, and all its cells."""
    with open_text(path) as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            cells = {column: lower((cell or "").strip('"')) for column, cell in row.items() if column}
            yield next(filter(None, map(cells.get, ENGLISH)), ""), cells | {"code": row.get("code") or ""}


def is_held_out(cells: dict[str, str]) -> bool:
    return bool(cells["code"]) and hash64(cells["code"]) % HELD_OUT == 0


def name_pairs(path: Path, skipped: set[str]) -> Iterator[Pair]:
    for english, cells in rows_of(path):
        if english and english not in skipped and len(english) <= LONGEST:
            names = {column: cells[column] for column in WEIGHTS if 0 < len(cells.get(column, "")) <= LONGEST_OTHER}
            for column, name in names.items():
                yield from [(f"M:{english}", english, name)] * WEIGHTS[column]
            for first, second in combinations(filter(names.get, EUROPEAN), 2):
                yield f"M:{english}", names[first], names[second]


def word_pairs(path: Path) -> Iterator[Pair]:
    for english, cells in rows_of(path):
        words = {language: cells[language].split("|") for language in EUROPEAN}
        for word in chain.from_iterable(words.values()):
            yield from [(f"M:{english}", english, word)] * WORD
        for first, second in combinations(words.values(), 2):
            yield from [(f"M:{english}", first[0], second[0])] * ACROSS


def own_synonyms(language: str) -> Iterator[Pair]:
    path = Path(languages.__file__).parents[1] / "synonyms" / f"{language}_own.txt"
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        first, *others = line.lstrip("*=").split("|")
        if ">" not in line:
            yield from [(f"own:{language}:{first}", first, other) for other in others] * OWN


@app.command()
def pairs(
    english: Path,
    tables: Annotated[Path, typer.Argument(help="Folder of tables with a column for each language.")],
    words: Annotated[Path, typer.Option(help="Table of words.")],
    output: Annotated[Path, typer.Option()],
) -> None:
    """Write pairs of names in several languages, the English pairs, and the names that concepts share."""
    paths = sorted(path for path in tables.iterdir() if ".tsv" in path.suffixes)
    skipped = {name for path in paths for name, cells in rows_of(path) if is_held_out(cells)}
    drawn = [pair for path in paths for pair in name_pairs(path, skipped)]
    drawn += word_pairs(words)
    drawn += [pair for language in EUROPEAN for pair in own_synonyms(language)]
    drawn = sorted(pair for pair in drawn if pair[1] != pair[2] and all(map(is_writable, pair)))
    owners: dict[str, set[str]] = defaultdict(set)
    for concept, *names in drawn:
        for name in names:
            owners[name].add(concept)
    with open_output(output) as write:
        for pair in drawn:
            write(pair_line(*pair))
        for pair in read_pairs(english):
            write(pair_line(*pair))
            for name in filter(owners.__contains__, pair[1:]):
                owners[name].add(pair.concept_id)
    if known := find_shared_names(english):
        for shared in read_shared_names(known):
            owners[shared.name].update(shared.concept_ids)
    with open_output(shared_names_path(output)) as write:
        for name, ids in sorted(owners.items()):
            if len(ids) > 1:
                write(pair_line(name, *sorted(ids)))
    typer.echo(f"{len(drawn):,} pairs of several languages", err=True)


@app.command()
def wheel(table: Path, output: Path) -> None:
    """Write a wheel that holds a table, for `pip install`. Its version is that of spacy-sapbert."""
    version = spacy_sapbert.__version__
    info = f"{MULTILINGUAL_PACKAGE}-{version}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {MULTILINGUAL_PACKAGE}\nVersion: {version}\n"
    about += "Summary: The table for several languages of spacy-sapbert\n"
    files = {f"{MULTILINGUAL_PACKAGE}/{path.name}": path.read_bytes() for path in sorted(table.iterdir())}
    files |= {f"{MULTILINGUAL_PACKAGE}/__init__.py": b"", f"{info}/METADATA": about.encode()}
    files[f"{MULTILINGUAL_PACKAGE}/README.md"] = CARD.read_bytes()
    files[f"{MULTILINGUAL_PACKAGE}/LICENSE"] = (starter.TABLE / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: spacy-sapbert\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{MULTILINGUAL_PACKAGE}-{version}-py3-none-any.whl"
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    typer.echo(f"pip install {path}")


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    app()
