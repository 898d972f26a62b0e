-- Who signs in, with what, from where; what was given out and for how long; who did what with an actor's data.
-- Nothing here holds a credential in clear: what is only recognised is kept as a hash, what is sent again is sealed.

-- One row for an actor whose owner signed in through a provider, or typed an address.
CREATE TABLE account (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY REFERENCES actor (id) ON DELETE CASCADE,
  -- The identity: an e-mail address, or `<provider kind>:<stable id>` in provider-id mode. Normalised.
  identifier TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- 1 when a provider vouched for the identity, or the link that was sent to the address was followed in the browser that
  -- typed it: whoever proves to have the identifier is signed in here.
  verified BIGINT NOT NULL,
  -- The provider's name for the person, `<provider kind>:<stable id>`, where no provider vouched for an address: the same
  -- person comes back here.
  subject TEXT /*postgres: COLLATE "C" */,
  -- JSON object of the fields that sign-in stores (actor-service, "Session tokens and short-lived records"), tokens excluded:
  -- oauth_provider, auth_method, email, email_verified, created_at, oauth_sub …
  fields TEXT NOT NULL,
  -- Sealed JSON object of the provider's tokens: oauth_token, oauth_token_expiry, oauth_token_timestamp, oauth_refresh_token.
  provider_tokens TEXT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;

-- What two first sign-ins of one person at one instant fight for.
CREATE UNIQUE INDEX account_by_identifier ON account (identifier);
CREATE UNIQUE INDEX account_by_subject ON account (subject) WHERE subject IS NOT NULL;

-- One sign-in on one device, or one consent to one client: the rotation family of its tokens. Ending it ends them all.
CREATE TABLE token_chain (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  chain_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- 'session' of the owner, or 'client'.
  kind TEXT NOT NULL,
  -- Of a client: its id and its relationship with the actor, with which it goes; null for sessions.
  client_id TEXT /*postgres: COLLATE "C" */,
  peer_id TEXT /*postgres: COLLATE "C" */,
  -- What the tokens are good for (RFC 8707), and how far; empty for sessions.
  audience TEXT NOT NULL DEFAULT '',
  scope TEXT NOT NULL DEFAULT '',
  -- How the owner recognises it: how it began (web, spa, mobile, passphrase …) and the device in words.
  began_with TEXT NOT NULL,
  device TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- Written at most once a minute.
  last_used_at BIGINT NOT NULL,
  -- However often it is refreshed, it ends then.
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, chain_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX token_chain_by_peer ON token_chain (actor_id, peer_id) WHERE peer_id IS NOT NULL;
CREATE INDEX token_chain_by_client ON token_chain (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX token_chain_by_end ON token_chain (ends_at);

-- Found by the hash alone: whoever shows a token does not always say whose it is.
CREATE TABLE token (
  hash TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  chain_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- 'access' or 'refresh'.
  kind TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Of a refresh token: when it was first used, and how often it was answered within the grace window since.
  used_at BIGINT,
  grace_answers BIGINT NOT NULL DEFAULT 0,
  -- 1 for a refresh token that came from another service without a family: its reuse revokes it alone.
  legacy BIGINT NOT NULL DEFAULT 0,
  FOREIGN KEY (actor_id, chain_id) REFERENCES token_chain (actor_id, chain_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX token_by_chain ON token (actor_id, chain_id);
CREATE INDEX token_by_expiry ON token (expires_at);

-- Whatever is good once: states, nonces, tickets, one-time session ids, e-mail sessions, verification links, authorization
-- codes, and the marks of assertions that were shown.
CREATE TABLE one_time (
  hash TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  purpose TEXT NOT NULL,
  actor_id TEXT /*postgres: COLLATE "C" */ REFERENCES actor (id) ON DELETE CASCADE,
  -- The provider it was made for; empty when it is not about one.
  provider TEXT NOT NULL,
  -- Hash of the value in the browser's cookie, for what only the browser that began may end.
  browser TEXT,
  -- Sealed JSON.
  data TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Set by the one statement that consumes it. The row stays until it is purged, so that a second use is told from a guess.
  used_at BIGINT
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX one_time_by_expiry ON one_time (expires_at);
CREATE INDEX one_time_by_actor ON one_time (actor_id) WHERE actor_id IS NOT NULL;

-- One row per key (what, and for whom, hashed): the time at which its bucket is empty again (generic cell rate algorithm).
CREATE TABLE rate_limit (
  key TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  empty_at BIGINT NOT NULL,
  -- How often it refused since it let somebody through last: 0 tells the one who asked that it did.
  refused BIGINT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX rate_limit_by_time ON rate_limit (empty_at);

-- Unix milliseconds. Until then somebody has guessed at the actor's credentials too often: read with the actor, so that
-- nobody else's request pays a statement for it.
ALTER TABLE actor ADD COLUMN guarded_until BIGINT NOT NULL DEFAULT 0;

-- The access ledger: what peers and clients did with the actor, never values. Written in batches behind the requests.
CREATE TABLE activity (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- Unix milliseconds and a random rest, so that entries of several processes keep one order.
  at BIGINT NOT NULL,
  id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- 'peer', 'client', 'trustee' or 'anonymous', who has no credentials or wrong ones; and its id, or the address.
  caller_kind TEXT NOT NULL,
  caller TEXT NOT NULL,
  -- http, callback or mcp.
  through TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  decision TEXT NOT NULL,
  reason TEXT NOT NULL,
  status BIGINT NOT NULL,
  -- Of the first time, where the same happened again within a minute.
  request_id TEXT NOT NULL,
  times BIGINT NOT NULL,
  PRIMARY KEY (actor_id, at, id)
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX activity_by_age ON activity (at);

-- The vault: what third-party services gave for an actor. Never in properties.
CREATE TABLE service_connection (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  service TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Sealed JSON: access_token, refresh_token, expires_at, scope.
  tokens TEXT NOT NULL,
  connected_at BIGINT NOT NULL,
  -- Unix milliseconds: until then one process is about to get new tokens, and the others wait for them.
  refreshing_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (actor_id, service)
) /*sqlite: STRICT, WITHOUT ROWID */;
