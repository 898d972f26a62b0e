-- Requests that were sent with an `Idempotency-Key`: what they were answered, so that a repetition has no second effect.
CREATE TABLE once (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- Hash of the caller and the key that the caller chose.
  key TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Hash of the request: the same key with another one is refused.
  request TEXT NOT NULL,
  -- 0 while the first one runs, and for ever when its process died meanwhile.
  answered BIGINT NOT NULL,
  -- Sealed JSON: status, headers, body.
  answer TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, key)
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX once_by_age ON once (created_at);
