-- Schema 6. What was said beside an answer that may come twice.

ALTER TABLE claims ADD COLUMN header TEXT NOT NULL DEFAULT ''; -- JSON of names and values; empty for none
