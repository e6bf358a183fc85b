-- Schema 7. What was put before the messages of talks, so that the next request of a talk begins with the same bytes.

CREATE TABLE backgrounds (
  key   INTEGER PRIMARY KEY,
  agent TEXT    NOT NULL,
  talk  TEXT    NOT NULL,
  at    INTEGER NOT NULL,
  body  TEXT    NOT NULL               -- JSON of memory.Background
) STRICT;
CREATE INDEX backgrounds_talk ON backgrounds (agent, talk);
CREATE INDEX backgrounds_at   ON backgrounds (at);
