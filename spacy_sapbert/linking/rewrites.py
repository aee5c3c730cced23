"""Candidates whose names are another way to write a text: "glutamate" is the anion of "glutamic acid"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice

from ..kb.knowledge_base import KnowledgeBase
from ..text.chemistry import chemical_rewrites, other_names_than_the_plural
from ..text.derivations import other_words
from ..text.findings import findings
from ..text.languages import ENGLISH, LanguageRules
from ..text.symbols import letter_rewrites
from ..types import SCORE_DIGITS, Candidate
from .agreement import SAME, Candidates

Named = Callable[[Iterable[str]], Candidates]

REWRITTEN = 0.98
"""The score of a concept with such a name: less than that of a name that is the text, more than of similar ones."""
MAX_LENGTH = 96  # characters of a text that is rewritten
_MOST = 192  # ways to write a text that are looked up
_SAMPLED, _RAREST_CASE = 1000, 0.01  # names that are read for their case, and the least share of a usual one
_STEP = 0.0001  # by which a less plausible one has a lower score


class Rewriter:
    """Adds candidates whose names are another way to write a text.

    Rules propose other ways to write it, and the vocabulary confirms them: each is looked up as it is, in the usual
    cases. A text that is a name is not rewritten.
    """

    def __init__(self, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> None:
        self._kb = kb
        self._rules = rules

    def __call__(self, found: Candidates, named: Named) -> Candidates:
        """Return the candidates of texts with those that the rules add.

        Args:
            found: The candidates of each text, best first.
            named: Returns the candidates of those of some texts that are names.
        """
        proposed = {text: reasons for text, similar in found.items() if (reasons := self._reasons(text, similar))}
        forms = {form for reasons in proposed.values() for rewrite in reasons for form in self._spellings(rewrite)}
        by_name: Candidates = {}
        for name, candidates in named(forms).items() if forms else ():
            by_name.setdefault(name.lower(), []).extend(candidates)
        added = {text: _added(reasons, by_name, found[text]) for text, reasons in proposed.items()}
        return found | {text: merged(found[text], candidates) for text, candidates in added.items() if candidates}

    def _reasons(self, text: str, similar: Sequence[Candidate]) -> dict[str, str]:
        """Return other ways to write a text, each with the reason."""
        name = similar[0].name if similar and similar[0].score >= SAME else None
        # "Glutamates" is a class, "glutamate" a substance
        is_class = name is not None and name.lower() == f"{text.lower()}s"
        if len(text) > MAX_LENGTH or not (name is None or is_class or _has_only_sign(text, name)):
            return {}
        return dict(other_names_than_the_plural(text) if is_class else rewrites(text, self._rules))

    def _spellings(self, text: str) -> list[str]:
        """Return a text as it is, and in the cases in which the vocabulary writes names."""
        return [text, *[case(text) for case in self._cases]]

    @cached_property
    def _cases(self) -> list[Callable[[str], str]]:
        """The usual cases of the names. They are read at the first use, from some of them."""
        n = self._kb.n_names
        names = self._kb.names_at(range(0, n, max(1, n // _SAMPLED)))
        # a name of one word does not tell whether each word has a capital
        several = [name for name in names if " " in name] or names
        samples = ((case, names if case is str.upper else several) for case in _CASES)
        return [
            case
            for case, sample in samples
            if sum(case(name.lower()) == name for name in sample) >= _RAREST_CASE * len(sample)
        ]


def rewrites(text: str, rules: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield other ways to write a text, the most plausible first, each with the reason."""
    ways = (chemical_rewrites(text), letter_rewrites(text), findings(text, rules), other_words(text, rules))
    return islice(chain.from_iterable(ways), _MOST)


def _has_only_sign(text: str, name: str) -> bool:
    """Return whether only the text has a charge: "O2-" is superoxide, and O2 oxygen."""
    return text[-1:] in "+-\N{MINUS SIGN}" and name[-1:] not in "+-\N{MINUS SIGN}"


def _in_capitals(text: str) -> str:
    return " ".join([word[:1].upper() + word[1:] for word in text.split(" ")])


def _with_a_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_CASES = (str.lower, _with_a_capital, _in_capitals, str.upper)


def _added(reasons: Mapping[str, str], by_name: Candidates, similar: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates whose names are among other ways to write a text, the most plausible first."""
    # names in unusual cases are not looked up, but may be among the similar ones
    near = {candidate.name.lower(): [candidate] for candidate in similar}
    confirmed = (
        (place, reason, candidate)
        for place, (rewrite, reason) in enumerate(reasons.items())
        for candidate in by_name.get(rewrite.lower(), near.get(rewrite.lower(), []))
    )
    return [
        candidate._replace(score=REWRITTEN - _STEP * place, refusal=None, rewrite=reason)
        for place, reason, candidate in confirmed
    ]


def merged(similar: list[Candidate], added: list[Candidate]) -> list[Candidate]:
    """Return candidates with those that were added, best first. A concept has its higher score."""
    # the plural of the text may be a name, and have a higher score
    rise = max(0.0, similar[0].score - added[0].score + _STEP) if similar else 0.0
    added = [candidate._replace(score=round(candidate.score + rise, SCORE_DIGITS)) for candidate in added]
    best: dict[str, Candidate] = {}
    for candidate in sorted([*added, *similar], key=lambda candidate: -candidate.score):
        best.setdefault(candidate.concept_id, candidate)
    return list(best.values())
