-- [tables]
CREATE TABLE about (content jsonb NOT NULL);
CREATE TABLE names (
    id bigint PRIMARY KEY, name text NOT NULL, concept_ids text[] NOT NULL, tags text[] NOT NULL,
    vector halfvec({}) NOT NULL
)
-- [nearest]
SELECT q.number, row_number() OVER (PARTITION BY q.number ORDER BY n.distance), n.id, n.distance
FROM unnest(%s::halfvec[]) WITH ORDINALITY q(vector, number), LATERAL (
    SELECT id, names.vector <#> q.vector AS distance FROM names
    WHERE %s::text[] IS NULL OR tags && %s ORDER BY distance LIMIT %s
) n
-- [removed]
DELETE FROM names n WHERE NOT EXISTS (SELECT FROM uploaded u WHERE u.id = n.id)
-- [changed]
UPDATE names n SET concept_ids = u.concept_ids, tags = u.tags FROM uploaded u
WHERE u.id = n.id AND (n.concept_ids, n.tags) IS DISTINCT FROM (u.concept_ids, u.tags)
-- [added]
INSERT INTO names SELECT * FROM uploaded ON CONFLICT DO NOTHING
-- [finish]
CREATE INDEX IF NOT EXISTS names_by_vector ON names USING hnsw (vector halfvec_ip_ops);
CREATE INDEX IF NOT EXISTS names_by_tag ON names USING gin (tags);
ANALYZE names;
DELETE FROM about
