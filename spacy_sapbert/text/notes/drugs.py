"""The state of a drug in a note, its dose, and a value of the laboratory, by the words around it, without spaCy.

Of the cues of states in its scope, the nearest decides. Cues are data, see README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...files.values import languages_of
from .assertion import AFTER, ANY, BEFORE, END, SAME, SECTION, CueMatcher, Flags, Items, Span, read_cue_file
from .sections import LABORATORY

_FOLDER = Path(__file__).parent
LANGUAGES = languages_of(_FOLDER, "_drugs")
"""The codes of the languages with cues of the states of drugs."""
ACTIVE, STOPPED, PLANNED, COMPLETED, UNKNOWN = "active", "stopped", "planned", "completed", "unknown"
STATES = (ACTIVE, STOPPED, "on-hold", COMPLETED, PLANNED, "allergy", UNKNOWN)
"""The states of drugs. "stopped" is each drug that the patient does not take."""
NO_MEDICATION = "no medication"
"""In place of a state: a value of the laboratory, or a substance that nobody takes as a drug."""

_Cue = tuple[int, bool, str]  # how many words away it is, whether before the drug, and its state
_OF_FLAGS = {"negated": STOPPED, "hypothetical": PLANNED, "historical": COMPLETED, "uncertain": UNKNOWN}
_REACH = 9  # how many other words may stand between a cue and a drug, or between two drugs of a list
_ALONE = "alone"  # the key of cues of one drug, not of all in a list: "aspirin, metformin (held)"
_MEASURED, _EVERYDAY = "measured", "no_medication"
_DOSE, _FORM, _ROUTE, _FREQUENCY = _PIECES = ("dose", "form", "route", "frequency")
_NUMBER = r"\d{1,9}(?:[.,/-]\d{1,9}){0,3}"
_COUNT = rf"(?:{_NUMBER}|one|two|three|four|five|six|seven|eight|ten|twelve)"
_LINKS = r"[ \t,:(-]{0,3}(?:(?:of|to|at|from|de|von|auf|à|dosis|dose)[ \t]+){0,2}"
_UNIT = r"(?:%|[a-zµμ]{1,5}/(?:d?l|mm3|min|ml|hr?|g|mol|[uµμ]l)\b|x ?10\^?\d+)"
_VALUE = re.compile(
    r"(?:[ \t]{1,4}(?:levels?|count|value|of|was|is|at|remains?|today|up|down|to|high|low|elevated)\b){0,6}"
    r"[ \t]{0,4}[:=(]?[ \t]{0,4}"
    rf"(?P<value>[<>]?=?[ \t]?\d+(?:[.,]\d+)?(?:[ \t]?{_UNIT})?(?:[ \t]?\(?[HL]\b\)?)?)(?![\w/])",
    re.IGNORECASE,
)
_EDGES = re.compile(rf"^{_LINKS}|(?:[ \t]{{1,4}}(?:of|de|von))?[ \t,:(-]{{0,8}}$", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"[\s:=]{1,4}([\d.,]{1,12})$")


class Drug(NamedTuple):
    """What a note says of a drug or of a value of the laboratory. What it does not say is empty.

    Attributes:
        state: One of `STATES`, or `NO_MEDICATION`.
        dosage: Dose, form, route and frequency of a drug, as the note writes them.
        value: The value of the laboratory, with its unit.
    """

    state: str = ""
    dosage: str = ""
    value: str = ""


class DrugReader(CueMatcher):
    """Reads what notes say of drugs. The time grows with the length of the text.

    Args:
        groups: The cues of each state, and the lists of words, see `read_cue_file`.
    """

    def __init__(self, groups: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        cues = {name: groups[name] for name in (*STATES, ANY, _ALONE, SAME) if name in groups}
        super().__init__({name: {key: of[key] for key in of if key != SECTION} for name, of in cues.items()})
        self._of_section = {name: state for state in STATES for name in groups.get(state, {}).get(SECTION, ())}
        self._measured, self._everyday = (frozenset(groups[name][ANY]) for name in (_MEASURED, _EVERYDAY))
        dose, form, route, frequency = (_pattern(groups[name][ANY]) for name in _PIECES)
        one = rf"{_NUMBER}[ \t-]?{dose}|(?:{_NUMBER}[ \t-]+)?(?:{form}|{route}|{frequency})"
        self._dosage = re.compile(rf"(?:{_LINKS}(?:{one})\)?(?![^\W\d_])){{1,8}}", re.IGNORECASE)
        self._before = re.compile(
            rf"(?:{_COUNT}|an?)[ \t-]?(?:{dose}|{form})(?:[ \t]+[\w./-]+){{0,3}}[ \t]+(?:of|de|von)[ \t]+\Z",
            re.IGNORECASE,
        )
        self._count = re.compile(
            rf"[ \t]*(?:{dose}|{form}|hours?|days?|weeks?|years?|times|(?:to|or)[ \t]\d+)(?!\w|/)", re.IGNORECASE
        )

    def read(self, text: str, scope: Span, drugs: Sequence[Span], section: str, flags: Sequence[Flags]) -> list[Drug]:
        """Return what a sentence says of each drug.

        Args:
            scope: The first character of the sentence, and the position after its last.
            drugs: The first character of each drug or substance, and the position after its last.
            section: The label of the section.
            flags: The flags of each drug.
        """
        items, numbers = self.items(text, scope, drugs)
        before, after = _nearest(items, BEFORE), _nearest(items[::-1], AFTER)
        found = []
        for number, span, flags_of_one in zip(numbers, drugs, flags, strict=True):
            cue = min((cue for cue in (before.get(number), after.get(number)) if cue), default=None)
            dosage, value = self._beside(text, scope, span, section)
            state = self._state(text[slice(*span)].lower(), cue, dosage, value, section, flags_of_one)
            found.append(Drug(state, "" if state == NO_MEDICATION else dosage, value if not dosage else ""))
        return found

    def _beside(self, text: str, scope: Span, span: Span, section: str) -> tuple[str, str]:
        """Return the dosage, and a value of the laboratory."""
        name = _LAST_NUMBER.sub("", text[slice(*span)].lower())
        end = span[0] + len(name)
        before = self._before.search(text, max(scope[0], span[0] - 60), span[0])
        after = self._dosage.match(text, end, scope[1])
        dosage = " ".join(_EDGES.sub("", match[0]) for match in (before, after) if match)
        value = _VALUE.match(text, end, max(scope[1], end + 20))  # "glucose 58. UA" is no item 58 of a list
        is_measured = name in self._measured or section == LABORATORY or " level" in text[span[0] : end + 7].lower()
        if not value or not is_measured or self._count.match(text, value.end(), scope[1]):
            return _closed(dosage), ""
        return "", value["value"]

    def _state(self, name: str, cue: _Cue | None, dosage: str, value: str, section: str, flags: Flags) -> str:
        of_section = self._of_section.get(section, "")
        if (value and not dosage) or name in self._everyday:
            return NO_MEDICATION
        if name in self._measured and not (dosage or _is_taken(cue) or of_section):
            return NO_MEDICATION
        if cue and not (cue[2] == UNKNOWN and of_section and cue[0] > 1):
            return cue[2]
        if section == LABORATORY and not dosage:
            return NO_MEDICATION
        of_flags = [state for flag, state in _OF_FLAGS.items() if flag in flags]
        return STOPPED if STOPPED in of_flags else of_section or next(iter(of_flags), ACTIVE if dosage else UNKNOWN)


def _is_taken(cue: _Cue | None) -> bool:
    return cue is not None and cue[0] <= 2 and cue[2] != UNKNOWN  # also in a list: "calcium and vitamin D"


def _nearest(items: Items, direction: str) -> dict[int, _Cue]:
    """Return for each drug in the scope of a cue the number of words up to it, the direction, and the state."""
    found: dict[int, _Cue] = {}
    state, last, is_alone = "", 0, False
    for position, item in enumerate(items):
        if isinstance(item, int):
            if state and position - last <= _REACH:
                found[item] = position - last, direction == BEFORE, state
                state, last = "" if is_alone else state, position
        elif item:
            is_alone = (_ALONE, direction) in item
            kinds = {kind: name for name, kind in reversed(item) if name != _ALONE}
            if direction in kinds or END in kinds or (BEFORE in kinds and direction == AFTER):
                state, last = kinds.get(direction, ""), position
    return found


def _pattern(phrases: Iterable[str]) -> str:
    """Return a pattern of any of the phrases, the longest first. "0" stands for any number."""
    ordered = sorted(set(phrases), key=len, reverse=True)
    return "(?:" + "|".join(re.escape(p).replace(r"\ ", r"[ \t]+").replace("0", _COUNT) for p in ordered) + ")"


def _closed(dosage: str) -> str:
    return dosage if dosage.count("(") == dosage.count(")") else dosage.rstrip(")")


@cache
def drug_reader_of(language: str) -> DrugReader | None:
    """Return the reader of a language, or None if there are no cues for it."""
    return DrugReader(read_cue_file(_FOLDER / f"{language}_drugs.txt")) if language in LANGUAGES else None
