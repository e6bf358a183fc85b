-- Schema 10. Of very many answers to requests that may come twice the oldest are emptied.

ALTER TABLE claims ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0; -- 1: its answer made room for newer ones
CREATE INDEX claims_kept ON claims (scope, ends) WHERE status IS NOT NULL AND dropped = 0;
