"""`LanguageRules`: what the functions on text need to know of a language, and builders of its patterns."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ..lists import word_set

LETTER = r"[^\W\d_]"
_MARK = "\u0300-\u036f"
_BLANKS = " \t\n\xa0"
SHORTEST_NEGATED = 4
SHORT_FORM = r"[A-Z][A-Za-z0-9-]*[A-Z0-9]s?"


def unchanged(word: str) -> str:
    return word


@dataclass(frozen=True, eq=False)
class WordRules:
    """How words are compared, see `spacy_sapbert.text.words`.

    Attributes:
        pattern: A word, as the only group, so that `split` returns the words, too.
        possessives: Endings that are cut off.
        function_words: Lower-case words that do not distinguish names. Negations and coordinations are not among them.
        open_words: The function words that do not relate two words to each other, such as articles and "of".
        spell: Folds the case and the spellings of a word.
        singular: Folds the numbers of a word that `spell` returned. The result may not be a word.
        general_names: Names that are too general to be marked alone in a text.
        modifiers: Words before a name that say more about it: those of its kind ("familial"), and those of its state
            ("severe").
    """

    pattern: re.Pattern[str]
    function_words: frozenset[str]
    open_words: frozenset[str]
    spell: Callable[[str], str]
    singular: Callable[[str], str]
    general_names: frozenset[str]
    possessives: tuple[str, ...] = ()
    modifiers: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())


@dataclass(frozen=True, eq=False)
class AbbreviationRules:
    """How short forms and long forms belong together, see `spacy_sapbert.text.abbreviations`.

    Attributes:
        stop_words: Lower-case words that a short form usually omits.
        linking_words: Stop words that link the next words to those before. No long form begins with one.
        spelled: The beginnings of words for which a digit or a Greek letter may stand.
        sentence_end: Where a sentence ends.
        joining: The words between the last two of several short forms.
        letters: Letters that equal a letter without accent, for `str.translate`.
        quotes: Quotation marks besides those of English.
        head_first: Whether the most general word of a term is its first.
    """

    stop_words: frozenset[str]
    linking_words: frozenset[str]
    spelled: Mapping[str, re.Pattern[str]]
    sentence_end: re.Pattern[str]
    joining: tuple[str, ...]
    letters: Mapping[int, str]
    quotes: str = ""
    head_first: bool = False

    @cached_property
    def joint_short_forms(self) -> re.Pattern[str]:
        """Several short forms that slashes, commas or words join."""
        words = "|".join(self.joining)
        joint = rf"(?:\s*/\s*|\s*,\s*(?:(?:{words})\s+)?|\s+(?:{words})\s+)"
        return re.compile(rf"{SHORT_FORM}(?:{joint}{SHORT_FORM})+")

    @cached_property
    def joint(self) -> re.Pattern[str]:
        """What joins words or short forms: a slash, a comma or a word."""
        return re.compile(rf"/|,|\b(?:{'|'.join(self.joining)})\b")


@dataclass(frozen=True, eq=False)
class CompositeRules:
    """How conjuncts share words, see `spacy_sapbert.text.composites` and `spacy_sapbert.text.coordination`.

    All words are lower-case.

    Attributes:
        connectors: Words, phrases and signs between two conjuncts.
        parts_of_connectors: Each connector but the comma contains one of them. They are searched in a text with single
            blanks, and a blank at each end.
        phrases: Connectors and fixed pairs of several words, which are one word of a mention.
        announcers: Words that introduce the list or its last member. A single mention does not contain them.
        others: Words for "other", which are left out.
        classifier: A word between a comma and a number: "ataxia, type 1".
        prefix: A prefix that another one may replace.
        combining_form: A first part of a word that another one may replace.
        head: The last part of a compound, of which a hyphen may stand for the first or the last part. None if the
            language writes compounds as several words.
        determiners: Articles and similar words.
        prepositions: Prepositions.
        qualifiers: Words that fit any condition, such as "acute".
        positions: Words for positions and sizes.
        conditions: A noun for a condition.
        adjectives: The form of an adjective.
        nouns_like_adjectives: Nouns that have this form.
        numerals: A number, or a letter that numbers. It is case-sensitive.
        qualifier_endings: Endings of words of five and more letters that are qualifiers, such as participles.
        bound_nouns: Nouns that belong to the word before them.
        head_first: Whether the most general word of a term is its first: "cáncer de mama".
        elided: A word that an apostrophe joins to the next one ("l'ovaire"). None if the language has none.
    """

    connectors: frozenset[str]
    parts_of_connectors: tuple[str, ...]
    phrases: frozenset[str]
    announcers: frozenset[str]
    others: frozenset[str]
    classifier: re.Pattern[str]
    prefix: re.Pattern[str]
    combining_form: re.Pattern[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    qualifiers: frozenset[str]
    positions: frozenset[str]
    conditions: re.Pattern[str]
    adjectives: re.Pattern[str]
    nouns_like_adjectives: frozenset[str]
    numerals: re.Pattern[str]
    qualifier_endings: tuple[str, ...]
    bound_nouns: frozenset[str] = frozenset()
    head: re.Pattern[str] | None = None
    head_first: bool = False
    elided: re.Pattern[str] | None = None


@dataclass(frozen=True, eq=False)
class OppositeRules:
    """Words that exclude each other, see `spacy_sapbert.text.critical_parts`. See `opposites` for how they are written.

    Attributes:
        words: The property and the value that a word stands for, by its key: "left" is a side.
        beginnings: The same for the beginnings of words: "hyper".
        not_beginnings: Words that only look as if they began like this: "hypothalam".
        numerals: The digits of written numbers, by their keys.
        negations: Words that negate the next one.
        negating: Beginnings that negate the rest of a word.
        lacking: Endings that do so.
    """

    words: Mapping[str, tuple[int, int]]
    beginnings: Mapping[str, tuple[int, int]]
    not_beginnings: tuple[str, ...]
    numerals: Mapping[str, str]
    negations: frozenset[str]
    negating: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @cached_property
    def any_negation(self) -> re.Pattern[str]:
        """Where a negation may be in a text in lower case. The letters come first, since that is quick."""
        starts = [rf"{start}(?<![^\W_]{start})" for start in sorted({*self.negations, *self.negating})]
        return re.compile("|".join([*starts, *(rf"{end}(?![^\W_])" for end in self.lacking)]))

    @cached_property
    def signs(self) -> dict[str, tuple[int, int]]:
        """The same for a plus and a minus. All languages write "positive" and "negative" alike."""
        stems = (("+", "positi"), ("-", "negati"))
        return {sign: value for key, value in self.words.items() for sign, stem in stems if key.startswith(stem)}

    def value_of(self, key: str) -> tuple[int, int] | None:
        """Return the property and the value that a word stands for."""
        if key in self.words or key.startswith(self.not_beginnings):
            return self.words.get(key)
        for start, value in self.beginnings.items():
            if key.startswith(start) and (key == start or len(key) > len(start) + 2):
                return value
        return None

    def negated_in(self, key: str) -> str | None:
        """Return what a word says that something is not or lacks: "phospholipid" for "antiphospholipid"."""
        for start in self.negating:
            if key.startswith(start) and len(key) >= len(start) + SHORTEST_NEGATED:
                return key[len(start) :]
        for end in self.lacking:
            if key.endswith(end) and len(key) >= len(end) + SHORTEST_NEGATED:
                return key.removesuffix(end)
        return None


@dataclass(frozen=True, eq=False)
class LanguageRules:
    """The rules of a language. There is one object per language, see `rules_of`.

    Attributes:
        code: The code of the language, such as "es".
        words: How words are compared.
        abbreviations: How short forms and long forms belong together.
        composites: How conjuncts share words.
        opposites: Which words exclude each other.
    """

    code: str
    words: WordRules
    abbreviations: AbbreviationRules
    composites: CompositeRules
    opposites: OppositeRules

    def __repr__(self) -> str:
        return f"LanguageRules({self.code!r})"

    def __reduce__(self) -> tuple[Callable[[str], LanguageRules], tuple[str]]:
        from . import rules_of

        return rules_of, (self.code,)


# --- builders of patterns


def words_with_marks(*elided: str) -> re.Pattern[str]:
    """Return the pattern of words that may have combining accents.

    Args:
        elided: Words that are written together with the next one, with an apostrophe: "l", "d".
    """
    letters = rf"(?:[^\W_][{_MARK}]*)+"
    before = rf"{_elided(elided)}|" if elided else ""
    return re.compile(f"({before}{letters})", re.IGNORECASE)


def elided_words(*elided: str) -> re.Pattern[str]:
    """Return the pattern of words that are written together with the next one, with their apostrophe."""
    return re.compile(_elided(elided), re.IGNORECASE)


def _elided(words: Iterable[str]) -> str:
    return rf"(?<![^\W_])(?:{'|'.join(words)})['’](?=[^\W_])"


def sentence_end(
    shortened: Iterable[str], *, capitals: str = "", opening: str = "", closing: str = ""
) -> re.Pattern[str]:
    """Return the pattern of the end of a sentence. No sentence ends after an initial ("E. coli", "e.g. The").

    Args:
        shortened: Words with a point after which no sentence ends.
        capitals: Capitals besides A to Z with which a sentence may begin.
        opening: Signs at the beginning of a sentence besides brackets and plain quotation marks.
        closing: Signs at the end of a sentence besides these.
    """
    inner = "".join(rf"(?<!\b{word}.)" for word in shortened)
    end = rf"[.!?](?<!\b\w.){inner}[\"')\]{closing}]*\s+"
    return re.compile(rf"{end}(?=[\"'(\[{opening}]*(?:[A-Z0-9{capitals}]|$))|\n\s*\n")


def numerals(letters: str = "A-Z") -> re.Pattern[str]:
    """Return the pattern of a number, or of a letter that numbers.

    Args:
        letters: The range of these letters.
    """
    return re.compile(rf"\d+[A-Za-z]?|[IVX]+[A-Za-z]?|[{letters}]|[A-Z](?:[\w-]*-)?[^\W\d]*\d\w*")


def words_of(part: type[WordRules | AbbreviationRules | CompositeRules], lists: Mapping[str, str]) -> dict[str, Any]:
    """Return the sets of words of a part of the rules: each field that has the name of a list.

    Args:
        part: The class of the part.
        lists: The lists of a language from `read_lists`.
    """
    names = [field.name for field in fields(part) if field.type == "frozenset[str]" and field.name in lists]
    return {name: word_set(lists[name]) for name in names}


def spelled(lines: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of words that begin as given, by the character that stands for them.

    Args:
        lines: A character and the regular expression of the beginnings, for 1 to 9, α, β, γ, δ, ε, κ and ω.
    """
    return {char: re.compile(rf"(?<![^\W_])(?:{words})") for char, words in map(str.split, lines.splitlines())}


