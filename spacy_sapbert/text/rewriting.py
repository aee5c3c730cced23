"""Other ways to write a text: the engine that applies the rules of rewriting.txt, and what they look up.

They count only if the vocabulary has them, see `spacy_sapbert.linking.rewrites`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, compress, islice
from typing import Any, NamedTuple

from ..files.values import read_lists, word_set
from .formulas import ELEMENTS, MASS, SYMBOL, Isotope, element_symbol, formula_name, isotopes, spelled_formulas
from .languages import ENGLISH, LanguageRules
from .normalize import lower, plain
from .phrases import OtherWords, derived_nouns, exchanges, findings, has_other_words, may_have
from .symbols import symbol_spellings, without_accents

MAX_CHEMICAL = 64  # characters of a text that may be a chemical
_MOST = 192  # ways to write a text
_MOST_EXCHANGES = 12  # of one part of a text, or of a second one
_ENDING = 3  # letters at the end of a text by which its rules are chosen
_MARKS = ("word", "sign", "digit", "accent", "english", "direction", "exchange")
_FOUND = "{found}"
_DIGIT = re.compile(r"\d")

Match = re.Match[str]
Find = Callable[[Match, LanguageRules], Iterable[Any]]


class Rule(NamedTuple):
    """A rule by which some texts are written in another way.

    Attributes:
        examples: Texts, each with one of its other ways.
        whole: The pattern of the texts.
        find: Finds what the templates need besides, or nothing if the rule does not hold.
        others: The templates of the other ways. They have the text, the groups of the pattern, and what is found.
        reason: The template of the reason.
        needs: Marks that the texts have. Like the ends, they save time.
        ends: The last letters of the texts, or nothing if the texts may end in any way.
    """

    examples: Mapping[str, str]
    whole: re.Pattern[str]
    find: Find
    others: tuple[str, ...]
    reason: str
    needs: frozenset[str]
    ends: frozenset[str]


def rewrites(text: str, language: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield other ways to write a text, the most plausible first, each with the reason."""
    end, has_sign, is_ascii = text[-_ENDING:].lower(), not text.replace(" ", "").isalpha(), text.isascii()
    has_digit = has_sign and _DIGIT.search(text) is not None
    has = " " not in text, has_sign, has_digit, not is_ascii, language is ENGLISH, *may_have(text, language)
    of_chemicals, of_letters, of_words = _likely(end if end in _ENDS else "", has)
    ways = (
        apply_rules(text, of_chemicals if len(text) <= MAX_CHEMICAL else (), language),
        apply_rules(text if is_ascii else plain(text), of_letters, language),
        apply_rules(text, of_words, language),
    )
    return islice(chain.from_iterable(ways), _MOST)


def other_names_than_the_plural(text: str) -> Iterator[tuple[str, str]]:
    """Yield other names of a chemical that mean it rather than the class that its plural names: glutamic acid is
    glutamate, and the glutamates are a class. Each has a reason.
    """
    return apply_rules(text, (*RULES["usual"], *RULES["acids"]))


