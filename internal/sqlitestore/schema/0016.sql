-- Schema 16. What is old can go: attempts of the past are folded into sums, and agents say since when their history is whole.

-- The sums of a dream, or of an agent's day outside of dreams.
CREATE TABLE sums (
  agent TEXT NOT NULL,
  day   TEXT NOT NULL,
  dream TEXT NOT NULL,
  body  BLOB NOT NULL, -- JSON list of memory.KeptSum, packed
  PRIMARY KEY (agent, day, dream)
) STRICT, WITHOUT ROWID;
CREATE INDEX sums_dream ON sums (dream) WHERE dream <> '';

ALTER TABLE lives ADD COLUMN undo_from    INTEGER; -- as of memory.Aged; NULL: nothing was removed
ALTER TABLE lives ADD COLUMN details_from INTEGER;

-- What sweeps have done.
CREATE TABLE sweeps (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  body TEXT NOT NULL -- JSON of memory.SweepState
) STRICT;
