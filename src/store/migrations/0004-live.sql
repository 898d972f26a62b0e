-- Who looks on while an actor changes, and what AI clients have under way.

-- Until then somebody looks on: read with the actor's lock, so a change that nobody sees costs nothing more. And the number
-- of the last change that was told.
ALTER TABLE actor ADD COLUMN watched_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE actor ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- What changed lately while somebody looked on, for the other processes; a few minutes of it.
CREATE TABLE recent_change (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  number BIGINT NOT NULL,
  category TEXT NOT NULL,
  name TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, number)
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX recent_change_by_age ON recent_change (at);
