-- What a format of export.py may not hold: a query with a row for each instance.

-- [alternative ids]
SELECT 1 FROM ids i JOIN concepts c ON c.row = i.concept WHERE i.id != c.id

-- [types]
SELECT 1 FROM types

-- [definitions]
SELECT 1 FROM concepts WHERE definition IS NOT NULL

-- [parents]
SELECT 1 FROM parents

-- [cross-references]
SELECT 1 FROM xrefs

-- [predicates of cross-references]
SELECT 1 FROM xrefs WHERE predicate != ''

-- [sources of names, but one]
SELECT DISTINCT source FROM synonyms LIMIT -1 OFFSET 1

-- [languages of names]
SELECT 1 FROM synonyms WHERE language != ''

-- [annotation counts of names]
SELECT 1 FROM synonyms WHERE annotations > 0

-- [narrow, broad and related scopes of names]
SELECT 1 FROM synonyms WHERE scope IN ('narrow', 'broad', 'related')
