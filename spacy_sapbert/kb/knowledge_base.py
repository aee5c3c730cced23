"""`KnowledgeBase`: a vocabulary in one SQLite file, opened read-only."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from ..files.values import check_not_newer, parse_json
from ..sqlite_schema import SCHEMA_QUERY, schema_of, schema_of_script, schema_problem
from ..types import Concept, Name
from .arrays import IDS, MAP, TIE_RANKS
from .database import FORMAT, SCRIPT, TEXTS, bound_query, check_file, damaged, file_uri, open_database
from .semantic_type_tree import SemanticTypeTree, semantic_type_tree

VALUES_PER_QUERY = 500  # every SQLite allows at least 999
MOST_LABELS = 100_000  # that are kept in memory
SHOWN = 3  # entries in the `repr` of a mapping


class NameConceptMap:
    """Maps names to concepts, as parallel arrays sorted by name row. Each entry is one pair of a name and a concept.

    Args:
        names (int32, shape (n,)): Row of the name.
        concepts (int32, shape (n,)): Row of a concept with this name.
        preferred (bool, shape (n,)): Whether it is the preferred name of the concept.
        annotations (int32, shape (n,)): How often corpora annotate the name with the concept.
        ranks (int32, shape (n,)): The order of entries with equally similar names. The lowest takes precedence: the
            entry with most annotations, then a preferred name, then the concept with the lowest
            `KnowledgeBase.tie_ranks`.
    """

    def __init__(
        self,
        names: np.ndarray,
        concepts: np.ndarray,
        preferred: np.ndarray,
        annotations: np.ndarray,
        ranks: np.ndarray,
    ) -> None:
        self.names = names
        self.concepts = concepts
        self.preferred = preferred
        self.annotations = annotations
        self.ranks = ranks

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the entries of some names.

        Args:
            rows (int, shape (m,)): Rows of names.

        Returns:
            Two parallel arrays, with one pair for each concept of each name. The first holds positions in `rows`, the
            second holds positions in the arrays of this map.
        """
        rows = rows.astype(self.names.dtype, copy=False)  # avoids converting the much larger `names`
        starts = np.searchsorted(self.names, rows, side="left")
        counts = np.searchsorted(self.names, rows, side="right") - starts
        which = np.repeat(np.arange(len(rows)), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        return which, np.repeat(starts, counts) + np.arange(len(which)) - firsts


class ConceptSummary(NamedTuple):
    """What distinguishes a concept from others with the same name.

    Attributes:
        preferred: The preferred name.
        types: Semantic types.
        annotations: How often corpora annotate it by any name.
        names: The number of its names.
    """

    preferred: str
    types: tuple[str, ...]
    annotations: int
    names: int


class ConceptLabel(NamedTuple):
    """What people read of a concept.

    Attributes:
        preferred: The preferred name.
        types: Semantic types, sorted.
    """

    preferred: str
    types: tuple[str, ...]


class KnowledgeBase:
    """A vocabulary: its concepts and their names. It is safe to use after a fork and from several threads.

    `len(kb)` is the number of concepts.

    Args:
        path: A file written by `spacy_sapbert.kb.build.build_knowledge_base`.

    Raises:
        SapbertError: E101 if the file does not exist; E102 if it is damaged or not a knowledge base; E103 if it has
            another format version.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._local = threading.local()
        self._labels: dict[tuple[str, str], ConceptLabel] = {}
        self._sound_types: dict[str, set[tuple[type, ...]]] = {}  # of rows, by query
        if not os.path.isfile(self.path):  # unlike that of Path, it also takes impossible paths
            raise SapbertError(Errors.E101.format(path=self.path))
        self._size = check_file(self.path)
        self._check_content()

    def __reduce__(self) -> tuple[Any, ...]:
        return KnowledgeBase, (self.path,)

    def __repr__(self) -> str:
        sources = ", ".join(self.source_counts())
        return f"KnowledgeBase({self.path.name}: {len(self):,} concepts, {self.n_names:,} names, sources: {sources})"

    def __len__(self) -> int:
        """Return the number of concepts."""
        return int(self.meta["concepts"])

    @property
    def n_names(self) -> int:
        """The number of unique names."""
        return int(self.meta["names"])

    @property
    def uri(self) -> str:
        """The URI with which SQLite opens the file read-only."""
        return file_uri(self.path)

    @property
    def fingerprint(self) -> str:
        """A hash of the whole content. Files with the same content have the same hash."""
        return str(self.meta["fingerprint"])

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The metadata of the file: sources, license, counts, settings, rows read and dropped."""
        try:
            return {key: parse_json(value) for key, value in self.query("SELECT key, value FROM meta ORDER BY key")}
        except (ValueError, TypeError) as error:
            raise damaged(self.path, f"its metadata are not JSON: {error}") from error

    # --- names

    def names(self) -> Iterator[str]:
        """Yield every unique name, in row order."""
        yield from self._column("SELECT row, text FROM names ORDER BY row", self.n_names)

    def name(self, row: int) -> str:
        """Return the name in this row."""
        return self.names_at([row])[0]

    def names_at(self, rows: Sequence[int]) -> list[str]:
        """Return the names in these rows, in their order. It is much faster than `name` for each of them.

        Raises:
            IndexError: There is no such row.
        """
        found = dict(self._in_chunks("SELECT row, text FROM names WHERE row IN ({})", rows))
        return [self._at(found, row, self.n_names) for row in rows]

    def names_of(self, concept_id: str) -> list[Name]:
        """Return all names of a concept, the preferred name first."""
        found = self.query(
            "SELECT n.text, s.scope, s.source, s.language FROM concepts c JOIN synonyms s ON s.concept = c.row "
            "JOIN names n ON n.row = s.name WHERE c.id = ? "
            "ORDER BY s.name != c.preferred, s.name, s.source, s.language",
            concept_id,
        )
        if any(text is None for text, *_ in found):
            raise damaged(self.path, f"the concept {concept_id} has a name without a text")
        return [Name(*row) for row in found]

    def names_of_concepts(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the texts of the names of the concepts in these rows, by row of the name, in the order of the rows."""
        found: dict[int, dict[str, None]] = {}
        sql = (
            "SELECT s.concept, n.text FROM synonyms s JOIN names n ON n.row = s.name WHERE s.concept IN ({}) "
            "ORDER BY s.concept, s.name"
        )
        for row, text in self._in_chunks(sql, rows):
            found.setdefault(row, {})[text] = None
        return [tuple(found.get(row, ())) for row in rows]

    def name_rows(self, concept_id: str) -> list[int]:
        """Return the rows of all names of the concept with this primary id."""
        rows = self.query(
            "SELECT DISTINCT s.name FROM concepts c JOIN synonyms s ON s.concept = c.row "
            "WHERE c.id = ? ORDER BY s.name",
            concept_id,
        )
        return self._checked_rows((row for (row,) in rows), self.n_names).tolist()

    def annotated_only(self) -> list[int]:
        """Return the rows of the names that come only from the mentions of a corpus, not from a vocabulary."""
        rows = self._rows("SELECT name FROM synonyms GROUP BY name HAVING min(scope = 'mention') ORDER BY name")
        return self._checked_rows((row for (row,) in rows), self.n_names).tolist()

    def stop_name_rows(self) -> np.ndarray:
        """Return the sorted rows of the stop names, which the matcher does not find: int64, shape (n,)."""
        rows = self._rows("SELECT name FROM stop_names ORDER BY name")
        return self._checked_rows((row for (row,) in rows), self.n_names)

    @property
    def n_stop_names(self) -> int:
        """The number of stop names."""
        return sum(self.stop_name_counts().values())

    def stop_name_counts(self) -> dict[str, int]:
        """Return the number of stop names by reason."""
        return self._counts("SELECT reason, count(*) FROM stop_names GROUP BY reason ORDER BY 2 DESC, 1")

    @cached_property
    def name_concepts(self) -> NameConceptMap:
        """The map of names to concepts, loaded at first use. It takes 17 bytes per pair of name and concept."""
        arrays = {name: self._array(name, of_name) for name, of_name in MAP.items()}
        names, concepts, ranks = arrays["names"], arrays["concepts"], arrays["ranks"]
        sound = (
            len({len(array) for array in arrays.values()}) == 1
            and self._are_below(names, self.n_names)
            and self._are_below(concepts, len(self))
            and self._are_below(ranks, len(ranks))
            and bool((names[1:] >= names[:-1]).all())
            and arrays["preferred"].view(np.uint8).max(initial=0) <= 1
        )
        if not sound:
            raise damaged(self.path, "its arrays do not belong together")
        return NameConceptMap(**arrays)

    @cached_property
    def tie_ranks(self) -> np.ndarray:
        """The tie rank of each concept. It decides when names give no evidence.

        A main descriptor takes precedence over a supplementary record (see `ids.is_supplementary`). Then the concept
        with more annotations takes precedence, then the one with more names, then the one with the smaller id.

        Returns:
            An int32 array of shape (concepts,), by concept row. Rank 0 takes precedence over all others.
        """
        ranks = self._array(TIE_RANKS, "<i4")
        if len(ranks) != len(self) or not self._are_below(ranks, len(self)):
            raise damaged(self.path, f"wrong array {TIE_RANKS}")
        return ranks

    def matching_entries(self, types: Sequence[str] = (), sources: Sequence[str] = ()) -> np.ndarray:
        """Find the entries of `name_concepts` that match a filter.

        Args:
            types: The concept must have one of these semantic types; empty for all concepts.
            sources: The name of the concept must come from one of these sources; empty for all.

        Returns:
            Whether each entry matches, as a bool array of shape (entries,).
        """
        matching = np.ones(len(self.name_concepts.names), dtype=bool)
        if types:
            sql = f"SELECT concept FROM types WHERE type IN ({_placeholders(types)})"
            has_type = np.zeros(len(self), dtype=bool)
            has_type[self._checked_rows((row for (row,) in self._rows(sql, *types)), len(self))] = True
            matching &= has_type[self.name_concepts.concepts]
        if sources:
            sql = f"SELECT name << 32 | concept FROM synonyms WHERE source IN ({_placeholders(sources)})"
            pairs = self._checked_rows((pair for (pair,) in self._rows(sql, *sources)), self.n_names << 32)
            has_source = np.zeros(len(matching) + 1, dtype=bool)  # with a place for a pair that the map lacks
            has_source[np.searchsorted(_pair_key(self.name_concepts), pairs)] = True
            matching &= has_source[:-1]
        return matching

    # --- concepts

    def concept_ids(self) -> Iterator[str]:
        """Yield every primary id, in row order."""
        yield from self._column("SELECT row, id FROM concepts ORDER BY row", len(self))

    def concept_id(self, row: int) -> str:
        """Return the primary id of the concept in this row."""
        found = dict(self.query("SELECT row, id FROM concepts WHERE row = ?", row))
        return self._at(found, row, len(self))

    def concept_ids_at(self, rows: Sequence[int]) -> list[str]:
        """Return the primary ids of the concepts in these rows, in their order. They are read at the first use.

        Raises:
            IndexError: There is no such row.
        """
        wanted = np.array(rows, dtype=np.int64)
        if wanted.min(initial=0) < 0:
            raise IndexError(wanted.min())
        try:
            return [data.decode() for data in self._ids[wanted].tolist()]
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"wrong array {IDS}") from error

    @cached_property
    def _ids(self) -> np.ndarray:
        data = self._array(IDS, np.uint8)
        if len(data) % max(len(self), 1) or len(data) < len(self):
            raise damaged(self.path, f"wrong array {IDS}")
        return data.view(f"S{len(data) // len(self)}") if len(self) else np.zeros(0, "S1")

    def ids(self, concept_id: str) -> tuple[str, ...]:
        """Return the primary id and the alternative ids of the concept with this primary id."""
        rows = self.query(
            "SELECT i.id FROM concepts c JOIN ids i ON i.concept = c.row WHERE c.id = ? ORDER BY i.id != c.id, i.id",
            concept_id,
        )
        return tuple(row[0] for row in rows)

    def ids_of(self, concept_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return what `ids` returns for each of these primary ids. All are read at once."""
        found: dict[str, tuple[str, ...]] = dict.fromkeys(concept_ids, ())
        sql = (
            "SELECT c.id, i.id FROM concepts c JOIN ids i ON i.concept = c.row WHERE c.id IN ({}) "
            "ORDER BY i.id != c.id, i.id"
        )
        for concept_id, other in self._in_chunks(sql, concept_ids):
            found[concept_id] = (*found[concept_id], other)
        return found

    def find_id(self, concept_id: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts with this primary or alternative id."""
        rows = self.query(
            "SELECT c.id FROM ids i JOIN concepts c ON c.row = i.concept WHERE i.id = ? ORDER BY c.id != i.id, c.id",
            concept_id,
        )
        return tuple(row[0] for row in rows)

    def concept_rows(self, concept_id: str) -> tuple[int, ...]:
        """Return the rows of the concepts with this primary or alternative id."""
        rows = self.query("SELECT concept FROM ids WHERE id = ? ORDER BY concept", concept_id)
        return tuple(self._checked_rows((row for (row,) in rows), len(self)).tolist())

    def find_name(self, text: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts with exactly this name."""
        rows = self.query(
            "SELECT DISTINCT c.id FROM names n JOIN synonyms s ON s.name = n.row JOIN concepts c ON c.row = s.concept "
            "WHERE n.text = ? ORDER BY c.preferred != n.row, c.id",
            text,
        )
        return tuple(row[0] for row in rows)

    def annotations(self, concept_id: str, name: str | None = None) -> int:
        """Return how often corpora annotate a concept.

        Args:
            concept_id: Primary id of the concept.
            name: Count only this name, in exactly this spelling. None counts all names.
        """
        rows = self.query(
            "SELECT total(s.annotations) FROM concepts c JOIN synonyms s ON s.concept = c.row "
            "JOIN names n ON n.row = s.name WHERE c.id = ? AND (? IS NULL OR n.text = ?)",
            concept_id,
            name,
            name,
        )
        return int(rows[0][0])

    def annotations_of(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return how often corpora annotate each concept by one name. All pairs are read at once.

        Args:
            pairs: Pairs of a primary id and a name, in exactly this spelling.
        """
        concepts = dict(self._in_chunks("SELECT id, row FROM concepts WHERE id IN ({})", [id for id, _ in pairs]))
        names = dict(self._in_chunks("SELECT text, row FROM names WHERE text IN ({})", [name for _, name in pairs]))
        which, entries = self.name_concepts.of(np.array([names.get(name, -1) for _, name in pairs], dtype=np.int32))
        wanted = np.array([concepts.get(id, -1) for id, _ in pairs], dtype=np.int32)
        same = self.name_concepts.concepts[entries] == wanted[which]
        counts = np.zeros(len(pairs), dtype=np.int64)
        counts[which[same]] = self.name_concepts.annotations[entries[same]]
        return list(map(int, counts))

    def summaries_of(self, concept_ids: Sequence[str]) -> dict[str, ConceptSummary]:
        """Return what distinguishes the concepts with these primary ids. All are read at once."""
        sql = "SELECT c.id, c.row, n.text FROM concepts c JOIN names n ON n.row = c.preferred WHERE c.id IN ({})"
        found = list(self._in_chunks(sql, concept_ids))
        rows = [row for _, row, _ in found]
        counting = "SELECT concept, sum(annotations), count(DISTINCT name) FROM synonyms WHERE concept IN ({}) "
        counts = {row: of_row for row, *of_row in self._in_chunks(counting + "GROUP BY concept", rows)}
        types = self.types_at(rows)
        if any(row not in counts for row in rows):
            raise damaged(self.path, "a concept has no name")
        return {
            concept_id: ConceptSummary(preferred, of_concept, *counts[row])
            for (concept_id, row, preferred), of_concept in zip(found, types, strict=True)
        }

    def labels_of(self, concept_ids: Sequence[str], language: str = "") -> dict[str, ConceptLabel]:
        """Return the preferred names and types of the concepts with these primary ids. All are read at once.

        Ids that the vocabulary does not have are left out. Labels that were read are kept, since the concepts of a text
        occur again in the next ones.

        Args:
            concept_ids: The primary ids.
            language: Take the preferred name in this language, or else the first exact one. A concept without any
                keeps its preferred name, and so does every concept if this is empty.
        """
        if len(self._labels) > MOST_LABELS:
            self._labels.clear()
        missing = [concept_id for concept_id in concept_ids if (concept_id, language) not in self._labels]
        read = self._read_labels(missing, language) if missing else {}
        known = {concept_id: label for concept_id in concept_ids if (label := self._labels.get((concept_id, language)))}
        self._labels.update({(concept_id, language): label for concept_id, label in read.items()})
        return known | read

    def _read_labels(self, concept_ids: Sequence[str], language: str) -> dict[str, ConceptLabel]:
        found = self._preferred_labels(concept_ids)
        if not language:
            return found
        in_language: dict[str, str] = {}
        sql = (
            "SELECT c.id, s.language, n.text FROM concepts c JOIN synonyms s ON s.concept = c.row "
            "JOIN names n ON n.row = s.name WHERE c.id IN ({}) AND s.scope IN ('preferred', 'exact') "
            "ORDER BY s.name != c.preferred, s.scope = 'exact', s.name"
        )
        for concept_id, of_name, text in self._in_chunks(sql, concept_ids):
            if of_name == language:
                in_language.setdefault(concept_id, text)
        return {
            concept_id: label._replace(preferred=in_language.get(concept_id, label.preferred))
            for concept_id, label in found.items()
        }

    def _preferred_labels(self, concept_ids: Sequence[str]) -> dict[str, ConceptLabel]:
        sql = (
            "SELECT c.id, n.text, t.type FROM concepts c JOIN names n ON n.row = c.preferred "
            "LEFT JOIN types t ON t.concept = c.row WHERE c.id IN ({}) ORDER BY t.type"
        )
        found: dict[str, ConceptLabel] = {}
        for concept_id, preferred, type in self._in_chunks(sql, concept_ids):
            types = found[concept_id].types if concept_id in found else ()
            found[concept_id] = ConceptLabel(preferred, types if type is None else (*types, type))
        return found

    def get(self, concept_id: str) -> Concept | None:
        """Return the concept with this primary id, or None."""
        found = self.query("SELECT row, definition FROM concepts WHERE id = ?", concept_id)
        for row, definition in found:
            names = list(dict.fromkeys(name.text for name in self.names_of(concept_id)))
            if not names:
                raise damaged(self.path, f"the concept {concept_id} has no name")
            return Concept(
                concept_id,
                names[0],
                tuple(names[1:]),
                self._strings("SELECT type FROM types WHERE concept = ? ORDER BY type", row),
                definition,
                self.ids(concept_id)[1:],
                self._strings("SELECT parent FROM parents WHERE concept = ? ORDER BY parent", row),
            )
        return None

    def types_at(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the semantic types of the concepts in these rows, sorted, in the order of the rows."""
        found: dict[int, tuple[str, ...]] = {}
        for row, type in self._in_chunks("SELECT concept, type FROM types WHERE concept IN ({}) ORDER BY type", rows):
            found[row] = (*found.get(row, ()), type)
        return [found.get(row, ()) for row in rows]

    def xrefs(self, concept_id: str) -> tuple[str, ...]:
        """Return the cross-references of the concept with this primary id: its ids in other vocabularies."""
        return self._strings(
            "SELECT DISTINCT x.xref FROM concepts c JOIN xrefs x ON x.concept = c.row WHERE c.id = ? ORDER BY x.xref",
            concept_id,
        )

    def find_xref(self, xref: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts that have this cross-reference."""
        return self._strings(
            "SELECT DISTINCT c.id FROM xrefs x JOIN concepts c ON c.row = x.concept WHERE x.xref = ? ORDER BY c.id",
            xref,
        )

    def xrefs_of(self, concept_ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """Return the cross-references of the concepts with these primary ids, sorted. All are read at once.

        Returns:
            Pairs of an id and a predicate for each concept. The predicate is empty if the source gives none.
        """
        found: dict[str, list[tuple[str, str]]] = {concept_id: [] for concept_id in concept_ids}
        sql = (
            "SELECT c.id, x.xref, x.predicate FROM concepts c JOIN xrefs x ON x.concept = c.row WHERE c.id IN ({}) "
            "ORDER BY x.xref, x.predicate"
        )
        for concept_id, *xref in self._in_chunks(sql, concept_ids):
            found[concept_id].append((xref[0], xref[1]))
        return found

    def type_counts(self) -> dict[str, int]:
        """Return the number of concepts of each type."""
        return self._totals("types")

    def source_counts(self) -> dict[str, int]:
        """Return the number of name–concept pairs from each source."""
        return self._totals("sources")

    def language_counts(self) -> dict[str, int]:
        """Return the number of name–concept pairs in each language. The key "" counts those of unknown language."""
        return self._totals("languages")

    def _totals(self, of: str) -> dict[str, int]:
        return self._counts("SELECT value, count FROM totals WHERE of = ? ORDER BY value", of)

    # --- scispaCy's view

    @cached_property
    def cui_to_entity(self) -> Mapping[str, Concept]:
        """Concepts by primary id, read on access."""
        return _LazyMapping(self.get, self.concept_ids, self.__len__)

    @cached_property
    def alias_to_cuis(self) -> Mapping[str, set[str]]:
        """Primary ids by name, read on access."""
        return _LazyMapping(lambda alias: set(self.find_name(alias)) or None, self.names, lambda: self.n_names)

    @property
    def semantic_type_tree(self) -> SemanticTypeTree:
        """The hierarchy of the semantic types of the UMLS, whatever the vocabulary is."""
        return semantic_type_tree()

    # --- the file

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a read-only query."""
        return list(self._rows(sql, *values))

    def _rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query one by one: millions of names would not fit into a list.

        Raises:
            SapbertError: E102 the file is damaged: SQLite says so, a text is no text, or the query does not end.
        """
        sound = self._sound_types.setdefault(sql, set())
        try:
            connection = self._connection()
            bound_query(connection, self._size)
            found = connection.execute(sql, values)
            for row in found:
                types = tuple(map(type, row))
                if types not in sound:
                    self._check_types(types, [name for name, *_ in found.description])
                    sound.add(types)
                yield row
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # an error of SQLite can hold damaged text
            reason = "reading did not end" if str(error) == "interrupted" else error
            raise damaged(self.path, reason) from error

    def _check_types(self, types: tuple[type, ...], columns: Sequence[str]) -> None:
        """Check the types of a row: SQLite keeps values of any type in any column."""
        for of_value, column in zip(types, columns, strict=True):
            if of_value is bytes or (column in TEXTS and of_value not in (str, NoneType)):
                raise damaged(self.path, f"a value of the type {of_value.__name__} in place of a text")

    def _column(self, sql: str, n: int) -> Iterator[str]:
        """Yield the texts of a query for rows and texts. The rows must count from 0 to n - 1."""
        rows = -1
        for rows, (row, text) in enumerate(self._rows(sql)):
            if row != rows or row >= n or text is None:
                raise damaged(self.path, f"wrong row {row}")
            yield text
        if rows + 1 != n:
            raise damaged(self.path, f"{n:,} rows expected, but there are {rows + 1:,}")

    def _counts(self, sql: str, *values: Any) -> dict[str, int]:
        found = dict(self.query(sql, *values))
        if not all(type(key) is str and type(count) is int for key, count in found.items()):
            raise damaged(self.path, "a count is no number")
        return found

    def _checked_rows(self, rows: Iterable[Any], n: int) -> np.ndarray:
        """Return row numbers as int64, shape (m,), if all are below n."""
        try:
            found = np.fromiter(rows, dtype=np.int64)
        except SapbertError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise damaged(self.path, "a row number is no number") from error
        if not self._are_below(found, n):
            raise damaged(self.path, "a row number is too large or negative")
        return found

    @staticmethod
    def _are_below(numbers: np.ndarray, n: int) -> bool:
        return not len(numbers) or bool(numbers.min() >= 0 and numbers.max() < n)

    def _in_chunks(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query with a list of values, in which `{}` stands for the list."""
        unique = list(dict.fromkeys(values))
        for first in range(0, len(unique), VALUES_PER_QUERY):
            chunk = unique[first : first + VALUES_PER_QUERY]
            filled = chunk + [None] * (VALUES_PER_QUERY - len(chunk) if first else 0)  # so that SQLite knows the query
            yield from self._rows(sql.format(_placeholders(filled)), *filled)

    def _array(self, name: str, dtype: Any) -> np.ndarray:
        """Return an array of the file, read-only, shape (n,)."""
        try:
            connection = self._connection()
            bound_query(connection, self._size)
            ((data,),) = connection.execute("SELECT data FROM arrays WHERE name = ?", (name,))
            return np.frombuffer(data, dtype=dtype)
        except (sqlite3.DatabaseError, TypeError, ValueError) as error:
            raise damaged(self.path, f"wrong array {name}") from error

    def _at(self, found: Mapping[int, str], row: int, n: int) -> str:
        if found.get(row) is not None:
            return found[row]
        if 0 <= row < n:
            raise damaged(self.path, f"row {row} is missing")
        raise IndexError(row)

    def _strings(self, sql: str, *values: Any) -> tuple[str, ...]:
        return tuple(row[0] for row in self.query(sql, *values))

    def _connection(self) -> sqlite3.Connection:
        # a SQLite connection must not be shared with a forked process or another thread
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection = open_database(self.path)
            self._local.pid = os.getpid()
        connection: sqlite3.Connection = self._local.connection
        return connection

    def _check_content(self) -> None:
        """Check the schema and the metadata. Nothing but tables is read, because a view can hold any query."""
        found, wanted, meta = schema_of(self.query(SCHEMA_QUERY)), schema_of_script(SCRIPT), ("table", "meta")
        problem = schema_problem(found, wanted)
        if found.get(meta) != wanted[meta]:  # the same in all formats
            raise damaged(self.path, problem)
        if (version := self.meta.get("format")) != FORMAT:
            check_not_newer(self.path, version, FORMAT)
            raise SapbertError(Errors.E103.format(path=self.path, found=version, wanted=FORMAT))
        if problem:
            raise damaged(self.path, problem)
        for key in ("concepts", "names"):
            n = self.meta.get(key)
            if type(n) is not int or not 0 <= n <= self._size:  # each row takes a byte or more
                raise damaged(self.path, f"its metadata have a wrong number of {key}")
        if type(self.meta.get("fingerprint")) is not str:
            raise damaged(self.path, "its metadata have no fingerprint")


class _LazyMapping(Mapping[str, Any]):
    """A mapping that reads its values on access."""

    def __init__(self, get: Any, keys: Any, length: Any) -> None:
        self._get, self._keys, self._length = get, keys, length

    def __getitem__(self, key: str) -> Any:
        value = self._get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys())

    def __len__(self) -> int:
        return int(self._length())

    def __repr__(self) -> str:
        some = [f"{key!r}: {self[key]!r}" for key in islice(self, SHOWN)]
        return "{" + ", ".join(some) + (f", … {len(self) - SHOWN:,} more" if len(self) > SHOWN else "") + "}"


def _placeholders(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))


def _pair_key(name_concepts: NameConceptMap) -> np.ndarray:
    return name_concepts.names.astype(np.int64) << 32 | name_concepts.concepts
