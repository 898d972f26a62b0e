-- Programs that were registered, by themselves or by an application, to act for owners who let them.
CREATE TABLE oauth_client (
  client_id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  -- Whose client it is: an actor, or the system actor for those that registered themselves. For that actor alone it may act
  -- without anybody's consent (client credentials).
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- Null for public clients.
  secret_hash TEXT,
  auth_method TEXT NOT NULL,
  -- JSON arrays.
  redirect_uris TEXT NOT NULL,
  grant_types TEXT NOT NULL,
  trust_type TEXT NOT NULL,
  -- JSON object of what else it said of itself: client_uri, logo_uri, software_id …
  metadata TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- Null when it never was.
  last_used_at BIGINT,
  -- One that registered itself goes then, unless somebody lets it in or it comes again; null for one that stays.
  expires_at BIGINT
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX oauth_client_by_actor ON oauth_client (actor_id);
CREATE INDEX oauth_client_by_expiry ON oauth_client (expires_at) WHERE expires_at IS NOT NULL;

-- The relationship of an owner with a registered client goes with the client, and with it the tokens, wherever the client's
-- end comes from. Null for peers, and for clients that are known by the address of a document.
ALTER TABLE trust ADD COLUMN client_id TEXT /*postgres: COLLATE "C" */ REFERENCES oauth_client (client_id) ON DELETE CASCADE;

CREATE INDEX trust_by_client ON trust (client_id) WHERE client_id IS NOT NULL;
