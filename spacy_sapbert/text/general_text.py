"""Parts of English text that an NER takes for concepts: persons, grants, figures, scans, and words of everyday life."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence

from .common_words import body_words, common_nouns, common_words

_INITIALS = r"(?:[A-Z]\.[ -]?){1,3}"
_SURNAME = r"[A-Z][a-z'’-]+\b"
_INSTITUTES = "A[AGIRT]|CA|D[ACEK]|E[BSY]|GM|H[DGLS]|LM|M[DH]|N[RS]|OD|RR|T[RW]"  # of the NIH
_PARTS = (
    # "Dr. Le", "Ms. Ann Ray"; "Mr 27,000" is a weight
    rf"(?:Dear )?(?:Mrs?|Ms|Dr|Prof)\.? (?:{_INITIALS}|[A-Z][a-z]* ){{0,2}}{_SURNAME}",
    # authors of a reference, and degrees: "Lee, L. S., ", "Kaelin, Jr.", ", P. Ceva, "; ", S. Typhimurium, " is none
    rf"{_SURNAME}, (?:{_INITIALS}(?=[,;(]|and |et al)|[JS]r\.)",
    rf"(?:(?<=[,;] )|(?<=[(]))(?!S\. ){_INITIALS}{_SURNAME}(?=[,;)]| and [A-Z]\.| et al)",
    r"(?:[A-Z]\.-?){2,}(?![\w-])|Ph\.?D\b",
    # "R01 CA123456"
    rf"[A-Z][A-Z\d]\d[ -]?(?:{_INSTITUTES})[ -]?\d{{5,6}}\b",
    # cells are called S2, so "Table S2" stays
    r"(?:Fig(?:ure)?s?\.?|Tables?|Movies?|Videos?) (?:S(?!2\b)|EV)\d+[A-Za-z]?\b",
    r"(?:[Rr]oom|Section|Annex|Appendix|Building|Chapter|Form) [A-Z]-?\d+\b",
    r"(?:CAT|PET|SPECT|DE?XA)(?:[-/ ](?:CT|PET))? (?:scan|imag)",
    (_CITATION := r"\[\d[\d,; –-]*\]"),
)
_NO_CONCEPT = re.compile(rf"(?<![\w.-])(?:{'|'.join(_PARTS)})")
_CITED = re.compile(rf"{_CITATION}\s*")
_REPORTS = frozenset(
    ["denies", "denied", "denying", "endorses", "endorsed", "endorsing", "reports", "reported", "mostly"]
)
_GENE, _SPECIES = "GENE", "SPECIES"
_ABOUT_GENES = re.compile(
    r"(?i)\bgen(?:es?|etic)\b|protein|[rd]na\b|express|mutat|mutant|allele|receptor|\bcells?\b|signal|serum|mice\b"
)


def lead_in(words: Sequence[str]) -> int:
    """Return how many words before a mention an NER took for a part of it: "Denies fever", "Abdomen: tenderness".

    Args:
        words: The words and signs of what it found, with the blanks behind them.
    """
    number = max((position for position, word in enumerate(words, 1) if word == ": "), default=0)
    while number < len(words) - 1 and words[number].strip().lower() in _REPORTS:
        number += 1
    return number % len(words)


def general_mentions(text: str, mentions: Sequence[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """Find mentions that mean no concept.

    A common word is no gene if nothing else in the text is about genes or diseases: "The cat ate apple pie." Words of
    places of the body alone are none either: "left knee".

    Args:
        text: A document.
        mentions: Start, end and label of what an NER found, by position.

    Yields:
        Those of persons, references, grants, figures, scans and places of the body, and common words with the label of
        genes.
    """
    parts = deque(match.span() for match in _NO_CONCEPT.finditer(text)) if mentions else deque()
    rest = []
    for mention in mentions:
        while parts and parts[0][1] < mention[1]:
            parts.popleft()
        words = text[slice(*mention[:2])].split()
        if (parts and parts[0][0] <= mention[0]) or body_words().issuperset(words):
            yield mention
        else:
            rest.append(mention)
    labels = {label.upper() for start, end, label in rest if not _is_common_gene(text, start, end, label)}
    if labels <= {_SPECIES} and not _ABOUT_GENES.search(text):
        yield from (mention for mention in rest if mention[2].upper() == _GENE)


def after_citation(text: str, start: int) -> int:
    """Return where a mention begins behind the numbers of references, such as "[3,4] ": `start` if it has none."""
    cited = _CITED.match(text, start)
    return cited.end() if cited else start


def _is_common_gene(text: str, start: int, end: int, label: str) -> bool:
    word = text[start:end]
    is_word = label.upper() == _GENE and word[1:].islower()
    return is_word and (word.lower() in common_words() or word.lower() in common_nouns())
