-- [rows]
SELECT concept_id, 0, concept_name, domain_id, vocabulary_id, concept_code FROM concept
WHERE coalesce(invalid_reason, '') = '' %s
UNION ALL SELECT s.concept_id, 1, s.concept_synonym_name, l.concept_name, '', ''
FROM concept_synonym s LEFT JOIN concept l ON l.concept_id = s.language_concept_id
UNION ALL SELECT r.concept_id_1, 2, '', '', c.vocabulary_id, c.concept_code
FROM concept_relationship r JOIN concept c ON c.concept_id = r.concept_id_2
WHERE r.relationship_id = 'Is a' AND coalesce(r.invalid_reason, '') = '' AND r.concept_id_1 <> r.concept_id_2
UNION ALL SELECT r.concept_id_2, 3, CAST(c.concept_id AS varchar(20)), '', c.vocabulary_id, c.concept_code
FROM concept_relationship r JOIN concept c ON c.concept_id = r.concept_id_1
JOIN concept t ON t.concept_id = r.concept_id_2 AND t.vocabulary_id = c.vocabulary_id
WHERE r.relationship_id = 'Maps to' AND coalesce(r.invalid_reason, '') = '' AND c.invalid_reason <> ''
ORDER BY 1, 2, 3, 4, 5, 6
