"""Score how plausible it is that the conjuncts of a coordination share certain words.

The single mentions of a composite are parallel phrases. They are similar in length, in the class of their last word,
and in the position of a preposition. Each deviation has a cost, and the cost of a split is their sum. The costs were
set by hand on the training mentions of BC5CDR (Li et al. 2016). No vocabulary is used.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import inf
from typing import NamedTuple

from .languages import ENGLISH
from .languages.rules import CompositeRules

Words = tuple[str, ...]


# Costs of a deviation from parallel phrases.
_SLIGHT = 0.5
_MARKED = 1.0
_UNLIKELY = 2.0
_IMPOSSIBLE = 3.0
# A pair of words such as "systolic" and "diastolic" has this number of last letters in common.
_PAIRED_ENDING = 4
_BARE_NUMBER = re.compile(r"(\d+[a-z]?)|((?:[IVX]+|[A-Z]))|([α-ω])")


class Cut(NamedTuple):
    """One way to share words among the conjuncts.

    Attributes:
        conjuncts: The words of each conjunct.
        before: Number of first words of the first conjunct that all conjuncts share.
        after: Number of last words of the last conjunct that all conjuncts share.
        rules: The rules of the language.
    """

    conjuncts: tuple[Words, ...]
    before: int
    after: int
    rules: CompositeRules = ENGLISH.composites

    @property
    def prefix(self) -> Words:
        return self.conjuncts[0][: self.before]

    @property
    def suffix(self) -> Words:
        last = self.conjuncts[-1]
        return last[len(last) - self.after :]

    @property
    def opening(self) -> Words:
        """The words of the first conjunct that are not shared."""
        return self.conjuncts[0][self.before :]

    @property
    def closing(self) -> Words:
        """The words of the last conjunct that are not shared."""
        last = self.conjuncts[-1]
        return last[: len(last) - self.after]


def cost(cut: Cut, limit: float = inf) -> float:
    """Return how far the single mentions are from parallel phrases: 0 or more, lower is better.

    From `limit` on, the penalties are not added up any further.
    """
    total = 0.0
    for penalty in _PENALTIES:
        total += penalty(cut)
        if total >= limit:
            break
    return total


# --- words


@lru_cache(maxsize=4096)
def word_class(word: str, rules: CompositeRules = ENGLISH.composites) -> str:
    """Return the class of a word, judged by its ending and by short lists of common words.

    Returns:
        One of "preposition", "determiner", "numeral" (also "B", "IV", "C6"), "position" (also sizes), "qualifier" (fits
        any condition, like "acute" or "impaired"), "adjective", "condition" (a noun for one), or "noun".
    """
    bare = word.split(" ", 1)[0]
    lower = bare.lower()
    stem = lower.rpartition("-")[2]
    if stem in rules.prepositions:
        return "preposition"
    if rules.numerals.fullmatch(bare):
        return "numeral"
    if stem in rules.determiners:
        return "determiner"
    if stem in rules.positions:
        return "position"
    if stem in rules.qualifiers or (len(stem) > 4 and stem.endswith(rules.qualifier_endings)):
        return "qualifier"
    if stem not in rules.nouns_like_adjectives and rules.adjectives.fullmatch(stem):
        return "adjective"
    return "condition" if rules.conditions.fullmatch(lower) else "noun"


def _is_noun(word: str, rules: CompositeRules) -> bool:
    return word_class(word, rules) in ("noun", "condition")


def _begins_with_noun(words: Words, rules: CompositeRules) -> bool:
    """Return whether words begin with a noun, or with one after an article or a preposed adjective."""
    classes = [word_class(word, rules) for word in words]
    modifiers = ("determiner", "qualifier", "position")
    first = next((one for one in classes if one not in modifiers), None)
    return first in ("noun", "condition")


def _collide(word: str, following: str, rules: CompositeRules) -> bool:
    """Return whether two words cannot be adjacent: "of of", "the the", "the of"."""
    first, second = word_class(word, rules), word_class(following, rules)
    return first in ("preposition", "determiner") and second in ("preposition", first)


def _same_word(first: str, second: str) -> bool:
    return first.lower().rstrip("s") == second.lower().rstrip("s")


def _is_pair(cut: Cut) -> bool:
    """Return whether the differing words form a pair: "I" and "II", "left" and "right", "systolic" and "diastolic"."""
    first, last = cut.opening[-1], cut.closing[-1]
    first_class = word_class(first, cut.rules)
    if first_class == word_class(last, cut.rules) and first_class in ("numeral", "position", "preposition"):
        return True
    return first != last and first[-_PAIRED_ENDING:] == last[-_PAIRED_ENDING:]


# --- penalties


def _repeated(cut: Cut) -> float:
    """Penalize a shared word that a conjunct repeats: not "type type 2" from "type 1 and type 2 diabetes"."""
    head = cut.suffix and _same_word(cut.opening[-1], cut.suffix[-1])
    start = cut.prefix and _same_word(cut.closing[0], cut.prefix[0])
    return _IMPOSSIBLE if head or start or (cut.prefix and _collide(cut.prefix[-1], cut.closing[0], cut.rules)) else 0.0


def _lone_number(cut: Cut) -> float:
    """Penalize a number without its noun: "II" from "type I and II"."""
    if len(cut.opening) == 1 or len(cut.closing) > 1:
        return 0.0
    kinds = [_BARE_NUMBER.fullmatch(words[-1]) for words in (cut.opening, cut.closing)]
    return _IMPOSSIBLE if all(kinds) and len({kind.lastindex for kind in kinds if kind}) == 1 else 0.0


def _unshared(cut: Cut) -> float:
    """Penalize a split in which nothing is shared and the heads differ, because the span was marked as one mention."""
    return 0.0 if cut.before or cut.after or _same_word(cut.opening[-1], cut.closing[-1]) else _MARKED


def _dangling(cut: Cut) -> float:
    """Penalize a modifier without a noun: "pleural" from "pleural and pericardial effusion"."""
    if cut.rules.head_first:
        return 0.0 if cut.before or _begins_with_noun(cut.closing, cut.rules) else _IMPOSSIBLE
    if cut.after or not _is_noun(cut.closing[-1], cut.rules):
        return 0.0
    return 0.0 if all(_is_noun(words[-1], cut.rules) for words in cut.conjuncts) else _IMPOSSIBLE


def _unlike_ends(cut: Cut) -> float:
    """Penalize conjuncts that end in words of different classes, less so before a shared head ("renal and liver")."""
    if cut.rules.head_first and not cut.before:
        return 0.0  # each has its own head, and "infarto de miocardio" is parallel to "accidente cerebrovascular"
    first, last = word_class(cut.opening[-1], cut.rules), word_class(cut.closing[-1], cut.rules)
    if first == last:
        return 0.0
    if {first, last} == {"noun", "condition"}:
        return _SLIGHT if last == "condition" and not cut.after else 0.0
    return _SLIGHT if cut.after and {first, last} <= {"noun", "condition", "adjective"} else _UNLIKELY


def _unlike_lengths(cut: Cut) -> float:
    """Penalize conjuncts of different lengths."""
    first, last = (
        [word for word in words if word_class(word, cut.rules) != "determiner"] for words in (cut.opening, cut.closing)
    )
    return _SLIGHT * min(abs(len(first) - len(last)), 2)


def _torn_compound(cut: Cut) -> float:
    """Penalize sharing a noun that is bound to the previous word: "tube" in "ovarian and fallopian tube cancers"."""
    if not cut.suffix or cut.suffix[0].lower() not in cut.rules.bound_nouns:
        return 0.0
    return _UNLIKELY if word_class(cut.closing[-1], cut.rules) in ("noun", "condition", "adjective") else 0.0


def _second_head(cut: Cut) -> float:
    """Penalize a further head after a condition: not "pain disturbance" from "pain and visual disturbance"."""
    if not cut.suffix or word_class(cut.suffix[0], cut.rules) == "preposition":
        return 0.0
    ends = word_class(cut.opening[-1], cut.rules), word_class(cut.closing[-1], cut.rules)
    return _UNLIKELY if "condition" in ends else 0.0


def _torn_opening(cut: Cut) -> float:
    """Penalize sharing words bound to the first conjunct's own noun: "ventricular" in "ventricular septal and ..."."""
    if not cut.prefix or _inner_preposition(cut.conjuncts[0], cut.rules) or _is_pair(cut):
        return 0.0
    if len(cut.closing) == 1 and not cut.after:
        return 0.0
    bound = any(word_class(word, cut.rules) != "qualifier" for word in cut.prefix)
    longer = len(cut.closing) > len(cut.opening) and not cut.after
    return _MARKED * bound + _MARKED * longer


