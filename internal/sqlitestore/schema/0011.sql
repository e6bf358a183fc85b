-- Schema 11. Agents can be removed.

ALTER TABLE lives ADD COLUMN removed INTEGER NOT NULL DEFAULT 0; -- 1: its counters alone are left, and nothing is written for it
