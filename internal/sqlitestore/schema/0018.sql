-- Answers that later requests may go on from. They end by themselves, and go with what is erased of their agent.
CREATE TABLE responses (
  key      INTEGER PRIMARY KEY,
  scope    TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  user     TEXT    NOT NULL,
  agent    TEXT    NOT NULL,
  previous TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  until    INTEGER,          -- NULL: it does not end
  body     BLOB    NOT NULL,
  UNIQUE (scope, id)
) STRICT;
CREATE INDEX responses_until ON responses (until);
CREATE INDEX responses_agent ON responses (agent);
CREATE INDEX responses_at ON responses (scope, at);
