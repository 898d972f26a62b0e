-- Relationships with other actors, what they may do, what they are told, and what they told us.

-- How many peers' subscriptions listen to the actor: read with the actor's lock, so a write that nobody listens to
-- learns so without a statement of its own.
ALTER TABLE actor ADD COLUMN listeners BIGINT NOT NULL DEFAULT 0;

CREATE TABLE trust (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- The peer's root address, its id included, without a slash at the end; empty for clients that have none.
  baseuri TEXT NOT NULL,
  type TEXT NOT NULL,
  relationship TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Sealed, because it is sent with every call; found by its hash.
  secret TEXT NOT NULL,
  secret_hash TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Sealed: this side's own token, which the other side reads while it verifies a request.
  verification_token TEXT NOT NULL,
  description TEXT NOT NULL,
  approved BIGINT NOT NULL,
  peer_approved BIGINT NOT NULL,
  verified BIGINT NOT NULL,
  established_via TEXT NOT NULL,
  -- JSON object of what is known about a client or the peer besides: peer_identifier, client_name, aw_supported …
  facts TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_accessed BIGINT NOT NULL,
  last_connected_via TEXT NOT NULL,
  -- The last request of this actor to the peer: JSON of its id, its relationship and the time (Unix milliseconds) when
  -- it was answered, or after which nobody waits for an answer. While it replaces an older relationship, both secrets are good.
  request TEXT,
  next_secret_hash TEXT /*postgres: COLLATE "C" */,
  -- The circuit of calls to this peer (delivery/policy.ts); failures in a row, and until when nothing is sent.
  failures BIGINT NOT NULL DEFAULT 0,
  open_until BIGINT,
  PRIMARY KEY (actor_id, peer_id)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- One secret serves one relationship of an actor.
CREATE UNIQUE INDEX trust_by_secret ON trust (actor_id, secret_hash);
CREATE INDEX trust_by_next_secret ON trust (actor_id, next_secret_hash) WHERE next_secret_hash IS NOT NULL;

-- Actors that this actor had made at another service, with the passphrase that opens them.
CREATE TABLE companion (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- The short name that the application declared, or 'myself'.
  kind TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  baseuri TEXT NOT NULL,
  type TEXT NOT NULL,
  -- Sealed.
  passphrase TEXT NOT NULL,
  PRIMARY KEY (actor_id, kind)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- What the owner granted or withdrew beyond the trust type. Goes with the trust.
CREATE TABLE permission_override (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- JSON object: category to rule.
  rules TEXT NOT NULL,
  created_by TEXT NOT NULL,
  notes TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

-- A peer listens to this actor. The row is the lane of its deliveries: what was produced, what is settled, when the next
-- attempt is due. A change, its numbers and its lanes' due times are written in one transaction.
CREATE TABLE inbound_subscription (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  target TEXT NOT NULL,
  subtarget TEXT NOT NULL,
  resource TEXT NOT NULL,
  granularity TEXT NOT NULL,
  -- The last number produced, and the last one that needs no further attempt.
  sequence BIGINT NOT NULL DEFAULT 0,
  settled BIGINT NOT NULL DEFAULT 0,
  -- Unix milliseconds of the next attempt; null when there is nothing to send. While a worker holds the lane, when its hold
  -- ends.
  due_at BIGINT,
  -- Of the number after `settled`: how often it was tried, and how often with an outcome that nobody knows.
  attempts BIGINT NOT NULL DEFAULT 0,
  uncertain BIGINT NOT NULL DEFAULT 0,
  -- Since when every attempt failed; null after one that did not.
  failing_since BIGINT,
  -- A worker holds the lane until then, unless it dies.
  claimed_until BIGINT NOT NULL DEFAULT 0,
  -- 'live', or 'stopped': the peer asked for no more, or was away for too long; nothing is sent until somebody redrives it.
  state TEXT NOT NULL DEFAULT 'live',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX inbound_subscription_due ON inbound_subscription (due_at) WHERE due_at IS NOT NULL;

-- Kept for polling until acknowledged, cleared or capped. What was cleared by reading stays for 60 seconds
-- (`cleared_at`), for the peer whose answer got lost.
CREATE TABLE diff (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  sequence BIGINT NOT NULL,
  -- 'diff', or 'resync' (no data: the peer fetches the whole, and everything up to now with it).
  kind TEXT NOT NULL,
  data TEXT NOT NULL,
  -- 1 when the values in it replace what was there; 0 when they are merged into it.
  replaces BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  cleared_at BIGINT,
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES inbound_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX diff_by_age ON diff (created_at);

-- What became of each number, for the owner: written, sent, acknowledged, refused with the reason.
CREATE TABLE delivery (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  sequence BIGINT NOT NULL,
  written_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  sent_at BIGINT,
  answered_at BIGINT,
  acknowledged_at BIGINT,
  -- 'waiting', 'delivered', 'failed' (final), 'superseded' (a resync or a reading took its place), 'unsent' (for polling).
  outcome TEXT NOT NULL DEFAULT 'waiting',
  reason TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES inbound_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX delivery_by_age ON delivery (written_at);

-- Targets that the application suspended: no diffs, no numbers, one resync on resume.
CREATE TABLE suspension (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  target TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subtarget TEXT /*postgres: COLLATE "C" */ NOT NULL,
  PRIMARY KEY (actor_id, target, subtarget)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- This actor listens to a peer.
CREATE TABLE outbound_subscription (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Minted by the peer.
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  target TEXT NOT NULL,
  subtarget TEXT NOT NULL,
  resource TEXT NOT NULL,
  granularity TEXT NOT NULL,
  -- The last number applied.
  sequence BIGINT NOT NULL DEFAULT 0,
  -- When the oldest gap that is still open is given up for a resync; null without a gap.
  gap_due_at BIGINT,
  resync_pending BIGINT NOT NULL DEFAULT 0,
  -- 1 once the peer said that it does not know it: until the peer speaks of it again it stands in no other's place.
  is_unknown BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX outbound_subscription_due ON outbound_subscription (gap_due_at) WHERE gap_due_at IS NOT NULL;

-- Callbacks that came before the ones they follow.
CREATE TABLE pending_callback (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  subscription_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  sequence BIGINT NOT NULL,
  body TEXT NOT NULL,
  received_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES outbound_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

-- Messages to peers that are no diffs (an approval, a parting, changed rights): sent in order for each peer, repeated
-- until they arrived. A parting outlives the relationship, even the actor, so nothing is referenced and the row carries
-- the address and the sealed secret itself.
CREATE TABLE notice (
  id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  -- Actor and peer, the lane in which the order is kept.
  sender TEXT /*postgres: COLLATE "C" */ NOT NULL,
  recipient TEXT /*postgres: COLLATE "C" */ NOT NULL,
  position BIGINT NOT NULL,
  kind TEXT NOT NULL,
  method TEXT NOT NULL,
  url TEXT NOT NULL,
  -- The peer's root, below which `url` has to lie.
  baseuri TEXT NOT NULL,
  -- Sealed.
  secret TEXT NOT NULL,
  -- JSON, or empty without a body.
  body TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  -- Null: given up, kept for the operator.
  due_at BIGINT,
  claimed_until BIGINT NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX notice_by_lane ON notice (sender, recipient, position);
CREATE INDEX notice_due ON notice (due_at) WHERE due_at IS NOT NULL;