def beginnings(prefixes: str, letter: str = LETTER) -> re.Pattern[str]:
    """Return the pattern of prefixes before three letters or more."""
    return re.compile(rf"(?:{'|'.join(prefixes.split())})(?={letter}{{3}})", re.IGNORECASE)


def conditions(lists: Mapping[str, str], plural: str, before: str = "") -> re.Pattern[str]:
    """Return the pattern of a noun for a condition.

    Args:
        lists: The lists of a language from `read_lists`.
        plural: The pattern of what may follow.
        before: The pattern of what may be before a noun in a compound.
    """
    nouns, endings = ("|".join(lists[name].split()) for name in ("conditions", "endings of conditions"))
    return re.compile(f"(?:{before}(?:{nouns})|.+(?:{endings})){plural}")


def connector_ends(joining: Iterable[str]) -> tuple[str, ...]:
    """Return how a text before a connector may end. A single letter is a word of its own, so a blank is before it."""
    return ("/", *(f"{blank}{word}" for word in joining for blank in (_BLANKS if len(word) == 1 else ("",))))


def letters_without_accents(kept: str = "") -> dict[int, str]:
    """Map the Latin letters with accents, in lower case, to those without, except for some letters."""
    chars = (chr(code) for code in range(0xC0, 0x180))
    plain = {char: unicodedata.normalize("NFD", char)[0] for char in chars if char.islower()}
    return {ord(char): letter for char, letter in plain.items() if letter != char and char not in kept}


