-- [descriptions]
-- The descriptions of a concept. The last column is the least place of the reference sets that prefer a description in
-- the list :refsets, its length for any other set, and one more for none.
SELECT id, active, languageCode, typeId, term, coalesce((
    SELECT min(coalesce(chosen.key, json_array_length(:refsets)))
    FROM acceptabilities LEFT JOIN json_each(:refsets) chosen ON chosen.value = refsetId
    WHERE referencedComponentId = descriptions.id AND acceptabilityId = 900000000000548007 AND active
), json_array_length(:refsets) + 1)
FROM descriptions WHERE conceptId = :concept

-- [parents]
SELECT DISTINCT destinationId FROM parents WHERE sourceId = ? AND active ORDER BY 1

-- [replaced]
SELECT referencedComponentId, targetComponentId
FROM replacements JOIN concepts ON concepts.id = referencedComponentId
WHERE replacements.active AND NOT concepts.active ORDER BY 1, 2
