"""Annotate texts with MetaMapLite: run a local installation, or read its output (MMI, JSON, BRAT)."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..documents.source import Report
from ..errors import DamagedError, Errors, SapbertError
from ..files.output import ScratchFolder, replacing
from ..files.source import BrokenRecord, Source
from ..files.values import check_writable, parse_float, parse_int, parse_json
from ..kb.ids import canonical_id
from .annotations import Annotation
from .documents import fold


class RankedAnnotation(NamedTuple):
    """A concept that MetaMapLite suggests for a span, in UTF-16 code units, as in Java.

    Attributes:
        score: The score, higher is better; 0 if the format has none.
        preferred: The concept's preferred name in UMLS.
        name: The matched name, empty if the format lacks it.
    """

    start: int
    length: int
    concept_id: str
    score: float = 0.0
    preferred: str = ""
    name: str = ""


# id|MMI|score|preferred name|CUI|[types]|triggers|location|positions|tree codes| ; older versions have no location.
# Names and triggers can contain "|", so the CUI is searched from the start and the positions from the end.
_MMI_CUI = re.compile(r"C\d{7}")
_MMI_TYPES = re.compile(r"\[[^]]*\]")
_MMI_POSITIONS = re.compile(r"\[?\d+/\d[\d/,;\[\]]*")
_TRIGGER = re.compile(r'"(?P<name>[^"]*)"-[^"-]*-\d+-"[^"]*"-[^",]*-[01](?:,|$|\|)')
_PIECE = re.compile(r"(?<!\d)(\d+)/(\d+)")
_BRAT_SPAN = re.compile(r"(T\d+)\t\S+ (\d+) (\d+)(?:;\d+ (\d+))*\t.*")
_BRAT_CONCEPT = re.compile(r"N\d+\tReference (T\d+) (\w+):(\S*)\t(.*)")


def read_mmi(source: Source) -> Iterator[RankedAnnotation]:
    """Read the fielded MMI format, which is sorted by score. A line is a concept with all its positions.

    A mention in several pieces is read as one span from the first piece to the last.
    """
    for number, line in source.lines():
        if line.strip():
            try:
                annotations = _mmi(line.strip().split("|"))
            except BrokenRecord as reason:
                source.broken(number, reason)
            else:
                yield from annotations


def _mmi(cells: list[str]) -> list[RankedAnnotation]:
    last = next(filter(partial(_has_positions, cells), (len(cells) - 2, len(cells) - 3)), 0)
    for cui in range(4, last - 2):
        if _MMI_CUI.fullmatch(cells[cui]) and _MMI_TYPES.fullmatch(cells[cui + 1]) and cells[1] == "MMI":
            score, preferred, concept_id = _number(cells[2]), "|".join(cells[3:cui]), canonical_id(cells[cui])
            spans = [_whole(span) for span in cells[last].split(";") if _PIECE.search(span)]
            names = [trigger["name"] for trigger in _TRIGGER.finditer("|".join(cells[cui + 2 : last]))]
            if len(names) != len(spans):
                names = [""] * len(spans)
            return [
                RankedAnnotation(start, length, concept_id, score, preferred, name)
                for (start, length), name in zip(spans, names, strict=True)
            ]
    raise BrokenRecord("the line is not in MetaMapLite's MMI format")


def _has_positions(cells: list[str], last: int) -> bool:
    """Return whether a cell has positions, and only the tree codes and a last bar follow."""
    tree_codes, *rest = cells[last + 1 :] if last > 0 else ["/"]
    return "/" not in tree_codes and not any(rest) and bool(_MMI_POSITIONS.fullmatch(cells[last]))


def _number(raw: str) -> float:
    try:
        return parse_float(raw.replace(",", "."))  # Java's numbers depend on its locale
    except ValueError:
        raise BrokenRecord(f"{raw!r} is not a score") from None


def _integer(raw: str) -> int:
    try:
        return parse_int(raw)
    except ValueError:
        raise BrokenRecord("an offset is not a whole number with at most 18 digits") from None


def _whole(span: str) -> tuple[int, int]:
    pieces = [(_integer(start), _integer(length)) for start, length in _PIECE.findall(span)]
    first, last = min(start for start, _ in pieces), max(start + length for start, length in pieces)
    return first, last - first


def read_json(source: Source) -> Iterator[RankedAnnotation]:
    """Read the JSON format: a list of spans with their concepts. Broken entries are reported as line 1."""
    text = "\n".join(line for _, line in source.lines())
    try:
        entities = parse_json(text)
        check_writable(entities)
        if not isinstance(entities, list):
            raise ValueError("it is not a list")
    except ValueError as error:
        source.broken(1, f"this is not JSON from MetaMapLite ({error})")
        return
    for number, entity in enumerate(entities, start=1):
        try:
            yield from [_evidence(item) for item in entity["evlist"]]
        except (KeyError, TypeError, ValueError) as error:
            source.broken(1, f"entity {number} is not in MetaMapLite's form ({type(error).__name__}: {error})")


def _evidence(item: dict[str, Any]) -> RankedAnnotation:
    info = item["conceptinfo"]
    start, length, score = item["start"], item["length"], item.get("score", 0)
    texts = [info["cui"], info.get("preferredname", ""), info.get("conceptstring", "")]
    if not (type(start) is type(length) is int and all(isinstance(text, str) for text in texts)):
        raise TypeError("a value has the wrong type")
    return RankedAnnotation(start, length, canonical_id(texts[0]), parse_float(str(score)), *texts[1:])


def read_brat(source: Source) -> Iterator[RankedAnnotation]:
    """Read BRAT's standoff format, which has no ranks for several concepts of a span."""
    spans: dict[str, tuple[int, int]] = {}
    scores: dict[str, float] = {}
    concepts: list[tuple[str, str, str]] = []
    for number, line in source.lines():
        span, concept = _BRAT_SPAN.fullmatch(line), _BRAT_CONCEPT.fullmatch(line)
        try:
            if span:
                start = _integer(span[2])
                spans[span[1]] = start, _integer(span[4] or span[3]) - start
            elif concept and concept[1] not in spans:
                raise BrokenRecord(f"there is no {concept[1]} before this line")
            elif concept and concept[2] == "ConceptId":
                concepts.append((concept[1], concept[3], concept[4]))
            elif concept and concept[2] == "Score":
                scores[concept[1]] = _number(concept[3])
            elif line.strip() and not concept:
                raise BrokenRecord("the line is neither a span nor a reference of BRAT's standoff format")
        except BrokenRecord as reason:
            source.broken(number, reason)
    for key, cui, preferred in concepts:
        yield RankedAnnotation(*spans[key], canonical_id(cui), scores.get(key, 0.0), preferred)


