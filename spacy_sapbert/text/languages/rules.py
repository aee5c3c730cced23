"""`LanguageRules`: what the functions on text need to know of a language, and how it is read from a file."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TypeVar

from ...errors import DamagedError
from ...files.values import read_sections
from ..normalize import TEXT_NORMALIZERS

_ALL_LETTERS = r"^\W\d_"
LETTER = f"[{_ALL_LETTERS}]"
_MARK = "\u0300-\u036f"
_BLANKS = " \t\n\xa0"
SHORTEST_NEGATED = 4
SHORT_FORM = r"[A-Z][A-Za-z0-9-]*[A-Z0-9]s?"

_COMMENT = re.compile(r"^# .*\n?", re.MULTILINE)
_Result = TypeVar("_Result")


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
        general_words: Words beside a name that leave what is meant: "suspected" asthma, KRAS "expression".
    """

    pattern: re.Pattern[str]
    function_words: frozenset[str]
    open_words: frozenset[str]
    spell: Callable[[str], str]
    singular: Callable[[str], str]
    general_names: frozenset[str]
    possessives: tuple[str, ...] = ()
    modifiers: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
    general_words: frozenset[str] = frozenset()


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
    classifier: re.Pattern[str]
    prefix: re.Pattern[str]
    combining_form: re.Pattern[str]
    determiners: frozenset[str]
    prepositions: frozenset[str]
    qualifiers: frozenset[str]
    positions: frozenset[str]
    conditions: re.Pattern[str]
    adjectives: re.Pattern[str]
    numerals: re.Pattern[str]
    qualifier_endings: tuple[str, ...] = ()
    announcers: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    nouns_like_adjectives: frozenset[str] = frozenset()
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

    @cached_property
    def _starts(self) -> tuple[str, ...]:
        return tuple(self.beginnings)

    def value_of(self, key: str) -> tuple[int, int] | None:
        """Return the property and the value that a word stands for."""
        if key in self.words:
            return self.words[key]
        if not key.startswith(self._starts) or key.startswith(self.not_beginnings):
            return None
        for start, value in self.beginnings.items():
            if key.startswith(start) and (key == start or len(key) > len(start) + 2):
                return value
        return None

    def negated_in(self, key: str) -> str | None:
        """Return what a word says that something is not or lacks: "phospholipid" for "antiphospholipid"."""
        if not (key.startswith(self.negating) or key.endswith(self.lacking)):  # as most words
            return None
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


# --- builders of patterns and functions


def connector_ends(joining: Iterable[str]) -> tuple[str, ...]:
    """Return how a text before a connector may end. A single letter is a word of its own, so a blank is before it."""
    return ("/", *(f"{blank}{word}" for word in joining for blank in (_BLANKS if len(word) == 1 else ("",))))


def _any(words: str) -> str:
    """Return the pattern of any of some patterns, which blanks separate."""
    return f"(?:{'|'.join(words.split())})"


def _checked(pattern: str) -> str:
    """Return a part of a pattern if it is one by itself; else an error."""
    re.compile(pattern)
    return pattern


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _elided(words: str) -> re.Pattern[str]:
    """Return the pattern of words that are written together with the next one, with their apostrophe."""
    return _any_case(rf"(?<![^\W_]){_any(words)}['’](?=[^\W_])")


def _words_with_marks(elided: re.Pattern[str] | None) -> re.Pattern[str]:
    """Return the pattern of words that may have combining accents, and of words before an apostrophe."""
    before = f"{elided.pattern}|" if elided else ""
    return _any_case(rf"({before}(?:[^\W_][{_MARK}]*)+)")


def _sentence_end(shortened: str, capitals: str, opening: str, closing: str) -> re.Pattern[str]:
    """Return the pattern of the end of a sentence. No sentence ends after an initial ("E. coli", "e.g. The").

    Args:
        shortened: Words with a point after which no sentence ends.
        capitals: Capitals besides A to Z with which a sentence may begin.
        opening: Signs at the beginning of a sentence besides brackets and plain quotation marks.
        closing: Signs at the end of a sentence besides these.
    """
    inner = "".join(rf"(?<!\b{word}.)" for word in shortened.split())
    end = rf"[.!?](?<!\b\w.){inner}[\"')\]{closing}]*\s+"
    return re.compile(rf"{end}(?=[\"'(\[{opening}]*(?:[A-Z0-9{capitals}]|$))|\n\s*\n")


def _numerals(letters: str) -> re.Pattern[str]:
    """Return the pattern of a number, or of a letter that numbers."""
    return re.compile(rf"\d+[A-Za-z]?|[IVX]+[A-Za-z]?|[{letters}]|[A-Z](?:[\w-]*-)?[^\W\d]*\d\w*")


def _spelled(lines: str) -> dict[str, re.Pattern[str]]:
    """Return the patterns of words that begin as given, by the character that stands for them."""
    return {char: re.compile(rf"(?<![^\W_])(?:{words})") for char, words in map(str.split, lines.splitlines())}


