-- same_name: the rows of a name that is in both files.
-- follows: which new concepts continue which old ones, under the same id or with the old id as an alternative id.
-- left_names, joined_names: names that a concept has lost, and names that it has gained.
-- moved_names: names that left one concept and joined another.
-- CROSS JOIN makes SQLite keep the written order, which uses the indexes.

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