Reader = Callable[[Source], Iterator[RankedAnnotation]]
READERS: dict[str, Reader] = {".mmi": read_mmi, ".json": read_json, ".ann": read_brat, ".brat": read_brat}


def read_output(path: Path, text: str, report: Report | None = None) -> list[Annotation]:
    """Read MetaMapLite's output for a text: the highest-ranked concept of each span, else the one with this preferred
    name.

    The suffix of the file shows its format: `.mmi`, `.json`, `.ann` or `.brat`. Broken records and spans outside the
    text are reported.
    """
    source, units = Source(path, report or Report()), _characters(text)
    best: dict[tuple[int, int], tuple[tuple[float, bool], RankedAnnotation]] = {}
    for ranked in READERS[path.suffix](source):
        span, end = ranked[:2], ranked.start + ranked.length
        if ranked.length <= 0 or ranked.start < 0 or end >= len(units):
            source.broken(1, f"{ranked.start}/{ranked.length} is outside the text of {len(text)} characters")
            continue
        words = text[units[ranked.start] : units[end]]
        rank = -ranked.score, fold(ranked.preferred) != fold(words)
        if span not in best or rank < best[span][0]:
            best[span] = rank, ranked
    return [
        Annotation(units[start], units[start + length], (top.concept_id,), top.name)
        for (start, length), (_, top) in sorted(best.items())
    ]


