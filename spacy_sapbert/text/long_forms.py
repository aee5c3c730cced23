"""Find the long form of a short form in the words before it, by the strategies of Ab3P.

Sohn et al. 2008, "Abbreviation definition identification based on automatic precision estimates", BMC Bioinformatics
9:402. A strategy says where the letters of the short form may stand in the long form and which words may be skipped.
Each class of short forms has its strategies in the order of their use; the first that finds a long form wins, and of
its long forms the shortest.

Other than in the paper, numbers and Greek letters may be spelled out ("2D", two-dimensional); a long form starts after
a slash rather than before it; FirstLetGenSkp skips a stop word beside another word (TAP, transporter associated with
antigen processing); and where words other than stop words may be skipped, no letter stands in a stop word, and a short
form in lower case has no long form. The precisions are those of the paper's strategies all the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

# Articles, prepositions, conjunctions and auxiliaries: the words that a short form leaves out.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after against all an and any are as at be been before between both but by can during each either et for
        from had has have in into is it its not of on onto or over per such than that the their these this those through
        to under until upon using versus via vs was were which while who whose with within without
        """,
    )
)

# No letter stands in so many places of ten words. Bounds the work on text that is no language.
MANY = 32

# A digit stands for itself or a word that begins so, a Greek letter for itself or its name.
_SPELLED = {
    char: re.compile(rf"(?<![^\W_])(?:{words})")
    for char, words in {
        "1": r"one|first|mono|uni|i\b",
        "2": r"two|twice|second|double|dual|di|bi|ii\b",
        "3": r"three|third|tri|iii\b",
        "4": r"four|quadr|tetra|iv\b",
        "5": r"five|fifth|penta|v\b",
        "6": r"six|hexa|vi\b",
        "7": r"seven|hepta|vii\b",
        "8": r"eight|octa|viii\b",
        "9": r"nine|ninth|nona|ix\b",
        "α": r"alpha",
        "β": r"beta",
        "γ": r"gamma",
        "δ": r"delta",
        "ε": r"epsilon",
        "κ": r"kappa",
        "ω": r"omega",
    }.items()
}


class Strategy(NamedTuple):
    """Where the characters of a short form may stand, and which words between them may be skipped.

    place (str): "first" in a word; "initial": first, or after a hyphen or the like; "begun": anywhere in a word of
        which an initial is matched too; "any": anywhere. The short form's first character is always an initial.
    content, stops (int): in a row, at most so many words may be skipped, `content` + `stops` in all, and at most
        `content` of them may be other than stop words.
    adjacent (bool): two neighbours in the short form are neighbours in a word.
    plural (bool): the short form is capitals and a plural "s", and the long form ends in "s".
    """

    place: str
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