def _inner_preposition(words: Words, rules: CompositeRules) -> int:
    """Return the position of the last preposition inside the words, or 0."""
    inner = range(len(words) - 2, 0, -1)
    return next((position for position in inner if words[position].lower() in rules.prepositions), 0)


def _have_own_phrases(first: Words, last: Words, rules: CompositeRules) -> bool:
    """Return whether each conjunct has a head with a prepositional phrase: "loss of hearing and pain in the leg"."""
    before, after = _inner_preposition(first, rules), _inner_preposition(last, rules)
    if not before or not after:
        return False
    return first[before].lower() == last[after].lower() or word_class(last[after - 1], rules) == "condition"


def _broken_opening_phrase(cut: Cut) -> float:
    """Penalize sharing too little or too much of a phrase: "cancer of the", not "cancer" or "cancer of the renal"."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    end = _inner_preposition(first, cut.rules)
    if not end:
        return 0.0
    if cut.rules.head_first and word_class(last[0], cut.rules) == "condition":
        return _UNLIKELY if cut.before else 0.0
    if _have_own_phrases(first, last, cut.rules):
        return _UNLIKELY if cut.before else 0.0
    if last[0].lower() not in cut.rules.prepositions:
        end += 1
        article = word_class(first[end], cut.rules) == "determiner" != word_class(last[0], cut.rules)
        end += 1 if article and end + 1 < len(first) else 0
    if cut.before == end or (cut.before > end and _is_pair(cut)):
        return 0.0
    return _MARKED if cut.before > end else _UNLIKELY


def _broken_closing_phrase(cut: Cut) -> float:
    """Penalize sharing a part of a phrase such as "in the eye", or sharing it if each conjunct has its own phrase."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    start = _inner_preposition(last, cut.rules)
    if not start:
        return 0.0
    if _have_own_phrases(first, last, cut.rules):
        return _UNLIKELY if cut.after else 0.0
    return 0.0 if cut.after >= len(last) - start else _UNLIKELY


def _shared_end(cut: Cut) -> float:
    """Penalize sharing last words where heads come first: not "cáncer de mama ovario", seldom without the head."""
    if not cut.rules.head_first or not cut.suffix:
        return 0.0
    if _begins_with_noun(cut.suffix, cut.rules):
        return _IMPOSSIBLE
    return 0.0 if cut.before else _MARKED + _SLIGHT


_PENALTIES = (
    _repeated,
    _lone_number,
    _unshared,
    _dangling,
    _unlike_ends,
    _unlike_lengths,
    _torn_compound,
    _second_head,
    _torn_opening,
    _broken_opening_phrase,
    _broken_closing_phrase,
    _shared_end,
)
