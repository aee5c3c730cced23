"""Annotations by MetaMapLite: run here where the user has it, or read from what it wrote elsewhere."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..corpora.report import Report
from ..corpora.source import Source
from ..errors import Errors, SapbertError
from ..files import replacing
from .annotations import Annotation
from .metamap import READERS, read_output

MAIN_CLASS = "gov.nih.nlm.nls.ner.MetaMapLite"
_SHOWN_LINES = 5


def file_stem(text: str) -> str:
    """Return the name, without its ending, of the files of a text and of what was found in it."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_texts(texts: Sequence[str], folder: Path) -> int:
    """Write each different text into a `.txt` file of a folder.

    Returns:
        the number of files.

    Raises:
        SapbertError: E507 they cannot be written.
    """
    different = {file_stem(text): text for text in texts}
    for stem, text in different.items():
        path = folder / f"{stem}.txt"
        with replacing(path) as temporary:
            folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(text.encode())  # no line end is changed: offsets must stay
    return len(different)


class MetaMapLiteOutput:
    """Reads what MetaMapLite wrote for the texts of `write_texts`.

    Args:
        folder: has a file for each text, in any of the formats.
        report: takes broken records.
    """

    name = "metamaplite"

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder = folder
        self._report = report

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return `list[list[Annotation] | None]`: of each text, by position; None where there is no file."""
        return [
            read_output(path, text, Source(path, self._report)) if (path := self.path(text)) else None for text in texts
        ]

    def path(self, text: str) -> Path | None:
        """Return the file with what was found in a text."""
        stem = file_stem(text)
        paths = (self.folder / f"{stem}{suffix}" for suffix in READERS)
        return next((path for path in paths if path.is_file()), None)


class MetaMapLite:
    """Runs MetaMapLite.

    Args:
        installed: its folder, `public_mm_lite`, with the jar and the data.
        work: the folder for texts and output; a text whose output is there is not annotated again.
        report: takes broken records.

    Raises:
        SapbertError: E607 the folder lacks the jar or the data, E608 there is no Java.
    """

    name = "metamaplite"

    def __init__(self, installed: Path, work: Path, report: Report) -> None:
        self._command = _command(installed)
        self._installed = installed
        self._output = MetaMapLiteOutput(work, report)

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return `list[list[Annotation] | None]`: of each text, by position.

        Raises:
            SapbertError: E608 it fails.
        """
        waiting = [text for text in texts if self._output.path(text) is None]
        if waiting:
            self._run(waiting)
        return self._output.annotate(texts)

    def _run(self, texts: Sequence[str]) -> None:
        folder = self._output.folder
        with TemporaryDirectory() as temporary:
            write_texts(texts, Path(temporary))
            files = sorted(Path(temporary).glob("*.txt"))
            names = Path(temporary) / "files"
            names.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
            command = [*self._command, f"--filelistfn={names}"]
            done = subprocess.run(command, cwd=self._installed, capture_output=True, check=False)
            if done.returncode:
                said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
                reason = f"it ended with {done.returncode}: {' '.join(said)}"
                raise SapbertError(Errors.E608.format(reason=reason))
            for file in files:
                found = file.with_suffix(".mmi")
                if found.is_file():  # moved when all is done: what was cut off must not look whole
                    with replacing(folder / found.name) as path:
                        folder.mkdir(parents=True, exist_ok=True)
                        shutil.move(found, path)


def _command(installed: Path) -> list[str]:
    """Return the command without the files; the newest jar and data of the folder."""
    java = shutil.which("java")
    if java is None:
        raise SapbertError(Errors.E608.format(reason="there is no program java"))
    installed = installed.absolute()
    jars = sorted(installed.glob("target/metamaplite-*-standalone.jar")) or sorted(installed.glob("metamaplite-*.jar"))
    indexes = sorted(path.parent for path in installed.glob("data/ivf/**/indices"))
    models, terms = installed / "data" / "models", installed / "data" / "specialterms.txt"
    lacking = [
        what
        for what, there in (
            ("target/metamaplite-…-standalone.jar", jars),
            ("data/ivf/…/indices", indexes),
            ("data/models", models.is_dir()),
        )
        if not there
    ]
    if lacking:
        raise SapbertError(Errors.E607.format(path=installed, missing=", ".join(lacking)))
    return [
        java,
        "-Dfile.encoding=UTF-8",  # else it reads the texts as the locale says
        "-cp",
        str(jars[-1]),
        MAIN_CLASS,
        f"--indexdir={indexes[-1]}",
        f"--modelsdir={models}",
        *([f"--specialtermsfile={terms}"] if terms.is_file() else []),
        "--outputformat=mmi",
        "--overwrite",
    ]
