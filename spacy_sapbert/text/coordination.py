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

Words = tuple[str, ...]


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _word_set("a an the this these those his her its their")
_PREPOSITIONS = _word_set(
    "of in to with without for from by on at during after before within between against following under"
)
_QUALIFIERS = _word_set(
    "acute subacute chronic severe mild milder moderate progressive recurrent persistent transient abnormal familial"
    " hereditary congenital sporadic primary secondary metastatic malignant benign advanced early late bilateral"
    " unilateral multiple focal diffuse total subtotal partial complete postoperative preoperative perioperative"
    " rare common new fatal poor excessive"
)
_POSITIONS = _word_set(
    "left right upper lower central peripheral anterior posterior dorsal ventral proximal distal lateral medial"
    " superior inferior middle low high short long small large soft hard"
)
_CONDITIONS = re.compile(
    "(?:pain|ache|disease|disorder|syndrome|failure|insufficienc|deficienc|deficit|dysfunction|impairment|injur|damage"
    "|lesion|cancer|tumou?r|neoplasm|infection|abnormalit|anomal|malformation|defect|disturbance|depression"
    "|degeneration|toxicit|epileps|seizure|diabetes|stroke|fever"
    "|.+(?:itis|oma|osis|a?emia|path|algia|plegia|penia|rrho?ea|troph))(?:s|y|ies)?"
)
_ADJECTIVES = re.compile("..+(?:al|ic|ar|[ao]ry|ous|ive|ian|ile|[ai]ble)")
_NOUNS_LIKE_ADJECTIVES = _word_set("ovary artery memory capillary withdrawal colic")
_NUMERALS = re.compile(r"\d+[A-Za-z]?|[IVX]+[A-Za-z]?|[A-Zb-z]|[A-Z](?:[\w-]*-)?[^\W\d]*\d\w*")
# The "tube" in "ovarian and fallopian tube cancers" belongs to the last conjunct only.
_BOUND_NOUNS = _word_set("tube tubes system systems cord duct ducts marrow")
# Costs of a deviation from parallel phrases.
_SLIGHT = 0.5
_MARKED = 1.0
_UNLIKELY = 2.0
_IMPOSSIBLE = 3.0
# A pair of words such as "systolic" and "diastolic" has this number of last letters in common.
_PAIRED_ENDING = 4


class Cut(NamedTuple):
    """One way to share words among the conjuncts.

    Attributes:
        conjuncts: The words of each conjunct.
        before: Number of first words of the first conjunct that all conjuncts share.
        after: Number of last words of the last conjunct that all conjuncts share.
    """

    conjuncts: tuple[Words, ...]
    before: int
    after: int

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
def word_class(word: str) -> str:
    """Return the class of a word, judged by its ending and by short lists of common words.

    Returns:
        One of "preposition", "determiner", "numeral" (also "B", "IV", "C6"), "position" (also sizes), "qualifier" (fits
        any condition, like "acute" or "impaired"), "adjective", "condition" (a noun for one), or "noun".
    """
    bare = word.split(" ", 1)[0]
    lower = bare.lower()
    stem = lower.rpartition("-")[2]
    if stem in _PREPOSITIONS:
        return "preposition"
    if _NUMERALS.fullmatch(bare):
        return "numeral"
    if stem in _DETERMINERS:
        return "determiner"
    if stem in _POSITIONS:
        return "position"
    if stem in _QUALIFIERS or (len(stem) > 4 and stem.endswith("ed")):
        return "qualifier"
    if stem not in _NOUNS_LIKE_ADJECTIVES and _ADJECTIVES.fullmatch(stem):
        return "adjective"
    return "condition" if _CONDITIONS.fullmatch(lower) else "noun"


def _is_noun(word: str) -> bool:
    return word_class(word) in ("noun", "condition")


def _collide(word: str, following: str) -> bool:
    """Return whether two words cannot be adjacent: "of of", "the the", "the of"."""
    first, second = word_class(word), word_class(following)
    return first in ("preposition", "determiner") and second in ("preposition", first)


def _same_word(first: str, second: str) -> bool:
    return first.lower().rstrip("s") == second.lower().rstrip("s")


def _is_pair(cut: Cut) -> bool:
    """Return whether the differing words form a pair: "I" and "II", "left" and "right", "systolic" and "diastolic"."""
    first, last = cut.opening[-1], cut.closing[-1]
    if word_class(first) == word_class(last) and word_class(first) in ("numeral", "position", "preposition"):
        return True
    return first != last and first[-_PAIRED_ENDING:] == last[-_PAIRED_ENDING:]


# --- penalties


def _repeated(cut: Cut) -> float:
    """Penalize a shared word that a conjunct repeats: not "type type 2" from "type 1 and type 2 diabetes"."""
    head = cut.suffix and _same_word(cut.opening[-1], cut.suffix[-1])
    start = cut.prefix and _same_word(cut.closing[0], cut.prefix[0])
    return _IMPOSSIBLE if head or start or (cut.prefix and _collide(cut.prefix[-1], cut.closing[0])) else 0.0


