-- Schema 3. Agents are woken: who holds them awake, and what they are told of from outside.

CREATE TABLE presences (
  agent  TEXT PRIMARY KEY,
  epoch  INTEGER NOT NULL DEFAULT 0,
  told   INTEGER NOT NULL DEFAULT 0,    -- the newest epoch that the agent's workflow has recorded
  lock   INTEGER NOT NULL,              -- no dream begins before it
  seen   INTEGER NOT NULL,
  wake   TEXT    NOT NULL DEFAULT '',   -- JSON of the newest wake
  digest TEXT    NOT NULL DEFAULT '[]'  -- JSON of the ids that the next wake will tell
) STRICT;
CREATE INDEX presences_untold ON presences (agent) WHERE told < epoch;

CREATE TABLE leases (
  agent  TEXT    NOT NULL,
  client TEXT    NOT NULL,
  cause  TEXT    NOT NULL,
  since  INTEGER NOT NULL,
  until  INTEGER NOT NULL,
  PRIMARY KEY (agent, client)
) STRICT, WITHOUT ROWID;

ALTER TABLE slots ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0; -- of the agent when the slot was taken
ALTER TABLE slots ADD COLUMN mood TEXT;                        -- JSON of the affect that a knock would leave; NULL for none

CREATE TABLE feeds (
  name TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;
