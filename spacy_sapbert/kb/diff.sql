-- same_name: the rows of a name that is in both files.
-- follows: which new concepts continue which old ones, under the same id or with the old id as an alternative id.
-- left_names, joined_names: names that a concept has lost, and names that it has gained.
-- moved_names: names that left one concept and joined another.
-- Each further section is the query of a table of changes. Columns with names that end in [] hold JSON arrays.
-- CROSS JOIN makes SQLite keep the written order, which uses the indexes.

-- [prepare]
CREATE TABLE same_name (old INTEGER PRIMARY KEY, new INTEGER NOT NULL);
INSERT INTO same_name SELECT o.row, n.row FROM old.names o CROSS JOIN new.names n ON n.text = o.text;
CREATE INDEX same_name_by_new ON same_name (new);

CREATE TABLE follows (old INTEGER, new INTEGER, same_id INTEGER NOT NULL, PRIMARY KEY (old, new)) WITHOUT ROWID;
INSERT INTO follows SELECT o.row, n.row, 1 FROM old.concepts o CROSS JOIN new.concepts n ON n.id = o.id;
INSERT INTO follows SELECT o.row, i.concept, 0 FROM old.concepts o CROSS JOIN new.ids i ON i.id = o.id
    WHERE NOT EXISTS (SELECT 1 FROM new.concepts n WHERE n.id = o.id);
CREATE INDEX follows_by_new ON follows (new);

CREATE TABLE left_names (name INTEGER, concept INTEGER, PRIMARY KEY (name, concept)) WITHOUT ROWID;
INSERT OR IGNORE INTO left_names SELECT s.name, s.concept FROM old.synonyms s WHERE NOT EXISTS (
    SELECT 1 FROM same_name m CROSS JOIN follows f ON f.old = s.concept
    CROSS JOIN new.synonyms t ON t.name = m.new AND t.concept = f.new WHERE m.old = s.name);
CREATE TABLE joined_names (name INTEGER, concept INTEGER, PRIMARY KEY (name, concept)) WITHOUT ROWID;
INSERT OR IGNORE INTO joined_names SELECT t.name, t.concept FROM new.synonyms t WHERE NOT EXISTS (
    SELECT 1 FROM same_name m CROSS JOIN follows f ON f.new = t.concept
    CROSS JOIN old.synonyms s ON s.name = m.old AND s.concept = f.old WHERE m.new = t.name);
CREATE TABLE moved_names (old INTEGER PRIMARY KEY, new INTEGER NOT NULL UNIQUE);
INSERT INTO moved_names SELECT DISTINCT m.old, m.new FROM left_names l CROSS JOIN same_name m ON m.old = l.name
    WHERE EXISTS (SELECT 1 FROM joined_names j WHERE j.name = m.new);

-- [concept_added]
SELECT c.id, n.text AS name,
    (SELECT json_group_array(DISTINCT o.id) FROM old.ids i JOIN old.concepts o ON o.row = i.concept
        WHERE i.id = c.id) AS "split_from[]",
    (SELECT json_group_array(DISTINCT m.text) FROM new.synonyms s JOIN new.names m ON m.row = s.name
        WHERE s.concept = c.row) AS "names[]"
FROM new.concepts c JOIN new.names n ON n.row = c.preferred
WHERE c.row NOT IN (SELECT new FROM follows) ORDER BY c.id

-- [concept_removed]
SELECT c.id, n.text AS name,
    (SELECT json_group_array(DISTINCT m.text) FROM old.synonyms s JOIN old.names m ON m.row = s.name
        WHERE s.concept = c.row) AS "names[]"
FROM old.concepts c JOIN old.names n ON n.row = c.preferred
WHERE c.row NOT IN (SELECT old FROM follows) ORDER BY c.id

-- [concept_merged]
SELECT c.id, n.text AS name,
    (SELECT json_group_array(DISTINCT t.id) FROM follows f JOIN new.concepts t ON t.row = f.new
        WHERE f.old = c.row) AS "into[]",
    (SELECT json_group_array(DISTINCT m.text) FROM old.synonyms s JOIN old.names m ON m.row = s.name
        WHERE s.concept = c.row) AS "names[]"
