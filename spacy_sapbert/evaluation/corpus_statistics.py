"""Count what a corpus of linked documents mentions: concepts, pairs of them, and their trend over years.

The input is Parquet tables of links (`io/tables.py`). DuckDB counts on disk, within a memory limit, so a corpus may
have millions of documents. No result depends on the order of rows or files, or on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents.folders import files_of
from ..errors import Errors, SapbertError
from ..files.output import ScratchFolder
from ..kb.hierarchy import ancestors
from ..kb.knowledge_base import KnowledgeBase
from ..types import NIL
from .figures import counted

if TYPE_CHECKING:
    import pyarrow

ENDING = ".parquet"
NEGATED = "negated"
"""The flag of `assertion_detector` that `without_negated` looks for."""
SMOOTHING = 0.5
"""Added to each count of documents in the measure of rising concepts, so that no logarithm is of zero."""

_ITSELF, _ROLLED_UP = 0, 1
_DOCUMENTS_PER_STEP = 500_000  # bounds what the counting of distinct concepts and of pairs keeps at once
_ROWS_PER_STEP = 50_000

TEXT_COLUMNS = ("doc_id", "text", "concept_id", "preferred_name", "types", "assertion", "matched_name", "linked_text")
_COLUMNS: dict[str, str] = {
    **dict.fromkeys(TEXT_COLUMNS, "string"),
    "long_form": "string",
    "snippet": "string",
    "start": "int64",
    "passage": "int64",
    "probability": "float64",
    "score": "float64",
    "split": "bool",
}
_OF_RUNS = {"year": "int64", "failure": "string"}  # only `link --engine` writes them


class CorpusSettings(NamedTuple):
    """What is counted, and with which resources.

    Attributes:
        types: Count only links to concepts with one of these semantic types. Empty counts all.
        min_probability: Count only links with at least this calibrated probability.
        without_negated: Leave out links of mentions with the flag `negated`.
        min_documents: The least number of documents of a pair, a rising concept or a new name.
        pair_concepts: Only so many concepts can be in a pair: those in most documents.
        top: The number of concepts with a trend by year.
        last_years: The number of years that rising concepts compare with the years before.
        limit: The most rows of a table, except those by year. None writes all.
        memory: The memory that DuckDB may use, in gigabytes. The rest goes to the folder for temporary files.
        threads: The number of DuckDB's threads. None uses all cores.
    """

    types: tuple[str, ...] = ()
    min_probability: float | None = None
    without_negated: bool = False
    min_documents: int = 5
    pair_concepts: int = 1000
    top: int = 20
    last_years: int = 3
    limit: int | None = None
    memory: float = 4.0
    threads: int | None = None


class CorpusStatistics(NamedTuple):
    """What was counted.

    Attributes:
        summary: Totals of the corpus.
        notes: What these tables cannot tell, as sentences.
        tables: The Arrow tables by name. See the page on corpus statistics for their columns.
        new_names: The lines of the table of new names, as `spacy-sapbert discover` writes them. None without a
            knowledge base.
    """

    summary: dict[str, Any]
    notes: list[str]
    tables: dict[str, pyarrow.Table]
    new_names: list[str] | None = None


def measure_corpus(
    links: Path | str, settings: CorpusSettings | None = None, kb: KnowledgeBase | None = None
) -> CorpusStatistics:
    """Count what the documents of a corpus mention.

    Pairs have the log-likelihood ratio G² = 2 Σ O · ln(O / E) over the four cells of documents with and without each
    concept (Dunning 1993, https://aclanthology.org/J93-1003). E is the count if the concepts were independent. A pair
    also has its lift, O / E of the documents with both, and PMI = log2(lift).

    Args:
        links: A Parquet file with links, or a folder of such files at any depth. Hidden files are left out.
        settings: What is counted. None counts all links.
        kb: The knowledge base that the documents were linked to. It adds the roll-up to ancestors, and new names.

    Raises:
        SapbertError: E542 DuckDB or pyarrow is not installed. E590 there is no Parquet file. E591 a file is no table of
            links. E592 a file is damaged, or the temporary folder is full. E593 no document has a link. E594 the
            settings leave no link.
    """
    settings = settings or CorpusSettings()
    files = LinkFiles(links)
    with ScratchFolder() as scratch, _open(scratch, settings) as database:
        corpus = _Corpus(database, files, settings, kb)
        return corpus.measure()


class LinkFiles:
    """The Parquet files of links.

    Args:
        path: A file, or a folder.

    Attributes:
        paths: The files, sorted.
        has_all_documents: Whether all files have a row for each document without mentions.

    Raises:
        SapbertError: E542, E590, E591 or E592, as for `measure_corpus`.
    """

    def __init__(self, path: Path | str) -> None:
        try:
            import duckdb  # noqa: F401
            import pyarrow.parquet  # noqa: F401
        except ModuleNotFoundError as error:
            raise SapbertError(Errors.E542.format(module=error.name, extra="parquet")) from error
        path = Path(path)
        found = files_of(path, lambda *_: None) if path.is_dir() else [path]
        self.paths = [one for one in found if one.suffix.lower() == ENDING and one.is_file()]
        if not self.paths:
            raise SapbertError(Errors.E590.format(path=_shown(path)))
        columns = [self._check(one) for one in self.paths]
        self.has_all_documents = all("failure" in names for names in columns)

    def _check(self, path: Path) -> set[str]:
        """Return the columns of a file.

        Raises:
            SapbertError: E591 columns are missing, E592 it cannot be read.
        """
        from pyarrow import parquet

        with _translate_errors(path):
            names = set(parquet.read_schema(path).names)
        missing = [name for name in _COLUMNS if name not in names]
        if missing:
            raise SapbertError(Errors.E591.format(path=_shown(path), reason=f"it lacks: {', '.join(missing)}"))
        return names

    def batches(self, columns: Sequence[str]) -> tuple[pyarrow.Schema, Iterator[pyarrow.RecordBatch]]:
        """Return a schema and the rows of all files. A file without a column has no values in it."""
        all_columns = _COLUMNS | _OF_RUNS
        schema = _schema({name: all_columns[name] for name in columns})
        return schema, self._read(schema)

    def _read(self, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyarrow import parquet

        for path in self.paths:
            with _translate_errors(path), parquet.ParquetFile(path) as file:
                wanted = [name for name in schema.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(_ROWS_PER_STEP, columns=wanted):
                    batch.validate(full=True)  # text that is not UTF-8 would stop DuckDB with another error
                    yield pyarrow.RecordBatch.from_arrays(
                        [_array(batch, field, path) for field in schema], schema=schema
                    )


def _schema(columns: Mapping[str, str]) -> pyarrow.Schema:
    import pyarrow

    return pyarrow.schema([(name, pyarrow.type_for_alias(alias)) for name, alias in columns.items()])


def _array(batch: pyarrow.RecordBatch, field: pyarrow.Field, path: Path) -> pyarrow.Array:
    import pyarrow

    if field.name not in batch.schema.names:
        return pyarrow.nulls(len(batch), field.type)
    array = batch.column(field.name)
    try:
        if pyarrow.types.is_string(field.type) and pyarrow.types.is_binary(array.type):
            raise pyarrow.ArrowInvalid("binary data")
        return array.cast(field.type)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        reason = f"the column {field.name} has the type {array.type} instead of {field.type}"
        raise SapbertError(Errors.E591.format(path=_shown(path), reason=reason)) from error


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise SapbertError(Errors.E592.format(path=_shown(path), reason=reason)) from error


def _shown(path: Path) -> str:
    return str(path).encode(errors="replace").decode()


class Database:
    """A DuckDB database in a temporary folder, which no query can leave.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def run(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """Run one statement with its parameters, and return all rows."""
        with self._translate_errors():
            rows: list[tuple[Any, ...]] = self.connection.execute(sql, values or None).fetchall()
            return rows

    def one(self, sql: str, **values: Any) -> Any:
        """Return the only value of a query."""
        return self.run(sql, **values)[0][0]

    def table(self, sql: str, **values: Any) -> pyarrow.Table:
        """Return the result of a query as an Arrow table."""
        with self._translate_errors():
            return self.connection.sql(sql, params=values or None).to_arrow_table()

    def rows(self, sql: str, **values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, while others run."""
        with self._translate_errors():
            cursor = self.connection.cursor()
            cursor.execute(sql, values or None)
            while some := cursor.fetchmany(_ROWS_PER_STEP):
                yield from some

    def insert(self, sql: str, schema: pyarrow.Schema, batches: Iterable[pyarrow.RecordBatch], **values: Any) -> None:
        """Run a statement that reads Arrow batches under the name `batches`.

        Raises:
            SapbertError: What the reading of the batches raises, instead of DuckDB's error about it.
        """
        import pyarrow

        raised: list[SapbertError] = []

        def guarded() -> Iterator[pyarrow.RecordBatch]:
            try:
                yield from batches
            except SapbertError as error:
                raised.append(error)
                raise

        self.connection.register("batches", pyarrow.RecordBatchReader.from_batches(schema, guarded()))
        try:
            self.run(sql, **values)
        except SapbertError as error:
            raise (raised[0] if raised else error) from error
        finally:
            self.connection.unregister("batches")

    def insert_rows(self, sql: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]) -> None:
        """Run a statement that reads rows under the name `batches`.

        Args:
            sql: The statement.
            columns: The Arrow type of each column, such as "string".
            rows: The rows.
        """
        import pyarrow

        schema = _schema(columns)
        rest = iter(rows)
        batches = (
            pyarrow.record_batch([list(column) for column in zip(*some, strict=True)], schema=schema)
            for some in iter(lambda: list(islice(rest, _ROWS_PER_STEP)), [])
        )
        self.insert(sql, schema, batches)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            reason = " ".join(str(error).split())
            raise SapbertError(Errors.E592.format(path="the temporary tables", reason=reason)) from error


@contextmanager
def _open(folder: Path, settings: CorpusSettings) -> Iterator[Database]:
    import duckdb

    config: dict[str, Any] = {
        "memory_limit": f"{round(settings.memory * 1000)}MB",
        "temp_directory": str(folder / "spilled"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
    }
    if settings.threads:
        config["threads"] = settings.threads
    connection = duckdb.connect(str(folder / "corpus.duckdb"), config=config)
    try:
        connection.execute("SET enable_external_access = false").fetchall()
        connection.execute("SET lock_configuration = true").fetchall()
        yield Database(connection)
    finally:
        connection.close()


# `place` orders the links of a text, so that its first one is always the same
_LOAD = """
INSERT INTO raw
SELECT coalesce(doc_id, ''), year, failure IS NOT NULL, start IS NOT NULL, coalesce(concept_id, $nil), preferred_name,
    types, list_contains(string_split(coalesce(assertion, ''), '|'), $negated), probability,
    coalesce(passage, 0), start,
    CASE WHEN $with_names THEN linked_text END, CASE WHEN $with_names THEN matched_name END,
    CASE WHEN $with_names THEN score END,
    CASE WHEN $with_names AND NOT split AND linked_text <> text AND linked_text IS DISTINCT FROM long_form
        THEN coalesce(long_form, text) ELSE '' END,
    start IS NOT NULL AND coalesce(concept_id, $nil) <> $nil
        AND ($least IS NULL OR coalesce(probability >= $least, false))
        AND (len($types) = 0 OR list_has_any(string_split(coalesce(types, ''), '|'), $types))
        AND NOT ($without_negated AND list_contains(string_split(coalesce(assertion, ''), '|'), $negated))
FROM batches
"""

_RAW = """
CREATE TABLE raw (
    doc_id VARCHAR, year BIGINT, failed BOOLEAN, is_mention BOOLEAN, concept_id VARCHAR, preferred_name VARCHAR,
    types VARCHAR, negated BOOLEAN, probability DOUBLE, passage BIGINT, start BIGINT, linked_text VARCHAR,
    matched_name VARCHAR, score DOUBLE, written VARCHAR, kept BOOLEAN)
"""

# A document can have rows in several files, for example if it failed at first.
_DOCUMENTS = """
CREATE TABLE documents AS
SELECT row_number() OVER (ORDER BY doc_id) - 1 AS document, doc_id, year, failed
FROM (SELECT doc_id, min(year) AS year, bool_and(failed AND NOT is_mention) AS failed FROM raw GROUP BY doc_id)
"""

_LABELS = """
CREATE TABLE labels AS
SELECT concept_id, preferred_name, types FROM (
    SELECT *, row_number() OVER (
        PARTITION BY concept_id ORDER BY n DESC, preferred_name NULLS LAST, types NULLS LAST) AS place
    FROM (SELECT concept_id, preferred_name, types, count(*) AS n FROM raw WHERE kept GROUP BY ALL))
WHERE place = 1
"""

_CONCEPTS = """
CREATE TABLE concepts AS
SELECT row_number() OVER (ORDER BY concept_id) - 1 AS concept, concept_id, preferred_name, types FROM labels
"""

# in the order of documents, so that a step reads only its part of the table
_OCCURRENCES = """
CREATE TABLE occurrences AS
SELECT d.document, c.concept, count(*) AS mentions
FROM raw r JOIN documents d USING (doc_id) JOIN concepts c USING (concept_id)
WHERE r.kept GROUP BY ALL ORDER BY 1, 2
"""

# Each document counts once for a target, which is the concept itself or one of its ancestors.
_COUNT_STEP = """
INSERT INTO parts
SELECT t.target, count(*), sum(t.mentions), min(d.year), max(d.year)
FROM (SELECT o.document, g.target, sum(o.mentions) AS mentions
      FROM occurrences o JOIN targets g USING (concept)
      WHERE g.level = $level AND o.document >= $first AND o.document < $end GROUP BY ALL) t
JOIN documents d USING (document) GROUP BY ALL
"""

_COUNT = """
INSERT INTO counts
SELECT $level, target, sum(documents)::BIGINT, sum(mentions)::BIGINT, min(first_year), max(last_year)
FROM parts GROUP BY target
"""

_COUNTED = """
SELECT c.concept_id, c.preferred_name, c.types, n.documents, round(n.documents / $n, 6) AS share, n.mentions,
    n.first_year, n.last_year, coalesce(own.documents, 0) AS documents_itself
FROM counts n JOIN concepts c ON c.concept = n.target
LEFT JOIN counts own ON own.target = n.target AND own.level = $itself
WHERE n.level = $level ORDER BY n.documents DESC, c.concept_id LIMIT $limit
"""

_CHOOSE = """
INSERT INTO chosen SELECT $level, target FROM counts WHERE level = $level AND documents >= $least
ORDER BY documents DESC, target LIMIT $most
"""

_PAIR_STEP = """
INSERT INTO pair_parts
WITH here AS MATERIALIZED (
    SELECT DISTINCT o.document, g.target FROM occurrences o JOIN targets g USING (concept)
    WHERE g.level = $level AND o.document >= $first AND o.document < $end
        AND EXISTS (SELECT 1 FROM chosen c WHERE c.level = $level AND c.target = g.target))
SELECT x.target, y.target, count(*) FROM here x JOIN here y ON x.document = y.document AND x.target < y.target
GROUP BY ALL
"""

# The four cells of a pair: with both (k11), with the first only (k12), with the second only (k21), with none (k22).
_PAIRS = """
WITH together AS (
    SELECT a, b, sum(documents)::BIGINT AS both_documents FROM pair_parts GROUP BY ALL
    HAVING sum(documents) >= $least),
unrelated AS (
    SELECT * FROM together p WHERE NOT EXISTS (
        SELECT 1 FROM targets g
        WHERE g.level = $rolled_up AND ((g.concept = p.a AND g.target = p.b) OR (g.concept = p.b AND g.target = p.a)))),
cells AS (
    SELECT p.a, p.b, p.both_documents, x.documents AS documents_a, y.documents AS documents_b,
        p.both_documents::DOUBLE AS k11, (x.documents - p.both_documents)::DOUBLE AS k12,
        (y.documents - p.both_documents)::DOUBLE AS k21,
        ($n - x.documents - y.documents + p.both_documents)::DOUBLE AS k22,
        x.documents::DOUBLE * y.documents / $n AS expected
    FROM unrelated p JOIN counts x ON x.target = p.a AND x.level = $level
    JOIN counts y ON y.target = p.b AND y.level = $level),
measured AS (
    SELECT *, k11 / expected AS lift, 2 * (
        k11 * ln(k11 / expected)
        + CASE WHEN k12 > 0 THEN k12 * ln(k12 / (documents_a::DOUBLE * ($n - documents_b) / $n)) ELSE 0 END
        + CASE WHEN k21 > 0 THEN k21 * ln(k21 / (documents_b::DOUBLE * ($n - documents_a) / $n)) ELSE 0 END
        + CASE WHEN k22 > 0 THEN k22 * ln(k22 / (($n - documents_a)::DOUBLE * ($n - documents_b) / $n)) ELSE 0 END
    ) AS g2 FROM cells),
common AS (
    SELECT s.target AS a, t.target AS b, count(*) AS n FROM seen
    JOIN targets s USING (concept) JOIN targets t USING (concept)
    WHERE s.level = $level AND t.level = $level AND s.target < t.target GROUP BY ALL)
SELECT ca.concept_id AS concept_a, ca.preferred_name AS name_a, cb.concept_id AS concept_b,
    cb.preferred_name AS name_b, documents_a, documents_b, both_documents, round(expected, 4) AS expected,
    round(lift, 4) AS lift, round(log2(lift), 4) AS pmi, round(greatest(g2, 0), 4) AS log_likelihood,
    coalesce(common.n, 0) AS common_descendants
FROM measured m JOIN concepts ca ON ca.concept = m.a JOIN concepts cb ON cb.concept = m.b
LEFT JOIN common ON common.a = m.a AND common.b = m.b
ORDER BY common.n IS NOT NULL, CASE WHEN lift >= 1 THEN g2 ELSE -g2 END DESC, concept_a, concept_b LIMIT $limit
"""

_YEARS = """
SELECT d.year, count(*) AS documents, count(o.document) AS documents_with_links
FROM documents d LEFT JOIN (SELECT DISTINCT document FROM occurrences) o USING (document)
WHERE NOT d.failed AND d.year IS NOT NULL GROUP BY d.year ORDER BY d.year
"""

_CONCEPT_YEARS = """
WITH top AS (
    SELECT target AS concept, documents AS in_all FROM counts WHERE level = $itself
    ORDER BY documents DESC, target LIMIT $top),
of_year AS (SELECT year, count(*) AS n FROM documents WHERE NOT failed AND year IS NOT NULL GROUP BY year),
found AS (
    SELECT o.concept, d.year, count(*) AS documents FROM occurrences o JOIN top USING (concept)
    JOIN documents d USING (document) WHERE d.year IS NOT NULL GROUP BY ALL)
SELECT c.concept_id, c.preferred_name, y.year, coalesce(f.documents, 0) AS documents, y.n AS documents_of_year,
    round(coalesce(f.documents, 0) / y.n, 6) AS share
FROM top t JOIN concepts c USING (concept) CROSS JOIN of_year y
LEFT JOIN found f ON f.concept = t.concept AND f.year = y.year
ORDER BY t.in_all DESC, c.concept_id, y.year
"""

_RISING = """
WITH dated AS (SELECT document, year >= $since AS recent FROM documents WHERE NOT failed AND year IS NOT NULL),
n AS (SELECT count(*) FILTER (recent) AS recent, count(*) FILTER (NOT recent) AS before FROM dated),
found AS (
    SELECT o.concept, count(*) FILTER (d.recent) AS recent, count(*) FILTER (NOT d.recent) AS before
    FROM occurrences o JOIN dated d USING (document) GROUP BY ALL HAVING count(*) >= $least)
SELECT c.concept_id, c.preferred_name, f.before AS documents_before, f.recent AS documents_recent,
    round(f.before / n.before, 6) AS share_before, round(f.recent / n.recent, 6) AS share_recent,
    round(log2((f.recent + $add) / (n.recent + 2 * $add) / ((f.before + $add) / (n.before + 2 * $add))), 4) AS log_ratio
FROM found f CROSS JOIN n JOIN concepts c USING (concept) WHERE n.before > 0
ORDER BY log_ratio DESC, documents_recent DESC, c.concept_id LIMIT $limit
"""

_TABLES = (
    _RAW,
    "CREATE TABLE targets (level INTEGER, concept BIGINT, target BIGINT)",
    "CREATE TABLE counts (level INTEGER, target BIGINT, documents BIGINT, mentions BIGINT, first_year BIGINT, "
    "last_year BIGINT)",
    "CREATE TABLE parts (target BIGINT, documents BIGINT, mentions BIGINT, first_year BIGINT, last_year BIGINT)",
    "CREATE TABLE chosen (level INTEGER, target BIGINT)",
    "CREATE TABLE pair_parts (a BIGINT, b BIGINT, documents BIGINT)",
    "CREATE TABLE above (concept_id VARCHAR, ancestor_id VARCHAR)",
)
_ALL_ROWS = 2**62


class _Corpus:
    """Counts one corpus in one database."""

    def __init__(
        self, database: Database, files: LinkFiles, settings: CorpusSettings, kb: KnowledgeBase | None
    ) -> None:
        self._database = database
        self._files = files
        self._settings = settings
        self._kb = kb
        self._has_hierarchy = False
        self._limit = _ALL_ROWS if settings.limit is None else settings.limit

    def measure(self) -> CorpusStatistics:
        self._load()
        database, kb = self._database, self._kb
        database.run(_LABELS)
        unknown = self._add_ancestors(kb) if kb else None
        database.run(_CONCEPTS)
        database.run(_OCCURRENCES)
        database.run("CREATE TABLE seen AS SELECT DISTINCT concept FROM occurrences")
        self._add_targets()
        n = database.one("SELECT count(*) FROM documents WHERE NOT failed")
        tables = {"concepts": self._count(_ITSELF, n).drop_columns("documents_itself")}
        if self._has_hierarchy:
            tables["rollup"] = self._count(_ROLLED_UP, n)
        tables["pairs"] = self._pairs(_ITSELF, n).drop_columns("common_descendants")
        if self._has_hierarchy:
            tables["rollup_pairs"] = self._pairs(_ROLLED_UP, n)
        tables |= self._by_year()
        summary = self._summary(n) | ({} if unknown is None else {"concepts_not_in_kb": unknown})
        lines = None
        if kb:
            from .corpus_new_names import find_new_names

            lines, counts = find_new_names(database, self._files, kb, self._settings)
            summary["new_names"] = counts
        return CorpusStatistics(summary, self._notes(summary), tables, lines)

    def _load(self) -> None:
        """Read the files.

        Raises:
            SapbertError: E591, E592, E593 or E594, as for `measure_corpus`.
        """
        for statement in _TABLES:
            self._database.run(statement)
        schema, batches = self._files.batches([name for name in (*_COLUMNS, *_OF_RUNS) if name != "snippet"])
        chosen = self._settings
        self._database.insert(
            *(_LOAD, schema, batches),
            nil=NIL,
            negated=NEGATED,
            with_names=self._kb is not None,
            least=chosen.min_probability,
            types=list(chosen.types),
            without_negated=chosen.without_negated,
        )
        sql = "SELECT count(*) FILTER (kept), count(*) FILTER (concept_id <> $nil), count(probability) FROM raw"
        kept, linked, with_probability = self._database.run(sql, nil=NIL)[0]
        if not linked:
            raise SapbertError(Errors.E593.format(files=len(self._files.paths)))
        if not kept:
            known = f"{with_probability:,} of {linked:,} links have a probability"
            raise SapbertError(Errors.E594.format(links=linked, known=known))
        self._database.run(_DOCUMENTS)

    def _add_ancestors(self, kb: KnowledgeBase) -> int:
        """Write the ancestors of all linked concepts, and the names of ancestors that no document mentions.

        Returns:
            The number of linked concepts that the knowledge base does not have.
        """
        unknown = 0

        def found() -> Iterator[tuple[str, str]]:
            nonlocal unknown
            get = lru_cache(maxsize=1 << 17)(kb.get)
            waiting = (row[0] for row in self._database.rows("SELECT concept_id FROM labels ORDER BY concept_id"))
            higher: set[str] = set()
            seen: set[str] = set()
            for concept_id in waiting:
                seen.add(concept_id)
                primary = kb.find_id(concept_id)
                unknown += not primary
                own = {concept_id} if concept_id in primary else set(primary)
                of_concept = own.union(*(ancestors(one, kb, get) for one in own))
                higher |= of_concept
                yield from ((concept_id, ancestor) for ancestor in sorted(of_concept - {concept_id}))
            for concept_id in sorted(higher - seen):
                above = ancestors(concept_id, kb, get) - {concept_id}
                yield from ((concept_id, ancestor) for ancestor in sorted(above))

        columns = {"concept_id": "string", "ancestor_id": "string"}
        self._database.insert_rows("INSERT INTO above SELECT * FROM batches", columns, found())
        missing = "SELECT DISTINCT ancestor_id FROM above WHERE ancestor_id NOT IN (SELECT concept_id FROM labels)"
        ids = sorted(row[0] for row in self._database.run(missing))
        named = [(one, label.preferred, "|".join(label.types) or None) for one, label in kb.labels_of(ids).items()]
        columns = dict.fromkeys(("concept_id", "preferred_name", "types"), "string")
        self._database.insert_rows("INSERT INTO labels SELECT * FROM batches", columns, named)
        return unknown

    def _add_targets(self) -> None:
        self._database.run("INSERT INTO targets SELECT $level, concept, concept FROM concepts", level=_ITSELF)
        self._has_hierarchy = bool(self._database.one("SELECT count(*) FROM above"))
        if self._has_hierarchy:
            self._database.run("INSERT INTO targets SELECT $level, concept, concept FROM concepts", level=_ROLLED_UP)
            sql = (
                "INSERT INTO targets SELECT $level, c.concept, a.concept FROM above "
                "JOIN concepts c ON c.concept_id = above.concept_id JOIN concepts a ON a.concept_id = ancestor_id"
            )
            self._database.run(sql, level=_ROLLED_UP)

    def _steps(self) -> Iterator[dict[str, int]]:
        """Yield ranges of documents. Counts of documents in separate ranges add up."""
        for first in range(0, self._database.one("SELECT count(*) FROM documents"), _DOCUMENTS_PER_STEP):
            yield {"first": first, "end": first + _DOCUMENTS_PER_STEP}

    def _count(self, level: int, n: int) -> pyarrow.Table:
        self._database.run("DELETE FROM parts")
        for step in self._steps():
            self._database.run(_COUNT_STEP, level=level, **step)
        self._database.run(_COUNT, level=level)
        return self._database.table(_COUNTED, level=level, itself=_ITSELF, n=n, limit=self._limit)

    def _pairs(self, level: int, n: int) -> pyarrow.Table:
        least, most = self._settings.min_documents, self._settings.pair_concepts
        self._database.run(_CHOOSE, level=level, least=least, most=most)
        self._database.run("DELETE FROM pair_parts")
        for step in self._steps():
            self._database.run(_PAIR_STEP, level=level, **step)
        return self._database.table(_PAIRS, level=level, rolled_up=_ROLLED_UP, n=n, least=least, limit=self._limit)

    def _by_year(self) -> dict[str, pyarrow.Table]:
        last = self._database.one("SELECT max(year) FROM documents WHERE NOT failed")
        if last is None:
            return {}
        chosen = self._settings
        since = last - chosen.last_years + 1
        values = {"since": since, "least": chosen.min_documents, "add": SMOOTHING, "limit": self._limit}
        return {
            "years": self._database.table(_YEARS),
            "concept_years": self._database.table(_CONCEPT_YEARS, itself=_ITSELF, top=chosen.top),
            "rising": self._database.table(_RISING, **values),
        }

    def _summary(self, n: int) -> dict[str, Any]:
        sql = """
            SELECT count(*) FILTER (kept), count(*) FILTER (is_mention AND concept_id <> $nil AND NOT kept),
                count(*) FILTER (is_mention AND concept_id = $nil), count(*) FILTER (negated AND concept_id <> $nil)
            FROM raw"""
        links, left_out, unlinked, negated = self._database.run(sql, nil=NIL)[0]
        sql = "SELECT count(*) FILTER (failed), count(*) FILTER (NOT failed AND year IS NULL) FROM documents"
        failed, without_year = self._database.run(sql)[0]
        return {
            "files": len(self._files.paths),
            "documents": n,
            "documents_with_links": self._database.one("SELECT count(DISTINCT document) FROM occurrences"),
            "failed_documents": failed,
            "documents_without_year": without_year,
            "links": links,
            "links_left_out": left_out,
            "mentions_without_link": unlinked,
            "negated_links": negated,
            "concepts": self._database.one("SELECT count(*) FROM seen"),
            "all_documents_known": self._files.has_all_documents,
        }

    def _notes(self, summary: dict[str, Any]) -> list[str]:
        """Return what these tables cannot tell, and what was left out."""
        notes = []
        if not self._files.has_all_documents:
            notes.append(
                "These tables do not list documents without mentions. So every share is of the documents with mentions."
            )
        if summary["documents_without_year"] == summary["documents"]:
            notes.append("No document has a year, so there are no tables by year.")
        elif summary["documents_without_year"]:
            n = counted(summary["documents_without_year"], "document")
            notes.append(f"Tables by year lack {n} without a year.")
        if summary["failed_documents"]:
            n = counted(summary["failed_documents"], "document")
            notes.append(f"The counts leave out {n} that could not be linked.")
        if summary["links_left_out"]:
            notes.append(f"The filters leave out {counted(summary['links_left_out'], 'link')}.")
        if self._kb and not self._has_hierarchy:
            notes.append("The linked concepts have no parents in the knowledge base, so there is no roll-up.")
        if summary.get("concepts_not_in_kb"):
            notes.append(f"The knowledge base lacks {summary['concepts_not_in_kb']:,} of the linked concepts.")
        most = self._settings.pair_concepts
        enough = self._database.run(
            "SELECT count(*) FROM counts WHERE documents >= $least GROUP BY level", least=self._settings.min_documents
        )
        if any(number > most for (number,) in enough):
            notes.append(f"Pairs are only of the {most:,} concepts in most documents.")
        return notes
