-- Schema 4. An attempt that has ended tells which attempts of its step had been reserved by then.

ALTER TABLE attempts ADD COLUMN latest INTEGER NOT NULL DEFAULT 0; -- 0: open, or ended under an older schema
