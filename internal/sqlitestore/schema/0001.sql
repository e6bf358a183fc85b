-- Schema 1. Times are nanoseconds since 1970 UTC, saturated at the ends of int64; money is micro-dollars.

CREATE TABLE agents (
  id     TEXT PRIMARY KEY,
  handle TEXT NOT NULL UNIQUE,
  body   TEXT NOT NULL
) STRICT;

-- What the store counts for an agent, whether or not it has a record above.
CREATE TABLE lives (
  agent  TEXT PRIMARY KEY,
  seq    INTEGER NOT NULL DEFAULT 0,  -- newest event
  dreams INTEGER NOT NULL DEFAULT 0,  -- numbers given to dreams
  space  TEXT    NOT NULL DEFAULT '', -- the embedder space of its vectors
  dim    INTEGER NOT NULL DEFAULT 0,  -- numbers in each of its vectors
  tide   INTEGER NOT NULL DEFAULT 0,  -- rises with every change that a neighbour search must see
  scrubs INTEGER NOT NULL DEFAULT 0   -- rises with every erasure: caches start again
) STRICT;

-- Newest revisions. Older ones move to revisions when an item changes.
CREATE TABLE items (
  key      INTEGER PRIMARY KEY,
  agent    TEXT    NOT NULL,
  id       TEXT    NOT NULL,
  kind     TEXT    NOT NULL,
  state    TEXT    NOT NULL,
  at       INTEGER NOT NULL,
  salience REAL    NOT NULL,
  surprise REAL    NOT NULL,
  score    REAL    NOT NULL,
  due      INTEGER,               -- NULL for never
  status   TEXT    NOT NULL,
  session  TEXT    NOT NULL,
  dream    TEXT    NOT NULL,
  bare     INTEGER NOT NULL,      -- 1 until the item has a vector
  revision INTEGER NOT NULL,
  cause    TEXT    NOT NULL,
  changed  INTEGER NOT NULL,
  text     TEXT    NOT NULL,
  body     TEXT    NOT NULL,
  UNIQUE (agent, id)
) STRICT;
CREATE INDEX items_at       ON items (agent, kind, state, at);
CREATE INDEX items_salience ON items (agent, kind, state, salience, at);
CREATE INDEX items_score    ON items (agent, kind, state, score, at);
CREATE INDEX items_due      ON items (agent, kind, state, due) WHERE due IS NOT NULL;
CREATE INDEX items_dream    ON items (agent, dream)            WHERE dream <> '';
CREATE INDEX items_session  ON items (agent, session)          WHERE session <> '';
CREATE INDEX items_bare     ON items (agent, kind, state, at)  WHERE bare = 1;
CREATE INDEX items_cause    ON items (agent, cause);

CREATE TABLE revisions (
  agent  TEXT    NOT NULL,
  id     TEXT    NOT NULL,
  number INTEGER NOT NULL,
  kind   TEXT    NOT NULL,
  cause  TEXT    NOT NULL,
  at     INTEGER NOT NULL,
  body   TEXT    NOT NULL,
  UNIQUE (agent, id, number)
) STRICT;
CREATE INDEX revisions_cause ON revisions (agent, cause);

-- One row per item and space, so that a change of embedder can fill a second space before the agent's life moves to it.
CREATE TABLE vectors (
  key   INTEGER PRIMARY KEY,
  agent TEXT    NOT NULL,
  id    TEXT    NOT NULL,
  space TEXT    NOT NULL,
  kind  TEXT    NOT NULL,
  live  INTEGER NOT NULL,
  tide  INTEGER NOT NULL,
  v     BLOB    NOT NULL,              -- float32, little endian
  UNIQUE (agent, id, space)
) STRICT;
CREATE INDEX vectors_tide ON vectors (agent, tide);

CREATE TABLE affects (
  agent  TEXT    NOT NULL,
  number INTEGER NOT NULL,
  cause  TEXT    NOT NULL,
  body   TEXT    NOT NULL,
  PRIMARY KEY (agent, number)
) STRICT;

CREATE TABLE events (
  agent     TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  id        TEXT    NOT NULL,
  schema    INTEGER NOT NULL,
  subsystem TEXT    NOT NULL,
  dream     TEXT    NOT NULL,
  type      TEXT    NOT NULL,
  at        TEXT    NOT NULL,          -- RFC 3339
  data      TEXT,
  PRIMARY KEY (agent, seq),
  UNIQUE (agent, id)
) STRICT;

CREATE TABLE slots (
  agent    TEXT PRIMARY KEY,
  dream    TEXT NOT NULL,
  run      TEXT NOT NULL,
  workflow TEXT NOT NULL,
  since    TEXT NOT NULL               -- RFC 3339
) STRICT;

CREATE TABLE notes (
  agent TEXT NOT NULL,
  dream TEXT NOT NULL,
  name  TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (agent, dream, name)
) STRICT;

-- The ledger. accounts holds the running sums of attempts; both are written in one transaction.
CREATE TABLE attempts (
  key      INTEGER PRIMARY KEY,        -- the order of reservation
  step     TEXT    NOT NULL,
  attempt  INTEGER NOT NULL,
  agent    TEXT    NOT NULL,
  dream    TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  model    TEXT    NOT NULL,
  day      TEXT    NOT NULL,
  accounts TEXT    NOT NULL,           -- JSON of the accounts that it counts in
  reserved INTEGER NOT NULL,
  counted  INTEGER NOT NULL,
  state    TEXT    NOT NULL,
  tokens   TEXT    NOT NULL DEFAULT '{}',
  finish   TEXT    NOT NULL DEFAULT '',
  at       TEXT    NOT NULL,           -- RFC 3339
  ended    TEXT    NOT NULL DEFAULT '',
  UNIQUE (step, attempt)
) STRICT;
CREATE INDEX attempts_dream ON attempts (dream);
CREATE INDEX attempts_day   ON attempts (agent, day);
CREATE INDEX attempts_open  ON attempts (dream) WHERE state = 'open';

CREATE TABLE accounts (
  scope    TEXT PRIMARY KEY,
  reserved INTEGER NOT NULL,
  spent    INTEGER NOT NULL
) STRICT;

CREATE TABLE answers (
  step   TEXT PRIMARY KEY,
  answer BLOB NOT NULL
) STRICT;

CREATE TABLE allowances (
  dream  TEXT PRIMARY KEY,
  agent  TEXT    NOT NULL,
  day    TEXT    NOT NULL,
  amount INTEGER NOT NULL
) STRICT;
CREATE INDEX allowances_day ON allowances (agent, day);