def apply_rules(text: str, rules: Iterable[Rule], language: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield the other ways to write a text by some rules, each with the reason."""
    for rule in rules:
        if match := rule.whole.fullmatch(text):
            fields: dict[str, Any] = {**match.groupdict(), "text": text}
            for found in rule.find(match, language):
                fields["found"] = found
                reason = rule.reason.format_map(fields)
                for other in rule.others:
                    yield found if other == _FOUND else other.format_map(fields), reason


@lru_cache(maxsize=1 << 12)
def _likely(end: str, has: tuple[bool, ...]) -> list[list[Rule]]:
    """Return the rules of each part that texts with these marks and this end may match."""
    marks = set(compress(_MARKS, has))
    return [[rule for rule in part if rule.needs <= marks and (not rule.ends or end in rule.ends)] for part in _PARTS]


# --- what the rules find

_LISTS = read_lists(__file__)
_USUAL, _ACIDS, _ANIONS, _RADICALS, _GREEK, _HYDROGEN = (
    {name: others.split(" | ") for name, others in (line.split(": ") for line in _LISTS[table].splitlines())}
    for table in ("usual names", "stems of acids", "stems of anions", "radicals", "Greek letters", "hydrogen")
)
_BEFORE, _AFTER = word_set(_LISTS["said before"]), word_set(_LISTS["said after"])
_DOTS = "\u00b7\u2022\u2219\u22c5\u25cf\u02d9\u2027*"
_WITHOUT_DOTS = str.maketrans(dict.fromkeys(f"{_DOTS}. ()", "") | {"\N{MINUS SIGN}": "-"})
_GENERAL_NOUNS = ("disease", "disorder", "syndrome", "disorders", "compounds", "agents")


def _isotopes(match: Match, _: LanguageRules) -> list[Isotope]:
    return isotopes(match["mass"] or match["number"], match["symbol"] or match["name"])


def _labeled(match: Match, _: LanguageRules) -> list[str]:
    is_label = match["symbol"] != "H" or match["open"]  # "2H-chromene" has a hydrogen at this position
    return [match["rest"]] if is_label and isotopes(match["mass"], match["symbol"]) else []


def _drugs(match: Match, _: LanguageRules) -> list[str]:
    return [] if element_symbol(match["drug"]) else [match["drug"]]


def _acids(match: Match, _: LanguageRules) -> list[str]:
    return [acid for drug in _drugs(match, _) for acid, _reason in apply_rules(drug, RULES["acids"])]


def _exchanges(match: Match, language: LanguageRules) -> Iterator[OtherWords]:
    for other in _exchanged(match[0], language):
        yield other
        if other.text.endswith("s") and not other.text.endswith(("ss", "us", "is")):
            yield OtherWords(other.text[:-1], other.end, other.reason)


def _two_exchanges(match: Match, language: LanguageRules) -> Iterator[OtherWords]:
    for first in _exchanged(match[0], language):
        for second in islice(exchanges(first.text, language, first.end), _MOST_EXCHANGES):
            yield OtherWords(second.text, second.end, f"{first.reason}, {second.reason}")


@lru_cache(maxsize=16)
def _exchanged(text: str, language: LanguageRules) -> list[OtherWords]:
    """Return a text and its other forms with other words for one part."""
    forms = [form for form, _ in apply_rules(text, RULES["forms"])] if language is ENGLISH else []
    return list(islice(chain.from_iterable(exchanges(form, language) for form in (text, *forms)), _MOST_EXCHANGES))


def _bare(match: Match, _: LanguageRules) -> list[str]:
    """Return a text without the general words around it."""
    words = match[0].split(" ")
    lower = match[0].lower().split(" ")
    first, last = 0, len(words)
    while n := next((n for n in (3, 2, 1) if "_".join(lower[first : first + n]) in _BEFORE), 0):
        first += n
    while n := next((n for n in (2, 1) if "_".join(lower[max(last - n, 0) : last]) in _AFTER), 0):
        last -= n
    return [" ".join(words[first:last])] if 0 < last - first < len(words) else []


def _spelled(match: Match, language: LanguageRules) -> list[str]:
    form = language.words.spell(match[0])
    return [form] if form != lower(match[0]) else []


def _general_nouns(match: Match, language: LanguageRules) -> Iterable[str]:
    is_word = match[0].isalpha() and not match[0].isupper()
    # what has other words is more often a part of a body: "ovarian" is no disease
    return _GENERAL_NOUNS if is_word and not has_other_words(match[0], language) else ()


_FINDERS: dict[str, Find] = {
    "text": lambda match, _: [match[0]],
    "usual names": lambda match, _: _USUAL.get(match[0], _USUAL.get(match[0].lower(), [])),
    "bare": _bare,
    "stem of acid": lambda match, _: _ACIDS.get(match["stem"].lower(), [match["stem"]]),
    "stem of anion": lambda match, _: _ANIONS.get(match["stem"].lower(), [match["stem"]]),
    "greek letter": lambda match, _: _GREEK[match["letter"].lower()] if match["rest"][0].islower() else [],
    "formulas": lambda match, _: spelled_formulas(match[0]),
    "formula": lambda match, _: filter(None, [formula_name(match["formula"])]),
    "radical": lambda match, _: _RADICALS.get(match["radical"].translate(_WITHOUT_DOTS), []),
    "isotope of hydrogen": lambda match, _: _HYDROGEN[match["mass"] or match["number"]],
    "isotope": _isotopes,
    "element of isotope": lambda match, _: [one.element for one in _isotopes(match, _) if one.symbol != "H"],
    "labeled": _labeled,
    "ion": lambda match, _: [ELEMENTS[symbol]] if (symbol := element_symbol(match["name"])) else [],
    "drug": _drugs,
    "acids": _acids,
    "without accents": lambda match, _: without_accents(match[0]),
    "symbols": lambda match, _: symbol_spellings(match[0]),
    "findings": findings,
    "spelled": _spelled,
    "shorter": lambda match, _: [match[0].replace("ological", "ologic")],
    "exchanges": _exchanges,
    "two exchanges": _two_exchanges,
    "nouns": derived_nouns,
    "general nouns": _general_nouns,
}

# --- the rules

_PATTERNS = {"letter": r"[^\W\d_]", "mass": MASS, "symbol": SYMBOL, "dots": _DOTS, "usual names": "|".join(_USUAL)}
_PATTERNS["radicals"] = "|".join(filter(str.isalnum, _RADICALS))
_PATTERNS |= {name: "|".join(_LISTS[name].split()) for name in ("salts", "salts of bases", "metals before")}


def _rule(listed: str) -> Rule:
    examples, *lines = listed.splitlines()
    parts = {"find": "text", "other": _FOUND} | dict(line.split(": ", 1) for line in lines)
    ends = _LISTS.get(parts.get("ends", ""), parts.get("ends", "")).split()
    return Rule(
        dict(example.split(" = ") for example in examples.split("; ")),
        re.compile(re.sub("%([a-z ]+)%", lambda name: _PATTERNS[name[1]], parts["text"])),
        _FINDERS[parts["find"]],
        tuple(parts["other"].split(" | ")),
        parts["reason"],
        word_set(parts.get("needs", "")),
        frozenset(end[-_ENDING:] for end in ends),
    )


RULES: dict[str, tuple[Rule, ...]] = {
    group: tuple(map(_rule, _LISTS[group].split("\n\n")))
    for group in ("usual", "acids", "chemicals", "letters", "findings", "forms", "words")
}
_PARTS = (
    (*RULES["usual"], *RULES["acids"], *RULES["chemicals"]),
    RULES["letters"],
    (*RULES["findings"], *RULES["forms"], *RULES["words"]),
)
_ENDS = frozenset(chain.from_iterable(rule.ends for rule in chain.from_iterable(_PARTS)))
