-- Schema 8. Whose an item is, whether it was dreamt, and when it changed: what the index in memory is fed by.

ALTER TABLE items ADD COLUMN owner  TEXT    NOT NULL DEFAULT ''; -- the origin of what was said in a talk; empty for the agent's own
ALTER TABLE items ADD COLUMN dreamt INTEGER NOT NULL DEFAULT 0;  -- 1 when a dream made it or its words
ALTER TABLE items ADD COLUMN tide   INTEGER NOT NULL DEFAULT 0;  -- as of lives.tide: the newest change of the item or its vector

UPDATE items SET owner = body ->> '$.origin' WHERE kind = 'episode' AND body ->> '$.origin' GLOB 'talk/*';
UPDATE items SET dreamt = 1 WHERE dream <> '' OR body ->> '$.taint' = 'dream';

CREATE INDEX items_owner ON items (agent, owner, kind, state) WHERE owner <> '';
CREATE INDEX items_tide  ON items (agent, tide);
DROP INDEX vectors_tide;
ALTER TABLE vectors DROP COLUMN tide; -- a vector's change is its item's
