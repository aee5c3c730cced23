"""`KnowledgeBase`: a vocabulary in one SQLite file, opened read-only."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import MismatchError, NotFoundError
from ..files.values import check_not_newer, read_sections
from ..types import Concept, Name, Record
from .database import FORMAT, IDS, NAME_CONCEPTS, TIE_RANKS, open_database, reading, unreadable
from .ids import canonical_id
from .semantic_types import SemanticTypeTree, semantic_type_tree

VALUES_PER_QUERY = 500  # every SQLite allows at least 999
MOST_LABELS = 100_000  # that are kept in memory
SHOWN = 3  # entries in the `repr` of a mapping
_SQL = read_sections(Path(__file__).with_suffix(".sql"))
_TOTALS = "SELECT value, count FROM totals WHERE of = ? ORDER BY value"


@dataclass(frozen=True)
class NameConceptMap:
    """Maps names to concepts, as parallel arrays sorted by name row. Each entry is one pair of a name and a concept.

    Attributes:
        names (int32, shape (n,)): Row of the name.
        concepts (int32, shape (n,)): Row of a concept with this name.
        preferred (bool, shape (n,)): Whether it is the preferred name of the concept.
        annotations (int32, shape (n,)): How often corpora annotate the name with the concept.
        ranks (int32, shape (n,)): The order of entries with equally similar names. The lowest takes precedence: the
            entry with most annotations, then a preferred name, then the concept with the lowest
            `KnowledgeBase.tie_ranks`.
    """

    names: np.ndarray
    concepts: np.ndarray
    preferred: np.ndarray
    annotations: np.ndarray
    ranks: np.ndarray

    @cached_property
    def _starts(self) -> np.ndarray:
        """Where the entries of each row start, from row -1 on, and the end of the last ones, int32."""
        return np.cumsum(np.bincount(self.names + 2, minlength=2), dtype=np.int32)

    def of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find the entries of some names.

        Args:
            rows (int, shape (m,)): Rows of names. One of -1 has no entries.

        Returns:
            Two parallel arrays, with one pair for each concept of each name. The first holds positions in `rows`, the
            second holds positions in the arrays of this map.
        """
        rows = rows.astype(np.int64, copy=False)  # an empty array may have another type
        starts = self._starts[rows + 1]
        counts = self._starts[rows + 2] - starts
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
        NotFoundError: The file does not exist.
        DamagedError: It cannot be read, or is not a knowledge base.
        MismatchError: It has an older format. A `NewerVersionError` is raised for a newer one.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path).absolute()
        self._local = threading.local()
        self._labels: dict[tuple[str, str], ConceptLabel] = {}
        if not os.path.isfile(self.path):
            remedy = "Check the path, or build a knowledge base with `spacy-sapbert kb build`."
            raise NotFoundError(what=f"knowledge base at {self.path}", remedy=remedy)
        if (version := self.meta.get("format")) != FORMAT:
            check_not_newer(self.path, version, FORMAT)
            reason = f"it has the format {version} of knowledge bases, and this version reads format {FORMAT}"
            raise MismatchError("Build it again with `spacy-sapbert kb build`.", path=self.path, reason=reason)

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
    def fingerprint(self) -> str:
        """A hash of the whole content. Files with the same content have the same hash."""
        return str(self.meta["fingerprint"])

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The metadata of the file: sources, license, counts, settings, rows read and dropped."""
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM meta ORDER BY key")}

    # --- names

    def names(self) -> Iterator[str]:
        """Yield every unique name, in row order."""
        yield from (text for (text,) in self._rows("SELECT text FROM names ORDER BY row"))

    def name(self, row: int) -> str:
        """Return the name in this row."""
        return self.names_at([row])[0]

    def names_at(self, rows: Sequence[int]) -> list[str]:
        """Return the names in these rows, in their order. It is much faster than `name` for each of them.

        Raises:
            IndexError: There is no such row.
        """
        texts = dict(self._in_chunks("SELECT row, text FROM names WHERE row IN ({})", rows))
        if missing := set(rows).difference(texts):
            raise IndexError(min(missing))
        return list(map(texts.__getitem__, rows))

    def names_of(self, concept_id: str) -> list[Name]:
        """Return all names of a concept, the preferred name first."""
        return [Name(*row) for row in self._rows(_SQL["names of a concept"], concept_id)]

    def name_texts(self, concept_id: str) -> list[str]:
        """Return the texts of all names of a concept, in no order, which is faster than `names_of`."""
        return [text for (text,) in self.query(_SQL["texts of a concept"], concept_id)]

    def names_of_concepts(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the texts of the names of the concepts in these rows, by row of the name, in the order of the rows."""
        names = self._grouped(_SQL["texts of concepts"], rows)
        return [tuple(dict.fromkeys(names[row])) for row in rows]

    def synonyms(self, step: int = 1) -> Iterator[list[str]]:
        """Yield the preferred name and the exact synonyms of every `step`-th concept."""
        names = self._rows(_SQL["exact names of every nth concept"], step)
        for _, rows in groupby(names, key=itemgetter(0)):
            yield [text for _, text in rows]

    def name_rows(self, concept_id: str) -> list[int]:
        """Return the rows of all names of the concept with this primary id."""
        return list(self._values(_SQL["rows of names of a concept"], concept_id))

    def annotated_only(self) -> list[int]:
        """Return the rows of the names that come only from the mentions of a corpus, not from a vocabulary."""
        return list(self._values(_SQL["names of corpora alone"]))

    def stop_name_rows(self) -> np.ndarray:
        """Return the sorted rows of the stop names, which the matcher does not find: int64, shape (n,)."""
        return self._numbers("SELECT name FROM stop_names ORDER BY name")

    def stop_name_counts(self) -> dict[str, int]:
        """Return the number of stop names by reason."""
        return dict(self._rows(_SQL["stop names by reason"]))

    @cached_property
    def name_concepts(self) -> NameConceptMap:
        """The map of names to concepts, loaded at first use. It takes 17 bytes per pair of name and concept."""
        return NameConceptMap(**{name: self._array(name, dtype) for name, dtype in NAME_CONCEPTS.items()})

    @cached_property
    def tie_ranks(self) -> np.ndarray:
        """The tie rank of each concept. It decides when names give no evidence.

        A main descriptor takes precedence over a supplementary record (see `ids.SUPPLEMENTARY_ID`). Then the concept
        with more annotations takes precedence, then the one with more names, then the one with the smaller id.

        Returns:
            An int32 array of shape (concepts,), by concept row. Rank 0 takes precedence over all others.
        """
        return self._array(TIE_RANKS, "<i4")

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
            has_type[self._numbers(sql, *types)] = True
            matching &= has_type[self.name_concepts.concepts]
        if sources:
            sql = f"SELECT name << 32 | concept FROM synonyms WHERE source IN ({_placeholders(sources)})"
            keys = self.name_concepts.names.astype(np.int64) << 32 | self.name_concepts.concepts
            has_source = np.zeros(len(matching), dtype=bool)
            has_source[np.searchsorted(keys, self._numbers(sql, *sources))] = True
            matching &= has_source
        return matching

    # --- concepts

    def concept_ids(self) -> Iterator[str]:
        """Yield every primary id, in row order."""
        yield from (concept_id for (concept_id,) in self._rows("SELECT id FROM concepts ORDER BY row"))

    def concept_id(self, row: int) -> str:
        """Return the primary id of the concept in this row."""
        for (concept_id,) in self._rows("SELECT id FROM concepts WHERE row = ?", row):
            return str(concept_id)
        raise IndexError(row)

    def concept_ids_at(self, rows: Sequence[int]) -> list[str]:
        """Return the primary ids of the concepts in these rows, in their order. They are read at the first use.

        Raises:
            IndexError: There is no such row.
        """
        numbers = np.array(rows, dtype=np.int64)
        if numbers.min(initial=0) < 0:
            raise IndexError(numbers.min())
        return list(map(bytes.decode, self._ids[numbers].tolist()))

    @cached_property
    def _ids(self) -> np.ndarray:
        data = self._array(IDS, np.uint8)
        return data.view(f"S{len(data) // len(self)}")

    def ids(self, concept_id: str) -> tuple[str, ...]:
        """Return the primary id and the alternative ids of the concept with this primary id."""
        return self.ids_of([concept_id])[concept_id]

    def ids_of(self, concept_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return what `ids` returns for each of these primary ids. All are read at once."""
        return self._grouped(_SQL["ids of concepts"], concept_ids)

    def find_id(self, concept_id: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts with this primary or alternative id, or with another form of it.

        Vocabularies and corrections of earlier versions can have ids such as HP_0001945 for HP:0001945.
        """
        forms = dict.fromkeys([concept_id, canonical_id(concept_id), concept_id.replace(":", "_", 1)])
        return next(filter(None, (self._values(_SQL["concepts with an id"], form) for form in forms)), ())

    def concept_rows(self, concept_id: str) -> tuple[int, ...]:
        """Return the rows of the concepts with this primary or alternative id."""
        return self._values("SELECT concept FROM ids WHERE id = ? ORDER BY concept", concept_id)

    def find_name(self, text: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts with exactly this name."""
        return self._values(_SQL["concepts with a name"], text)

    def rows_of_names(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the rows of those of some texts that are names, in exactly this spelling. All are read at once."""
        return dict(self._in_chunks("SELECT text, row FROM names WHERE text IN ({})", list(texts)))

    def annotations_of(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """Return how often corpora annotate each concept by one name. All pairs are read at once.

        Args:
            pairs: Pairs of a primary id and a name, in exactly this spelling.
        """
        concepts = dict(self._in_chunks("SELECT id, row FROM concepts WHERE id IN ({})", [id for id, _ in pairs]))
        names = self.rows_of_names([name for _, name in pairs])
        which, entries = self.name_concepts.of(np.array([names.get(name, -1) for _, name in pairs], dtype=np.int32))
        rows = np.array([concepts.get(id, -1) for id, _ in pairs], dtype=np.int32)
        same = self.name_concepts.concepts[entries] == rows[which]
        counts = np.zeros(len(pairs), dtype=np.int64)
        counts[which[same]] = self.name_concepts.annotations[entries[same]]
        return list(map(int, counts))

    def summaries_of(self, concept_ids: Sequence[str], *, with_types: bool = True) -> dict[str, ConceptSummary]:
        """Return what distinguishes the concepts with these primary ids. All are read at once, types only if needed."""
        types = self._grouped(_SQL["types of concepts"], concept_ids) if with_types else {}
        annotations, names = self._counts
        summaries: dict[str, ConceptSummary] = {}
        for id, preferred, row in self._in_chunks(_SQL["preferred names"], concept_ids):
            summaries[id] = ConceptSummary(preferred, types.get(id, ()), int(annotations[row]), int(names[row]))
        return summaries

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """How often corpora annotate each concept, and how many names it has, twice shape (concepts,)."""
        concepts, n = self.name_concepts.concepts, len(self)
        return np.bincount(concepts, self.name_concepts.annotations, n), np.bincount(concepts, minlength=n)

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
        preferred = {id: text for id, text, _ in self._in_chunks(_SQL["preferred names"], concept_ids)}
        if language:
            named = self._grouped(_SQL["names in a language"], list(preferred), language)
            preferred |= {concept_id: names[0] for concept_id, names in named.items() if names}
        types = self._grouped(_SQL["types of concepts"], list(preferred))
        return {concept_id: ConceptLabel(name, types[concept_id]) for concept_id, name in preferred.items()}

    def get(self, concept_id: str) -> Concept | None:
        """Return the concept with this primary id, or None."""
        for record in self.records(self._values("SELECT row FROM concepts WHERE id = ?", concept_id)):
            preferred, *aliases = dict.fromkeys(name.text for name in record.names)
            _, _, alternatives, types, definition, parents, *_ = record
            return Concept(concept_id, preferred, tuple(aliases), types, definition, alternatives, parents)
        return None

    def records(self, rows: Sequence[int]) -> Iterator[Record]:
        """Yield all content of the concepts in these rows, in ascending order, with the preferred names first.

        A name from two sources appears twice.
        """
        kinds = ("names", "ids", "types", "parents", "cross-references")
        names, ids, types, parents, xrefs = (self._grouped(_SQL[f"content: {kind}"], rows) for kind in kinds)
        concepts = "SELECT row, id, definition FROM concepts WHERE row IN ({}) ORDER BY row"
        for row, concept_id, definition in self._in_chunks(concepts, rows):
            yield Record(
                concept_id,
                tuple(map(Name._make, names[row])),
                tuple(other for other in ids[row] if other != concept_id),
                types[row],
                definition,
                parents[row],
                tuple(dict.fromkeys(xref for xref, _ in xrefs[row])),
                tuple(xref for xref in xrefs[row] if xref[1]),
            )

    def types_at(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the semantic types of the concepts in these rows, sorted, in the order of the rows."""
        types = self._grouped("SELECT concept, type FROM types WHERE concept IN ({}) ORDER BY type", rows)
        return [types[row] for row in rows]

    def xrefs(self, concept_id: str) -> tuple[str, ...]:
        """Return the cross-references of the concept with this primary id: its ids in other vocabularies."""
        return tuple(dict.fromkeys(xref for xref, _ in self.xrefs_of([concept_id])[concept_id]))

    def find_xref(self, xref: str) -> tuple[str, ...]:
        """Return the primary ids of the concepts that have this cross-reference."""
        return self._values(_SQL["concepts with a cross-reference"], xref)

    def xrefs_of(self, concept_ids: Sequence[str]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the cross-references of the concepts with these primary ids, sorted. All are read at once.

        Returns:
            Pairs of an id and a predicate for each concept. The predicate is empty if the source gives none.
        """
        return self._grouped(_SQL["cross-references of concepts"], concept_ids)

    def type_counts(self) -> dict[str, int]:
        """Return the number of concepts of each type."""
        return dict(self._rows(_TOTALS, "types"))

    def source_counts(self) -> dict[str, int]:
        """Return the number of name–concept pairs from each source."""
        return dict(self._rows(_TOTALS, "sources"))

    def language_counts(self) -> dict[str, int]:
        """Return the number of name–concept pairs in each language. The key "" counts those of unknown language."""
        return dict(self._rows(_TOTALS, "languages"))

    # --- scispaCy's view

    @cached_property
    def cui_to_entity(self) -> Mapping[str, Concept]:
        """Concepts by primary id, read on access."""
        return LazyMapping(self.get, self.concept_ids, self.__len__)

    @cached_property
    def alias_to_cuis(self) -> Mapping[str, set[str]]:
        """Primary ids by name, read on access."""
        return LazyMapping(lambda alias: set(self.find_name(alias)) or None, self.names, lambda: self.n_names)

    @property
    def semantic_type_tree(self) -> SemanticTypeTree:
        """The hierarchy of the semantic types of the UMLS, whatever the vocabulary is."""
        return semantic_type_tree()

    # --- the file

    def query(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a read-only query."""
        try:
            return self._connection().execute(sql, values).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise unreadable(self.path, error) from error

    def _rows(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query one by one: millions of names would not fit into a list."""
        with reading(self.path):
            yield from self._connection().execute(sql, values)

    def _values(self, sql: str, *values: Any) -> tuple[Any, ...]:
        """Return the only column of a query."""
        return tuple(value for (value,) in self._rows(sql, *values))

    def _numbers(self, sql: str, *values: Any) -> np.ndarray:
        """Return the only column of a query, which has whole numbers: int64, shape (n,)."""
        return np.fromiter((value for (value,) in self._rows(sql, *values)), dtype=np.int64)

    def _in_chunks(self, sql: str, values: Sequence[Any], *others: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query with a list of values, in which `{}` stands for the list. Others come after it."""
        unique = list(dict.fromkeys(values))
        for first in range(0, len(unique), VALUES_PER_QUERY):
            chunk = unique[first : first + VALUES_PER_QUERY]
            filled = chunk + [None] * (VALUES_PER_QUERY - len(chunk) if first else 0)  # so that SQLite knows the query
            yield from self.query(sql.format(",".join("?" * len(filled))), *filled, *others)

    def _grouped(self, sql: str, keys: Sequence[Any], *others: Any) -> dict[Any, tuple[Any, ...]]:
        """Return the rows of a query for each of its keys, in their order.

        The first column of the query is the key. The rest of a row is a value, or a tuple of several. See `_in_chunks`.
        """
        groups: dict[Any, list[Any]] = {key: [] for key in keys}
        for key, *value in self._in_chunks(sql, keys, *others):
            groups[key].append(value[0] if len(value) == 1 else tuple(value))
        return {key: tuple(values) for key, values in groups.items()}

    def _array(self, name: str, dtype: Any) -> np.ndarray:
        """Return an array of the file, read-only, shape (n,)."""
        (data,) = self._values("SELECT data FROM arrays WHERE name = ?", name)
        return np.frombuffer(data, dtype=dtype)

    def _connection(self) -> sqlite3.Connection:
        # a SQLite connection must not be shared with a forked process or another thread
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.connection = open_database(self.path)
            self._local.pid = os.getpid()
        connection: sqlite3.Connection = self._local.connection
        return connection


class LazyMapping(Mapping[str, Any]):
    """A mapping that reads its values on access."""

    def __init__(self, get: Callable[[str], Any], keys: Callable[[], Iterable[str]], length: Callable[[], int]) -> None:
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


def _placeholders(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))
