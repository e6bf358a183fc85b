-- Schema 20. What each agent has spent by day is kept beside the attempts, by triggers: no program can forget it, not even
-- an older one that still runs. Folding attempts into sums changes nothing of it. What was folded before is added by the
-- program that raises the schema.

-- Amounts and tokens are ANY, because a sum beyond the largest integer becomes a float and must not fail a booking.
CREATE TABLE spent (
  agent    TEXT    NOT NULL,
  day      TEXT    NOT NULL,
  calls    INTEGER NOT NULL,
  reserved ANY     NOT NULL, -- of open attempts
  settled  ANY     NOT NULL, -- of settled, partial and refused ones
  unknown  ANY     NOT NULL, -- of lost ones
  tokens   ANY     NOT NULL, -- into models
  cached   ANY     NOT NULL,
  out      ANY     NOT NULL,
  PRIMARY KEY (agent, day)
) STRICT, WITHOUT ROWID;
INSERT INTO spent
  SELECT agent, day, count(*),
    sum(iif(state = 'open', counted, 0)),
    sum(iif(state IN ('open', 'unknown'), 0, counted)),
    sum(iif(state = 'unknown', counted, 0)),
    sum(coalesce(tokens ->> 'in', 0)), sum(coalesce(tokens ->> 'cached', 0)), sum(coalesce(tokens ->> 'out', 0))
  FROM attempts GROUP BY agent, day;

CREATE TRIGGER attempts_reserved AFTER INSERT ON attempts WHEN new.state = 'open' BEGIN
  INSERT INTO spent VALUES (new.agent, new.day, 1, new.counted, 0, 0, 0, 0, 0)
    ON CONFLICT (agent, day) DO UPDATE SET calls = calls + 1, reserved = reserved + excluded.reserved;
END;
CREATE TRIGGER attempts_imported AFTER INSERT ON attempts WHEN new.state <> 'open' BEGIN
  INSERT INTO spent VALUES (new.agent, new.day, 1, 0,
      iif(new.state = 'unknown', 0, new.counted), iif(new.state = 'unknown', new.counted, 0),
      coalesce(new.tokens ->> 'in', 0), coalesce(new.tokens ->> 'cached', 0), coalesce(new.tokens ->> 'out', 0))
    ON CONFLICT (agent, day) DO UPDATE SET calls = calls + 1,
      settled = settled + excluded.settled, unknown = unknown + excluded.unknown,
      tokens = tokens + excluded.tokens, cached = cached + excluded.cached, out = out + excluded.out;
END;
CREATE TRIGGER attempts_ended AFTER UPDATE OF counted, state, tokens ON attempts BEGIN
  UPDATE spent SET
    reserved = reserved - iif(old.state = 'open', old.counted, 0) + iif(new.state = 'open', new.counted, 0),
    settled = settled - iif(old.state IN ('open', 'unknown'), 0, old.counted)
      + iif(new.state IN ('open', 'unknown'), 0, new.counted),
    unknown = unknown - iif(old.state = 'unknown', old.counted, 0) + iif(new.state = 'unknown', new.counted, 0),
    tokens = tokens - coalesce(old.tokens ->> 'in', 0) + coalesce(new.tokens ->> 'in', 0),
    cached = cached - coalesce(old.tokens ->> 'cached', 0) + coalesce(new.tokens ->> 'cached', 0),
    out = out - coalesce(old.tokens ->> 'out', 0) + coalesce(new.tokens ->> 'out', 0)
  WHERE agent = new.agent AND day = new.day;
END;
