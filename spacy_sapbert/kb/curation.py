"""Choose what a knowledge base takes from its sources: by hierarchy, semantic type and source of a name."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import ChoiceError, NotFoundError, OptionError
from ..types import Record
from .ids import canonical_id
from .readers.context import ReadReport

SHOWN = 20
Test = Callable[[str], bool]

_TOKEN = re.compile(r"\|[^|]*\||<<|>>|[<>^()!,*]|[^\s<>^()!,*|]+|\S")
_JOINS, _OPERATORS = ("AND", "OR", "MINUS"), ("<", "<<", ">", ">>")
_DEEPEST = 100  # brackets within brackets


class Curation(NamedTuple):
    """What to take from the sources. Empty fields take everything.

    Attributes:
        below: Take only these concepts and those below them. Only the sources that have one of the concepts are
            affected.
        without: Leave out these concepts and those below them.
        types: Take only concepts of these semantic types.
        without_types: Leave out concepts of these semantic types.
        sources: Take only names from these sources.
        without_sources: Leave out names from these sources.
        select: Take only the concepts that meet this expression (see `ecl`), of the sources that have one of its ids.
    """

    below: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    without_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    without_sources: tuple[str, ...] = ()
    select: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are set."""
        fields = self._asdict().items()
        return {key: value if isinstance(value, str) else list(value) for key, value in fields if value}


class Hierarchy:
    """The concepts and parents of one source, in a temporary database. Memory does not grow with them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._n_tables = 0
        self._db = sqlite3.connect("")  # SQLite moves it to the disk when it grows
        self._db.executescript("CREATE TABLE ids (id TEXT, concept TEXT); CREATE TABLE edges (child TEXT, parent TEXT)")
        for record in records:
            ids = [(concept_id, record.concept_id) for concept_id in (record.concept_id, *record.alternative_ids)]
            self._db.executemany("INSERT INTO ids VALUES (?, ?)", ids)
            # a parent may be given by an alternative id, which therefore lies below its concept
            edges = [(record.concept_id, parent) for parent in record.parents] + ids[1:]
            self._db.executemany("INSERT INTO edges VALUES (?, ?)", edges)
        self._db.executescript("CREATE INDEX by_id ON ids (id); CREATE INDEX by_parent ON edges (parent)")
        self._db.execute("CREATE INDEX by_child ON edges (child)")

    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of the ids that the source has."""
        sql = "SELECT 1 FROM ids WHERE id = ?"
        return {concept_id for concept_id in ids if self._db.execute(sql, (concept_id,)).fetchone()}

    def subtrees(self, roots: Collection[str], *, above: bool = False) -> Callable[[str], bool]:
        """Return whether an id belongs to one of these concepts or to one below (or above), as a function.

        A circle of parents does no harm.
        """
        end, start = ("parent", "child") if above else ("child", "parent")
        self._n_tables += 1
        table = f"subtrees_{self._n_tables}"
        self._db.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY) WITHOUT ROWID")
        sql = f"INSERT OR IGNORE INTO {table} SELECT concept FROM ids WHERE id = ?"
        self._db.executemany(sql, ((root,) for root in sorted(roots)))
        self._db.execute(
            f"WITH RECURSIVE below(id) AS (SELECT id FROM {table} UNION SELECT e.{end} FROM below b "
            f"JOIN edges e ON e.{start} = b.id) INSERT OR IGNORE INTO {table} SELECT id FROM below"
        )
        sql = f"SELECT 1 FROM {table} WHERE id = ?"
        return lambda concept_id: self._db.execute(sql, (concept_id,)).fetchone() is not None

    def test_of(self, operator: str, concept_id: str) -> Callable[[str], bool]:
        """Return the test of an operator of expressions: "" for the concept, "<<" for it and those below, "<", …"""
        sql = "SELECT 1 FROM ids WHERE id = ? AND concept = ?"
        within = self.subtrees([concept_id], above=">" in operator) if operator else None

        def test(other: str) -> bool:
            if within and not within(other):
                return False
            return len(operator) == 2 or bool(operator) != bool(self._db.execute(sql, (concept_id, other)).fetchone())

        return test


def curate(
    curation: Curation,
    sources: Sequence[Callable[[ReadReport], Iterable[Record]]],
    report: ReadReport,
    counts: Counter[str],
) -> Iterator[Record]:
    """Yield what a curation takes from sources. For a part of a hierarchy, all of them are read twice.

    Args:
        sources: For each source, a function that reads its records with a report.
        report: Counts the rows, once.
        counts: Counts what is left out, by the labels of `kb build`.

    Raises:
        NotFoundError: The sources lack a concept of the curation.
        ChoiceError: They lack a type or a source of names of the curation.
    """
    selected = _ids_in(curation.select)
    ids = {*curation.below, *curation.without, *selected}
    hierarchies = [Hierarchy(read(ReadReport())) for read in sources] if ids else []
    missing = ids.difference(*(hierarchy.known(ids) for hierarchy in hierarchies))
    if missing:
        remedy = "Look for its id with `spacy-sapbert kb search`."
        raise NotFoundError(what=f"concept {', '.join(sorted(missing))} in the sources", remedy=remedy)
    types: Counter[str] = Counter()
    names_by_source: Counter[str] = Counter()
    for number, read in enumerate(sources):
        tests = _tests_of_place(curation, hierarchies[number], selected) if hierarchies else {}
        for record in read(report):
            types.update(record.types)
            names_by_source.update({name.source for name in record.names})
            reason = next((reason for reason, holds in tests.items() if not holds(record.concept_id)), "")
            if not reason and not _takes(record.types, curation.types, curation.without_types):
                reason = "semantic type"
            if not reason:
                names = [n for n in record.names if _takes([n.source], curation.sources, curation.without_sources)]
                counts["names left out: source"] += len(record.names) - len(names)
                if names or not record.names:
                    yield record._replace(names=tuple(names))
                    continue
                reason = "no name from the chosen sources"
            counts[f"concepts left out: {reason}"] += 1
    _check_known("semantic type", types, curation.types + curation.without_types)
    _check_known("source of names", names_by_source, curation.sources + curation.without_sources)


def _ids_in(expression: str) -> set[str]:
    ids: set[str] = set()

    def test_of(operator: str, concept_id: str) -> Test:
        ids.add(concept_id)
        return bool

    if expression:
        expression_test(expression, test_of)
    return ids


def _tests_of_place(curation: Curation, hierarchy: Hierarchy, selected: Collection[str]) -> dict[str, Test]:
    """Return what must hold for the ids of a source that has such concepts, by the reason to leave others out."""
    roots, excluded = map(hierarchy.known, (curation.below, curation.without))
    tests: dict[str, Test] = {}
    if roots:
        tests["not below the chosen ones"] = hierarchy.subtrees(roots)
    if hierarchy.known(selected):
        tests["not selected"] = expression_test(curation.select, hierarchy.test_of)
    if excluded:
        below = hierarchy.subtrees(excluded)
        tests["below an excluded one"] = lambda concept_id: not below(concept_id)
    return tests


def _check_known(what: str, known: Counter[str], chosen: Collection[str]) -> None:
    if unknown := ", ".join(sorted(set(chosen).difference(known))):
        most = [f"{value} ({n:,})" for value, n in known.most_common(SHOWN)]
        raise ChoiceError(given=unknown, what=f"{what} in what was read", choices=most)


def _takes(values: Collection[str], chosen: Collection[str], excluded: Collection[str]) -> bool:
    return (not chosen or not set(values).isdisjoint(chosen)) and set(values).isdisjoint(excluded)


# --- expressions


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
