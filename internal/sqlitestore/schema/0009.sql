-- Schema 9. Whether every request needs a key, whatever became of the keys.

CREATE TABLE access_settings (
  one           INTEGER PRIMARY KEY CHECK (one = 1),
  keys_required INTEGER NOT NULL
) STRICT;
INSERT INTO access_settings (one, keys_required) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM keys);