# For each class of short forms its strategies in the order of their use, with the precision that Sohn et al. estimated
# (Ab3P's file Ab3P_prec.dat). Left out are the three strategies that need a list of all words of MEDLINE (WithinWrdWrd,
# WithinWrdFWrd, WithinWrdFWrdSkp): the others find nearly all of their long forms.
_TABLE = """
Al1: FirstLetOneChSF 0.967224
Al2: FirstLet 0.99818, FirstLetGen 0.994292, FirstLetGenStp 0.970019, ContLet 0.96935, WithinWrdFLet 0.941981,
    FirstLetGenSkp 0.949988, ContLetSkp 0.877216, WithinWrdFLetSkp 0.640805
Al3: FirstLet 0.999808, FirstLetGen 0.999408, FirstLetGenS 0.998732, FirstLetGenStp 0.997839,
    FirstLetGenStp2 0.997264, FirstLetGenSkp 0.988583, ContLet 0.987697, WithinWrdFLet 0.981322,
    ContLetSkp 0.968185, WithinWrdFLetSkp 0.904799, WithinWrdLet 0.663735, AnyLet 0.303503
Al4: FirstLet 0.999964, FirstLetGen 0.99993, FirstLetGenS 0.999811, FirstLetGenStp 0.999868,
    FirstLetGenStp2 0.999948, FirstLetGenSkp 0.998534, ContLet 0.992792, WithinWrdFLet 0.992955,
    ContLetSkp 0.985568, WithinWrdFLetSkp 0.976873, WithinWrdLet 0.917863, AnyLet 0.696532
Al5: FirstLet 0.999979, FirstLetGen 0.999979, FirstLetGenS 0.999913, FirstLetGenStp 0.999989,
    FirstLetGenStp2 0.999887, FirstLetGenSkp 0.999852, ContLet 0.997596, WithinWrdFLet 0.997473,
    ContLetSkp 0.989703, WithinWrdFLetSkp 0.986066, WithinWrdLet 0.889324, AnyLet 0.73859
Num2: ContLet 0.975372, ContLetSkp 0.96617, FirstLetGen2 0.909995, FirstLetGenStp 0.856401,
    FirstLetGenSkp 0.858132, WithinWrdFLetSkp 0.607829, WithinWrdFLet 0.493922
Num3: FirstLetGen2 0.998497, FirstLetGenStp 0.998807, FirstLetGenStp2 0.991256, FirstLetGenSkp 0.991202,
    ContLet 0.996938, WithinWrdFLet 0.985676, ContLetSkp 0.995076, WithinWrdFLetSkp 0.971123,
    WithinWrdLet 0.819989, AnyLet 0.797932
Num4: FirstLetGen2 0.99992, FirstLetGenStp 0.999903, FirstLetGenStp2 0.999936, FirstLetGenSkp 0.999577,
    ContLet 0.999555, WithinWrdFLet 0.9975, ContLetSkp 0.998578, WithinWrdFLetSkp 0.996501, WithinWrdLet 0.986326,
    AnyLet 0.953126
Num5: FirstLetGen2 0.999987, FirstLetGenStp 0.99998, FirstLetGenStp2 1.0, FirstLetGenSkp 0.999901,
    ContLet 0.999613, WithinWrdFLet 0.999386, ContLetSkp 0.999312, WithinWrdFLetSkp 0.998939,
    WithinWrdLet 0.996068, AnyLet 0.986193
Spec2: FirstLetGen2 0.854368, FirstLetGenStp 0.664622, FirstLetGenSkp 0.657475
Spec3: FirstLetGen2 0.978311, FirstLetGenStp 0.977779, FirstLetGenStp2 0.929197, ContLet 0.923911,
    FirstLetGenSkp 0.904086, ContLetSkp 0.851583, WithinWrdFLet 0.712331, WithinWrdFLetSkp 0.64667
Spec4: FirstLetGen2 0.99278, FirstLetGenStp 0.98597, FirstLetGenStp2 0.982127, ContLet 0.980869,
    FirstLetGenSkp 0.944843, ContLetSkp 0.973983, WithinWrdFLet 0.992773, WithinWrdFLetSkp 0.863247,
    WithinWrdLet 0.418068, AnyLet 0.223562
Spec5: FirstLetGen2 0.999701, FirstLetGenStp 0.9999, FirstLetGenStp2 0.999757, ContLet 0.994648,
    FirstLetGenSkp 0.997065, ContLetSkp 0.992445, WithinWrdFLet 0.996623, WithinWrdFLetSkp 0.978026,
    WithinWrdLet 0.862993, AnyLet 0.745608
"""


def _parse_table(table: str) -> dict[str, list[tuple[str, float]]]:
    classes = {}
    for row in re.sub(r"\n +", " ", table.strip()).splitlines():
        name, cells = row.split(":")
        classes[name] = [(strategy, float(value)) for strategy, value in map(str.split, cells.split(","))]
    return classes


PRECISIONS = _parse_table(_TABLE)


class Match(NamedTuple):
    """A long form: where it starts in the words that were searched, and how it was found."""

    start: int
    precision: float
    strategy: str


class _Spot(NamedTuple):
    """A character of the words that a character of the short form can stand for."""

    pos: int
    word: int
    first: bool
    initial: bool


# An alignment grows from right to left. Its state: position and word of its leftmost spot, whether that word has an
# initial among its spots, and whether two neighbours of the short form were neighbours.
_State = tuple[int, int, bool, bool]


class _Words(NamedTuple):
    """The words that are searched: folded text, start of each word, and which words are stop words."""

    text: str
    starts: list[int]
    stops: list[bool]


def find_long_form(short: str, words: str, min_precision: float) -> Match | None:
    """Find the long form of a short form at the end of the words before it.

    short (str): the short form, with a letter in it.
    words (str): the words before the short form, without blanks at the end.
    min_precision (float): strategies of lower estimated precision are not used.
    RETURNS (Match | None): the long form goes from `start` to the end of the words.
    """
    folded = _fold(words)
    letters = [char for char in _fold(short) if char.isalnum()]
    if not _in_order(letters, folded):
        return None
    pieces = list(re.finditer(r"\S+", folded))
    searched = _Words(folded, [p.start() for p in pieces], [p.group() in STOP_WORDS for p in pieces])
    rows = _rows(letters, searched)
    for name, precision in _strategies(short, words, min_precision):
        strategy = STRATEGIES[name]
        row = rows[strategy.place][:-1] if strategy.plural else rows[strategy.place]
        pos = _align(row, strategy, searched.stops) if all(row) else None
        start = None if pos is None else _start_of_long_form(searched, pos)
        if start is not None and _plausible(short, words[start:]):
            return Match(start, precision, name)
    return None


def short_form_class(short: str) -> str:
    """RETURNS (str): the class in `PRECISIONS`: "Al" for letters only, "Num" with a digit, else "Spec", and the length
    up to 5: "Al3" for "TNF", "Num4" for "IL-2".
    """
    kind = "Al" if short.isalpha() else "Num" if any(map(str.isdigit, short)) else "Spec"
    return f"{kind}{min(len(short), 5)}"