def _unshared(cut: Cut) -> float:
    """Penalize a split in which nothing is shared and the heads differ, because the span was marked as one mention."""
    return 0.0 if cut.before or cut.after or _same_word(cut.opening[-1], cut.closing[-1]) else _MARKED


def _dangling(cut: Cut) -> float:
    """Penalize a modifier without a noun: "pleural" from "pleural and pericardial effusion"."""
    if cut.after or not _is_noun(cut.closing[-1]):
        return 0.0
    return 0.0 if all(_is_noun(words[-1]) for words in cut.conjuncts) else _IMPOSSIBLE


def _unlike_ends(cut: Cut) -> float:
    """Penalize conjuncts that end in words of different classes, less so before a shared head ("renal and liver")."""
    first, last = word_class(cut.opening[-1]), word_class(cut.closing[-1])
    if first == last:
        return 0.0
    if {first, last} == {"noun", "condition"}:
        return _SLIGHT if last == "condition" and not cut.after else 0.0
    return _SLIGHT if cut.after and {first, last} <= {"noun", "condition", "adjective"} else _UNLIKELY


def _unlike_lengths(cut: Cut) -> float:
    """Penalize conjuncts of different lengths."""
    first, last = ([word for word in words if word_class(word) != "determiner"] for words in (cut.opening, cut.closing))
    return _SLIGHT * min(abs(len(first) - len(last)), 2)


def _torn_compound(cut: Cut) -> float:
    """Penalize sharing a noun that is bound to the previous word: "tube" in "ovarian and fallopian tube cancers"."""
    if not cut.suffix or cut.suffix[0].lower() not in _BOUND_NOUNS:
        return 0.0
    return _UNLIKELY if word_class(cut.closing[-1]) in ("noun", "condition", "adjective") else 0.0


def _second_head(cut: Cut) -> float:
    """Penalize a further head after a condition: not "pain disturbance" from "pain and visual disturbance"."""
    if not cut.suffix or word_class(cut.suffix[0]) == "preposition":
        return 0.0
    return _UNLIKELY if "condition" in (word_class(cut.opening[-1]), word_class(cut.closing[-1])) else 0.0


def _torn_opening(cut: Cut) -> float:
    """Penalize sharing words bound to the first conjunct's own noun: "ventricular" in "ventricular septal and ..."."""
    if not cut.prefix or _inner_preposition(cut.conjuncts[0]) or _is_pair(cut):
        return 0.0
    if len(cut.closing) == 1 and not cut.after:
        return 0.0
    bound = any(word_class(word) != "qualifier" for word in cut.prefix)
    longer = len(cut.closing) > len(cut.opening) and not cut.after
    return _MARKED * bound + _MARKED * longer


def _inner_preposition(words: Words) -> int:
    """Return the position of the last preposition inside the words, or 0."""
    inner = range(len(words) - 2, 0, -1)
    return next((position for position in inner if words[position].lower() in _PREPOSITIONS), 0)


def _have_own_phrases(first: Words, last: Words) -> bool:
    """Return whether each conjunct has a head with a prepositional phrase: "loss of hearing and pain in the leg"."""
    before, after = _inner_preposition(first), _inner_preposition(last)
    if not before or not after:
        return False
    return first[before].lower() == last[after].lower() or word_class(last[after - 1]) == "condition"


def _broken_opening_phrase(cut: Cut) -> float:
    """Penalize sharing too little or too much of a phrase: "cancer of the", not "cancer" or "cancer of the renal"."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    end = _inner_preposition(first)
    if not end:
        return 0.0
    if _have_own_phrases(first, last):
        return _UNLIKELY if cut.before else 0.0
    if last[0].lower() not in _PREPOSITIONS:
        end += 1
        article = word_class(first[end]) == "determiner" != word_class(last[0])
        end += 1 if article and end + 1 < len(first) else 0
    if cut.before == end or (cut.before > end and _is_pair(cut)):
        return 0.0
    return _MARKED if cut.before > end else _UNLIKELY


def _broken_closing_phrase(cut: Cut) -> float:
    """Penalize sharing a part of a phrase such as "in the eye", or sharing it if each conjunct has its own phrase."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    start = _inner_preposition(last)
    if not start:
        return 0.0
    if _have_own_phrases(first, last):
        return _UNLIKELY if cut.after else 0.0
    return 0.0 if cut.after >= len(last) - start else _UNLIKELY


_PENALTIES = (
    _repeated,
    _unshared,
    _dangling,
    _unlike_ends,
    _unlike_lengths,
    _torn_compound,
    _second_head,
    _torn_opening,
    _broken_opening_phrase,
    _broken_closing_phrase,
)