FROM old.concepts c JOIN old.names n ON n.row = c.preferred
WHERE c.row IN (SELECT old FROM follows WHERE NOT same_id) ORDER BY c.id

-- [preferred_name]
SELECT * FROM (SELECT c.id,
    (SELECT n.text FROM old.concepts t JOIN old.names n ON n.row = t.preferred WHERE t.row = f.old) AS old,
    (SELECT n.text FROM new.concepts t JOIN new.names n ON n.row = t.preferred WHERE t.row = f.new) AS new
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE old IS NOT new ORDER BY id

-- [names]
SELECT id, json_group_array(text) FILTER (WHERE joined) AS "added[]",
    json_group_array(text) FILTER (WHERE NOT joined) AS "removed[]"
FROM (
    SELECT c.id, n.text, 1 AS joined
    FROM joined_names p JOIN new.concepts c ON c.row = p.concept JOIN new.names n ON n.row = p.name
    WHERE p.concept IN (SELECT new FROM follows) AND p.name NOT IN (SELECT new FROM moved_names)
    UNION ALL SELECT c.id, n.text, 0 AS joined
    FROM left_names p JOIN old.concepts c ON c.row = p.concept JOIN old.names n ON n.row = p.name
    WHERE p.concept IN (SELECT old FROM follows) AND p.name NOT IN (SELECT old FROM moved_names))
GROUP BY id ORDER BY id

-- [name_moved]
SELECT n.text AS name,
    (SELECT json_group_array(DISTINCT c.id) FROM left_names p JOIN old.concepts c ON c.row = p.concept
        WHERE p.name = m.old) AS "from[]",
    (SELECT json_group_array(DISTINCT c.id) FROM joined_names p JOIN new.concepts c ON c.row = p.concept
        WHERE p.name = m.new) AS "to[]"
FROM moved_names m JOIN old.names n ON n.row = m.old ORDER BY n.text

-- [alternative_ids]
SELECT * FROM (SELECT c.id,
    (SELECT json_group_array(value) FROM (
        SELECT id AS value FROM old.ids WHERE concept = f.old AND id != c.id ORDER BY 1)) AS "old[]",
    (SELECT json_group_array(value) FROM (
        SELECT id AS value FROM new.ids WHERE concept = f.new AND id != c.id ORDER BY 1)) AS "new[]"
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE "old[]" IS NOT "new[]" ORDER BY id

-- [types]
SELECT * FROM (SELECT c.id,
    (SELECT json_group_array(value) FROM (
        SELECT type AS value FROM old.types WHERE concept = f.old ORDER BY 1)) AS "old[]",
    (SELECT json_group_array(value) FROM (
        SELECT type AS value FROM new.types WHERE concept = f.new ORDER BY 1)) AS "new[]"
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE "old[]" IS NOT "new[]" ORDER BY id

-- [definition]
SELECT * FROM (SELECT c.id,
    (SELECT definition FROM old.concepts WHERE row = f.old) AS old,
    (SELECT definition FROM new.concepts WHERE row = f.new) AS new
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE old IS NOT new ORDER BY id

-- [parents]
SELECT * FROM (SELECT c.id,
    (SELECT json_group_array(value) FROM (
        SELECT parent AS value FROM old.parents WHERE concept = f.old ORDER BY 1)) AS "old[]",
    (SELECT json_group_array(value) FROM (
        SELECT parent AS value FROM new.parents WHERE concept = f.new ORDER BY 1)) AS "new[]"
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE "old[]" IS NOT "new[]" ORDER BY id

-- [xrefs]
SELECT * FROM (SELECT c.id,
    (SELECT json_group_array(value) FROM (
        SELECT trim(xref || ' ' || predicate) AS value FROM old.xrefs WHERE concept = f.old ORDER BY 1)) AS "old[]",
    (SELECT json_group_array(value) FROM (
        SELECT trim(xref || ' ' || predicate) AS value FROM new.xrefs WHERE concept = f.new ORDER BY 1)) AS "new[]"
    FROM follows f JOIN old.concepts c ON c.row = f.old WHERE f.same_id)
WHERE "old[]" IS NOT "new[]" ORDER BY id
