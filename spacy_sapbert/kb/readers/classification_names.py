"""Further names for the codes of a classification, such as ICD-10: how people write what its titles say in full.

The titles and terms of classifications have neutral words: "Anemia, unspecified" and "Anemia NOS" are what others call
"anemia". Words in parentheses may be there or not (ICD-10-CM Official Guidelines, I.A.7). "Other anemias" are those
without a code of their own, so this name never stands for "anemia".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice

from ...text.abbreviations import is_long_form
from ...text.languages import ENGLISH
from ...types import Name, Record
from .context import NameParts

# In English, German, French and Spanish. No such word means anything else in another of these languages.
_UNSPECIFIED = (
    r"(?:unspecified|not (?:otherwise |further )?specified|nicht (?:näher|anderweitig) bezeichnet(?:e[mnrs]?)?"
    r"|non précisée?s?|no especificad[oa]s?)"
)
_NEUTRAL = (
    r"(?-i:NOS|NEC|SAI|NCA|NEOM|NCOP|o\. ?n\. ?A\.|a\. ?n\. ?k\.)"
    r"|not elsewhere classified|ander(?:en|n|s)orts nicht klassifiziert|non classée?s? ailleurs"
    r"|no clasificad[oa]s? (?:en otra parte|bajo otro concepto)"
    r"|(?:et )?sans (?:autre )?précision|sin otra especificación|ohne nähere Angaben?"
    r"|(?:without|ohne|sans|sin)(?: mention of| mention de| mención de)? (?:complications?|Komplikation(?:en)?"
    r"|complicaci(?:ón|ones))|uncomplicated"
)
_OTHER = r"(?:other|sonstige[mnrs]?|andere[mnrs]?|autres?|otr[oa]s?)"
_WITH = r"(?:with|without|due|in|of|by|from|mit|ohne|durch|bei|im|avec|sans|dans|con|sin|por|en)"
_PART = r"(?:degree|laterality|means|nature|parts?|severity|sites?|stage|types?)"
_NEUTRAL_WORDS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # "Other and unspecified", "autres et sans précision", "y las no especificadas"
        rf"^{_OTHER} (?:and|or|und|oder|et|ou|y|o) (?={_UNSPECIFIED})",
        rf", {_OTHER}(?= et sans précision)",
        # "site not specified", "unspecified organism"
        rf", ?(?!{_WITH}\b)(?:[\w'’-]+ ){{0,3}}?{_UNSPECIFIED}(?: [\w'’-]+){{0,4}}(?=,|$)",
        # "of unspecified degree of"
        rf"\b(?:at|by|in|of) {_UNSPECIFIED} {_PART}\b|^{_UNSPECIFIED} {_PART}(?: of)?\b",
        rf",? ?(?<!\w)(?:{_NEUTRAL})(?!\w)",
        # not in "with other and unspecified vehicles"
        r",? ?\b(?<!\band )(?<!\bor )(?<!\bund )(?<!\boder )(?<!\bet )(?<!\bou )(?<!\by )(?<!\bo )"
        rf"{_UNSPECIFIED}\b",
    )
)
_HAS_NEUTRAL = re.compile(f"{_UNSPECIFIED}|{_NEUTRAL}", re.IGNORECASE)
_RESIDUAL = re.compile(rf"{_OTHER}\b(?: (?:specified|näher bezeichnete[mnrs]?)\b)?(?: types? of\b)?", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"classified elsewhere|anderenorts klassifiziert|classées ailleurs|clasificad[oa]s en otra parte"
)
_OPTIONAL = re.compile(r" ?(?:\([^()]*\)|\[[^][]*\])")
_SHORT_FORM = re.compile(r"[(\[]([A-Z][A-Za-z]*[A-Z])[)\]]")
_CUT_OFF = re.compile(rf"(?:^|\s)(?:{_WITH}|and|or|to|und|oder|et|ou|y|o|de|du|des|del|la)$", re.IGNORECASE)
_PAIR = re.compile(r"([\w-]{4,}\w) (?:and|und|et|y) ([\w-]{4,}\w)")
_WORD = re.compile(r"\w+")
_ICD10_CODE = re.compile(r"(?:ICD10(?:CM|GM|AM|CA)?:)?[A-Z]\d[\dA-Z](?:\.[\dA-Z]{1,4}|-[A-Z]\d[\dA-Z])?")
_ENOUGH = 100  # records that show whether a table is an ICD-10
_FEWEST_LETTERS = 3
_MOST_LEVELS = 10  # of codes within codes; a hostile file could nest thousands

Key = tuple[str, ...]
_Names = defaultdict[Key, dict[str, NameParts]]
"""By their words, the codes that may have a name, and the name."""


@dataclass
class Code:
    """A chapter, section or code of a classification.

    Attributes:
        names: The preferred name, then the others. `complete_names` adds to them.
        parent: What contains it, None for a chapter.
        is_code: Whether it is neither a chapter nor a section.
    """

    names: list[NameParts]
    parent: str | None
    is_code: bool
    keys: set[Key] = field(default_factory=set)

    @property
    def title(self) -> str:
        """The preferred name."""
        return self.names[0][0]

    def add(self, name: NameParts) -> None:
        """Add a name if there is no such name but for case, plural and order."""
        if (key := _key(name[0])) not in self.keys:
            self.keys.add(key)
            self.names.append(name)


def is_residual(title: str) -> bool:
    """Return whether a title is that of other or unspecified conditions. Its terms are narrower conditions."""
    return _RESIDUAL.match(title) is not None or re.match(_UNSPECIFIED, title, re.IGNORECASE) is not None


def complete_names(codes: Mapping[str, Code], dropped: Counter[str]) -> None:
    """Add to codes the names that their titles and terms imply.

    A bare name, without the neutral words, goes to the highest code that contains its code and all its words. Such a
    text does not say more. No other code keeps it as a term. "Other cirrhosis" gives "cirrhosis" to the code that
    contains it, if there is no better one. A chapter or section with the name of a code keeps its range in its name.

    Args:
        codes: The codes of the whole classification. They are changed in place.
        dropped: Counts the terms that another code has as a bare name.
    """
    bare: _Names = defaultdict(dict)
    others: _Names = defaultdict(dict)
    for number, code in codes.items():
        code.keys = {_key(name[0]) for name in code.names}
        for name in list(code.names) if code.is_code else ():
            _add_bare(codes, number, name, bare, others)
    _give_bare(codes, bare, dropped)
    known = {key for code in codes.values() if code.is_code for key in code.keys}
    for key, of_codes in others.items():
        if key not in known and len(of_codes) == 1:
            ((number, name),) = of_codes.items()
            codes[number].add(name)
    for number, code in codes.items():
        if not code.is_code and _key(code.title) in known:
            code.names[0] = (f"{code.title} ({number})", *code.names[0][1:])


def with_complete_names(records: Iterable[Record], dropped: Counter[str]) -> Iterator[Record]:
    """Yield records with the further names of `complete_names` if they are the codes of an ICD-10, else as they are.

    A code without a parent is below the longest code that begins it: "I10.1" below "I10".
    """
    records = iter(records)
    first = [*islice(records, _ENOUGH)]
    if not all(_ICD10_CODE.fullmatch(record.concept_id) for record in first):
        yield from chain(first, records)
        return
    rows = [*first, *records]
    codes: dict[str, Code] = {}
    for record in rows:
        names: list[NameParts] = [(name.text, name.scope, name.language) for name in record.names]
        code = codes.setdefault(
            record.concept_id, Code([], next(iter(record.parents), None), "-" not in record.concept_id)
        )
        code.names.extend(names)
    for number, code in codes.items():
        code.names.sort(key=lambda name: name[1] != "preferred")
        code.names[0] = (code.names[0][0], "preferred", *code.names[0][2:])
        shorter = (number[:length].rstrip(".") for length in range(len(number) - 1, number.find(":") + 1, -1))
        if code.is_code:  # not a range such as D60-D64
            code.parent = code.parent or next(filter(codes.__contains__, shorter), None)
    complete_names(codes, dropped)
    given = set[str]()
    for record in rows:
        completed = codes[record.concept_id]
        # a further row of a code has names that it has been given already
        names = completed.names[: 1 if record.concept_id in given else None]
        given.add(record.concept_id)
        source, above = record.names[0].source, tuple(filter(None, [completed.parent]))
        names_of_code = tuple(Name(text, scope, source, "".join(tag)) for text, scope, *tag in names)
        yield record._replace(names=names_of_code, parents=record.parents or above)


def _give_bare(codes: Mapping[str, Code], bare: _Names, dropped: Counter[str]) -> None:
    """Add the bare names to their codes, and take them from the others."""
    # a bare name of several codes says too little: "unspecified place"
    meant = {key: number for key, of_codes in bare.items() if len(of_codes) == 1 for number in of_codes}
    for key, number in meant.items():
        codes[number].add(bare[key][number])
    for number, code in codes.items():
        kept = [name for name in code.names[1:] if not code.is_code or meant.get(_key(name[0]), number) == number]
        dropped["bare name of another code"] += len(code.names) - 1 - len(kept)
        code.names[1:] = kept


def _add_bare(
    codes: Mapping[str, Code],
    number: str,
    name: NameParts,
    bare: dict[Key, dict[str, NameParts]],
    others: dict[Key, dict[str, NameParts]],
) -> None:
    """Add what the name of a code is called without its neutral and optional words."""
    code, (text, scope, *tag) = codes[number], name
    language = "".join(tag)
    optional = _tidy(_OPTIONAL.sub("", text)) if _OPTIONAL.search(text) else text
    plain = _without_neutral_words(optional)
    for short in _SHORT_FORM.findall(text):
        if is_long_form(short, plain, ENGLISH):
            others[_key(short)][number] = (short, "exact", language)
    if (other := _RESIDUAL.match(plain)) and scope == "preferred":
        above = next(_above(codes, number), None)
        if above and _is_name(rest := _tidy(plain[other.end() :])):
            others[_key(rest)][above] = (rest, "narrow", language)
    elif plain != optional and _is_name(plain):
        words = set(_key(plain))
        target = next((up for up in reversed([*_above(codes, number)]) if words <= {*_key(codes[up].title)}), number)
        bare[_key(plain)][target] = (plain, "exact", language)
    elif optional != text and _is_name(optional):
        code.add((optional, "exact" if scope == "preferred" else scope, language))
    if scope == "preferred" and (pair := _PAIR.fullmatch(plain)):
        for word in pair.groups():
            others[_key(word)][number] = (word, "exact", language)


def _above(codes: Mapping[str, Code], number: str) -> Iterator[str]:
    """Yield the codes that contain a code and are not for other conditions, the nearest first."""
    for _ in range(_MOST_LEVELS):
        above = codes[number].parent
        if above is None or above not in codes:
            return
        code, number = codes[above], above
        is_other = _RESIDUAL.match(_without_neutral_words(code.title)) or _ELSEWHERE.search(code.title)
        if code.is_code and not is_other:
            yield number


def _without_neutral_words(name: str) -> str:
    if not _HAS_NEUTRAL.search(name):
        return name
    for pattern in _NEUTRAL_WORDS:
        name = pattern.sub("", name)
    return _tidy(name)


def _tidy(name: str) -> str:
    return " ".join(name.split()).replace(" ,", ",").strip(" ,;:")


def _is_name(name: str) -> bool:
    return sum(map(str.isalpha, name)) >= _FEWEST_LETTERS and not _CUT_OFF.search(name)


def _key(name: str) -> Key:
    """Return the words of a name, without their plural and their order."""
    return tuple(sorted(word.removesuffix("s") for word in _WORD.findall(name.casefold())))
