"""The grade of a candidate, how well its name fits the text; and the score that users see, which is made here alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import attrgetter

from ..kb.knowledge_base import KnowledgeBase
from ..text.abbreviations import is_long_form
from ..text.critical_parts import (
    CriticalParts,
    contradictions,
    may_negate,
    negatable_words,
)
from ..text.languages import ENGLISH, LanguageRules
from ..text.symbols import why_another
from ..text.word_classes import kind_of
from ..text.words import Word, Words, folded_words, has_critical, has_other_sign, read_words, with_same_letters
from ..types import SCORE_DIGITS, Candidate, Grade, LinkedPart

Candidates = dict[str, list[Candidate]]
Search = Callable[[Sequence[str]], Sequence[list[Candidate]]]
Weigh = Callable[[list[Candidate]], list[Candidate]]

SAME, REWRITTEN = 0.99, 0.98
"""The least score of a name that is the text, and the score of one that is another way to write it."""
REFUSED = 0.5
"""The share of its score that a refused candidate keeps."""
STEP = 0.0001
"""By how much a less plausible way to write a text has a lower score."""
SHORT = 4
"""A text of so many letters and digits, or fewer, must equal a name: of 113 links to similar names, one was right."""
CHECKED = 6
"""Candidates behind so many that agree are not checked: neither their scores nor the ranker put them first."""
SEVERAL = 1.02
"""The least support of a concept with another name that is about as similar to the text."""
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # kana, Chinese characters, Hangul
_DEFINITIONS = _CONCEPTS = 1 << 12  # in the caches
_STEM = 5  # letters of a word, by which it equals a longer one
_SIMILAR = 0.75  # names that are less similar have other words
_MOST_OTHER_WORDS = 2


def score_of(grade: Grade, similarity: float, rank: int = 0, above: float = 0.0) -> float:
    """Return the score of a candidate.

    Args:
        grade: How well its name fits the text.
        similarity: The combined similarity of the name; for a refused candidate, the score that it had.
        rank: How many ways to write the text are more plausible.
        above: What the score of a rewritten name of rank 0 exceeds: that of the best other candidate.
    """
    if grade is Grade.SAME:
        return round(SAME + (1 - SAME) * similarity, SCORE_DIGITS)
    if grade is Grade.REWRITTEN:
        return round(max(min(REWRITTEN, similarity), above + STEP) - STEP * rank, SCORE_DIGITS)
    return similarity * REFUSED if grade is Grade.REFUSED else similarity


def refused(candidate: Candidate, reason: str) -> Candidate:
    """Return a candidate that is not linked for a reason."""
    score = score_of(Grade.REFUSED, candidate.score)
    return candidate._replace(score=score, refusal=reason, grade=Grade.REFUSED)


def ordered(candidates: list[Candidate]) -> list[Candidate]:
    """Return candidates by their scores, best first. Equal ones keep their order."""
    return sorted(candidates, key=attrgetter("score"), reverse=True)


def tied(part: LinkedPart) -> Sequence[Candidate]:
    """Return the candidates that share the best score, which come first; none if there is only one."""
    candidates = part.candidates
    n = 1
    while n < len(candidates) and candidates[n].score == candidates[0].score:
        n += 1
    return candidates[:n] if n > 1 else ()


class Agreement:
    """Grades candidates: compares their names with the text beyond the similarity.

    The names that are the text but for case, number, hyphens or blanks are the same. No prior and no split overrules
    them.

    Names that contradict the text are refused, and so are those that are only similar to a short text or a symbol. A
    contradiction does not count if the concept also has a name with the numbers, letters and opposites of the text:
    then the vocabulary equates them.
    """

    def __init__(self, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> None:
        self._kb = kb
        self._rules = rules
        self._other_senses = lru_cache(maxsize=_DEFINITIONS)(self._find_other_senses)
        self._names_of = lru_cache(maxsize=_CONCEPTS)(kb.name_texts)
        self._general_words = {key for name in rules.words.general_names for key in read_words(name, rules).content}

    def __call__(
        self, text: str, candidates: list[Candidate], weigh: Weigh | None = None, checked: int | None = None
    ) -> list[Candidate]:
        """Return the candidates of a text with their grades, best first.

        Args:
            candidates: Its candidates, best first.
            weigh: Changes the scores of similar names, and the order of equal ones.
            checked: The candidates that agree, behind which none is checked: `CHECKED`, or one behind those that are
                the same. A prior may choose any.
        """
        words = read_words(text, self._rules)
        same = self._same(words, candidates)
        if is_short(text):
            reason = f"a text of up to {SHORT} letters must equal a name"
            refusals = {candidate.concept_id: reason for candidate in candidates if candidate.concept_id not in same}
        else:
            refusals = self._contradictions(words, candidates, checked or (len(same) + 1 if same else CHECKED))
        if refusals:
            candidates = [refused(c, refusals[c.concept_id]) if c.concept_id in refusals else c for c in candidates]
        if weigh:
            candidates = weigh(candidates)
        graded = list(candidates)
        for place, candidate in enumerate(candidates):
            if candidate.concept_id in same and candidate.refusal is None:
                score = score_of(Grade.SAME, candidate.score)
                graded[place] = candidate._replace(score=score, grade=Grade.SAME)
            elif candidate.score >= SAME:
                graded[place] = candidate._replace(grade=Grade.NEARLY_SAME)
        graded = ordered(graded) if same or refusals else graded
        return graded if same else self._with_others(words, graded, checked or CHECKED)

    def look_up(self, texts: Sequence[str], search: Search) -> Candidates:
        """Return the candidates of texts, also by other spellings of their numerals: "type 2" for "type II".

        The names of the latter must have all numbers of the text. A text that is a name has no other spellings.
        """
        spellings: dict[str, list[str]] = {}
        for text in texts:
            if forms := read_words(text, self._rules).numeral_spellings:
                spellings[text] = forms
        unique = list(dict.fromkeys(chain(texts, *spellings.values())))
        found = dict(zip(unique, search(unique), strict=True))
        candidates = dict(zip(texts, map(found.__getitem__, texts), strict=True))
        for text, forms in spellings.items():
            if not self._same(read_words(text, self._rules), found[text]):
                candidates[text] = self._merged(text, found[text], chain.from_iterable(map(found.__getitem__, forms)))
        return candidates

    def _merged(self, text: str, similar: Iterable[Candidate], respelled: Iterable[Candidate]) -> list[Candidate]:
        """Return the best candidate for each concept, best first."""
        parts = read_words(text, self._rules).critical
        fitting = [other for other in respelled if read_words(other.name, self._rules).critical.has_numbers_of(parts)]
        best: dict[str, Candidate] = {}
        for candidate in ordered([*similar, *fitting]):
            best.setdefault(candidate.concept_id, candidate)
        return list(best.values())

    def refuse_other_senses(self, short: LinkedPart, long_form: str, *, all_others: bool = False) -> LinkedPart:
        """Refuse the concepts for which the vocabulary has a short form, but with another long form than the document.

        The names of such a concept have no word of the long form, but one of them fits the short form: "renal tubular
        acidosis" for RTA, which the document defines as "road traffic accident". If another concept with this short
        form has more words of the long form, it is meant.

        Args:
            short: The short form with its candidates.
            long_form: What it stands for in the document.
            all_others: Refuse every concept without a word of the long form, also if no name fits the short form.
        """
        same = tuple([candidate for candidate in short.candidates if candidate.grade >= Grade.NEARLY_SAME])
        if not (same and (others := self._other_senses(same, long_form, all_others))):
            return short
        reason = f"{short.text} is “{long_form}” here"
        candidates = [refused(c, reason) if c in others else c for c in short.candidates]
        return short._replace(candidates=tuple(ordered(candidates)))

    def stands_for(self, short: LinkedPart, long_form: str) -> bool:
        """Return whether a symbol with a digit is a name of a concept that also has most words of the long form.

        "MUC1" is one of "mucin 1, cell surface associated", which the text calls "mucin 1". Without a digit, it may be
        one of many: "HDAC" for "histone deacetylase".
        """
        if not any(map(str.isdigit, short.text)):
            return False
        first = next((candidate for candidate in short.candidates if candidate.refusal is None), None)
        if first is None or first.grade < Grade.NEARLY_SAME:
            return False
        words = self._telling_words(long_form)
        return any(self._n_shared(words, name) * 2 > len(words) for name in self._names_of(first.concept_id))

    def _find_other_senses(self, same: tuple[Candidate, ...], long_form: str, all_others: bool) -> frozenset[Candidate]:
        """Return the candidates that are not meant, see `refuse_other_senses`.

        Args:
            same: The candidates with the short form as a name, best first.
        """
        words, most, others = self._telling_words(long_form), 0, set[Candidate]()
        for _, group in groupby(same, key=attrgetter("score")):
            names_of = {candidate: self._names_of(candidate.concept_id) for candidate in group}
            shared = {c: max([self._n_shared(words, name) for name in names]) for c, names in names_of.items()}
            most = max(most, *shared.values())
            others.update(c for c, n in shared.items() if n < most or (not n and all_others))
            without = {c: names for c, names in names_of.items() if not shared[c]}
            others.update(c for c, names in without.items() if self._has_long_form(c.name, names))
        return frozenset(others)

    def _has_long_form(self, short: str, names: Sequence[str]) -> bool:
        return any(is_long_form(short, name, self._rules) for name in names)

    def _n_shared(self, words: Sequence[str], name: str) -> int:
        """Return how many of the words a name has."""
        others = self._telling_words(name)
        return sum(any(_is_like(word, other) for other in others) for word in words)

    def _telling_words(self, text: str) -> list[str]:
        """Return the keys of the words that tell concepts apart."""
        keys = read_words(text, self._rules).content
        return [key for key in keys if (len(key) > 2 or key.isdigit()) and key not in self._general_words]

    def _same(self, text: Words, candidates: list[Candidate]) -> set[str]:
        """Return the ids of the candidates with the text as a name."""
        names = with_same_letters(text.text, map(attrgetter("name"), candidates))
        content, parts, same = sorted(text.content), text.critical, set()
        for candidate in candidates:
            if candidate.name in names and not has_other_sign(text.text, candidate.name, self._rules):
                same.add(candidate.concept_id)
            elif candidate.similarity > _SIMILAR:
                name = read_words(candidate.name, self._rules)
                if parts.numbers:
                    is_same = parts.is_same(name.critical) and next(contradictions(parts, name.critical), None) is None
                else:
                    is_same = bool(content) and sorted(name.content) == content
                if is_same:
                    same.add(candidate.concept_id)
        return same

    def _with_others(self, text: Words, candidates: list[Candidate], checked: int) -> list[Candidate]:
        """Return the candidates of a text. Those that mean something else keep their place, but are refused."""
        kind, first = kind_of(text), list(candidates[:checked])
        for place, candidate in enumerate(first):
            if candidate.grade is Grade.SIMILAR:
                other = why_another(text.text, candidate.name, self._rules)
                first[place] = candidate._replace(refusal=other or self._why_another_kind(text, kind, candidate))
        return [*first, *candidates[checked:]]

    def _why_another_kind(self, text: Words, kind: Word | None, candidate: Candidate) -> str | None:
        """Return why a name of only other words of a text is of another kind: no name of its concept tells this one."""
        if kind is None or not set(text.content).issuperset(self._content(candidate.name)):
            return None
        has_kind = any(kind.key in self._content(name) for name in self._names_of(candidate.concept_id))
        return None if has_kind else f"none of its names has “{kind.written}”"

    def _content(self, name: str) -> tuple[str, ...]:
        return read_words(name, self._rules).content

    def _contradictions(self, text: Words, candidates: list[Candidate], checked: int) -> dict[str, str]:
        """Return why candidates are refused, by their ids."""
        parts, refusals = text.critical, dict[str, str]()
        words = [] if parts else negatable_words(text.text)
        for place, candidate in enumerate(candidates):
            if place - len(refusals) == checked:
                break
            if (parts or may_negate(candidate.name, words, self._rules)) and (reason := self._why_not(text, candidate)):
                refusals[candidate.concept_id] = reason
        return refusals

    def _why_not(self, text: Words, candidate: Candidate) -> str | None:
        parts, own = text.critical, read_words(candidate.name, self._rules).critical
        reason = next(contradictions(parts, own), None)
        if reason is None and (candidate.support < SEVERAL or own.include(parts)):
            return None
        names = self._names_of(candidate.concept_id)
        reason = reason or self._mirrored(text, names)
        return None if reason is None or self._equates(parts, names) else reason

    def _mirrored(self, text: Words, names: Sequence[str]) -> str | None:
        """Return why a name of a concept is the opposite of a text, or its other number, and else differs in no word.

        A class, such as one with names for types 1 and 2, may also be meant by "type 3".
        """
        reasons, folded = set[str](), folded_words(text.text, self._rules)
        for name in names:
            lower = name.lower()
            # it is much quicker to look for the letters first, and to count blanks
            lacking = len([word for word in folded if word not in lower])
            if lacking > _MOST_OTHER_WORDS or lower.count(" ") >= len(folded) + _MOST_OTHER_WORDS - 2 * lacking:
                continue
            if len(folded ^ folded_words(name, self._rules)) <= _MOST_OTHER_WORDS:
                reasons.update(islice(contradictions(text.critical, read_words(name, self._rules).critical), 1))
        return reasons.pop() if len(reasons) == 1 else None

    def _equates(self, parts: CriticalParts, names: Sequence[str]) -> bool:
        """Return whether a concept has a name with all parts, which contradicts none."""
        for name in names:
            if parts and not has_critical(name, self._rules):
                continue
            own = read_words(name, self._rules).critical
            if own.include(parts) and next(contradictions(parts, own), None) is None:
                return True
        return False


def is_short(text: str) -> bool:
    """Return whether a text has too few letters for a similar name to mean the same. A Chinese character is a word."""
    return sum(map(str.isalnum, text)) <= SHORT and not _CJK.search(text)


def _is_like(word: str, other: str) -> bool:
    """Return whether two words are equal, or one begins with the other: "period2" and "period"."""
    shorter, longer = sorted((word, other), key=len)
    return longer.startswith(shorter) and len(shorter) >= min(_STEM, len(longer))
