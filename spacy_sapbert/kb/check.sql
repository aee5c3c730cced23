-- Queries of check.py: counts of rows, remarks with a row for each, shared names, and names that may be suspicious.

-- [count: names_of_several_concepts]
SELECT name FROM synonyms GROUP BY name HAVING min(concept) < max(concept)

-- [count: concepts_with_definition]
SELECT 1 FROM concepts WHERE definition IS NOT NULL

-- [count: concepts_with_parents]
SELECT DISTINCT concept FROM parents

-- [count: concepts_with_types]
SELECT DISTINCT concept FROM types

-- [count: concepts_with_xrefs]
SELECT DISTINCT concept FROM xrefs

-- [count: alternative_ids]
SELECT 1 FROM ids i JOIN concepts c ON c.row = i.concept WHERE i.id != c.id

-- [remark: concepts_without_types]
SELECT id FROM concepts WHERE row NOT IN (SELECT concept FROM types) ORDER BY row

-- [remark: unknown_parents]
SELECT DISTINCT parent FROM parents WHERE parent NOT IN (SELECT id FROM ids) ORDER BY parent

-- [remark: ids_of_several_concepts]
SELECT id FROM ids GROUP BY id HAVING count(*) > 1 ORDER BY id

-- [shared]
CREATE TEMP TABLE shared AS SELECT name, count(DISTINCT concept) AS n FROM synonyms
GROUP BY name HAVING min(concept) < max(concept)

-- [worst]
SELECT s.name, n.text, s.n FROM shared s JOIN names n ON n.row = s.name ORDER BY s.n DESC, n.text LIMIT ?

-- [concepts of a name]
SELECT DISTINCT c.id FROM synonyms s JOIN concepts c ON c.row = s.concept WHERE s.name = ? ORDER BY c.id LIMIT ?

-- [within sources]
SELECT source, count(*) FROM (
    SELECT s.source FROM shared JOIN synonyms s ON s.name = shared.name
    GROUP BY s.source, s.name HAVING min(s.concept) < max(s.concept)
) GROUP BY source ORDER BY source

-- [names]
SELECT n.row, n.text, c.id FROM names n JOIN synonyms s ON s.name = n.row JOIN concepts c ON c.row = s.concept
WHERE n.row NOT IN (SELECT name FROM stop_names) GROUP BY n.row, c.row ORDER BY n.row, c.id
