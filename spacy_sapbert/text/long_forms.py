"""Find the long form of a short form in the words before it, by the strategies of Ab3P.

The method is that of Sohn et al. 2008, "Abbreviation definition identification based on automatic precision estimates",
BMC Bioinformatics 9:402. A strategy says which characters of the long form the letters may match, and which words may
be skipped. Each class of short forms has a sequence of strategies. The first strategy that finds a long form wins. If
it finds several, the shortest is returned.

These points differ from the paper:

- Numbers and Greek letters may be spelled out ("2D", two-dimensional).
- A long form starts after a slash, a double hyphen or "anti-", not before it. "anti-X antibodies" stays whole.
- No long form begins with a word that links it to the words before ("of", "and"). No long form is only stop words.
- FirstLetGenSkp may skip a stop word next to another word (TAP, transporter associated with antigen processing).
- If words other than stop words may be skipped, no letter matches in a stop word. A lower-case short form then has no
  long form.
- The initials may be in another order (DM, myotonic dystrophy), if no strategy with a higher precision finds a long
  form, and others only a longer one with stop words. Short forms of Latin or French names need this.

The precisions are still those of the paper.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ..files.values import read_lists
from .composites import composite_splits
from .languages import ENGLISH, LanguageRules
from .languages.rules import SHORT_FORM, AbbreviationRules

# No letter occurs this often in ten words. This bounds the work on text that is not language.
MANY = 32

_WORD = re.compile(r"\S+")
_ALPHANUMERICS = re.compile(r"[^\W_]+")
# A slash joins alternatives, a double hyphen is a dash, and a bracket may end another definition. In "anti-interleukin
# (IL)", the short form stands for interleukin alone. But "anti-X antibodies" are one term.
_BEFORE_LONG_FORM = re.compile(r"/|--|[)\]][-–]|(?<!\S)anti-")
_ANTIBODY = re.compile("anti(?:bod|k|cuerpo|corps)")


class Strategy(NamedTuple):
    """Where the characters of a short form may match, and which words between them may be skipped.

    Attributes:
        match_at: "first": the first character of a word. "initial": the first character, or one after a hyphen or
            similar. "begun": anywhere in a word in which an initial also matches. "any": anywhere. The first character
            of the short form always matches an initial.
        content: Of the words skipped in a row, at most this number may be other than stop words.
        stops: At most `content` + `stops` words in a row may be skipped.
        adjacent: Two adjacent characters of the short form are adjacent in a word.
        plural: The short form is capitals and a plural "s", and the long form ends in "s".
    """

    match_at: str
    content: int = 0
    stops: int = 0
    adjacent: bool = False
    plural: bool = False


STRATEGIES = {
    "FirstLetOneChSF": Strategy("first"),
    "FirstLet": Strategy("first"),
    "FirstLetGen": Strategy("initial"),
    "FirstLetGen2": Strategy("initial"),
    "FirstLetGenS": Strategy("initial", plural=True),
    "FirstLetGenStp": Strategy("initial", stops=1),
    "FirstLetGenStp2": Strategy("initial", stops=2),
    "FirstLetGenSkp": Strategy("initial", content=1, stops=1),
    "ContLet": Strategy("begun", adjacent=True),
    "ContLetSkp": Strategy("begun", content=1, adjacent=True),
    "WithinWrdFLet": Strategy("begun"),
    "WithinWrdFLetSkp": Strategy("begun", content=1),
    "WithinWrdLet": Strategy("any"),
    "AnyLet": Strategy("any", content=1),
}

# The strategies of each class of short forms in order, with the precision that Sohn et al. estimated. Three strategies
# are omitted because they need a list of all words of MEDLINE (WithinWrdWrd, WithinWrdFWrd, WithinWrdFWrdSkp). The
# others find nearly all of their long forms.
PRECISIONS = {
    name: [(strategy, float(precision)) for strategy, precision in map(str.split, rows.splitlines())]
    for name, rows in read_lists(__file__).items()
}

# Our own strategy: the capitals of the short form are the initials of as many words, in another order. All 31 such
# definitions in the first half of MED1250 and in the training parts of NCBI Disease and BC5CDR are right.
REORDERED, REORDERED_PRECISION = "FirstLetReordered", 0.95


class LongFormMatch(NamedTuple):
    """A long form in the words that were searched.

    Attributes:
        start: Where it starts in the words.
        precision: Estimated precision of the strategy.
        strategy: The strategy that found it.
    """

    start: int
    precision: float
    strategy: str


# A character of the words that can match one of the short form: position, word, and whether it is an initial.
_Spot = tuple[int, int, bool]
# For each letter of the short form, from last to first, its possible spots, the rightmost first.
_Row = list[list[_Spot]]
# An alignment grows from right to left. Its state is the position and word of its leftmost spot, and two flags. The
# first says whether that word has an initial among its spots. The second says whether two adjacent letters of the short
# form matched adjacent characters.
_State = tuple[int, int, bool, bool]


class _Words(NamedTuple):
    """The words to search: lower-case text, start of each word, which words are stop words, and the rules."""

    text: str
    starts: list[int]
    stops: list[bool]
    rules: AbbreviationRules


def find_long_form(
    short: str, words: str, min_precision: float, rules: LanguageRules = ENGLISH
) -> LongFormMatch | None:
    """Find the long form of a short form at the end of the words before it.

    Args:
        short: The short form, which contains a letter.
        words: The words before the short form, without whitespace at the end.
        min_precision: Use only strategies with at least this estimated precision.

    Returns:
        The long form, which extends from `start` to the end of the words, or None.
    """
    own = rules.abbreviations
    folded = _fold(words, own)
    letters = "".join(filter(str.isalnum, _fold(short, own)))
    match = _find_in_order(letters, short, words, folded, min_precision, own)
    if min_precision > REORDERED_PRECISION or (match and match.precision >= REORDERED_PRECISION):
        return match
    reordered = _find_reordered(short, words, folded, own)
    skips = match and reordered and own.stop_words.intersection(folded[match.start : reordered.start].split())
    return reordered if match is None or skips else match


def _find_in_order(
    letters: str, short: str, words: str, folded: str, min_precision: float, rules: AbbreviationRules
) -> LongFormMatch | None:
    if not _in_order(letters, folded, rules):
        return None
    searched = _split(folded, rules)
    rows: dict[tuple[bool, bool], _Row] = {}
    for name, precision in _strategies(short, words, min_precision):
        pos = _find_start(letters, searched, STRATEGIES[name], rows)
        start = None if pos is None else _start_of_long_form(searched, pos)
        if start is not None and _plausible(short, words[start:], rules):
            return LongFormMatch(start, precision, name)
    return None


def _find_reordered(short: str, words: str, folded: str, rules: AbbreviationRules) -> LongFormMatch | None:
    """Match the initials of the last content words in any order, one word for each letter of the short form."""
    if len(short) < 2 or not (short.isalpha() and short.isupper()):
        return None
    content = [word for word in _ALPHANUMERICS.finditer(folded) if word[0] not in rules.stop_words][-len(short) :]
    if not content or content[-1].end() != len(folded):
        return None
    start = content[0].start()
    same = sorted(word[0][0] for word in content) == sorted(_fold(short, rules))
    right = same and _plausible(short, words[start:], rules)
    return LongFormMatch(start, REORDERED_PRECISION, REORDERED) if right else None


def short_form_class(short: str) -> str:
    """Return the class of a short form in `PRECISIONS`, e.g. "Al3" for "TNF", "Num4" for "IL-2".

    The class is "Al" for letters only, "Num" if there is a digit, else "Spec", followed by the length up to 5.
    """
    kind = "Al" if short.isalpha() else "Num" if any(map(str.isdigit, short)) else "Spec"
    return f"{kind}{min(len(short), 5)}"


def _strategies(short: str, words: str, min_precision: float) -> Iterator[tuple[str, float]]:
    """Yield the strategies for a short form in order, with their precision."""
    both_plural = words.endswith("s") and re.fullmatch("[A-Z]+s", short)
    # "(age …)", "(mean …)": a lower-case short form must account for all words of its long form
    whole = short.islower()
    for name, precision in PRECISIONS.get(short_form_class(short), ()):
        strategy = STRATEGIES[name]
        if precision >= min_precision and (both_plural or not strategy.plural) and not (whole and strategy.content):
            yield name, precision


def _fold(text: str, rules: AbbreviationRules) -> str:
    # str.lower lengthens some texts ("İ"), which would shift the offsets
    lower = text.lower()
    lower = lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower.translate(rules.letters) if rules.letters and not lower.isascii() else lower


def _in_order(letters: str, words: str, rules: AbbreviationRules) -> bool:
    """Return quickly whether the letters occur in this order at all, which excludes most words without a long form."""
    pos = len(words)
    for letter in reversed(letters):
        if letter not in rules.spelled:
            pos = words.rfind(letter, 0, pos)
            if pos < 0:
                return False
    return True


def _split(text: str, rules: AbbreviationRules) -> _Words:
    stops = [word in rules.stop_words for word in text.split()]
    return _Words(text, [word.start() for word in _WORD.finditer(text)], stops, rules)


def _find_start(letters: str, words: _Words, strategy: Strategy, rows: dict[tuple[bool, bool], _Row]) -> int | None:
    """Return where the first character of the short form matches in the shortest long form.

    `rows` keeps the spots of the letters for other strategies.
    """
    if strategy.match_at == "first":
        starts = words.starts[-len(letters) :]
        return starts[0] if "".join([words.text[start] for start in starts]) == letters else None
    only_initials = strategy.match_at == "initial"
    key = only_initials, strategy.plural
    if key not in rows:
        rows[key] = _find_row(letters[:-1] if strategy.plural else letters, words, only_initials)
    return _align(rows[key], strategy, words.stops) if rows[key] else None


def _find_row(letters: str, words: _Words, only_initials: bool) -> _Row:
    """Return the spots of all letters, or an empty list if the letters do not occur in this order."""
    row: _Row = []
    end = len(words.text) + 1  # the spot of a spelled-out digit is one position further right
    for rest in range(len(letters) - 1, -1, -1):
        spots = _find_spots(letters[rest], words, end, only_initials or not rest)
        if not spots:
            return []
        row.append(spots)
        end = spots[0][0]
    return row


def _find_spots(letter: str, words: _Words, end: int, only_initials: bool) -> list[_Spot]:
    text, starts, _, rules = words
    spots: list[_Spot] = []
    pos = text.rfind(letter, 0, end)
    while pos >= 0 and len(spots) < MANY:
        initial = not text[pos - 1 : pos].isalnum()
        if initial or not only_initials:
            spots.append((pos, bisect_right(starts, pos) - 1, initial))
        pos = text.rfind(letter, 0, pos)
    if letter in rules.spelled:
        # one position further right, so that another letter can match the initial as well: T3, triiodothyronine
        spelled = [match.start() + 1 for match in rules.spelled[letter].finditer(text)]
        spots += [(pos, bisect_right(starts, pos) - 1, True) for pos in spelled if pos < end]
        spots.sort(reverse=True)
    return spots


def _align(row: _Row, strategy: Strategy, stops: Sequence[bool]) -> int | None:
    """Return the leftmost position of the shortest long form that the strategy allows."""
    states: Collection[_State] = [(10**9, len(stops), True, not strategy.adjacent)]
    for spots in row:
        # if content words may be skipped, so may all stop words, and no letter matches in them
        here = [spot for spot in spots if not stops[spot[1]]] if strategy.content else spots
        states = _drop_dominated(
            [step for state in states for spot in here if (step := _step(state, spot, strategy, stops))]
        )
        if not states:
            return None
    return max((pos for pos, _, begun, adjacent in states if begun and adjacent), default=None)


def _drop_dominated(states: Sequence[_State]) -> Collection[_State]:
    """Keep one state per word and flags, the one with the rightmost spot: it reaches all that the others reach.

    If two adjacent characters are still required, the exact position matters, and all states are kept.
    """
    if len(states) < 2:
        return states
    rightmost: dict[tuple[int, bool, int], _State] = {}
    for state in sorted(states):
        pos, word, begun, adjacent = state
        rightmost[word, begun, -1 if adjacent else pos] = state
    return rightmost.values()


def _step(state: _State, spot: _Spot, strategy: Strategy, stops: Sequence[bool]) -> _State | None:
    """Extend the alignment by one spot to its left, or return None if the strategy does not allow it."""
    pos, word, begun, adjacent = state
    spot_pos, spot_word, initial = spot
    if spot_pos >= pos:
        return None
    if spot_word == word:
        return spot_pos, word, begun or initial, adjacent or spot_pos + 1 == pos
    if strategy.match_at == "begun" and not begun:
        return None
    skipped = stops[spot_word + 1 : word]
    if len(skipped) > strategy.content + strategy.stops or len(skipped) - sum(skipped) > strategy.content:
        return None
    return spot_pos, spot_word, initial, adjacent


def _start_of_long_form(words: _Words, pos: int) -> int:
    """Return the start of the word with the first match, or the position after a slash, a dash or "anti-"."""
    start = words.starts[bisect_right(words.starts, pos) - 1]
    for match in _BEFORE_LONG_FORM.finditer(words.text, start, pos):
        if match[0] != "anti-" or not _ANTIBODY.search(words.text, pos):
            start = match.end()
    return start if any(map(str.isalnum, words.text[start:pos])) else pos


def _plausible(short: str, long: str, rules: AbbreviationRules) -> bool:
    if len(long) <= len(short) or f" {short.lower()} " in f" {long.lower()} ":
        return False
    words = long.lower().split()
    if words[0] in rules.linking_words or rules.stop_words.issuperset(words):
        return False
    return _balanced(short) and _balanced(long)


def _balanced(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


class Definition(NamedTuple):
    """A short form and its long form, as a text defines them.

    A long form that is not in one piece has no offsets. An example is "Duchenne muscular dystrophy" in "Duchenne or
    Becker muscular dystrophy".

    Attributes:
        short: The short form.
        long: The long form.
        short_start: First character of the short form in the text.
        short_end: Position after its last character.
        long_start: First character of the long form, or None.
        long_end: Position after its last character, or None.
        precision: Estimated precision of the strategy, 0 to 1.
        strategy: Ab3P's strategy that found the long form.
    """

    short: str
    long: str
    short_start: int
    short_end: int
    long_start: int | None
    long_end: int | None
    precision: float
    strategy: str


def find_joint_forms(shorts: str, words: str, min_precision: float, rules: LanguageRules = ENGLISH) -> list[Definition]:
    """Find the long forms of several short forms: "Duchenne or Becker muscular dystrophy (DMD/BMD)".

    The long forms are the single mentions of a composite, in the order of the short forms.

    Args:
        shorts: The short forms, joined by slashes, commas or words such as "and".
        words: The words before, without whitespace at the end.
        min_precision: As for `find_long_form`.

    Returns:
        One definition per short form, from the fewest words that contain a long form for each. Otherwise, an empty
        list. The offsets are those in `shorts` and in `words`.
    """
    own = rules.abbreviations
    if not own.joint_short_forms.fullmatch(shorts) or not own.joint.search(words):
        return []
    pieces = list(re.finditer(SHORT_FORM, shorts))
    for word in reversed(list(re.finditer(r"\S+", words))):
        phrase = words[word.start() :]
        for split in composite_splits(phrase, rules=rules) if own.joint.search(phrase) else ():
            forms = _match_parts(pieces, split, words, min_precision, rules)
            if forms:
                return forms
    return []


def _match_parts(
    pieces: Sequence[re.Match[str]], split: Sequence[str], words: str, min_precision: float, rules: LanguageRules
) -> list[Definition]:
    """Match the parts of a composite split to the short forms. Each part must be a long form from its first word on."""
    forms: list[Definition] = []
    if len(pieces) != len(split):
        return forms
    for piece, long in zip(pieces, split, strict=True):
        match = find_long_form(piece[0], long, min_precision, rules)
        if match is None or match.start:
            return []
        position = words.rfind(long)
        start, end = (position, position + len(long)) if position >= 0 else (None, None)
        definition = Definition(piece[0], long, piece.start(), piece.end(), start, end, match.precision, match.strategy)
        forms.append(definition)
    return forms
