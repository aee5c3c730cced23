"""How plausible it is, by the look of the words, that the conjuncts of a coordination share certain words.

The single mentions of a composite are parallel phrases: alike in length, in the class of their last word, in where a
preposition stands. Each departure from that has a cost, and the costs of a reading are added up. They were set by hand
on the training mentions of BC5CDR (Li et al. 2016); nothing is looked up in a vocabulary.
"""

from __future__ import annotations

import re
from functools import lru_cache
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
# The "tube" of "ovarian and fallopian tube cancers" belongs to the last conjunct alone.
_BOUND_NOUNS = _word_set("tube tubes system systems cord duct ducts marrow")
# What a departure costs
_SLIGHT = 0.5
_MARKED = 1.0
_UNLIKELY = 2.0
_IMPOSSIBLE = 3.0
# Letters that two words must end in alike to be a pair, as "systolic" and "diastolic" do.
_PAIRED_ENDING = 4


class Cut(NamedTuple):
    """One way to share words: `before` words of the first conjunct and `after` words of the last belong to all."""

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
        """What the first conjunct has for itself."""
        return self.conjuncts[0][self.before :]

    @property
    def closing(self) -> Words:
        """What the last conjunct has for itself."""
        last = self.conjuncts[-1]
        return last[: len(last) - self.after]


def cost(cut: Cut) -> float:
    """How far the single mentions are from parallel phrases: 0 or more, less is better."""
    return sum(penalty(cut) for penalty in _PENALTIES)


# --- words


@lru_cache(maxsize=4096)
def word_class(word: str) -> str:
    """The class of a word, judged by its ending and by short lists of the commonest.

    Returns:
        str: "preposition", "determiner", "numeral" (also "B", "IV", "C6"), "position" (also sizes), "qualifier" (what
            any condition can be: "acute", "impaired"), "adjective", "condition" (a noun for it), or else "noun".
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
    """Whether no phrase has the two words side by side: "of of", "the the", "the of"."""
    first, second = word_class(word), word_class(following)
    return first in ("preposition", "determiner") and second in ("preposition", first)


def _same_word(first: str, second: str) -> bool:
    return first.lower().rstrip("s") == second.lower().rstrip("s")


def _paired(cut: Cut) -> bool:
    """Whether the words that differ are made as a pair: "I" and "II", "left" and "right", "systolic", "diastolic"."""
    first, last = cut.opening[-1], cut.closing[-1]
    if word_class(first) == word_class(last) and word_class(first) in ("numeral", "position", "preposition"):
        return True
    return first != last and first[-_PAIRED_ENDING:] == last[-_PAIRED_ENDING:]


# --- what a reading can do wrong


def _repeated(cut: Cut) -> float:
    """What a conjunct has itself it does not share: not "type type 2" from "type 1 and type 2 diabetes"."""
    head = cut.suffix and _same_word(cut.opening[-1], cut.suffix[-1])
    start = cut.prefix and _same_word(cut.closing[0], cut.prefix[0])
    return _IMPOSSIBLE if head or start or (cut.prefix and _collide(cut.prefix[-1], cut.closing[0])) else 0.0


def _unshared(cut: Cut) -> float:
    """Whoever marked the span as one mention saw something shared, or the same head in both."""
    return 0.0 if cut.before or cut.after or _same_word(cut.opening[-1], cut.closing[-1]) else _MARKED


def _dangling(cut: Cut) -> float:
    """A modifier with nothing to modify: "pleural" of "pleural and pericardial effusion"."""
    if cut.after or not _is_noun(cut.closing[-1]):
        return 0.0
    return 0.0 if all(_is_noun(words[-1]) for words in cut.conjuncts) else _IMPOSSIBLE


def _unlike_ends(cut: Cut) -> float:
    """What differs ends in words of one class; before a shared head, "renal and liver" is nearly so."""
    first, last = word_class(cut.opening[-1]), word_class(cut.closing[-1])
    if first == last:
        return 0.0
    if {first, last} == {"noun", "condition"}:
        return _SLIGHT if last == "condition" and not cut.after else 0.0
    return _SLIGHT if cut.after and {first, last} <= {"noun", "condition", "adjective"} else _UNLIKELY


def _unlike_lengths(cut: Cut) -> float:
    first, last = ([word for word in words if word_class(word) != "determiner"] for words in (cut.opening, cut.closing))
    return _SLIGHT * min(abs(len(first) - len(last)), 2)


def _torn_compound(cut: Cut) -> float:
    """A noun bound to the word before it is not shared: "tube" of "ovarian and fallopian tube cancers"."""
    if not cut.suffix or cut.suffix[0].lower() not in _BOUND_NOUNS:
        return 0.0
    return _UNLIKELY if word_class(cut.closing[-1]) in ("noun", "condition", "adjective") else 0.0


def _second_head(cut: Cut) -> float:
    """A condition takes no further head: not "pain disturbance" from "pain and visual disturbance"."""
    if not cut.suffix or word_class(cut.suffix[0]) == "preposition":
        return 0.0
    return _UNLIKELY if "condition" in (word_class(cut.opening[-1]), word_class(cut.closing[-1])) else 0.0


def _torn_opening(cut: Cut) -> float:
    """What is bound to the first conjunct's own noun is not shared: "ventricular" of "ventricular septal and ..."."""
    if not cut.prefix or _inner_preposition(cut.conjuncts[0]) or _paired(cut):
        return 0.0
    if len(cut.closing) == 1 and not cut.after:
        return 0.0
    bound = any(word_class(word) != "qualifier" for word in cut.prefix)
    longer = len(cut.closing) > len(cut.opening) and not cut.after
    return _MARKED * bound + _MARKED * longer


def _inner_preposition(words: Words) -> int:
    """Where the last preposition within the words stands, 0 for none."""
    inner = range(len(words) - 2, 0, -1)
    return next((position for position in inner if words[position].lower() in _PREPOSITIONS), 0)


def _has_own_phrase(first: Words, last: Words) -> bool:
    """Whether each conjunct has a head with a prepositional phrase: "loss of hearing and pain in the leg"."""
    before, after = _inner_preposition(first), _inner_preposition(last)
    if not before or not after:
        return False
    return first[before].lower() == last[after].lower() or word_class(last[after - 1]) == "condition"


def _broken_opening_phrase(cut: Cut) -> float:
    """All before what a preposition governs is shared: "cancer of the", not "cancer" nor "cancer of the renal"."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    end = _inner_preposition(first)
    if not end:
        return 0.0
    if _has_own_phrase(first, last):
        return _UNLIKELY if cut.before else 0.0
    if last[0].lower() not in _PREPOSITIONS:
        end += 1
        article = word_class(first[end]) == "determiner" != word_class(last[0])
        end += 1 if article and end + 1 < len(first) else 0
    if cut.before == end or (cut.before > end and _paired(cut)):
        return 0.0
    return _MARKED if cut.before > end else _UNLIKELY


def _broken_closing_phrase(cut: Cut) -> float:
    """A phrase such as "in the eye" is shared whole, and not by conjuncts that have one themselves."""
    first, last = cut.conjuncts[0], cut.conjuncts[-1]
    start = _inner_preposition(last)
    if not start:
        return 0.0
    if _has_own_phrase(first, last):
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
