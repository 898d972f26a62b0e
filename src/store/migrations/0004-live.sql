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

-- A client of the revisions with a handshake: what was agreed on, so that any process can serve it.
CREATE TABLE mcp_session (
  hash TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  client_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  revision TEXT NOT NULL,
  -- JSON: client_info, capabilities.
  client TEXT NOT NULL,
  -- Empty until the client sets one.
  log_level TEXT NOT NULL,
  -- JSON array of the resources that it subscribed to.
  subscriptions TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX mcp_session_by_peer ON mcp_session (actor_id, peer_id);
CREATE INDEX mcp_session_by_expiry ON mcp_session (expires_at);

-- Answers of clients to requests of the server that came to another process than the one that waits; a moment only.
CREATE TABLE mcp_answer (
  session TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES mcp_session (hash) ON DELETE CASCADE,
  request_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, request_id)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- Work that goes on behind the answer to a call (tasks extension).
CREATE TABLE mcp_task (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  task_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  client_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  tool TEXT NOT NULL,
  -- Sealed JSON: arguments, and the answers that were given before the work went behind.
  call TEXT NOT NULL,
  -- 'working', 'input_required', 'completed', 'failed', 'cancelled'.
  status TEXT NOT NULL,
  status_message TEXT NOT NULL,
  -- JSON of what the status brings with it: input_requests with the answers so far, result, or error. Sealed.
  outcome TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- The process that works on it says so until then; later it is dead.
  held_until BIGINT NOT NULL,
  PRIMARY KEY (actor_id, task_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX mcp_task_by_peer ON mcp_task (actor_id, peer_id);
CREATE INDEX mcp_task_by_expiry ON mcp_task (expires_at);

-- Calls that wait for the owner's yes.
CREATE TABLE approval (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  approval_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  peer_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  client_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  tool TEXT NOT NULL,
  -- Of tool and arguments: the yes is for this call and no other.
  digest TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- Sealed JSON of the arguments, to be shown to the owner.
  arguments TEXT NOT NULL,
  -- 'waiting', 'approved', 'denied', 'used'.
  state TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, approval_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX approval_by_peer ON approval (actor_id, peer_id, digest);
CREATE INDEX approval_by_expiry ON approval (expires_at);
