-- Schema 5. Keys of the server, and requests that may come twice.

CREATE TABLE keys (
  id   TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE claims (
  key    INTEGER PRIMARY KEY,
  scope  TEXT    NOT NULL,
  name   TEXT    NOT NULL,
  digest TEXT    NOT NULL,
  at     INTEGER NOT NULL, -- when it was claimed; it tells a claim from one that came after it had ended
  ends   INTEGER NOT NULL,
  status INTEGER,          -- NULL until it is answered
  type   TEXT    NOT NULL DEFAULT '',
  body   BLOB,
  UNIQUE (scope, name)
) STRICT;
CREATE INDEX claims_ends ON claims (ends);
