"""Annotate texts with MetaMapLite: run a local installation, or read existing output."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..documents.report import Report
from ..errors import DamagedError, Errors, SapbertError
from ..files.output import ScratchFolder, replacing
from ..files.source import Source
from .annotations import Annotation
from .metamap import READERS, read_output

MAIN_CLASS = "gov.nih.nlm.nls.ner.MetaMapLite"
_SHOWN_LINES = 5


def file_stem(text: str) -> str:
    """Return the stem of the file names for a text and its output."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def write_texts(texts: Sequence[str], folder: Path) -> int:
    """Write each distinct text to a `.txt` file of a folder.

    Returns:
        The number of files.
    """
    different = {file_stem(text): text for text in texts}
    for stem, text in different.items():
        path = folder / f"{stem}.txt"
        with replacing(path, parents=True) as temporary:
            temporary.write_bytes(text.encode())  # text mode could change line ends, and with them offsets
    return len(different)


class MetaMapLiteOutput:
    """Reads MetaMapLite's output for the texts of `write_texts`.

    Args:
        folder: The folder with one file per text, in any of the formats.
        report: Collects broken records.
    """

    name = "metamaplite"

    def __init__(self, folder: Path, report: Report) -> None:
        self.folder = folder
        self._report = report

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position; None for a text without a file."""
        return [
            read_output(path, text, Source(path, self._report)) if (path := self.path(text)) else None for text in texts
        ]

    def path(self, text: str) -> Path | None:
        """Return the output file for a text, if there is one."""
        stem = file_stem(text)
        paths = (self.folder / f"{stem}{suffix}" for suffix in READERS)
        return next((path for path in paths if path.is_file()), None)


class MetaMapLite:
    """Runs MetaMapLite.

    Args:
        installed: The folder of the installation, `public_mm_lite`, with the jar and the data.
        work: The folder for texts and output. A text with output in this folder is not annotated again.
        report: Collects broken records.
    """

    name = "metamaplite"

    def __init__(self, installed: Path, work: Path, report: Report) -> None:
        self._command = _command(installed)
        self._installed = installed
        self._output = MetaMapLiteOutput(work, report)

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        """Return the annotations of each text, by position."""
        waiting = [text for text in texts if self._output.path(text) is None]
        if waiting:
            self._run(waiting)
        return self._output.annotate(texts)

    def _run(self, texts: Sequence[str]) -> None:
        folder = self._output.folder
        with ScratchFolder() as temporary:
            write_texts(texts, temporary)
            files = sorted(temporary.glob("*.txt"))
            names = temporary / "files"
            names.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
            command = [*self._command, f"--filelistfn={names}"]
            done = subprocess.run(command, cwd=self._installed, capture_output=True, check=False)
            if done.returncode:
                output = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-_SHOWN_LINES:]
                reason = f"it ended with {done.returncode}: {' '.join(output)}"
                raise SapbertError(Errors.E608.format(reason=reason))
            for file in files:
                found = file.with_suffix(".mmi")
                if found.is_file():  # moved at the end, so that no partial file looks complete
                    with replacing(folder / found.name, parents=True) as path:
                        shutil.move(found, path)


def _command(installed: Path) -> list[str]:
    """Return the command without the input files, with the newest jar and data of the folder."""
    java = shutil.which("java")
    if java is None:
        raise SapbertError(Errors.E608.format(reason="there is no program java"))
    installed = installed.absolute()
    jars = sorted(installed.glob("target/metamaplite-*-standalone.jar")) or sorted(installed.glob("metamaplite-*.jar"))
    indexes = sorted(path.parent for path in installed.glob("data/ivf/**/indices"))
    models, terms = installed / "data" / "models", installed / "data" / "specialterms.txt"
    missing = [
        what
        for what, there in (
            ("target/metamaplite-…-standalone.jar", jars),
            ("data/ivf/…/indices", indexes),
            ("data/models", models.is_dir()),
        )
        if not there
    ]
    if missing:
        remedy = "Give the folder public_mm_lite with MetaMapLite's jar and with the unpacked data of a UMLS release."
        raise DamagedError(remedy, path=installed, reason=f"there is no {', no '.join(missing)}")
    return [
        java,
        "-Dfile.encoding=UTF-8",  # the default depends on the locale
        "-cp",
        str(jars[-1]),
        MAIN_CLASS,
        f"--indexdir={indexes[-1]}",
        f"--modelsdir={models}",
        *([f"--specialtermsfile={terms}"] if terms.is_file() else []),
        "--outputformat=mmi",
        "--overwrite",
    ]
