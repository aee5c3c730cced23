"""Stop names: names of a vocabulary that must not be found in text, since they mean something else there.

A stop name stays a name of its concept. A linker can still link a mention with this text. Only the `NameMatcher` leaves
it out.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import EmptyError
from ..files.opening import open_text
from ..files.values import read_sections
from ..text.common_words import ENGLISH, LISTED_LANGUAGES, common_words, general_names
from ..text.normalize import lower
from .ids import vocabulary_of
from .semantic_types import SEMANTIC_TYPES

COMMON, GENERAL, QUALIFIER, TOP, NUMBER, SHORT, SYMBOL, LISTED = (
    "a word of general English",
    "a general name in such texts",
    "a qualifier",
    "a top concept",
    "a number",
    "one or two letters",
    "a symbol of an element or amino acid",
    "in your list",
)
"""Why a name is a stop name."""

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""Symbols of chemistry. The concepts that qualify others, as do those below them, and semantic types of the UMLS for
concepts of time, space, quality, quantity and function, and for ideas. The parts of types, the vocabularies and the
semantic group of concepts with short names or symbols, and of those that do not mean a name of each kind of
`general_names`. Phrases are no concepts that lack a type, either.
"""
_SYMBOLS = frozenset(f"{_TABLES['elements']} {_TABLES['amino acids']}".split())
_ROMAN = frozenset(
    map("".join, product(("", "x", "xx", "xxx"), ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]))
)
_SQL = read_sections(Path(__file__).with_suffix(".sql"))
MOST_TOPS = 5  # a vocabulary with more is not a single hierarchy
MOST_LETTERS = 2  # of a short name