def _changes(lines: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns, and what replaces them."""
    return tuple((re.compile(pattern), new) for pattern, new in map(str.split, lines.splitlines()))


def _letters_without_accents(kept: Iterable[str]) -> dict[int, str]:
    """Map the Latin letters with accents, in lower case, to those without, except for some letters."""
    chars = (chr(code) for code in range(0xC0, 0x180))
    plain = {char: unicodedata.normalize("NFD", char)[0] for char in chars if char.islower()}
    return {ord(char): letter for char, letter in plain.items() if letter != char and char not in kept}


def _spelling(
    letters: Mapping[int, str],
    kept: re.Pattern[str] | None,
    form_of: Callable[[str], str],
    changes: Iterable[tuple[re.Pattern[str], str]],
) -> Callable[[str], str]:
    """Return a function that folds the case and the spellings of a word. Accents may be combining.

    Args:
        letters: What stands for each letter, in lower case.
        kept: What keeps its accents nevertheless.
        form_of: Returns the rest in lower case, or in another normal form.
        changes: Patterns, and what replaces them afterwards.
    """

    def spell(word: str) -> str:
        if not word.isascii():
            word = word.lower()
            if kept:
                word = kept.sub(_capital, word)  # a capital has no entry in `letters`
            word = unicodedata.normalize("NFC", word).translate(letters)
        form = form_of(word)
        for pattern, new in changes:
            form = pattern.sub(new, form)
        return form

    return spell


def _capital(match: re.Match[str]) -> str:
    return match[0].upper()


def _without_plural(table: str, known: Mapping[str, str]) -> Callable[[str], str]:
    """Return a function that folds the numbers of a word that `spell` returned to one form, which may not be a word.

    The longest ending that fits decides. Words with a digit stay as they are.

    Args:
        table: In each line the fewest letters of a word, an ending, and what replaces the part behind its hyphen.
        known: The forms of some words.
    """
    endings: dict[str, list[tuple[int, int, str]]] = {}
    for line in table.splitlines():
        fewest, ending, *new = line.split()
        before, replaced = ending.split("-")
        for start, end in product(before.split("|"), replaced.split("|")):
            endings.setdefault(start + end, []).append((int(fewest), len(end), "".join(new)))
    shortest = min(fewest for rules in endings.values() for fewest, _, _ in rules)
    last = frozenset(form[-1] for form in (*endings, *known))
    lengths = sorted({-len(ending) for ending in endings})

    def singular(word: str) -> str:
        if len(word) < shortest or word[-1] not in last or not word.isalpha():
            return word
        if word in known:
            return known[word]
        for length in lengths:
            if (ending := word[length:]) in endings:
                for fewest, n_replaced, new in endings[ending]:
                    if len(word) >= fewest:
                        return word[: len(word) - n_replaced] + new
        return word

    return singular


# --- the file of a language


class _LanguageFile:
    """The sections of the file of a language. Each is read once.

    Args:
        path: The file. Lines that begin with "# " are comments.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unread = read_sections(path)
        self.endings = self.read("endings", lambda text: [end.removeprefix("-") for end in text.split()], "-")

    def read(self, name: str, parse: Callable[[str], _Result], default: str | None = None) -> _Result:
        """Return what a section says.

        Args:
            name: The name of the section.
            parse: Returns what a text says.
            default: The text if there is no such section. None if it must be there.

        Raises:
            DamagedError: E121 the section is missing, empty or malformed.
        """
        text = _COMMENT.sub("", self.unread.pop(name, "")).strip() or default
        if text is None:
            raise self.error(f"the section [{name}] is missing or empty")
        try:
            return parse(text)
        except (LookupError, ValueError, re.error) as error:
            raise self.error(f"the section [{name}] is malformed: {error}") from error

    def optional(self, name: str, parse: Callable[[str], _Result]) -> _Result | None:
        """Return what a section says, or None if there is no such section."""
        return self.read(name, parse) if name in self.unread else None

    def error(self, reason: str) -> DamagedError:
        """Return the error of a file that is not as README.md says."""
        return DamagedError("README.md in its folder describes the sections.", path=self.path, reason=reason)

    def words(self, text: str) -> list[str]:
        """Return the words of a section. "_" stands for a blank, and a final hyphen for each of the endings."""
        inflected = ((word.removesuffix("-"), self.endings if word[-1] == "-" else [""]) for word in text.split())
        return [stem.replace("_", " ") + ending for stem, endings in inflected for ending in endings]

    def listed(self, name: str, default: str | None = None) -> tuple[str, ...]:
        """Return the words of a section in their order."""
        return self.read(name, lambda text: tuple(self.words(text)), default)

    def sets(self, part: type[WordRules | AbbreviationRules | CompositeRules]) -> dict[str, frozenset[str]]:
        """Return the sets of words of a part of the rules, from the sections that have the names of its fields."""
        sets = [field for field in fields(part) if field.type == "frozenset[str]"]
        defaults = {field.name: None if field.default is MISSING else "" for field in sets}
        return {name: frozenset(self.listed(name, default)) for name, default in defaults.items()}


def read_rules(path: Path) -> LanguageRules:
    """Read the rules of a language from its file, which README.md describes.

    Args:
        path: The file. Its name is the code of the language.

    Raises:
        DamagedError: E121 a section is missing, malformed or unknown.
    """
    file = _LanguageFile(path)
    letter = file.read("alphabet", lambda letters: _checked(f"[{letters}]"), _ALL_LETTERS)
    is_plain = letter != LETTER
    letters = file.read("letters", lambda text: str.maketrans(dict(pair.split(":") for pair in text.split())), "")
    plain = _letters_without_accents([letter for code, letter in letters.items() if letter == chr(code)])
    elided = file.optional("elided", _elided)
    head_first = file.read("head_first", {"": False, "yes": True}.__getitem__, "")
    words = _word_rules(file, plain | letters, elided)
    rules = LanguageRules(
        path.stem,
        words,
        _abbreviation_rules(file, {} if is_plain else plain, head_first),
        _composite_rules(file, letter, elided, head_first),
        _opposite_rules(file, words),
    )
    if file.unread:
        raise file.error(f"the section [{next(iter(file.unread))}] is unknown")
    return rules


def _word_rules(file: _LanguageFile, letters: Mapping[int, str], elided: re.Pattern[str] | None) -> WordRules:
    stems = file.read("stems", str.split, "")
    known = {form: stem.removesuffix("-") for stem in stems for form in file.words(stem) if f"{form}-" != stem}
    return WordRules(
        pattern=file.optional("word", re.compile) or _words_with_marks(elided),
        possessives=file.listed("possessives", ""),
        spell=_spelling(
            letters,
            kept=file.optional("kept accents", re.compile),
            form_of=file.optional("normal form", TEXT_NORMALIZERS.__getitem__) or str.lower,
            changes=file.read("spelling", _changes, ""),
        ),
        singular=file.read("plurals", lambda table: _without_plural(table, known)),
        modifiers=(frozenset(file.listed("modifiers of kind", "")), frozenset(file.listed("modifiers of state", ""))),
        **file.sets(WordRules),
    )


def _abbreviation_rules(file: _LanguageFile, letters: Mapping[int, str], head_first: bool) -> AbbreviationRules:
    signs = {name: file.read(name, re.escape, "") for name in ("capitals", "opening", "closing")}
    return AbbreviationRules(
        spelled=file.read("spelled", _spelled),
        sentence_end=file.read("shortened", lambda words: _sentence_end(words, **signs)),
        joining=file.listed("joining"),
        letters=letters,
        quotes=file.read("quotes", str, ""),
        head_first=head_first,
        **file.sets(AbbreviationRules),
    )


def _composite_rules(
    file: _LanguageFile, letter: str, elided: re.Pattern[str] | None, head_first: bool
) -> CompositeRules:
    nouns = file.read("endings of nouns", _checked)
    endings = file.read("endings of conditions", lambda words: _checked(_any(words)))
    head = file.optional("heads", lambda words: _any_case(f"(?<={letter}{{2}}){_any(words)}{nouns}$"))
    before = f"{letter}*" if head else ""  # the first part of a compound
    return CompositeRules(
        parts_of_connectors=file.listed("parts_of_connectors"),
        classifier=file.read("classifier", _any_case),
        prefix=file.read("prefixes", lambda words: _any_case(f"{_any(words)}(?={letter}{{3}})")),
        combining_form=file.read("combining_form", _any_case, f"{letter}{{2,7}}?o(?={letter}{{4}})"),
        head=head,
        conditions=file.read("conditions", lambda words: re.compile(f"(?:{before}{_any(words)}|.+{endings}){nouns}")),
        adjectives=file.read("adjectives", re.compile),
        numerals=file.read("numbering", _numerals, "A-Z"),
        qualifier_endings=file.listed("qualifier_endings", ""),
        head_first=head_first,
        elided=elided,
        **file.sets(CompositeRules),
    )


def _opposite_rules(file: _LanguageFile, words: WordRules) -> OppositeRules:
    def keys(text: str) -> list[str]:
        return [words.singular(words.spell(form)) for form in file.words(text)]

    def values(text: str) -> dict[str, tuple[int, int]]:
        groups = [line.split("/") for line in text.splitlines()]
        of_group = ((number, value, text) for number, group in enumerate(groups) for value, text in enumerate(group))
        return {key: (number, value) for number, value, text in of_group for key in keys(text)}

    def starts(text: str) -> dict[str, tuple[int, int]]:
        return {start: (0, value) for value, some in enumerate(text.split("/")) for start in some.split()}

    def numbers(text: str) -> dict[str, str]:
        return {key: str(number) for some in text.split("/") for number, key in enumerate(keys(some), start=1)}

    return OppositeRules(
        words=file.read("opposites", values),
        beginnings=file.read("beginnings", starts),
        not_beginnings=file.listed("not_beginnings", ""),
        numerals=file.read("numerals", numbers),
        negations=frozenset(file.listed("negations")),
        negating=file.listed("negating", ""),
        lacking=file.listed("lacking", ""),
    )
