"""The flags of mentions by the words around them, after ConText (Harkema et al. 2009), without spaCy.

A cue such as "no evidence of" flags what comes after it, or what comes before it, up to the end of its scope: a word
such as "but", the next sentence, line of a list, or heading. Cues are data, see README.md.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ...errors import ChoiceError
from ...files.values import languages_of

_FOLDER = Path(__file__).parent
LANGUAGES = languages_of(_FOLDER, "_cues")
"""The codes of the languages with cues."""
FLAGS = ("negated", "uncertain", "family", "historical", "hypothetical")
"""The flags of a mention, in the order in which they are reported."""
DIRECTIONS = BEFORE, AFTER, END, PSEUDO = ("before", "after", "end", "pseudo")
"""The kinds of cues: before and after a mention, the end of their scope, and phrases that look like cues."""
ANY = "any"
"""The key of cues that belong to no single flag: ends of all scopes, and phrases that are no cue at all."""
PAST = "past"
"""The key of cues that flag a mention as historical unless its disease is chronic."""
DONE = "done"
"""The key of cues such as "status post", which do so up to the next comma of a list."""
CAUSE = "cause"
"""The key of cues after which the cause of a finding comes: of "we suspect", the cause is uncertain, and it is not."""
CHRONIC = "chronic"
"""The key of cues of chronic diseases, and of words that name them."""
SECTION = "section"
"""The key of the ends of flags that also end the flag of a section: the sentence says what the patient has now."""
SAME = "same"
"""The key of words that stand for others in all cues: {"mother": ["father", "sister"]}."""

Cues = Mapping[str, Mapping[str, Sequence[str]]]
Flags = tuple[str, ...]
Span = tuple[int, int]
_Entries = tuple[tuple[str, str], ...]
Items = Sequence[int | _Entries | None]
"""The cues of a text, the numbers of its mentions, and its other words (None), in order."""

_WORDS = re.compile(
    r"(?:[cdjlmnst]|(?:lors|puis|jus|quoi)?qu|aujourd)(?='[^\W\d_])"  # "n'est" of French is two words, "don't" is one
    r"|[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s\0]"
)
_MENTION, _STOP = "\0", "$"  # in place of a mention, which cues write "@", and where a scope begins and ends
# how many words may stand between a cue and the mention that it flags, or between two mentions that it flags
_REACH = {"uncertain": 7, "historical": 12, PAST: 12, DONE: 4, CHRONIC: 2}
_REACH_BEFORE, _REACH_AFTER, _NEAR = 60, 6, {"hypothetical": 1, CHRONIC: 1, DONE: 1}
_MARK = r"(?:[^\w\s(]|\(?[ xX]?\)|\d{1,2}[.)]\s)"  # of an item
# the end of a line that introduces a list, and the mark of its first item
_LIST = re.compile(rf"(?P<colon>:)?[ \t\r]{{0,9}}\n(?:[ \t\r]{{0,9}}\n)?[ \t]{{0,9}}(?P<mark>(?(colon){_MARK}?|[-*•]))")
_FOLLOWING = re.compile(r"(?i)\b(?:following|folgend\w{0,3}|suivante?s?|siguientes?|seguintes?|volgende)\W{0,3}\Z")
_END_OF_LIST = re.compile(r"\n[ \t\r]*\n")
_END_OF_ITEMS = re.compile(rf"\n(?![ \t]*{_MARK})")
_PREFIX = re.compile(r"(?<![^\W_])(?:non|pre|pré|prä|pseudo)[-‐‑–]$", re.IGNORECASE)
_EXCLUSIVE = {"negated": "uncertain", "uncertain": "negated"}
_BREAKS = re.compile(
    r"\n[ \t\r]*(?=\n)"  # a blank line
    r"|(?<![,:])\r?\n(?=[ \t]*(?:[^\w\s(]|\(?[ xX]?\)|\d{1,2}[.)]\s))"  # an item of a list
    r"|;|[.],(?=\S)|(?=[•▪◦])"  # where a line end was lost, it is often a comma
    r"|(?<=\s)(?=\d{1,2}[.)]\s+[^\W\d_a-z])"  # an item inside a line
)
_ABBREVIATION = re.compile(r"(?:^|(?<=\s))(?:\?|(?:[^\W\d_]\.){1,4})\s*", re.M)  # "V.a. sepsis", "? sepsis"
_LINE = re.compile(
    r"^[^\n]{1,60}(?<![,:\s])[ \t\r]*\n(?=[ \t]*[^\W\d_a-z])", re.M
)  # a short one, before a new beginning


class CueMatcher:
    """Finds the flags of mentions. The time grows with the length of the text.

    Args:
        cues: For each flag the cues of each direction, see `read_cues`.
    """

    def __init__(self, cues: Cues) -> None:
        self.flags = tuple(flag for flag in FLAGS if flag in cues or (flag == "historical" and PAST in cues))
        self._chronic = set(cues.get(CHRONIC, {}).get(ANY, ()))
        self._same = {word: first for first, words in cues.get(SAME, {}).items() for word in words}
        self._trie: dict[str, Any] = {}
        for flag, directions in cues.items():
            for direction, phrases in directions.items() if flag != SAME else ():
                for phrase in phrases if (flag, direction) != (CHRONIC, ANY) else ():
                    self._add(phrase, (flag, direction))
        _inherit_ends(self._trie)

    def _add(self, phrase: str, entry: tuple[str, str]) -> None:
        """Add a cue. Words after a tilde must follow, but they are not part of the cue."""
        cue, _, following = phrase.partition(" ~ ")
        words, node = _words(cue), self._trie
        for word in (*words, *_words(following)):
            word = _MENTION if word == "@" else self._same.get(word, word)
            node = node.setdefault(word, {})
        if node is not self._trie:
            _, entries = node.get("", (0, ()))
            # the word after the end of a scope may begin a cue: "and denies"
            node[""] = 1 if entry[1] == END else len(words), (*entries, entry)

    def flags_of(
        self, text: str, scope: Span, mentions: Sequence[Span], flag: str | None = None, *, in_note: bool = True
    ) -> list[Flags]:
        """Return the flags of mentions by the words of their sentence.

        Args:
            scope: The first character of the sentence, and the position after its last.
            mentions: The first character of each mention, which is in the sentence, and the position after its last.
                A cue inside a mention has no effect.
            flag: The flag of the section, if it has any.
            in_note: Whether the sentence is part of a note. In a note, a chronic disease of the past is present.
        """
        items, numbers = self.items(text, scope, mentions)
        found: list[set[str]] = [set() for _ in mentions]
        if flag:
            _add_of_section(flag, items, found)
        _sweep(items, BEFORE, found)
        _sweep(items[::-1], AFTER, found)
        return [
            self._joined(found[number] | _of_prefix(text, span), in_note and self.is_chronic(text[slice(*span)]))
            for number, span in zip(numbers, mentions, strict=True)
        ]

    def items(self, text: str, scope: Span, mentions: Sequence[Span]) -> tuple[Items, list[int]]:
        """Return the items of a sentence, and the number of each mention, which mentions that overlap share."""
        words, numbers = _masked(text, scope, mentions)
        return list(self._items([self._same.get(word, word) for word in words])), numbers

    def _items(self, words: Sequence[str]) -> Iterator[int | _Entries | None]:
        """Yield the cues, numbers of mentions and other words (None) in order. The longest cue at a word wins."""
        at = mention = 0
        while at < len(words):
            if words[at] == _MENTION:
                yield mention
                mention += 1
            node: dict[str, Any] | None = self._trie
            match, last = (0, None), at
            while node and last < len(words) and (node := node.get(words[last])):
                last += 1
                match = node.get("", match)
            length, entries = match
            if words[at] != _MENTION or entries:
                yield entries
            at += length or 1

    def _joined(self, found: set[str], is_chronic: bool) -> Flags:
        if "negated" in found:  # "no history of" denies a finding of any time
            found = found - {"historical", PAST, "uncertain"}
        if not found.isdisjoint((PAST, DONE)) and CHRONIC not in found and not is_chronic:
            found = {*found, "historical"}
        return tuple(flag for flag in self.flags if flag in found)

    def of_lists(self, text: str, bounds: Sequence[int]) -> dict[int, str]:
        """Return the flag of each scope in a list, by number, if the line that introduces the list has a cue of it."""
        flags: dict[int, str] = {}
        end = 0
        for match in _LIST.finditer(text):
            if match.start() < end:
                continue
            line = max(text.rfind("\n", 0, match.start()) + 1, bounds[bisect_right(bounds, match.start()) - 1])
            found: list[set[str]] = [set()]
            items = self.items(text, (line, match.start()), ())[0]
            _sweep([*items, 0], BEFORE, found)
            flag = next((flag for flag in self.flags if flag in found[0]), "")
            # "no acute distress:" says nothing of the list, "negative for the following:" does
            is_open = any(items[-3:-1]) or _FOLLOWING.search(text, line, match.start())
            if flag == "hypothetical" or (flag and match["colon"] and is_open):
                last = (_END_OF_ITEMS if match["mark"] else _END_OF_LIST).search(text, match.end())
                end = last.start() if last else len(text)
                first = bisect_right(bounds, match.start())
                flags |= dict.fromkeys(range(first, bisect_left(bounds, end)), flag)
        return flags

    def is_chronic(self, mention: str) -> bool:
        """Return whether a mention is a disease that stays, so that it is present if it was there in the past."""
        return not self._chronic.isdisjoint(_words(mention))


def _inherit_ends(node: dict[str, Any], ends: _Entries = ()) -> None:
    """Let a longer end of a scope also end what a shorter one ends: "she has" what "she" does."""
    length, entries = node.get("", (0, ()))
    if entries and all(direction == END for _, direction in entries):
        ends = (*ends, *entries)
        node[""] = length, ends
    for word, following in node.items():
        if word:
            _inherit_ends(following, ends)


def _masked(text: str, scope: Span, mentions: Sequence[Span]) -> tuple[list[str], list[int]]:
    """Return the words with a mark for mentions that touch, and the number of the mark of each mention."""
    words: list[str] = []
    numbers: dict[int, int] = {}
    number, position = -1, scope[0]
    for start, end in sorted(mentions):
        if start >= position:
            words += _words(text[position:start])
            words.append(_MENTION)
            number += 1
        numbers[start] = number
        position = max(position, min(end, scope[1]))
    words += _words(text[position : scope[1]])
    return [_STOP, *words, _STOP], [numbers[start] for start, _ in mentions]


def _of_prefix(text: str, mention: Span) -> set[str]:
    """Return "negated" if a prefix and a hyphen say that something is not the mention: "pre-diabetes"."""
    return {"negated"} if _PREFIX.search(text, max(0, mention[0] - 8), mention[0]) else set()


def _add_of_section(flag: str, items: Iterable[int | _Entries | None], found: list[set[str]]) -> None:
    """Add the flag of the section to the mentions before words that end it, and sections."""
    ends = {(SECTION, END), ("historical" if flag == PAST else flag, END)}
    for item in items:
        if isinstance(item, int):
            found[item].add(flag)
        elif item and ends.issubset(item):
            return


def _sweep(items: Iterable[int | _Entries | None], direction: str, found: list[set[str]]) -> None:
    """Add the flags of the cues of a direction to the mentions in their scope."""
    last: dict[str, int] = {}  # the position that each flag still reaches
    uncertain: list[int] = []  # the mentions of the last cue
    for position, item in enumerate(items):
        if item is None:
            continue
        if isinstance(item, int):
            reaching = [flag for flag, end in last.items() if position <= end]
            found[item].update(reaching)
            last.update((flag, position + _reach(flag, direction)) for flag in reaching)
            uncertain += [item] if "uncertain" in reaching else []
            continue
        if (CAUSE, BEFORE) in item and direction == BEFORE and "uncertain" in last:
            for number in uncertain:
                found[number].discard("uncertain")
            last["uncertain"] = position + _reach("uncertain", direction)
        uncertain = [] if ("uncertain", direction) in item else uncertain
        for flag, kind in item:
            for name in _ended(flag, kind, direction, last):
                last.pop(name, None)
        last.update((flag, position + _reach(flag, direction)) for flag, kind in item if kind == direction)


def _ended(flag: str, kind: str, direction: str, last: Iterable[str]) -> list[str]:
    """Return the flags whose scope ends with a cue."""
    if kind == direction:
        return [_EXCLUSIVE.get(flag, "")]
    if kind != END:
        return list(last) if direction == AFTER else []
    if flag == ANY:
        return [name for name in last if name != "family"]  # "his father had gout but no stroke"
    return [flag, PAST, DONE] if flag == "historical" else [flag]


def _reach(flag: str, direction: str) -> int:
    if direction == BEFORE:
        return _REACH.get(flag, _REACH_BEFORE)
    return _NEAR.get(flag, _REACH_AFTER)  # "stroke prevention", "reflux, on omeprazole"


def scope_bounds(text: str, sentences: Iterable[int]) -> list[int]:
    """Return where scopes begin, and the end of the text.

    They begin with a sentence, an item of a list, or a line that is a statement of its own: one that is shorter than
    those of a paragraph, before another that begins with a capital letter.

    Args:
        sentences: The first character of each sentence.
    """
    starts = {match.end() for pattern in (_BREAKS, _LINE) for match in pattern.finditer(text)}
    starts.update(set(sentences).difference(match.end() for match in _ABBREVIATION.finditer(text)))
    return sorted({0, *starts, len(text)})


def _words(text: str) -> list[str]:
    """Return words, numbers and signs. A year is YYYY, and another number is 0."""
    words = _WORDS.findall(text.lower().replace("’", "'"))
    return [_number(word) if word[0].isdigit() else word for word in words]


def _number(digits: str) -> str:
    return "yyyy" if len(digits) == 4 and digits[:2] in ("19", "20") else "0"


# --- cues


def check_language(language: str) -> None:
    """Check that there are cues of a language.

    Raises:
        SapbertError: E125 there are none.
    """
    if language not in LANGUAGES:
        remedy = "Or give the assertion_detector the setting cues: those of another language invent flags."
        raise ChoiceError(remedy, given=language, what="language with cues", choices=LANGUAGES)


@cache
def matcher_of(language: str) -> CueMatcher:
    """Return the matcher of the cues of a language, see `read_cues`. A language without cues has none."""
    return CueMatcher(read_cues(language) if language in LANGUAGES else {})


@cache
def read_cues(language: str) -> dict[str, dict[str, list[str]]]:
    """Return the cues of a language: {flag: {direction: phrases}}, with the words of chronic diseases.

    Args:
        language: The code of the language, one of `LANGUAGES`.

    Raises:
        SapbertError: E125 there are no cues of this language.
    """
    check_language(language)
    cues = read_cue_file(_FOLDER / f"{language}_cues.txt")
    chronic = cues[CHRONIC]
    chronic[ANY] = chronic.pop(CHRONIC)
    return cues


def read_cue_file(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return the phrases of a file: {flag: {direction: phrases}}. README.md tells how it is read."""
    text = path.read_text(encoding="utf-8").replace("\\\n", "")
    classes: dict[str, str] = {}
    cues: dict[str, dict[str, list[str]]] = {}
    phrases: list[str] = []
    for line in text.splitlines():
        name, is_class, words = line.partition(" = ")
        if line.startswith("[") and line.endswith("]"):
            flag, _, direction = line[1:-1].partition(" ")
            phrases = cues.setdefault(ANY if flag in (END, PSEUDO) else flag, {}).setdefault(direction or flag, [])
        elif is_class and name.startswith("<"):
            first, *others = words.split("|")
            classes[name] = first
            cues.setdefault(SAME, {})[first] = others
        elif is_class:
            classes[f"<{name}>"] = _with_classes(words, classes)
        elif line and not line.startswith("# "):
            for cue in line.split(";"):
                phrases += _alternatives(_with_classes(cue, classes))
    return cues


def _with_classes(text: str, classes: Mapping[str, str]) -> str:
    for name, words in classes.items():
        text = text.replace(name, words)
    return text


def _alternatives(cue: str) -> Iterator[str]:
    for words in product(*(part.split("|") for part in cue.split())):
        yield " ".join(filter(None, words)).replace("_", " ")