class StopNameRules(NamedTuple):
    """Which names become stop names.

    Attributes:
        default: Whether to apply the rules for common words, qualifiers, top concepts, numbers, and short names.
        added: Further stop names, in lower case.
        kept: Names that are never stop names, in lower case.
    """

    default: bool = True
    added: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, Any]:
        return {"default": self.default, "added": sorted(self.added), "kept": sorted(self.kept)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StopNameRules:
        return cls(bool(value["default"]), frozenset(value["added"]), frozenset(value["kept"]))


def read_names(paths: Iterable[Path]) -> frozenset[str]:
    """Read lists of names, one per line. Empty lines and lines that begin with `#` are skipped.

    Returns:
        The names in lower case, with single spaces.

    Raises:
        EmptyError: A list has no name.
    """
    all_names: set[str] = set()
    for path in paths:
        with open_text(path) as lines:
            names = {lower(line) for line in lines if not line.startswith("#")} - {""}
        if not names:
            remedy = "Write one name per line. Lines that begin with # are comments."
            raise EmptyError(what=f"name in {path}", consequence="it changes nothing", remedy=remedy)
        all_names |= names
    return frozenset(all_names)


def stop_names(db: sqlite3.Connection, rules: StopNameRules) -> Iterator[tuple[int, str]]:
    """Find the stop names of a knowledge base that is being built.

    A name of several concepts is a stop name only if it would be one for each of them. A name that a corpus annotates
    is not one, unless it is in the list of the user.

    Yields:
        The row of a name, and the reason, by row.
    """
    concepts = _ConceptRules(db) if rules.default else None
    db.create_function("is_listed", 1, lambda text: lower(text) in rules.added, deterministic=True)
    phrases = [name for name in chain(*map(common_words, LISTED_LANGUAGES)) if " " in name]
    values = {
        "listed": bool(rules.added),
        "phrases": json.dumps(phrases if concepts else []),
        "general": json.dumps(list(concepts.general) if concepts else []),
        "concepts": json.dumps(list(concepts.reasons) if concepts else []),
    }
    for (row, text), owners in groupby(db.execute(_SQL["names"], values), key=itemgetter(0, 1)):
        folded = lower(text)
        if folded in rules.kept:
            continue
        if folded in rules.added:
            yield row, LISTED
        elif concepts:
            _, _, rows, annotations, languages = zip(*owners, strict=True)
            reason = None if any(annotations) else concepts.reason(text, rows, set(languages))
            if reason:
                yield row, reason


class _ConceptRules:
    """The default rules, with what they need to know of the concepts."""

    def __init__(self, db: sqlite3.Connection) -> None:
        # child and parent of each `is_a`, by the rows of the concepts: int64, shape (edges, 2)
        sql = "SELECT p.concept, i.concept FROM parents p JOIN ids i ON i.id = p.parent WHERE p.concept != i.concept"
        edges = np.fromiter(chain.from_iterable(db.execute(sql)), dtype=np.int64).reshape(-1, 2)
        self.reasons = dict.fromkeys(_tops(db, edges), TOP) | dict.fromkeys(_qualifiers(db, edges), QUALIFIER)
        ((n_concepts,),) = db.execute("SELECT count(*) FROM concepts")
        self.genes = _concepts_of(db, n_concepts, *_TABLES["genes"].values())
        self.chemicals = _concepts_of(db, n_concepts, *_TABLES["chemicals"].values())
        self.kinds = {kind: _concepts_of(db, n_concepts, *of.values()) for kind, of in _TABLES["kinds"].items()}
        names = json.dumps([*chain(*map(general_names, self.kinds))])
        self.general = {concept for (concept,) in db.execute(_SQL["concepts with names"], (names,))}
        for (row,) in db.execute("SELECT row FROM concepts WHERE row NOT IN (SELECT concept FROM types)"):
            self.kinds["phrases"][row] = 1

    def reason(self, text: str, concepts: Collection[int], languages: Collection[str]) -> str | None:
        """Return why a name of these concepts is a stop name, or None."""
        folded, codes = text.lower(), {language.partition("-")[0] or ENGLISH for language in languages}
        if ENGLISH in codes and folded in common_words():
            from ..text.words import is_acronym  # imported here, because it prepares the rules of all languages

            if not is_acronym(text):
                return COMMON
        if text.lower() in _ROMAN or not any(map(str.isalpha, text)):
            return NUMBER
        if text.partition("(")[0].rstrip("+-") in _SYMBOLS and len(text) > 1:  # "Ca", "Ca(2+)"
            return None if any(map(self.chemicals.__getitem__, concepts)) else SYMBOL
        n_letters = sum(map(str.isalnum, text)) if text.isascii() else MOST_LETTERS + 1
        if n_letters == 1 or (n_letters <= MOST_LETTERS and not any(map(self.genes.__getitem__, concepts))):
            return SHORT
        reasons = set(map(self.reasons.get, concepts))
        if None not in reasons:
            return min(filter(None, reasons))
        return GENERAL if self._is_general(text, concepts, codes) else None

    def _is_general(self, text: str, concepts: Collection[int], codes: Collection[str]) -> bool:
        """Return whether a text is a general name of another language, or an English one for such concepts."""
        folded = text.lower()
        forms = (text,) if text.isupper() else (text, folded)
        if any(form in common_words(code) for code in codes if code != ENGLISH for form in forms):
            return True
        if ENGLISH not in codes or not self.general.issuperset(concepts):
            return False
        from ..text.words import word_keys

        keys = word_keys(text)  # "Symptoms and Signs", "Haemoglobin"
        return any(
            keys in _keys_of(kind) and all(map(members.__getitem__, concepts)) for kind, members in self.kinds.items()
        )


def is_general_name(text: str) -> bool:
    """Return whether a text is an English name that only some vocabularies have as a concept, see `general_names`."""
    return any(text.lower() in general_names(kind) for kind in _TABLES["kinds"])


@cache
def _keys_of(kind: str) -> frozenset[tuple[str, ...]]:
    from ..text.words import word_keys

    return frozenset(map(word_keys, general_names(kind)))


def _tops(db: sqlite3.Connection, edges: np.ndarray) -> Iterator[int]:
    """Return the concepts without a parent that have grandchildren, of each vocabulary that has few of them."""
    children, parents = edges.T
    have_children = np.unique(parents)
    tops = np.setdiff1d(parents[np.isin(children, have_children)], children)
    by_vocabulary = defaultdict(list)
    for top in tops.tolist():
        (concept_id,) = db.execute("SELECT id FROM concepts WHERE row = ?", (top,)).fetchone()
        by_vocabulary[vocabulary_of(concept_id)].append(top)
    return chain.from_iterable(rows for rows in by_vocabulary.values() if len(rows) <= MOST_TOPS)


def _qualifiers(db: sqlite3.Connection, edges: np.ndarray) -> set[int]:
    """Return the concepts that qualify others, those below them, and those of such types."""
    waiting = _select(db, "SELECT concept FROM ids WHERE id IN ({})", _TABLES["qualifier branches"])
    qualifiers: set[int] = set()
    edges = edges[np.argsort(edges[:, 1], kind="stable")] if waiting else edges
    while waiting:
        qualifiers.update(waiting)
        starts, ends = (np.searchsorted(edges[:, 1], waiting, side) for side in ("left", "right"))
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        waiting = sorted({child for start, end in spans for child in edges[start:end, 0].tolist()} - qualifiers)
    return qualifiers.union(_select(db, "SELECT concept FROM types WHERE type IN ({})", _TABLES["qualifier types"]))


def _concepts_of(
    db: sqlite3.Connection, n_concepts: int, parts: Iterable[str], prefixes: Iterable[str], group: str
) -> bytearray:
    """Return whether each concept has a type that contains a part or is of a semantic group, or such an id: 0 or 1."""
    members = bytearray(n_concepts)
    fits: dict[str, bool] = {}
    for concept, name in db.execute("SELECT concept, type FROM types"):
        if name not in fits:
            in_group = name in SEMANTIC_TYPES and SEMANTIC_TYPES[name].group == group
            fits[name] = in_group or any(part in name.lower() for part in parts)
        members[concept] |= fits[name]
    for prefix in prefixes:
        for (row,) in db.execute("SELECT row FROM concepts WHERE id >= ? AND id < ?", (f"{prefix}:", f"{prefix};")):
            members[row] = 1
    return members


def _select(db: sqlite3.Connection, sql: str, values: Collection[str]) -> list[int]:
    return [*chain.from_iterable(db.execute(sql.format(",".join("?" * len(values))), (*values,)))]