def _characters(text: str) -> list[int]:
    """Return the character of each UTF-16 code unit, and the end."""
    if text.isascii() or max(text) <= "\uffff":
        return list(range(len(text) + 1))
    units = [index for index, letter in enumerate(text) for _ in range(1 + (letter > "\uffff"))]
    return [*units, len(text)]


def file_stem(text: str) -> str:
    """Return the stem of the file names for a text and its output."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_texts(texts: Sequence[str], folder: Path) -> int:
    """Write each distinct text to a `.txt` file of a folder, and return the number of files."""
    different = {file_stem(text): text for text in texts}
    for stem, text in different.items():
        path = folder / f"{stem}.txt"
        with replacing(path, parents=True) as temporary:
            temporary.write_bytes(text.encode())  # text mode could change line ends, and with them offsets
    return len(different)


class MetaMapLiteOutput:
    """Reads MetaMapLite's output for the texts of `write_texts`: a folder with a file per text, in any format."""

    name = "metamaplite"

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder = folder
        self._report = report

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position; None for a text without a file."""
        return [read_output(path, text, self._report) if (path := self.path(text)) else None for text in texts]

    def path(self, text: str) -> Path | None:
        """Return the output file for a text, if there is one."""
        paths = (self.folder / f"{file_stem(text)}{suffix}" for suffix in READERS)
        return next((path for path in paths if path.is_file()), None)


class MetaMapLite(MetaMapLiteOutput):
    """Runs the MetaMapLite in a folder, `public_mm_lite`, with the jar and the data.

    A text with output in the folder `work` is not annotated again.
    """

    def __init__(self, installed: Path, work: Path, report: Report) -> None:
        super().__init__(work, report)
        self._command = _command(installed)
        self._installed = installed

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position."""
        if waiting := [text for text in texts if self.path(text) is None]:
            self._run(waiting)
        return super().annotate(texts)

    def _run(self, texts: Sequence[str]) -> None:
        with ScratchFolder() as temporary:
            write_texts(texts, temporary)
            files = sorted(temporary.glob("*.txt"))
            names = temporary / "files"
            names.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
            command = [*self._command, f"--filelistfn={names}"]
            done = subprocess.run(command, cwd=self._installed, capture_output=True, check=False)
            if done.returncode:
                output = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-5:]
                reason = f"it ended with {done.returncode}: {' '.join(output)}"
                raise SapbertError(Errors.E608.format(reason=reason))
            for file in files:
                output_file = file.with_suffix(".mmi")
                if output_file.is_file():  # moved at the end, so that no partial file looks complete
                    with replacing(self.folder / output_file.name, parents=True) as path:
                        shutil.move(output_file, path)


def _command(installed: Path) -> list[str]:
    """Return the command without the input files, with the newest jar and data of the folder."""
    java = shutil.which("java")
    if java is None:
        raise SapbertError(Errors.E608.format(reason="there is no program java"))
    installed = installed.absolute()
    jars = sorted(installed.glob("target/metamaplite-*-standalone.jar")) or sorted(installed.glob("metamaplite-*.jar"))
    indexes = sorted(path.parent for path in installed.glob("data/ivf/**/indices"))
    models, terms = installed / "data" / "models", installed / "data" / "specialterms.txt"
    needed = {"target/…-standalone.jar": jars, "data/ivf/…/indices": indexes, "data/models": models.is_dir()}
    if missing := [what for what, files in needed.items() if not files]:
        remedy = "Give the folder public_mm_lite with MetaMapLite's jar and with the unpacked data of a UMLS release."
        raise DamagedError(remedy, path=installed, reason=f"there is no {', no '.join(missing)}")
    return [
        java,
        "-Dfile.encoding=UTF-8",  # the default depends on the locale
        "-cp",
        str(jars[-1]),
        "gov.nih.nlm.nls.ner.MetaMapLite",
        f"--indexdir={indexes[-1]}",
        f"--modelsdir={models}",
        *([f"--specialtermsfile={terms}"] if terms.is_file() else []),
        "--outputformat=mmi",
        "--overwrite",
    ]
