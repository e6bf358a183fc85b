-- Schema 2. Answers can be forgotten, slots name the cluster their holder runs on, and a change of embedder has a place.

ALTER TABLE attempts ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0; -- 1: its answer is not to be kept

ALTER TABLE slots ADD COLUMN cluster TEXT NOT NULL DEFAULT '';

CREATE INDEX attempts_awake ON attempts (agent) WHERE dream = '';

-- Spaces whose vectors are being collected beside those of the agent's own.
CREATE TABLE moves (
  agent TEXT    NOT NULL,
  space TEXT    NOT NULL,
  dim   INTEGER NOT NULL,
  PRIMARY KEY (agent, space)
) STRICT;
