"""Other ways to write a text: rules that are listed in rewriting.txt, and the engine that applies them.

They count only if the vocabulary has them, see `spacy_sapbert.linking.rewrites`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from .formulas import ELEMENTS, MASS, SYMBOL, Formula, Isotope, element_symbol, isotope_of, spelled_formulas
from .languages import ENGLISH, LanguageRules
from .lists import read_lists, word_set
from .normalize import lower, plain
from .phrases import OtherWords, derived_nouns, exchanges, findings, has_other_words, is_known
from .symbols import symbol_spellings, without_accents

MAX_CHEMICAL = 64  # characters of a text that may be a chemical
_MOST = 192  # ways to write a text
_MOST_EXCHANGES = 12  # of one part of a text, or of a second one
_MARKS = ("word", "sign", "accent", "known", "english")
_ENDING = 3  # letters at the end of a text by which its rules are chosen
_GENERAL_NOUNS = ("disease", "disorder", "syndrome", "disorders", "compounds", "agents")

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
        ends: How the texts may end, in lower case.
    """

    examples: Mapping[str, str]
    whole: re.Pattern[str]
    find: Find
    others: tuple[str, ...]
    reason: str
    needs: frozenset[str]
    ends: tuple[str, ...]


def rewrites(text: str, language: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    """Yield other ways to write a text, the most plausible first, each with the reason."""
    has = " " not in text, not text.replace(" ", "").isalpha(), not text.isascii(), is_known(text, language)
    end = text[-_ENDING:].lower(), *has, language is ENGLISH
    ways = (
        _ways(text, _likely(("usual", "acids", "chemicals"), *end) if len(text) <= MAX_CHEMICAL else (), language),
        _ways(plain(text) if has[2] else text, _likely(("letters",), *end), language),
        _ways(text, _likely(("findings", "forms", "words"), *end), language),
    )
    return islice(chain.from_iterable(ways), _MOST)


def other_names_than_the_plural(text: str) -> Iterator[tuple[str, str]]:
    """Yield other names of a chemical that mean it rather than the class that its plural names: glutamic acid is
    glutamate, and the glutamates are a class. Each has a reason.
    """
    return _ways(text, (*RULES["usual"], *RULES["acids"]))


def _ways(text: str, rules: Iterable[Rule], language: LanguageRules = ENGLISH) -> Iterator[tuple[str, str]]:
    for rule in rules:
        if match := rule.whole.fullmatch(text):
            for found in rule.find(match, language):
                fields = {**match.groupdict(), "text": text, "found": found}
                reason = rule.reason.format_map(fields)
                for other in rule.others:
                    yield other.format_map(fields), reason


@lru_cache(maxsize=1 << 14)
def _likely(groups: tuple[str, ...], end: str, *has: bool) -> tuple[Rule, ...]:
    """Return the rules of some groups that texts with these marks and this end may match."""
    marks = {mark for mark, holds in zip(_MARKS, has, strict=True) if holds}
    return tuple(
        rule
        for group in groups
        for rule in RULES[group]
        if rule.needs <= marks and any(end.endswith(one) or one.endswith(end) for one in rule.ends)
    )


# --- what the rules find: chemicals

_LISTS = read_lists(__file__)
_USUAL, _ACIDS, _RADICALS = (
    dict(line.split(": ") for line in _LISTS[name].splitlines()) for name in ("usual names", "stems of acids", "radicals")
)
_ANIONS = {acid: anion for anion, acid in _ACIDS.items()}
_GREEK = {"a": "alpha", "b": "beta", "g": "gamma", "d": "delta"}
_HEAVY_HYDROGEN = {"2": "deuterium", "3": "tritium"}
_DOTS = "\u00b7\u2022\u2219\u22c5\u25cf\u02d9\u2027*"
_WITHOUT_DOTS = str.maketrans(dict.fromkeys(_DOTS, "") | {"\N{MINUS SIGN}": "-"})


def _usual(match: Match, _: LanguageRules) -> list[str]:
    names = _USUAL.get(match[0]) or _USUAL.get(match[0].lower())
    return names.split(" | ") if names else []


def _drug(match: Match, _: LanguageRules) -> list[str]:
    return [] if element_symbol(match["drug"]) else [match["drug"]]


def _labeled(match: Match, _: LanguageRules) -> list[str]:
    # "2H-chromene" has a hydrogen at this position
    is_label = match["symbol"] != "H" or match["open"]
    return [match["rest"]] if is_label and isotope_of(match["mass"], match["symbol"]) else []


def _isotope(match: Match, _: LanguageRules) -> list[Isotope]:
    isotope = isotope_of(match["mass"] or match["number"], match["symbol"] or match["name"])
    return [isotope] if isotope else []


# --- what the rules find: words


def _spelled(match: Match, language: LanguageRules) -> list[str]:
    form = language.words.spell(match[0])
    return [form] if form != lower(match[0]) else []


def _exchange(match: Match, language: LanguageRules) -> Iterator[OtherWords]:
    for other in _exchanged(match[0], language):
        yield other
        if other.text.endswith("s") and not other.text.endswith(("ss", "us", "is")):
            yield other._replace(text=other.text[:-1])


def _two_exchanges(match: Match, language: LanguageRules) -> Iterator[OtherWords]:
    for first in _exchanged(match[0], language):
        for second in islice(exchanges(first.text, language, first.end), _MOST_EXCHANGES):
            yield second._replace(reason=f"{first.reason}, {second.reason}")


@lru_cache(maxsize=16)
def _exchanged(text: str, language: LanguageRules) -> list[OtherWords]:
    """Return a text and its other forms with other words for one part."""
    forms = [form for form, _ in _ways(text, RULES["forms"])] if language is ENGLISH else []
    return list(islice(chain.from_iterable(exchanges(form, language) for form in (text, *forms)), _MOST_EXCHANGES))


def _general_noun(match: Match, language: LanguageRules) -> Iterable[str]:
    is_word = match[0].isalpha() and not match[0].isupper()
    # what has other words is more often a part of a body: "ovarian" is no disease
    return _GENERAL_NOUNS if is_word and not has_other_words(match[0], language) else ()


# --- the rules

_FINDERS: dict[str, Find] = {
    "usual": _usual,
    "acid": lambda match, _: [_ACIDS.get(match["stem"].lower(), match["stem"])],
    "anion": lambda match, _: [_ANIONS.get(match["stem"].lower(), match["stem"])],
    "greek": lambda match, _: [_GREEK[match["letter"].lower()]] * match["rest"][0].islower(),
    "formula": lambda match, _: spelled_formulas(match[0]),
    "radical": lambda match, _: filter(None, [_RADICALS.get(match[0].translate(_WITHOUT_DOTS))]),
    "isotope": _isotope,
    "heavy_hydrogen": lambda match, _: [_HEAVY_HYDROGEN[one.mass] for one in _isotope(match, _) if one.symbol == "H"],
    "element_of_isotope": lambda match, _: [one.element for one in _isotope(match, _) if one.symbol != "H"],
    "labeled": _labeled,
    "ion": lambda match, _: [ELEMENTS[symbol]] if (symbol := element_symbol(match["name"])) else [],
    "drug": _drug,
    "acid_of_drug": lambda match, _: [acid for drug in _drug(match, _) for acid, _ in _ways(drug, RULES["acids"])],
    "without_accents": lambda match, _: without_accents(match[0]),
    "symbol": lambda match, _: symbol_spellings(match[0]),
    "finding": lambda match, language: findings(match[0], language),
    "spelled": _spelled,
    "shorter": lambda match, _: [match[0].replace("ological", "ologic")],
    "other_order": lambda match, _: [f"{match['of']} {match['head']}" if match["of"] else f"{match['impaired']} dysfunction"],
    "exchange": _exchange,
    "noun": lambda match, language: derived_nouns(match[0], language),
    "general_noun": _general_noun,
    "two_exchanges": _two_exchanges,
    "": lambda match, _: [match[0]],
}
_PATTERNS = {
    "letter": r"[^\W\d_]",
    "mass": MASS,
    "symbol": SYMBOL,
    "dots": _DOTS,
    "isotope": rf"[\[(]{{0,2}}(?P<mass>{MASS})\)?[- ]?(?P<symbol>{SYMBOL})[\])]?"
    rf"|(?P<name>[^\W\d_]{{1,12}})(?:[- ]|(?<=[^\W\d_]{{2}}))(?P<number>{MASS})",
}


def _rule(listed: str) -> Rule:
    examples, *lines = listed.splitlines()
    parts = dict(line.split(": ", 1) for line in lines)
    whole = re.sub("%([a-z ]+)%", lambda name: _PATTERNS.get(name[1]) or "|".join(_LISTS[name[1]].split()), parts["text"])
    ends = re.sub("%([a-z ]+)%", lambda name: _LISTS[name[1]], parts.get("ends", ""))
    return Rule(
        dict(example.split(" = ") for example in examples.split("; ")),
        re.compile(whole),
        _FINDERS[parts.get("find", "")],
        tuple(parts.get("other", "{found}").split(" | ")),
        parts["reason"],
        word_set(parts.get("needs", "")),
        tuple(ends.split()) or ("",),
    )


_GROUPS = ("usual", "acids", "chemicals", "letters", "findings", "forms", "words")
RULES = {group: tuple(map(_rule, _LISTS[group].split("\n\n"))) for group in _GROUPS}
