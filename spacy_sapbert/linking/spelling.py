"""From the setting `spelling`, or from a saved folder, to what corrects misspelt words, and back to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors, SapbertError
from ..files import open_text
from ..text.spelling import CorrectionList, Corrector, KnownWords, is_word

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase

VOCABULARY = "vocabulary"
CORRECTIONS_FILE = "spelling.txt"
_SEPARATOR = "||"


def open_corrector(spelling: str, kb: KnowledgeBase) -> Corrector:
    """spelling (str): "vocabulary" for the words that the store knows, or the path of a list."""
    return KnownWords(kb.names()) if spelling == VOCABULARY else read_corrections(Path(spelling))


def read_corrections(path: Path) -> CorrectionList:
    """Read a list of lines `wrong||right`, the format of the list for NCBI Disease that BioSyn uses.

    The wrong side is one word; empty lines are left out. RAISES (SapbertError): E120 no such file, E411 a bad line.
    """
    pairs: dict[str, str] = {}
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            wrong, right = _pair(line, path, number)
            if pairs.setdefault(wrong, right) != right:
                reason = f"'{wrong}' stands for '{pairs[wrong]}' already"
                raise SapbertError(Errors.E411.format(path=path, line=number, reason=reason))
    return CorrectionList(pairs)


def _pair(line: str, path: Path, number: int) -> tuple[str, str]:
    wrong, separator, right = (part.strip() for part in line.partition(_SEPARATOR))
    reason = None
    if not separator or _SEPARATOR in right:
        reason = "there are not two sides"
    elif not is_word(wrong):
        reason = f"'{wrong}' is not one word of letters and digits"
    elif not right:
        reason = f"nothing stands for '{wrong}'"
    if reason:
        raise SapbertError(Errors.E411.format(path=path, line=number, reason=reason))
    return wrong.lower(), right


def save_corrections(corrections: CorrectionList, folder: Path) -> None:
    """Write a list into a folder, where `load_corrections` finds it."""
    lines = (f"{wrong}{_SEPARATOR}{right}\n" for wrong, right in corrections.pairs.items())
    (folder / CORRECTIONS_FILE).write_text("".join(lines), encoding="utf-8")


def load_corrections(folder: Path) -> CorrectionList | None:
    """RETURNS (CorrectionList | None): None where no list was saved."""
    path = folder / CORRECTIONS_FILE
    return read_corrections(path) if path.is_file() else None
