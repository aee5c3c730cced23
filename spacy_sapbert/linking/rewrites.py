"""Candidates whose names are another way to write a text: "glutamate" is the anion of "glutamic acid"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, takewhile

from ..kb.knowledge_base import KnowledgeBase
from ..text.chemistry import chemical_rewrites, other_names_than_the_plural
from ..text.languages import ENGLISH, LanguageRules
from ..text.symbols import letter_rewrites
from ..types import SCORE_DIGITS, Candidate
from .agreement import SAME, Candidates, LookUp

REWRITTEN = 0.98
"""The score of a concept with such a name: less than that of a name that is the text, more than of similar ones."""
MAX_LENGTH = 64  # characters of a text that is rewritten
_MOST = 24  # ways to write a text that are looked up
_STEP = 0.0001  # by which a less plausible one has a lower score
_EXACT = 0.999  # the least score of a text that is a name


class Rewriter:
    """Adds candidates whose names are another way to write a text.

    Rules propose other ways to write it, and the vocabulary confirms them: each is looked up as it is, in the usual
    cases. A text that is a name is not rewritten.

    Args:
        kb: The vocabulary.
        rules: The rules of the language.
    """

    def __init__(self, kb: KnowledgeBase, rules: LanguageRules = ENGLISH) -> None:
        self._kb = kb
        self._rules = rules

    def __call__(self, found: Candidates, look_up: LookUp) -> Candidates:
        """Return the candidates of texts with those that the rules add.

        Args:
            found: The candidates of each text, best first.
            look_up: Finds the candidates of texts.
        """
        proposed = {text: reasons for text, similar in found.items() if (reasons := self._reasons(text, similar))}
        names = self._names(rewrite for reasons in proposed.values() for rewrite in reasons)
        confirmed = list(dict.fromkeys(name for spelled in names.values() for name in spelled))
        if not confirmed:
            return found
        exact = dict(zip(confirmed, look_up(confirmed), strict=True))
        added = {text: list(_rewritten(reasons, names, exact)) for text, reasons in proposed.items()}
        return found | {text: _merged(found[text], candidates) for text, candidates in added.items() if candidates}

    def _reasons(self, text: str, similar: Sequence[Candidate]) -> dict[str, str]:
        """Return other ways to write a text, each with the reason."""
        if len(text) > MAX_LENGTH or (similar and similar[0].score >= SAME and not _is_plural(text, similar[0].name)):
            return {}
        is_class = bool(similar) and similar[0].score >= SAME
        return dict(other_names_than_the_plural(text) if is_class else rewrites(text, self._rules))

    def _names(self, texts: Iterable[str]) -> dict[str, list[str]]:
        """Return the names of the vocabulary that equal texts but for case, by the text in lower case."""
        names: dict[str, list[str]] = {}
        for name in self._kb.existing_names({form for text in texts for form in _cases(text)}):
            names.setdefault(name.lower(), []).append(name)
        return names


def rewrites(text: str, rules: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield other ways to write a text, the most plausible first, each with the reason.

    Args:
        text: The text.
        rules: The rules of the language.
    """
    return islice(chain(letter_rewrites(text), chemical_rewrites(text)), _MOST)


def _is_plural(text: str, name: str) -> bool:
    """Return whether a name is only the plural of a text: "Glutamates" is a class, "glutamate" a substance."""
    return name.lower() == f"{text.lower()}s"


def _cases(text: str) -> set[str]:
    """Return a text in the cases in which vocabularies write names."""
    capitals = " ".join(word[:1].upper() + word[1:] for word in text.split(" "))
    return {text, text.lower(), text[:1].upper() + text[1:], capitals, text.upper()}


def _rewritten(
    reasons: Mapping[str, str], names: Mapping[str, list[str]], exact: Mapping[str, list[Candidate]]
) -> Iterator[Candidate]:
    for place, (rewrite, reason) in enumerate(reasons.items()):
        for name in names.get(rewrite.lower(), ()):
            equal = takewhile(lambda candidate: candidate.score >= _EXACT, exact[name])
            yield from (candidate._replace(score=REWRITTEN - _STEP * place, rewrite=reason) for candidate in equal)


def _merged(similar: list[Candidate], added: list[Candidate]) -> list[Candidate]:
    """Return candidates with those that were added, best first. A concept has its higher score."""
    # the plural of the text may be a name, and have a higher score
    rise = max(0.0, similar[0].score - added[0].score + _STEP) if similar else 0.0
    added = [candidate._replace(score=round(candidate.score + rise, SCORE_DIGITS)) for candidate in added]
    best: dict[str, Candidate] = {}
    for candidate in sorted([*added, *similar], key=lambda candidate: -candidate.score):
        best.setdefault(candidate.concept_id, candidate)
    return list(best.values())
