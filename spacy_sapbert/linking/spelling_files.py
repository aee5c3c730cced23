"""Read and write the files of spelling correctors: lists of corrections, and the words of a vocabulary."""

from __future__ import annotations

from pathlib import Path

from ..errors import BadRecordError
from ..files.opening import open_text
from ..files.values import parse_int
from ..store.artifact import opening
from ..text.spelling import CorrectionList, Corrector, KnownWords, is_word

CORRECTIONS_FILE = "corrections.txt"
WORDS_FILE = "words.tsv"
_SEPARATOR = "||"
_REMEDY = "Each line must contain a misspelled word and its correction: `brest||breast`."


def read_corrections(path: Path) -> CorrectionList:
    """Read a list with lines `wrong||right`, the format of BioSyn's list for NCBI Disease.

    The wrong side is one word. Empty lines are skipped.
    """
    pairs: dict[str, str] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            wrong, right = _pair(line, path, number)
            if pairs.setdefault(wrong, right) != right:
                reason = f"'{wrong}' is already corrected to '{pairs[wrong]}'"
                raise BadRecordError(_REMEDY, path=path, line=number, reason=reason)
    return CorrectionList(pairs)


def _pair(line: str, path: Path, number: int) -> tuple[str, str]:
    wrong, separator, right = (part.strip() for part in line.partition(_SEPARATOR))
    reason = None
    if not separator or _SEPARATOR in right:
        reason = "it must have exactly two sides"
    elif not is_word(wrong):
        reason = f"'{wrong}' is not one word of letters and digits"
    elif not right:
        reason = f"there is no correction of '{wrong}'"
    if reason:
        raise BadRecordError(_REMEDY, path=path, line=number, reason=reason)
    return wrong.lower(), right


def save_corrector(corrector: Corrector, folder: Path) -> None:
    """Write a corrector into a folder. `load_corrector` reads it."""
    if isinstance(corrector, CorrectionList):
        lines = (f"{wrong}{_SEPARATOR}{right}\n" for wrong, right in corrector.pairs.items())
        (folder / CORRECTIONS_FILE).write_text("".join(lines), encoding="utf-8")
    elif isinstance(corrector, KnownWords):
        lines = (f"{word}\t{count}\n" for word, count in corrector.counts.items())
        (folder / WORDS_FILE).write_text("".join(lines), encoding="utf-8")


def load_corrector(folder: Path) -> CorrectionList | KnownWords:
    """Read a corrector that `save_corrector` wrote."""
    if (folder / CORRECTIONS_FILE).is_file():
        return read_corrections(folder / CORRECTIONS_FILE)
    path = folder / WORDS_FILE
    with opening(path):
        rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
        return KnownWords({word: parse_int(count) for word, count in rows})