def folding(letters: Mapping[int, str]) -> Callable[[str], str]:
    """Return a function that gives a word in lower case with some letters replaced. Accents may be combining."""

    def fold(word: str) -> str:
        if word.isascii():
            return word.lower()
        return unicodedata.normalize("NFC", word.lower()).translate(letters)

    return fold


def opposites(words: WordRules, lists: Mapping[str, str], *, endings: Sequence[str] = ()) -> OppositeRules:
    """Return the words that exclude each other.

    Args:
        words: The rules for the keys of words.
        lists: The lists of a language from `read_lists`.
        endings: What stands for the hyphen of a word that ends in one: "akut-" is "akut", "akute", "akuter" and so on.
    """

    def keys(listed: str) -> list[str]:
        forms = [word[:-1] + ending for word in listed.split() for ending in (endings if word[-1] == "-" else word[-1])]
        return [words.singular(words.spell(form)) for form in forms]

    groups = [listed.split("/") for listed in lists["opposites"].splitlines()]
    values = {
        key: (number, value)
        for number, group in enumerate(groups)
        for value, listed in enumerate(group)
        for key in keys(listed)
    }
    starts = {
        start: (0, value) for value, listed in enumerate(lists["beginnings"].split("/")) for start in listed.split()
    }
    numbers = {
        key: str(number) for listed in lists["numerals"].split("/") for number, key in enumerate(keys(listed), start=1)
    }
    return OppositeRules(
        values,
        starts,
        tuple(lists["not_beginnings"].split()),
        numbers,
        word_set(lists["negations"]),
        tuple(lists["negating"].split()),
        tuple(lists.get("lacking", "").split()),
    )
