-- The processes of the service, with their last sign of life. An orderly end deletes the row.
CREATE TABLE process (
  id TEXT_KEY NOT NULL PRIMARY KEY,
  -- Release and commit of its code, and the name of its machine.
  release TEXT NOT NULL,
  host TEXT NOT NULL,
  started_at BIGINT NOT NULL,
  seen_at BIGINT NOT NULL
) STRICT, WITHOUT ROWID;
