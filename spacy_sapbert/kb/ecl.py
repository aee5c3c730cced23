"""Choose concepts by an expression of SNOMED CT's Expression Constraint Language (ECL), over any hierarchy."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..errors import ChoiceError, OptionError
from .ids import canonical_id

Test = Callable[[str], bool]

_TOKEN = re.compile(r"\|[^|]*\||<<|>>|[<>^()!,*]|[^\s<>^()!,*|]+|\S")
_JOINS, _OPERATORS = ("AND", "OR", "MINUS"), ("<", "<<", ">", ">>")
_DEEPEST = 100  # brackets within brackets


def expression_test(text: str, test_of: Callable[[str, str], Test]) -> Test:
    """Return whether a concept meets an expression, as a function of its id.

    Read are `<`, `<<`, `>`, `>>`, `*`, AND, OR, MINUS, brackets, and terms between bars, which are skipped. Ids are
    numbers of SNOMED CT, or ids of any vocabulary: "<< DOID:162".

    Args:
        test_of: Returns the test of an operator with an id. The operator is empty for the concept itself.

    Raises:
        OptionError: It cannot be read.
        ChoiceError: It needs reference sets.
    """
    tokens = ["AND" if token == "," else token for token in _TOKEN.findall(text) if not token.startswith("|")][::-1]
    test = _joined(tokens, test_of, 0)
    if tokens:
        raise _unreadable(tokens[-1])
    return test


def _joined(tokens: list[str], test_of: Callable[[str, str], Test], depth: int) -> Test:
    tests, before = [_single(tokens, test_of, depth)], ""
    while tokens and tokens[-1].upper() in _JOINS:
        join = tokens.pop().upper()
        if before and (join != before or join == "MINUS"):
            raise _unreadable(f"{join}, which needs brackets after {before}")
        tests.append(_single(tokens, test_of, depth))
        before = join
    if before == "MINUS":
        return lambda concept_id: tests[0](concept_id) and not tests[1](concept_id)
    combine = any if before == "OR" else all
    return lambda concept_id: combine(test(concept_id) for test in tests)


def _single(tokens: list[str], test_of: Callable[[str, str], Test], depth: int) -> Test:
    token = tokens.pop() if tokens else ""
    if token == "(" and depth < _DEEPEST:
        test = _joined(tokens, test_of, depth + 1)
        if not tokens or tokens.pop() != ")":
            raise _unreadable("an open bracket")
        return test
    operator = token if token in _OPERATORS else ""
    concept = (tokens.pop() if tokens else "") if operator else token
    if concept in ("^", "!"):
        choices = [*_OPERATORS, *_JOINS]
        raise ChoiceError(given=concept, what="known operator, since only parents are known", choices=choices)
    if concept == "*" and not operator:
        return lambda concept_id: True
    if concept.upper() in _JOINS or not re.match(r"\w", concept):
        raise _unreadable(concept or "its end")
    return test_of(operator, canonical_id(concept, "SNOMEDCT"))


def _unreadable(token: str) -> OptionError:
    remedy = 'Write it like "<< 404684003 MINUS << 64572001".'
    return OptionError(remedy, option="The expression", reason=f"it cannot be read at {token[:50]}")
