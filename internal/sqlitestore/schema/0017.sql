-- Schema 17. What is told of all agents at once comes from counts and an index, whatever the agents remember.

CREATE INDEX items_dreams ON items (at DESC, agent, id, state, status) WHERE kind = 'night';

-- How many items an agent has. Only the triggers below write it.
CREATE TABLE item_counts (
  agent TEXT    NOT NULL,
  kind  TEXT    NOT NULL,
  state TEXT    NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (agent, kind, state)
) STRICT, WITHOUT ROWID;
INSERT INTO item_counts (agent, kind, state, n) SELECT agent, kind, state, count(*) FROM items GROUP BY agent, kind, state;

CREATE TRIGGER items_counted_in AFTER INSERT ON items BEGIN
  INSERT INTO item_counts (agent, kind, state, n) VALUES (new.agent, new.kind, new.state, 1)
    ON CONFLICT (agent, kind, state) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER items_counted_out AFTER DELETE ON items BEGIN
  UPDATE item_counts SET n = n - 1 WHERE agent = old.agent AND kind = old.kind AND state = old.state;
END;
CREATE TRIGGER items_counted_on AFTER UPDATE OF agent, kind, state ON items
WHEN (old.agent, old.kind, old.state) <> (new.agent, new.kind, new.state) BEGIN
  UPDATE item_counts SET n = n - 1 WHERE agent = old.agent AND kind = old.kind AND state = old.state;
  INSERT INTO item_counts (agent, kind, state, n) VALUES (new.agent, new.kind, new.state, 1)
    ON CONFLICT (agent, kind, state) DO UPDATE SET n = n + 1;
END;
