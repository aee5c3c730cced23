-- Queries for the stop names of a knowledge base, see stop_names.py.

-- [names]
-- A name of several words that begins with four letters is no stop name by itself, only by its concepts or a list.
SELECT n.row, n.text, s.concept, s.annotations, s.language FROM names n JOIN synonyms s ON s.name = n.row
WHERE n.row IN (
    SELECT row FROM names WHERE text NOT GLOB '[A-Za-z][A-Za-z][A-Za-z][A-Za-z]* *'
    UNION SELECT row FROM names WHERE :listed AND is_listed(text)
    UNION SELECT row FROM names WHERE lower(text) IN (SELECT value FROM json_each(:phrases))
    UNION SELECT name FROM synonyms WHERE concept IN (SELECT value FROM json_each(:general))
    UNION SELECT name FROM synonyms WHERE concept IN (SELECT value FROM json_each(:concepts))
) ORDER BY n.row

-- [concepts with names]
SELECT DISTINCT s.concept FROM synonyms s JOIN names n ON n.row = s.name
WHERE lower(n.text) IN (SELECT value FROM json_each(?))
