-- Schema 15. Rooms: sorted records, whose names and indexes internal/store/rooms says.

CREATE TABLE room_records (
  name TEXT PRIMARY KEY,
  body TEXT NOT NULL -- JSON; empty in the records of an index
) STRICT, WITHOUT ROWID;
