-- Queries of `KnowledgeBase`. `{}` stands for a list of values.

-- [names of a concept]
SELECT n.text, s.scope, s.source, s.language
FROM concepts c JOIN synonyms s ON s.concept = c.row JOIN names n ON n.row = s.name
WHERE c.id = ? ORDER BY s.name != c.preferred, s.name, s.source, s.language

-- [texts of a concept]
SELECT n.text FROM concepts c JOIN synonyms s ON s.concept = c.row JOIN names n ON n.row = s.name WHERE c.id = ?

-- [texts of concepts]
SELECT s.concept, n.text FROM synonyms s JOIN names n ON n.row = s.name WHERE s.concept IN ({})
ORDER BY s.concept, s.name

-- [exact names of every nth concept]
SELECT s.concept, n.text FROM synonyms s JOIN names n ON n.row = s.name
WHERE s.concept % ? = 0 AND s.scope IN ('preferred', 'exact') ORDER BY s.concept, s.name

-- [rows of names of a concept]
SELECT DISTINCT s.name FROM concepts c JOIN synonyms s ON s.concept = c.row WHERE c.id = ? ORDER BY s.name

-- [names of corpora alone]
SELECT name FROM synonyms GROUP BY name HAVING min(scope = 'mention') ORDER BY name

-- [stop names by reason]
SELECT reason, count(*) FROM stop_names GROUP BY reason ORDER BY 2 DESC, 1

-- [ids of concepts]
SELECT c.id, i.id FROM concepts c JOIN ids i ON i.concept = c.row WHERE c.id IN ({}) ORDER BY i.id != c.id, i.id

-- [concepts with an id]
SELECT c.id FROM ids i JOIN concepts c ON c.row = i.concept WHERE i.id = ? ORDER BY c.id != i.id, c.id

-- [concepts with a name]
SELECT DISTINCT c.id FROM names n JOIN synonyms s ON s.name = n.row JOIN concepts c ON c.row = s.concept
WHERE n.text = ? ORDER BY c.preferred != n.row, c.id

-- [concepts with a cross-reference]
SELECT DISTINCT c.id FROM xrefs x JOIN concepts c ON c.row = x.concept WHERE x.xref = ? ORDER BY c.id

-- [cross-references of concepts]
SELECT c.id, x.xref, x.predicate FROM concepts c JOIN xrefs x ON x.concept = c.row
WHERE c.id IN ({}) ORDER BY x.xref, x.predicate

-- [preferred names]
SELECT c.id, n.text, c.row FROM concepts c JOIN names n ON n.row = c.preferred WHERE c.id IN ({})

-- [names in a language]
SELECT c.id, n.text FROM concepts c JOIN synonyms s ON s.concept = c.row JOIN names n ON n.row = s.name
WHERE c.id IN ({}) AND s.scope IN ('preferred', 'exact') AND s.language = ?
ORDER BY s.name != c.preferred, s.scope = 'exact', s.name

-- [types of concepts]
SELECT c.id, t.type FROM concepts c JOIN types t ON t.concept = c.row WHERE c.id IN ({}) ORDER BY t.type

-- [content: names]
SELECT s.concept, n.text, s.scope, s.source, s.language
FROM synonyms s JOIN names n ON n.row = s.name JOIN concepts c ON c.row = s.concept
WHERE s.concept IN ({}) ORDER BY s.concept, s.name != c.preferred, s.name, s.source, s.language

-- [content: ids]
SELECT concept, id FROM ids WHERE concept IN ({}) ORDER BY 1, 2

-- [content: types]
SELECT concept, type FROM types WHERE concept IN ({}) ORDER BY 1, 2

-- [content: parents]
SELECT concept, parent FROM parents WHERE concept IN ({}) ORDER BY 1, 2

-- [content: cross-references]
SELECT concept, xref, predicate FROM xrefs WHERE concept IN ({}) ORDER BY 1, 2, 3