def _strategies(short: str, words: str, min_precision: float) -> Iterator[tuple[str, float]]:
    """Yield the strategies for a short form in the order of their use, with their precision."""
    for name, precision in PRECISIONS.get(short_form_class(short), ()):
        strategy = STRATEGIES[name]
        both_plural = words.endswith("s") and re.fullmatch("[A-Z]+s", short)
        # "(age …)", "(mean …)": a word in lower case must at least account for all words of its long form
        left_over = strategy.content and short.islower()
        if precision >= min_precision and (both_plural or not strategy.plural) and not left_over:
            yield name, precision


def _fold(text: str) -> str:
    # str.lower makes some texts longer ("İ"), which would shift the offsets
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _in_order(letters: Sequence[str], words: str) -> bool:
    """Quickly tell most of the words that hold no long form: the letters do not even stand there in this order."""
    pos = len(words)
    for letter in reversed(letters):
        if letter not in _SPELLED:
            pos = words.rfind(letter, 0, pos)
            if pos < 0:
                return False
    return True


def _rows(letters: Sequence[str], words: _Words) -> dict[str, list[list[_Spot]]]:
    """RETURNS (dict[str, list[list[_Spot]]]): for each place of a strategy the spots that each letter may take."""
    spots = {letter: _find_spots(letter, words) for letter in set(letters)}
    initial = [[spot for spot in spots[letter] if spot.initial] for letter in letters]
    first = [[spot for spot in row if spot.first] for row in initial]
    anywhere = [initial[0], *(spots[letter] for letter in letters[1:])]
    return {"first": first, "initial": initial, "begun": anywhere, "any": anywhere}


def _find_spots(letter: str, words: _Words) -> list[_Spot]:
    spots: list[_Spot] = []
    pos = words.text.rfind(letter)
    while pos >= 0 and len(spots) < MANY:
        word = bisect_right(words.starts, pos) - 1
        first = pos == words.starts[word]
        spots.append(_Spot(pos, word, first, first or not words.text[pos - 1].isalnum()))
        pos = words.text.rfind(letter, 0, pos)
    if letter in _SPELLED:
        for match in _SPELLED[letter].finditer(words.text):
            # one further on, so that the word's own initial can be matched as well: T3, triiodothyronine
            pos = match.start() + 1
            spots.append(_Spot(pos, bisect_right(words.starts, pos) - 1, False, True))
    return spots


def _align(row: Sequence[Sequence[_Spot]], strategy: Strategy, stops: Sequence[bool]) -> int | None:
    """RETURNS (int | None): where the first character of the short form stands in the shortest long form."""
    states: set[_State] = {(10**9, len(stops), True, not strategy.adjacent)}
    for spots in reversed(row):
        # who skips a word of content has skipped the stop words before
        here = [spot for spot in spots if not stops[spot.word]] if strategy.content else spots
        states = _best({step for state in states for spot in here if (step := _step(state, spot, strategy, stops))})
        if not states:
            return None
    return max((pos for pos, _, begun, adjacent in states if begun and adjacent), default=None)


def _best(states: Iterable[_State]) -> set[_State]:
    """Drop the states that reach nothing that another does not reach: those further left in the same word.

    Where two neighbours are still wanted the position itself counts, and all are kept.
    """
    best: dict[tuple[int, bool, int], _State] = {}
    for state in sorted(states):
        pos, word, begun, adjacent = state
        best[word, begun, -1 if adjacent else pos] = state
    return set(best.values())


def _step(state: _State, spot: _Spot, strategy: Strategy, stops: Sequence[bool]) -> _State | None:
    """RETURNS (_State | None): the alignment with one more spot to its left, if the strategy lets it stand there."""
    pos, word, begun, adjacent = state
    if spot.pos >= pos:
        return None
    if spot.word == word:
        return spot.pos, word, begun or spot.initial, adjacent or spot.pos + 1 == pos
    if strategy.place == "begun" and not begun:
        return None
    skipped = stops[spot.word + 1 : word]
    if len(skipped) > strategy.content + strategy.stops or len(skipped) - sum(skipped) > strategy.content:
        return None
    return spot.pos, spot.word, spot.initial, adjacent


def _start_of_long_form(words: _Words, pos: int) -> int:
    """The long form starts with the word of its first match, but after a slash, which joins alternatives."""
    start = words.starts[bisect_right(words.starts, pos) - 1]
    start = max(start, words.text.rfind("/", start, pos) + 1)
    return start if any(map(str.isalnum, words.text[start:pos])) else pos


def _plausible(short: str, long: str) -> bool:
    if len(long) <= len(short) or f" {short.lower()} " in f" {long.lower()} ":
        return False
    return all(text.count("(") == text.count(")") and text.count("[") == text.count("]") for text in (short, long))
