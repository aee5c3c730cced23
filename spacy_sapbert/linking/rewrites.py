"""Candidates whose names are another way to write a text: "glutamate" is the anion of "glutamic acid"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

from ..kb.knowledge_base import KnowledgeBase
from ..text.languages import ENGLISH, LanguageRules
from ..text.rewriting import other_names_than_the_plural, rewrites
from ..types import Candidate, Grade
from .agreement import STEP, Candidates, ordered, score_of

Named = Callable[[Iterable[str]], Candidates]

MAX_LENGTH = 96  # characters of a text that is rewritten
_CHARGES = "+-\N{MINUS SIGN}"
_SAMPLED, _RAREST_CASE = 1000, 0.01  # names that are read for their case, and the least share of a usual one


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
        proposed: dict[str, dict[str, str]] = {}
        for text, similar in found.items():
            if reasons := self._reasons(text, similar):
                proposed[text] = reasons
        if not proposed:
            return found
        # in their order, since that of a set depends on the process
        forms = dict.fromkeys(
            form for reasons in proposed.values() for rewrite in reasons for form in self._spellings(rewrite)
        )
        by_name: Candidates = {}
        for name, candidates in named(forms).items():
            by_name.setdefault(name.lower(), []).extend(candidates)
        return found | {text: _with_rewritten(found[text], reasons, by_name) for text, reasons in proposed.items()}

    def _reasons(self, text: str, similar: Sequence[Candidate]) -> dict[str, str]:
        """Return other ways to write a text, each with the reason."""
        name = similar[0].name if similar and similar[0].grade >= Grade.NEARLY_SAME else None
        # "Glutamates" is a class, "glutamate" a substance
        is_class = name is not None and name.lower() == f"{text.lower()}s"
        # only the text has a charge: "O2-" is superoxide, and O2 oxygen
        has_charge = name is not None and text[-1:] in _CHARGES and name[-1:] not in _CHARGES
        if len(text) > MAX_LENGTH or not (name is None or is_class or has_charge):
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


def _in_capitals(text: str) -> str:
    return " ".join([word[:1].upper() + word[1:] for word in text.split(" ")])


def _with_a_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


_CASES = (str.lower, _with_a_capital, _in_capitals, str.upper)


def _with_rewritten(similar: list[Candidate], reasons: Mapping[str, str], by_name: Candidates) -> list[Candidate]:
    """Return the candidates of a text with those whose names are another way to write it, best first.

    Args:
        reasons: The ways to write it with their reasons, the most plausible first.
        by_name: The candidates of those that are names, by their names in lower case.
    """
    # names in unusual cases are not looked up, but may be among the similar ones
    lengths = set(map(len, reasons))  # it saves time
    near = {candidate.name.lower(): [candidate] for candidate in similar if len(candidate.name) in lengths}
    confirmed = [
        (place, reason, candidate)
        for place, (rewrite, reason) in enumerate(reasons.items())
        for candidate in by_name.get(rewrite.lower(), near.get(rewrite.lower(), []))
    ]
    return with_rewritten(similar, confirmed) if confirmed else similar


def with_rewritten(
    similar: Sequence[Candidate], confirmed: Sequence[tuple[int, str, Candidate]], similarity: float = 1.0
) -> list[Candidate]:
    """Return candidates with those whose names are the text in another way, best first. A concept has its best score.

    Args:
        similar: The candidates of the text, best first.
        confirmed: The rank of each way to write the text, the reason, and the candidate with this name.
        similarity: How sure the ways are.
    """
    # the plural of the text may be a name, and have a higher score
    above = similar[0].score + STEP * confirmed[0][0] if similar else 0.0
    added = [
        candidate._replace(
            score=score_of(Grade.REWRITTEN, similarity, rank, above),
            refusal=None,
            rewrite=reason,
            grade=Grade.REWRITTEN,
        )
        for rank, reason, candidate in confirmed
    ]
    best: dict[str, Candidate] = {}
    for candidate in ordered([*added, *similar]):
        best.setdefault(candidate.concept_id, candidate)
    return list(best.values())
