-- Schema 12. What a dream writes lies in its row packed (internal/store/packed), with body or data left empty. Rows of before stay as they are.

ALTER TABLE items     ADD COLUMN packed BLOB; -- body; near: text, id
ALTER TABLE revisions ADD COLUMN packed BLOB; -- body; near: id
ALTER TABLE events    ADD COLUMN packed BLOB; -- schema, subsystem, dream, type, at and data; near: id
ALTER TABLE attempts  ADD COLUMN packed BLOB; -- accounts; near: step
ALTER TABLE vectors   ADD COLUMN numbers INTEGER; -- how many lie packed in v; NULL: v holds them as they are

-- What a dream made it has mostly changed itself, and items_dream finds that.
DROP INDEX items_cause;
CREATE INDEX items_cause ON items (agent, cause) WHERE cause <> dream;

-- Nothing but an episode has a salience, and many kinds never get a vector.
DROP INDEX items_salience;
CREATE INDEX items_salience ON items (agent, kind, state, salience, at) WHERE kind = 'episode';
DROP INDEX items_bare;
CREATE INDEX items_bare ON items (agent, kind, state, at) WHERE bare = 1 AND kind IN ('episode', 'semantic', 'playbook', 'gist');
