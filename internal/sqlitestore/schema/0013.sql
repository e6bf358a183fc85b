-- Schema 13. Who embeds which agent's memories in the background.

CREATE TABLE embed_jobs (
  agent TEXT PRIMARY KEY,
  body  TEXT NOT NULL -- JSON
) STRICT;
