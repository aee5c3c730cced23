-- The tables of a knowledge base, and the queries that fill them, see build.py. Each part has its name in brackets.

-- [tables]
-- Rows count from 0 without gaps, in the order in which concepts and names first appeared. The row of a name is also its
-- row in every matrix of name vectors.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE concepts (row INTEGER PRIMARY KEY, id TEXT NOT NULL, preferred INTEGER NOT NULL, definition TEXT);
CREATE TABLE ids (id TEXT, concept INTEGER, PRIMARY KEY (id, concept)) WITHOUT ROWID;
CREATE TABLE types (concept INTEGER, type TEXT, PRIMARY KEY (concept, type)) WITHOUT ROWID;
CREATE TABLE parents (concept INTEGER, parent TEXT, PRIMARY KEY (concept, parent)) WITHOUT ROWID;
CREATE TABLE xrefs (
    concept INTEGER, xref TEXT,
    predicate TEXT,  -- how the source relates the two concepts, empty if it does not say so
    PRIMARY KEY (concept, xref, predicate)
) WITHOUT ROWID;
CREATE TABLE names (row INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE synonyms (
    name INTEGER, concept INTEGER, source TEXT,
    language TEXT,  -- empty if it is unknown
    scope TEXT NOT NULL,
    annotations INTEGER NOT NULL,  -- how often a corpus annotates the name with the concept
    PRIMARY KEY (name, concept, source, language)
) WITHOUT ROWID;
CREATE TABLE stop_names (name INTEGER PRIMARY KEY, reason TEXT NOT NULL);  -- see stop_names.py
CREATE TABLE totals (of TEXT, value TEXT, count INTEGER NOT NULL, PRIMARY KEY (of, value)) WITHOUT ROWID;
CREATE TABLE arrays (name TEXT PRIMARY KEY, data BLOB NOT NULL);  -- NAME_CONCEPTS, TIE_RANKS, IDS

-- The input, in the order in which it was read. Numbers count from 0 without gaps.
CREATE TEMP TABLE read_records (number INTEGER PRIMARY KEY, id TEXT, first_name INTEGER, definition TEXT);
CREATE TEMP TABLE read_names (
    number INTEGER PRIMARY KEY, record INTEGER, text TEXT, scope TEXT, source TEXT, language TEXT, annotations INTEGER
);
CREATE TEMP TABLE read_ids (record INTEGER, value TEXT);
CREATE TEMP TABLE read_types (record INTEGER, value TEXT);
CREATE TEMP TABLE read_parents (record INTEGER, value TEXT);
CREATE TEMP TABLE read_xrefs (record INTEGER, value TEXT, predicate TEXT);

-- Supplementary ids of MeSH with the id of the descriptor that replaced them, and a record of each. Then all records that
-- had such an id. They come after those of the descriptor.
CREATE TEMP TABLE pairs (id TEXT PRIMARY KEY, record INTEGER, descriptor TEXT, main_record INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE replaced (record INTEGER PRIMARY KEY);

-- [indexes]
-- Created after the tables are filled: an index that grows with its table costs one search per row.
CREATE UNIQUE INDEX concepts_by_id ON concepts (id);
CREATE INDEX ids_by_concept ON ids (concept);
CREATE INDEX xrefs_by_xref ON xrefs (xref);
CREATE UNIQUE INDEX names_by_text ON names (text);
CREATE INDEX synonyms_by_concept ON synonyms (concept);

-- [pairs]
-- The parameters are patterns of the ids of descriptors and supplementary records. An id may have several records, of
-- which the first with a preferred name counts, or else the first.
WITH named AS (
    SELECT r.id, r.number, lower(n.text) AS name, n.source, min((n.scope != 'preferred') << 40 | r.number)
    FROM read_records r JOIN read_names n ON n.number = r.first_name WHERE r.id GLOB ? OR r.id GLOB ? GROUP BY r.id
)
SELECT id, number, descriptor, main_record FROM (
    SELECT id, number, first_value(id) OVER same AS descriptor, first_value(number) OVER same AS main_record,
        nth_value(id, 2) OVER same AS second
    FROM named WINDOW same AS (PARTITION BY name, source ORDER BY id DESC)
) WHERE id GLOB 'C*' AND descriptor GLOB 'D*' AND second GLOB 'C*'

-- [replaced]
DELETE FROM pairs WHERE EXISTS (SELECT 1 FROM read_types t WHERE t.record IN (pairs.record, main_record)) AND NOT EXISTS (
    SELECT value FROM read_types t WHERE t.record = pairs.record
    INTERSECT SELECT value FROM read_types t WHERE t.record = main_record
);
INSERT INTO replaced SELECT number FROM read_records WHERE id IN (SELECT id FROM pairs);
INSERT INTO read_ids SELECT record, id FROM pairs;
UPDATE read_records SET id = (SELECT descriptor FROM pairs WHERE pairs.id = read_records.id) WHERE number IN replaced

-- [ids]
-- This query and the next ones go from the input to the tables. The functions return rows, see `_define`.
SELECT id, concept_row(number) FROM read_records
UNION SELECT value, concept_row(record) FROM read_ids ORDER BY 1, 2

-- [names]
SELECT name_row(number), text FROM read_names WHERE is_new_name(number) ORDER BY number

-- [concepts]
SELECT concept_row(number), id, name_row(first_name), definition FROM read_records
WHERE is_new_concept(number) ORDER BY number

-- [later definitions]
SELECT definition, concept_row(number) FROM read_records
WHERE definition IS NOT NULL AND NOT is_new_concept(number) ORDER BY number IN replaced, number

-- [later preferred]
-- A flag can mark a row as the preferred one after others of the same source.
SELECT name_row(number), concept_row(record), source FROM read_names
WHERE scope = 'preferred' AND NOT is_new_concept(record) AND record NOT IN replaced ORDER BY number

-- [prefer]
UPDATE concepts SET preferred = ?1 WHERE row = ?2
AND EXISTS (SELECT 1 FROM synonyms WHERE name = preferred AND concept = ?2 AND source = ?3)
AND NOT EXISTS (SELECT 1 FROM synonyms WHERE name = preferred AND concept = ?2 AND scope = 'preferred')

-- [xrefs]
SELECT DISTINCT concept_row(record), value, predicate FROM read_xrefs ORDER BY 1, 2, 3

-- [synonyms]
SELECT name_row(number), concept_row(record), source, language, scope, annotations FROM read_names WHERE true
ORDER BY 1, 2, 3, 4, record IN replaced, number
ON CONFLICT (name, concept, source, language) DO UPDATE SET annotations = annotations + excluded.annotations

-- [shared names]
-- Preferred names that several sources have, with the records and their types.
SELECT lower(n.text), r.number, r.id, n.text, n.source,
    coalesce((SELECT group_concat(value, char(10)) FROM read_types WHERE record = r.number), '')
FROM read_records r JOIN read_names n ON n.number = r.first_name WHERE lower(n.text) IN (
    SELECT lower(n.text) FROM read_records r JOIN read_names n ON n.number = r.first_name
    WHERE length(n.text) >= 5 GROUP BY 1 HAVING min(n.source) < max(n.source)
) AND r.number NOT IN replaced ORDER BY 1, 2

-- [xref targets]
-- What cross-references refer to: a primary id, or else an alternative id of one record, with the primary one.
WITH xrefs AS (SELECT DISTINCT value FROM read_xrefs)
SELECT i.value, min(r.id) FROM read_ids i JOIN read_records r ON r.number = i.record
WHERE i.value IN xrefs AND i.value NOT IN (SELECT id FROM read_records) GROUP BY 1 HAVING count(DISTINCT r.id) = 1
UNION SELECT id, id FROM read_records WHERE id IN xrefs

-- [totals]
SELECT 'types', type, count(*) FROM types GROUP BY type
UNION ALL SELECT 'sources', source, count(*) FROM (SELECT DISTINCT name, concept, source FROM synonyms) GROUP BY source
UNION ALL SELECT 'languages', language, count(*)
FROM (SELECT DISTINCT name, concept, language FROM synonyms) GROUP BY language ORDER BY 1, 2
