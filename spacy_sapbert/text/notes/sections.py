"""Sections of clinical notes by their headings, without spaCy. Headings are data, see README.md."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Mapping, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from ...errors import ChoiceError
from ...files.values import languages_of, read_lines

_FOLDER = Path(__file__).parent
LANGUAGES = languages_of(_FOLDER, "_sections")
"""The codes of the languages with headings."""
ALLERGIES = "allergies"
"""The label of allergies, which end with their line if they begin beside their heading."""
LABORATORY = "laboratory"
"""The label of results, among which imaging may stand."""
OTHER = "other"
"""The label of a section with an unknown heading."""
# abstracts have headings such as "results" and "findings", too
_ONLY_IN_NOTES = {
    *("chief complaint", "history of present illness", "past medical history", "family history", "social history"),
    *("medications", "allergies", "review of systems", "examination", "hospital course", "discharge instructions"),
}


class Section(NamedTuple):
    """A section of a note.

    Attributes:
        label: Its kind, such as "family history".
        heading_start: The first character of the heading, which is empty if it is unknown.
        start: The first character behind the heading, including its colon.
        end: The position after its last character: the next heading, or the end of the text.
    """

    label: str
    heading_start: int
    start: int
    end: int


_WORD = r"[\w/&'-]+"
# a heading begins a line, and ends it or has a colon; or it follows a sentence, a comma or two blanks, and has a colon
_OF_LINE = re.compile(
    r"^[ \t]{0,8}(?:[•*#=-]{1,3}[ \t]{0,8}|\d{1,2}[.)][ \t]{1,8})?"
    rf"(?P<name>[^\W\d][\w/&'-]*(?:[ \t]{{1,2}}{_WORD}){{0,7}})[ \t]{{0,8}}"
    r"(?:(?P<colon>:)|[=#*-]{0,3}[ \t\r]{0,8}$)",
    re.M,
)
_INLINE = re.compile(rf"(?:[.,;|•]|  )[ \t]{{0,8}}(?P<name>[^\W\d]{_WORD}(?: {_WORD}){{0,7}})[ \t]{{0,8}}(?P<colon>:)")
# or it follows a word without a capital letter, a number or a hyphen
_INSIDE = re.compile(rf"(?<!\S)(?:[a-zà-ÿ\d]\S*|-) (?=(?P<name>[A-ZÀ-Þ]{_WORD}(?: {_WORD}){{0,3}})(?P<colon>:))")
_LINES = re.compile(rf"(?:^|(?<=\. ))[ \t•*-]*(?P<word>[^\W\d_]{_WORD})", re.M)
# the rest of a line that is not empty, and the next ones if the list or the sentence goes on there
_TO_END = re.compile(r"[ \t]*[^\s](?:,[ \t\r]{0,8}\n|\n(?=[ \t]{2}|[ \t]?(?:[•*-]|\d{1,2}[.)])|[a-zà-ÿ])|[^\n])*(?=\n)")
_BLANKS = re.compile(r"\s+")


def check_language(language: str) -> None:
    """Check that there are headings of a language.

    Raises:
        SapbertError: E125 there are none.
    """
    if language not in LANGUAGES:
        remedy = "Or leave out note_sections: it has no setting for headings of your own."
        raise ChoiceError(remedy, given=language, what="language with headings of notes", choices=LANGUAGES)


@cache
def read_headings(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the section of each heading in lower case, and the flag of mentions in each section that has any.

    A language without headings has none.

    Args:
        language: The code of the language.
    """
    sections: dict[str, str] = {}
    flags: dict[str, str] = {}
    label = ""
    for line in read_lines(_FOLDER / f"{language}_sections.txt"):
        if line.startswith("["):
            label, _, flag = line[1:-1].partition(": ")
            flags.update({label: flag} if flag else {})
        elif line and not line.startswith("# "):
            sections.update((heading.strip(), label) for heading in line.split(";"))
    return sections, flags


def find_sections(text: str, language: str) -> list[Section]:
    """Return the sections of a note, in order. What comes before the first heading is in none.

    Args:
        text: The note, also one that lost the ends of its lines.
        language: The code of the language.
    """
    known, flags = read_headings(language)
    headings = _divided(text, _headings(text, known, flags), known) if known else []
    ends = [*(start for _, start, _ in headings[1:]), len(text)]
    return [Section(*heading, end) for heading, end in zip(headings, ends[: len(headings)], strict=True)]


def is_note(text: str, language: str) -> bool:
    """Return whether a text has the headings of a clinical note. Of 16,000 abstracts and articles, none has."""
    return len(_ONLY_IN_NOTES.intersection(section.label for section in find_sections(text, language))) > 1


def _headings(text: str, known: Mapping[str, str], flags: Container[str]) -> list[tuple[str, int, int]]:
    of_line = [(match, match["colon"] is not None) for match in _OF_LINE.finditer(text)]
    inline = [(match, False) for pattern in (_INLINE, _INSIDE) for match in pattern.finditer(text)]
    headings: list[tuple[str, int, int]] = []
    for match, may_be_lower in sorted([*of_line, *inline], key=lambda item: item[0].start("name")):
        name, start = match["name"], match.start("name")
        words = _BLANKS.sub(" ", name).lower().split(" ")
        label = known.get(" ".join(words))
        if label is None and (name.isupper() or name.istitle()) and match["colon"]:
            label = known.get(f"* {words[-1]}")
        if label and (may_be_lower or name[0].isupper()) and (not headings or start >= headings[-1][2]):
            headings.append((label, start, max(match.end(), match.end("colon"))))
        elif may_be_lower and len(name) > 3 and name.isupper() and headings and headings[-1][0] in flags:
            # one that is not known ends a section that flags its mentions; in others, it may be of the same section
            headings.append((OTHER, start, start))
    return headings


def _divided(
    text: str, headings: Sequence[tuple[str, int, int]], known: Mapping[str, str]
) -> list[tuple[str, int, int]]:
    """Divide sections: a line of laboratory results may be imaging, and allergies beside their heading end with it."""
    found: list[tuple[str, int, int]] = []
    for number, heading in enumerate(headings):
        label, _, start = heading
        found.append(heading)
        end = headings[number + 1][1] if number + 1 < len(headings) else len(text)
        line = _TO_END.match(text, start, end) if label == ALLERGIES else None
        if line and any(map(str.isalnum, text[line.end() : end])):
            found.append((OTHER, line.end(), line.end()))
        for line in _LINES.finditer(text, start, end) if label == LABORATORY else ():
            now = known.get(f"{line['word'].lower()} *", label)
            if now != found[-1][0]:
                found.append((now, line.start("word"), line.start("word")))
    return found


def section_at(sections: Sequence[Section], position: int) -> Section | None:
    """Return the section of a character, or None before the first one."""
    number = bisect_right(sections, position, key=attrgetter("heading_start")) - 1
    return sections[number] if number >= 0 else None


def flag_at(sections: Sequence[Section], position: int, language: str) -> str | None:
    """Return the flag that a section gives to the mentions at a character."""
    section = section_at(sections, position)
    return read_headings(language)[1].get(section.label) if section else None
