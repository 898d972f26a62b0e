-- Numbers in a row that arrived one after another, told in one row: their rows in `delivery` stay as they were written,
-- and nothing waits up to what is settled.
CREATE TABLE delivery_run (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- The last of them, and the first.
  sequence BIGINT NOT NULL,
  first BIGINT NOT NULL,
  -- Of the last answer (Unix milliseconds), and how long before that each was sent, and answered: a JSON array of
  -- milliseconds, in their order.
  ended_at BIGINT NOT NULL,
  times TEXT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES inbound_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX delivery_run_by_age ON delivery_run (ended_at);
