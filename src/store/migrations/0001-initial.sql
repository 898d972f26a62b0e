-- Frozen: every database of release 0.2.0 or later begins with this text. A change of the schema is a migration after it
-- (CONTRIBUTING.md, "Change the schema").

-- The schema. BIGINT, TEXT_KEY, STRICT and the markers around triggers are translated for each database (portable.ts).
-- TEXT_KEY is text that both databases compare byte by byte. Times are Unix milliseconds.
-- The key of nearly every table begins with the actor, and deleting an actor deletes its rows.
-- Tables whose rows may be long have rowids: in a table without them, SQLite reads each long row whose key it compares (record
-- 139).

CREATE TABLE actor (
  id TEXT_KEY NOT NULL PRIMARY KEY,
  creator TEXT_KEY NOT NULL,
  passphrase TEXT NOT NULL,
  trustee_root TEXT,
  created_at BIGINT NOT NULL,
  -- 'here'; 'moving' to another service, and frozen; 'moved', until its content is deleted; 'arriving' from another service;
  -- 'replacing', closed while an archive replaces its content.
  residence TEXT NOT NULL DEFAULT 'here',
  -- Most columns below are read with the actor's lock, so the common case costs no further statement.
  -- Number of subscriptions that peers hold at this actor, and how many of them cover a key of a property.
  subscription_count BIGINT NOT NULL DEFAULT 0,
  key_subscription_count BIGINT NOT NULL DEFAULT 0,
  -- Number of rows in waiting_change.
  waiting_changes BIGINT NOT NULL DEFAULT 0,
  -- A page or client watches the actor's changes until then. `version` numbers the recorded changes.
  watched_until BIGINT NOT NULL DEFAULT 0,
  version BIGINT NOT NULL DEFAULT 0,
  -- Failed sign-in attempts are limited until then.
  guarded_until BIGINT NOT NULL DEFAULT 0,
  -- Number of rows of features that receive every change, such as webhooks.
  observer_count BIGINT NOT NULL DEFAULT 0,
  -- The counts of quotas (quotas.ts), which the triggers below change with the rows: bytes of names, values, items and copies
  -- of peers' data, without the heads of lists; properties; items, and entries of copies.
  used_bytes BIGINT NOT NULL DEFAULT 0,
  used_names BIGINT NOT NULL DEFAULT 0,
  used_items BIGINT NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The order in which all actors are listed.
CREATE INDEX actor_by_age ON actor (created_at, id);

-- Finds the actors of a creator. Creations that must see each other insert and delete a row with an empty actor, which
-- makes the second one wait (actor/creator-store.ts). The service deletes the row with the actor.
CREATE TABLE creator (
  name TEXT_KEY NOT NULL,
  actor_id TEXT_KEY NOT NULL,
  -- Creation of the actor: the oldest one is found first.
  created_at BIGINT NOT NULL,
  PRIMARY KEY (name, actor_id)
) STRICT, WITHOUT ROWID;

-- Tombstones, kept for 30 days: background work can tell a deleted actor from one that never existed.
CREATE TABLE deleted_actor (
  id TEXT_KEY NOT NULL PRIMARY KEY,
  deleted_at BIGINT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX deleted_actor_by_time ON deleted_actor (deleted_at);

-- Ids whose tombstones have ended. An id that was deleted here never comes back by a move: its peers might trust it.
CREATE TABLE former_actor (
  actor_id TEXT_KEY NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- A move of an actor to another service (docs/spec/moving.md). The row outlives the actor, and redirects requests until `ends_at`.
-- It stays afterwards, because the id comes back only along the notices that begin here.
CREATE TABLE departure (
  actor_id TEXT_KEY NOT NULL PRIMARY KEY,
  -- The address at the new service.
  url TEXT NOT NULL,
  -- 'asking' and 'moving' before the move, 'failed' when it was given up, 'moved' after it.
  state TEXT NOT NULL,
  -- JSON Web Keys: of this home of the actor, and of the new one, which the new service made. The second is empty until then.
  public_key TEXT NOT NULL,
  new_key TEXT NOT NULL DEFAULT '',
  -- The signed notice. Empty before the move.
  notice TEXT NOT NULL DEFAULT '',
  -- JSON array of the addresses from which the actor had come here.
  origins TEXT NOT NULL DEFAULT '[]',
  -- Sealed JSON: the private key of this home, the token for the new service, and the owner's code for it.
  secrets TEXT NOT NULL,
  -- Why the last attempt failed.
  reason TEXT NOT NULL DEFAULT '',
  begun_at BIGINT NOT NULL,
  -- Time of the move, and the end of the redirect. Null before the move.
  moved_at BIGINT,
  ends_at BIGINT
) STRICT, WITHOUT ROWID;

CREATE INDEX departure_by_end ON departure (ends_at) WHERE ends_at IS NOT NULL;

-- An actor that comes, or came, from another service. One row for each address that announces it, because an id at an address
-- proves nothing about the same id at another one. The rows exist before the actor, and at most one of an actor is 'here'.
CREATE TABLE arrival (
  actor_id TEXT_KEY NOT NULL,
  -- The address at the old service, and the public key that this address had when it announced the move.
  origin_url TEXT_KEY NOT NULL,
  origin_key TEXT NOT NULL,
  -- 'announced'; 'stored' with its archive; 'moved' when the old address has published the notice; 'here'; or 'refused' for ever.
  state TEXT NOT NULL,
  -- Hash of the token of the old service, and of the code by which the owner takes the actor. Empty after its use.
  token_hash TEXT NOT NULL,
  claim_hash TEXT NOT NULL,
  -- JSON Web Keys of this home of the actor. The private one is sealed, and never leaves the service.
  public_key TEXT NOT NULL,
  private_key TEXT NOT NULL,
  -- JSON array of all addresses from which the actor has come here, the last first.
  origins TEXT NOT NULL,
  -- The archive in the storage for files. Empty without one.
  object TEXT NOT NULL DEFAULT '',
  -- Why it was refused.
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  -- Time of the move by the notice, and when it was read here. Null before.
  moved_at BIGINT,
  proved_at BIGINT,
  -- When the actor was complete here. Null before.
  here_at BIGINT,
  -- The trustee that the archive states, until the owner takes the actor. Null: none.
  trustee_root TEXT,
  PRIMARY KEY (actor_id, origin_url)
) STRICT, WITHOUT ROWID;

CREATE INDEX arrival_by_age ON arrival (created_at) WHERE state <> 'here';

-- Properties of all kinds (property/kinds.ts). One table, so a value and a list cannot share a name.
CREATE TABLE property (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT_KEY NOT NULL,
  -- No CHECK: SQLite would have to rebuild the table for each new kind.
  kind TEXT NOT NULL,
  -- JSON of who made the last change, and how (origin.ts).
  origin TEXT NOT NULL DEFAULT '',
  -- CRC-32 of value and key (store/checksum.ts): detects a flipped bit.
  checksum BIGINT,
  -- The declared version of the value. For a list, of its items, besides those that marks in list_index name.
  version BIGINT NOT NULL DEFAULT 1,
  -- JSON of the value, or of what the kind keeps in place of one, such as the list's head (list/list-head.ts).
  value TEXT NOT NULL,
  PRIMARY KEY (actor_id, name)
) STRICT;

-- The order of a list: a counted tree whose leaves hold item numbers (list/order-tree.ts).
-- list_node and list_item have no foreign key: a cascade would delete all items of a long list in one statement.
CREATE TABLE list_node (
  actor_id TEXT_KEY NOT NULL,
  list TEXT_KEY NOT NULL,
  node BIGINT NOT NULL,
  entries TEXT NOT NULL,
  PRIMARY KEY (actor_id, list, node)
) STRICT, WITHOUT ROWID;

CREATE TABLE list_item (
  actor_id TEXT_KEY NOT NULL,
  list TEXT_KEY NOT NULL,
  item BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  checksum BIGINT,
  -- The declared version of the value.
  version BIGINT NOT NULL DEFAULT 1,
  value TEXT NOT NULL,
  PRIMARY KEY (actor_id, list, item)
) STRICT;

-- The indexes of lists: one row for each item and indexed field (list/index-store.ts). The key sorts as the value does.
CREATE TABLE list_index (
  actor_id TEXT_KEY NOT NULL,
  list TEXT_KEY NOT NULL,
  field TEXT_KEY NOT NULL,
  value_key TEXT_KEY NOT NULL,
  item BIGINT NOT NULL,
  PRIMARY KEY (actor_id, list, field, value_key, item)
) STRICT, WITHOUT ROWID;
CREATE INDEX list_index_item ON list_index (actor_id, list, item);

-- A removed list whose rows are still deleted in batches (list/removed-lists.ts). Items before `next_item` are deleted.
-- A new list of the same name numbers its items and nodes after `last_item` and `last_node`.
CREATE TABLE removed_list (
  actor_id TEXT_KEY NOT NULL,
  list TEXT_KEY NOT NULL,
  next_item BIGINT NOT NULL,
  last_item BIGINT NOT NULL,
  last_node BIGINT NOT NULL,
  PRIMARY KEY (actor_id, list)
) STRICT, WITHOUT ROWID;

-- Deletes the rows of a removed list at once when its actor has few items, and records the list for batches otherwise.
/*sqlite:
CREATE TRIGGER property_list_removed AFTER DELETE ON property WHEN OLD.kind = 'list'
BEGIN
  INSERT INTO removed_list (actor_id, list, next_item, last_item, last_node)
    SELECT OLD.actor_id, OLD.name, 1,
      COALESCE((SELECT max(item) FROM list_item WHERE actor_id = OLD.actor_id AND list = OLD.name), 0),
      COALESCE((SELECT max(node) FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name), 0)
    WHERE EXISTS (SELECT 1 FROM removed_list WHERE actor_id = OLD.actor_id)
      OR EXISTS (SELECT 1 FROM list_item WHERE actor_id = OLD.actor_id LIMIT 1 OFFSET 2048)
    ON CONFLICT (actor_id, list) DO UPDATE
      SET last_item = max(last_item, excluded.last_item), last_node = max(last_node, excluded.last_node);
  -- A bound on the number is a range of the key. NOT EXISTS would visit every row of the list.
  DELETE FROM list_item WHERE actor_id = OLD.actor_id AND list = OLD.name AND item <= CASE
    WHEN EXISTS (SELECT 1 FROM removed_list AS kept WHERE kept.actor_id = OLD.actor_id AND kept.list = OLD.name)
    THEN -1 ELSE 9223372036854775807 END;
  DELETE FROM list_index WHERE actor_id = OLD.actor_id AND list = OLD.name AND item <= CASE
    WHEN EXISTS (SELECT 1 FROM removed_list AS kept WHERE kept.actor_id = OLD.actor_id AND kept.list = OLD.name)
    THEN -1 ELSE 9223372036854775807 END;
  DELETE FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name AND node <= CASE
    WHEN EXISTS (SELECT 1 FROM removed_list AS kept WHERE kept.actor_id = OLD.actor_id AND kept.list = OLD.name)
    THEN -1 ELSE 9223372036854775807 END;
END;
*/
/*postgres:
CREATE FUNCTION property_list_removed() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
BEGIN
  IF EXISTS (SELECT 1 FROM removed_list WHERE actor_id = OLD.actor_id)
    OR EXISTS (SELECT 1 FROM list_item WHERE actor_id = OLD.actor_id OFFSET 2048 LIMIT 1)
  THEN
    INSERT INTO removed_list AS stored (actor_id, list, next_item, last_item, last_node)
      SELECT OLD.actor_id, OLD.name, 1,
        COALESCE((SELECT max(item) FROM list_item WHERE actor_id = OLD.actor_id AND list = OLD.name), 0),
        COALESCE((SELECT max(node) FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name), 0)
      ON CONFLICT (actor_id, list) DO UPDATE
        SET last_item = greatest(stored.last_item, excluded.last_item),
          last_node = greatest(stored.last_node, excluded.last_node);
  ELSE
    DELETE FROM list_item WHERE actor_id = OLD.actor_id AND list = OLD.name;
    DELETE FROM list_index WHERE actor_id = OLD.actor_id AND list = OLD.name;
    DELETE FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name;
  END IF;
  RETURN NULL;
END
$body$;

CREATE TRIGGER property_list_removed AFTER DELETE ON property
  FOR EACH ROW WHEN (OLD.kind = 'list') EXECUTE FUNCTION property_list_removed();
*/

-- Maps the value of an indexed property to its actor. The first actor with a value keeps the row.
CREATE TABLE property_lookup (
  name TEXT_KEY NOT NULL,
  value TEXT_KEY NOT NULL,
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  PRIMARY KEY (name, value)
) STRICT, WITHOUT ROWID;

CREATE INDEX property_lookup_by_actor ON property_lookup (actor_id, name);

-- The entries of an actor in property_lookup. Only a sharded database needs them: it finds entries by their value alone.
CREATE TABLE actor_lookup (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT_KEY NOT NULL,
  value TEXT_KEY NOT NULL,
  PRIMARY KEY (actor_id, name)
) STRICT, WITHOUT ROWID;

-- Internal attributes in buckets, served by the devtest endpoints.
CREATE TABLE attribute (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  bucket TEXT_KEY NOT NULL,
  name TEXT_KEY NOT NULL,
  timestamp BIGINT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (actor_id, bucket, name)
) STRICT;

-- Count the rows of each actor, whatever statement changes them. A sharded database has no such triggers: there, the columns are
-- upper bounds (quota/bounds.ts).
/*sqlite:
CREATE TRIGGER property_counted AFTER INSERT ON property
BEGIN
  UPDATE actor SET used_names = used_names + 1, used_bytes = used_bytes + octet_length(NEW.name) + CASE NEW.kind WHEN 'list' THEN 0 ELSE octet_length(NEW.value) END
    WHERE id = NEW.actor_id;
END;
CREATE TRIGGER property_recounted AFTER UPDATE OF kind, value ON property
  WHEN octet_length(NEW.name) + CASE NEW.kind WHEN 'list' THEN 0 ELSE octet_length(NEW.value) END
    <> octet_length(OLD.name) + CASE OLD.kind WHEN 'list' THEN 0 ELSE octet_length(OLD.value) END
BEGIN
  UPDATE actor SET used_bytes = used_bytes + octet_length(NEW.name) + CASE NEW.kind WHEN 'list' THEN 0 ELSE octet_length(NEW.value) END
    - (octet_length(OLD.name) + CASE OLD.kind WHEN 'list' THEN 0 ELSE octet_length(OLD.value) END) WHERE id = NEW.actor_id;
END;
CREATE TRIGGER property_uncounted AFTER DELETE ON property
BEGIN
  UPDATE actor SET used_names = used_names - 1, used_bytes = used_bytes - (octet_length(OLD.name) + CASE OLD.kind WHEN 'list' THEN 0 ELSE octet_length(OLD.value) END)
    WHERE id = OLD.actor_id;
END;
CREATE TRIGGER list_item_counted AFTER INSERT ON list_item
BEGIN
  UPDATE actor SET used_items = used_items + 1, used_bytes = used_bytes + octet_length(NEW.value)
    WHERE id = NEW.actor_id;
END;
CREATE TRIGGER list_item_recounted AFTER UPDATE OF value ON list_item
  WHEN octet_length(NEW.value)
    <> octet_length(OLD.value)
BEGIN
  UPDATE actor SET used_bytes = used_bytes + octet_length(NEW.value)
    - (octet_length(OLD.value)) WHERE id = NEW.actor_id;
END;
CREATE TRIGGER list_item_uncounted AFTER DELETE ON list_item
BEGIN
  UPDATE actor SET used_items = used_items - 1, used_bytes = used_bytes - (octet_length(OLD.value))
    WHERE id = OLD.actor_id;
END;
CREATE TRIGGER attribute_counted AFTER INSERT ON attribute
BEGIN
  UPDATE actor SET used_items = used_items + 1, used_bytes = used_bytes + octet_length(NEW.name) + octet_length(NEW.data)
    WHERE id = NEW.actor_id;
END;
CREATE TRIGGER attribute_recounted AFTER UPDATE OF data ON attribute
  WHEN octet_length(NEW.name) + octet_length(NEW.data)
    <> octet_length(OLD.name) + octet_length(OLD.data)
BEGIN
  UPDATE actor SET used_bytes = used_bytes + octet_length(NEW.name) + octet_length(NEW.data)
    - (octet_length(OLD.name) + octet_length(OLD.data)) WHERE id = NEW.actor_id;
END;
CREATE TRIGGER attribute_uncounted AFTER DELETE ON attribute
BEGIN
  UPDATE actor SET used_items = used_items - 1, used_bytes = used_bytes - (octet_length(OLD.name) + octet_length(OLD.data))
    WHERE id = OLD.actor_id;
END;
*/
/*postgres:
-- Once for each statement: an update of the actor for each row would read all earlier versions of its row.
CREATE FUNCTION property_counted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
DECLARE
  changed RECORD;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    FOR changed IN
      SELECT actor_id, 0 AS entries, sum(bytes)::BIGINT AS bytes FROM (
        SELECT actor_id, octet_length(added.name) + CASE added.kind WHEN 'list' THEN 0 ELSE octet_length(added.value) END AS bytes FROM added
        UNION ALL SELECT actor_id, -(octet_length(removed.name) + CASE removed.kind WHEN 'list' THEN 0 ELSE octet_length(removed.value) END) FROM removed) AS sizes
      GROUP BY actor_id HAVING sum(bytes) <> 0
    LOOP
      UPDATE actor SET used_bytes = used_bytes + changed.bytes WHERE id = changed.actor_id;
    END LOOP;
  ELSIF TG_OP = 'INSERT' THEN
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(added.name) + CASE added.kind WHEN 'list' THEN 0 ELSE octet_length(added.value) END)::BIGINT AS bytes
      FROM added GROUP BY actor_id
    LOOP
      UPDATE actor SET used_names = used_names + changed.entries, used_bytes = used_bytes + changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  ELSE
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(removed.name) + CASE removed.kind WHEN 'list' THEN 0 ELSE octet_length(removed.value) END)::BIGINT AS bytes
      FROM removed GROUP BY actor_id
    LOOP
      UPDATE actor SET used_names = used_names - changed.entries, used_bytes = used_bytes - changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER property_counted AFTER INSERT ON property
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION property_counted();
CREATE TRIGGER property_recounted AFTER UPDATE ON property
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION property_counted();
CREATE TRIGGER property_uncounted AFTER DELETE ON property
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION property_counted();
CREATE FUNCTION list_item_counted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
DECLARE
  changed RECORD;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    FOR changed IN
      SELECT actor_id, 0 AS entries, sum(bytes)::BIGINT AS bytes FROM (
        SELECT actor_id, octet_length(added.value) AS bytes FROM added
        UNION ALL SELECT actor_id, -(octet_length(removed.value)) FROM removed) AS sizes
      GROUP BY actor_id HAVING sum(bytes) <> 0
    LOOP
      UPDATE actor SET used_bytes = used_bytes + changed.bytes WHERE id = changed.actor_id;
    END LOOP;
  ELSIF TG_OP = 'INSERT' THEN
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(added.value))::BIGINT AS bytes
      FROM added GROUP BY actor_id
    LOOP
      UPDATE actor SET used_items = used_items + changed.entries, used_bytes = used_bytes + changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  ELSE
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(removed.value))::BIGINT AS bytes
      FROM removed GROUP BY actor_id
    LOOP
      UPDATE actor SET used_items = used_items - changed.entries, used_bytes = used_bytes - changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER list_item_counted AFTER INSERT ON list_item
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION list_item_counted();
CREATE TRIGGER list_item_recounted AFTER UPDATE ON list_item
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION list_item_counted();
CREATE TRIGGER list_item_uncounted AFTER DELETE ON list_item
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION list_item_counted();
CREATE FUNCTION attribute_counted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
DECLARE
  changed RECORD;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    FOR changed IN
      SELECT actor_id, 0 AS entries, sum(bytes)::BIGINT AS bytes FROM (
        SELECT actor_id, octet_length(added.name) + octet_length(added.data) AS bytes FROM added
        UNION ALL SELECT actor_id, -(octet_length(removed.name) + octet_length(removed.data)) FROM removed) AS sizes
      GROUP BY actor_id HAVING sum(bytes) <> 0
    LOOP
      UPDATE actor SET used_bytes = used_bytes + changed.bytes WHERE id = changed.actor_id;
    END LOOP;
  ELSIF TG_OP = 'INSERT' THEN
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(added.name) + octet_length(added.data))::BIGINT AS bytes
      FROM added GROUP BY actor_id
    LOOP
      UPDATE actor SET used_items = used_items + changed.entries, used_bytes = used_bytes + changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  ELSE
    FOR changed IN
      SELECT actor_id, count(*) AS entries, sum(octet_length(removed.name) + octet_length(removed.data))::BIGINT AS bytes
      FROM removed GROUP BY actor_id
    LOOP
      UPDATE actor SET used_items = used_items - changed.entries, used_bytes = used_bytes - changed.bytes
        WHERE id = changed.actor_id;
    END LOOP;
  END IF;
  RETURN NULL;
END
$body$;
CREATE TRIGGER attribute_counted AFTER INSERT ON attribute
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION attribute_counted();
CREATE TRIGGER attribute_recounted AFTER UPDATE ON attribute
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION attribute_counted();
CREATE TRIGGER attribute_uncounted AFTER DELETE ON attribute
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION attribute_counted();
*/

-- Settings of the whole store, such as the property names that property_lookup was built for.
CREATE TABLE setting (
  name TEXT_KEY NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Registered OAuth clients.
CREATE TABLE oauth_client (
  client_id TEXT_KEY NOT NULL PRIMARY KEY,
  -- Owner of the client: an actor, or the system actor after dynamic registration. The client credentials grant gives
  -- access to this actor alone.
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- Null for public clients.
  secret_hash TEXT,
  auth_method TEXT NOT NULL,
  -- JSON arrays.
  redirect_uris TEXT NOT NULL,
  grant_types TEXT NOT NULL,
  trust_type TEXT NOT NULL,
  -- JSON object of the other registered metadata: client_uri, logo_uri, software_id …
  metadata TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT,
  -- An unused dynamic registration expires then. Null: the client stays.
  expires_at BIGINT,
  -- The end that the application declared. The client stays, but gets no access. Null: no end.
  ends_at BIGINT
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_client_by_actor ON oauth_client (actor_id);
CREATE INDEX oauth_client_by_expiry ON oauth_client (expires_at) WHERE expires_at IS NOT NULL;

-- Relationships with other actors and with clients.
CREATE TABLE trust (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  peer_id TEXT_KEY NOT NULL,
  -- The peer's root URL including its id, without a trailing slash. Empty for clients.
  baseuri TEXT NOT NULL,
  type TEXT NOT NULL,
  relationship TEXT_KEY NOT NULL,
  -- Sealed, because every call to the peer sends it. Incoming requests find it by its hash.
  secret TEXT NOT NULL,
  secret_hash TEXT_KEY NOT NULL,
  -- Sealed. The peer reads this token to verify a trust request of this actor.
  verification_token TEXT NOT NULL,
  description TEXT NOT NULL,
  -- Name that the owner gave the peer. Only the owner sees it. Empty: none.
  nickname TEXT NOT NULL DEFAULT '',
  approved BIGINT NOT NULL,
  -- End of the owner's approval. Null: no end.
  approved_until BIGINT,
  peer_approved BIGINT NOT NULL,
  verified BIGINT NOT NULL,
  established_via TEXT NOT NULL,
  -- JSON object of further facts about the client or peer: peer_identifier, client_name, aw_supported …
  facts TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_accessed BIGINT NOT NULL,
  last_connected_via TEXT NOT NULL,
  -- JSON of this actor's last trust request to the peer: its id, relationship, and the time of the answer or the timeout.
  request TEXT,
  -- Both secrets are valid while a request replaces an older relationship.
  next_secret_hash TEXT_KEY,
  -- When the approval, its end, the trust type, the secret or the address last changed in favor of the peer. 0: never.
  access_changed_at BIGINT NOT NULL DEFAULT 0,
  -- Circuit breaker for calls to the peer (outbox/policy.ts): failures in a row, and the end of the pause.
  failures BIGINT NOT NULL DEFAULT 0,
  open_until BIGINT,
  -- Registered client. Deleting the client deletes the relationship and its tokens. Null for peers and for clients
  -- that are identified by the URL of a metadata document.
  client_id TEXT_KEY REFERENCES oauth_client (client_id) ON DELETE CASCADE,
  PRIMARY KEY (actor_id, peer_id)
) STRICT, WITHOUT ROWID;

-- The peers of an actor that arrived from another service, with the state of each relationship.
CREATE TABLE arrival_peer (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  peer_id TEXT_KEY NOT NULL,
  baseuri TEXT NOT NULL,
  relationship TEXT NOT NULL,
  -- 'waiting', 'informed' of the move, 'asked' for a new relationship, or 'failed'.
  state TEXT NOT NULL DEFAULT 'waiting',
  -- Sealed: the secret that replaces the one of the old service. Empty when it has.
  secret TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  -- Time of the next attempt. Null: none.
  due_at BIGINT,
  reason TEXT NOT NULL DEFAULT '',
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id)
) STRICT, WITHOUT ROWID;

-- Links by which the owner approves a relationship in advance. Using one deletes it.
CREATE TABLE invitation (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  invitation_id TEXT_KEY NOT NULL,
  -- Hash of the code in the link.
  code_hash TEXT_KEY NOT NULL,
  relationship TEXT_KEY NOT NULL,
  -- Nickname that the connection will have.
  nickname TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, invitation_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX invitation_by_code ON invitation (actor_id, code_hash);

CREATE UNIQUE INDEX trust_by_secret ON trust (actor_id, secret_hash);
CREATE INDEX trust_by_next_secret ON trust (actor_id, next_secret_hash) WHERE next_secret_hash IS NOT NULL;
CREATE INDEX trust_by_client ON trust (client_id) WHERE client_id IS NOT NULL;
-- Every page of an owner counts the waiting requests and the failing subscriptions. SQLite uses an index with the actor alone
-- only where the table has no primary key that begins with the actor, so the counted columns follow.
CREATE INDEX trust_pending ON trust (actor_id, established_via) WHERE approved = 0 AND peer_approved = 1;
CREATE INDEX trust_paused ON trust (actor_id, open_until) WHERE open_until IS NOT NULL;

-- Actors that this actor created at another service.
CREATE TABLE companion (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- The short name that the application declared, or 'myself'.
  kind TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  baseuri TEXT NOT NULL,
  type TEXT NOT NULL,
  -- Sealed.
  passphrase TEXT NOT NULL,
  PRIMARY KEY (actor_id, kind)
) STRICT, WITHOUT ROWID;

-- Rights that the owner granted or revoked in addition to the trust type.
CREATE TABLE permission_override (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  -- JSON object: category to rule.
  rules TEXT NOT NULL,
  created_by TEXT NOT NULL,
  notes TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The next end of a grant or of an approval, when the service announces the change to the peer. Every check of a right
-- compares the end with the clock itself.
CREATE TABLE expiry (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  due_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX expiry_due ON expiry (due_at);

-- Publisher side: a subscription that a peer holds at this actor. The row is also the queue of its callbacks. One
-- transaction writes a change, its sequence numbers and the due times.
CREATE TABLE publisher_subscription (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  target TEXT NOT NULL,
  subtarget TEXT NOT NULL,
  resource TEXT NOT NULL,
  granularity TEXT NOT NULL,
  -- The last sequence number, and the last one that needs no further attempt.
  sequence BIGINT NOT NULL DEFAULT 0,
  committed BIGINT NOT NULL DEFAULT 0,
  -- Time of the next attempt. Null: nothing to send. During a lease: its end.
  due_at BIGINT,
  -- Attempts for the first uncommitted sequence number, and how many of them had an unknown outcome.
  attempts BIGINT NOT NULL DEFAULT 0,
  uncertain BIGINT NOT NULL DEFAULT 0,
  -- Start of the current series of failures. Null after a success.
  failing_since BIGINT,
  -- End of a worker's lease on the queue.
  leased_until BIGINT NOT NULL DEFAULT 0,
  -- 'live', or 'stopped' until a redrive or a repair: the peer refused further callbacks or was unreachable for too long.
  state TEXT NOT NULL DEFAULT 'live',
  -- The copy of the peer may lack a change: time of the next resync, and the resyncs that failed in a row. Null: no doubt.
  repair_at BIGINT,
  repairs BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX publisher_subscription_due ON publisher_subscription (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX publisher_subscription_stopped ON publisher_subscription (actor_id) WHERE state = 'stopped';

-- Diffs, kept until they are acknowledged, cleared or dropped at the limit.
CREATE TABLE diff (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  sequence BIGINT NOT NULL,
  -- 'diff', 'resync' without data (the peer fetches the full state), 'full' (the full state), or 'erasure' (what the peer may no
  -- longer read).
  kind TEXT NOT NULL,
  -- 1: the values replace the previous ones. 0: they are merged.
  replaces BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  -- A diff that was cleared by reading stays for 60 seconds, in case the response was lost.
  cleared_at BIGINT,
  -- Number of changes that led to this one, each made by a handler of the one before. Limits loops between actors.
  hops BIGINT NOT NULL DEFAULT 0,
  data TEXT NOT NULL,
  -- The part of the data that deletes names, in the same form. Empty: it deletes none.
  deletions TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES publisher_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX diff_by_age ON diff (created_at);

-- Names that the copy of a peer may have although it is shown them no longer, and that no diff deletes. The next resync is followed
-- by their deletion.
CREATE TABLE missed_deletion (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  -- `name` and a name, or `diff` and a sequence number.
  about TEXT_KEY NOT NULL,
  -- 1: the peer was shown the names. 0: its rights decide whether it may learn them.
  is_shown BIGINT NOT NULL,
  -- The deletion, as in a diff of the subscription.
  data TEXT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id, about),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES publisher_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) STRICT;

-- Changes of an actor with many subscriptions, in their order, until their diffs are written (record 050).
CREATE TABLE waiting_change (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  position BIGINT NOT NULL,
  -- The last subscription that has its diffs. Empty: none has.
  peer_id TEXT_KEY NOT NULL DEFAULT '',
  subscription_id TEXT_KEY NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  -- Time when the service writes the diffs: at once, or later after a failure.
  due_at BIGINT NOT NULL,
  hops BIGINT NOT NULL DEFAULT 0,
  origin TEXT NOT NULL DEFAULT '',
  -- JSON of the changes of one transaction (publication/waiting-store.ts).
  changes TEXT NOT NULL,
  PRIMARY KEY (actor_id, position)
) STRICT;

CREATE INDEX waiting_change_due ON waiting_change (due_at);

-- The outcome of each sequence number, for the owner's timeline.
CREATE TABLE delivery (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  sequence BIGINT NOT NULL,
  written_at BIGINT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  sent_at BIGINT,
  answered_at BIGINT,
  acknowledged_at BIGINT,
  -- 'waiting', 'delivered', 'failed' (final), 'superseded' (by a resync or a read), 'unsent' (for polling).
  outcome TEXT NOT NULL DEFAULT 'waiting',
  reason TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT '',
  -- JSON array: up to five names that changed, and the number of further ones. Empty: everything.
  changed TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES publisher_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_by_age ON delivery (written_at);
CREATE INDEX delivery_failed ON delivery (actor_id, outcome, acknowledged_at)
  WHERE outcome = 'failed' AND acknowledged_at IS NULL;

-- Consecutive sequence numbers that were delivered, in one row. Their rows in `delivery` keep outcome 'waiting'.
CREATE TABLE delivery_run (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  -- The last sequence number, and the first.
  sequence BIGINT NOT NULL,
  first BIGINT NOT NULL,
  -- Time of the last response.
  ended_at BIGINT NOT NULL,
  -- JSON array: milliseconds before `ended_at` at which each callback was sent and answered, in order.
  times TEXT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES publisher_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_run_by_age ON delivery_run (ended_at);

-- Targets that the application suspended: changes get no sequence number, and resuming sends one resync.
CREATE TABLE suspension (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  target TEXT_KEY NOT NULL,
  subtarget TEXT_KEY NOT NULL,
  PRIMARY KEY (actor_id, target, subtarget)
) STRICT, WITHOUT ROWID;

-- Subscriber side: a subscription that this actor holds at a peer.
CREATE TABLE subscriber_subscription (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  -- Assigned by the peer.
  subscription_id TEXT_KEY NOT NULL,
  target TEXT NOT NULL,
  subtarget TEXT NOT NULL,
  resource TEXT NOT NULL,
  granularity TEXT NOT NULL,
  -- The last sequence number that was applied.
  sequence BIGINT NOT NULL DEFAULT 0,
  -- Time at which an open gap leads to a resync. Null without a gap.
  gap_due_at BIGINT,
  resync_pending BIGINT NOT NULL DEFAULT 0,
  -- 1 after the peer answered that the subscription does not exist. Other subscriptions to the same data are used then.
  is_unknown BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0,
  leased_until BIGINT NOT NULL DEFAULT 0,
  -- Time of the last change that was applied, on the clock of the peer. Null: unknown.
  published_at BIGINT,
  -- Time of the next comparison of the copy with the peer, and of the last one. Null: nothing changed since, and never.
  check_at BIGINT,
  checked_at BIGINT,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX subscriber_subscription_due ON subscriber_subscription (gap_due_at) WHERE gap_due_at IS NOT NULL;
CREATE INDEX subscriber_subscription_check ON subscriber_subscription (check_at) WHERE check_at IS NOT NULL;

-- Callbacks that arrived before the sequence numbers in front of them.
CREATE TABLE pending_callback (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  subscription_id TEXT_KEY NOT NULL,
  sequence BIGINT NOT NULL,
  received_at BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (actor_id, peer_id, subscription_id, sequence),
  FOREIGN KEY (actor_id, peer_id, subscription_id)
    REFERENCES subscriber_subscription (actor_id, peer_id, subscription_id) ON DELETE CASCADE
) STRICT;

-- Other messages to peers (approval, end of a relationship, changed rights), sent in order and retried. The message about
-- a deletion outlives the relationship and even the actor, so the row has no foreign key and carries address and secret.
CREATE TABLE notice (
  id TEXT_KEY NOT NULL,
  -- Actor and peer. Messages between the same two keep their order.
  sender TEXT_KEY NOT NULL,
  recipient TEXT_KEY NOT NULL,
  position BIGINT NOT NULL,
  kind TEXT NOT NULL,
  method TEXT NOT NULL,
  url TEXT NOT NULL,
  -- The peer's root URL. `url` must be below it.
  baseuri TEXT NOT NULL,
  -- Sealed.
  secret TEXT NOT NULL,
  -- JSON, or empty without a body.
  body TEXT NOT NULL,
  attempts BIGINT NOT NULL DEFAULT 0,
  -- Null: given up, kept for the operator.
  due_at BIGINT,
  leased_until BIGINT NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  -- Id of the request that caused the message, sent as X-Parent-Request-ID. Empty: no request.
  request_id TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (sender, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX notice_in_order ON notice (sender, recipient, position);
CREATE INDEX notice_due ON notice (due_at) WHERE due_at IS NOT NULL;

-- The identity of an owner who signed in through a provider or by e-mail. Credentials are stored as a hash, or sealed
-- where the service sends them again.
CREATE TABLE account (
  actor_id TEXT_KEY NOT NULL PRIMARY KEY REFERENCES actor (id) ON DELETE CASCADE,
  -- A normalized e-mail address, or `<provider kind>:<stable id>` in provider-id mode.
  identifier TEXT_KEY NOT NULL,
  -- 1: a provider vouched for the identity, or the user followed the e-mail link in the same browser.
  verified BIGINT NOT NULL,
  -- `<provider kind>:<stable id>` where the provider did not vouch for the address. Recognizes a returning user.
  subject TEXT_KEY,
  -- JSON object of the stored sign-in fields without tokens: oauth_provider, auth_method, email, oauth_sub …
  fields TEXT NOT NULL,
  -- Sealed JSON: oauth_token, oauth_token_expiry, oauth_token_timestamp, oauth_refresh_token.
  provider_tokens TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Finds the account of an identity. Two concurrent first sign-ins of one user conflict here.
CREATE TABLE identity (
  name TEXT_KEY NOT NULL,
  -- 'identifier' or 'subject' of the account.
  kind TEXT_KEY NOT NULL,
  actor_id TEXT_KEY NOT NULL REFERENCES account (actor_id) ON DELETE CASCADE,
  -- Copy of account.verified.
  verified BIGINT NOT NULL,
  PRIMARY KEY (name, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX identity_by_actor ON identity (actor_id);

-- Passkeys with which the owner signs in. Their private keys never leave the devices of the owner.
CREATE TABLE passkey (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- Credential id in base64url.
  passkey_id TEXT_KEY NOT NULL,
  -- COSE key in base64url.
  public_key TEXT NOT NULL,
  -- Signatures so far; 0 for a passkey that does not count them.
  counter BIGINT NOT NULL,
  -- JSON array of how a browser reaches the passkey: internal, hybrid, usb …
  transports TEXT NOT NULL,
  -- 1: the passkey is stored on several devices of the owner.
  synced BIGINT NOT NULL,
  name TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT,
  PRIMARY KEY (actor_id, passkey_id)
) STRICT, WITHOUT ROWID;

-- Hashes of the unused recovery codes of an owner. The record in one_time with the same hash finds the actor.
CREATE TABLE recovery_code (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  hash TEXT_KEY NOT NULL,
  PRIMARY KEY (actor_id, hash)
) STRICT, WITHOUT ROWID;

-- The token family of one sign-in on one device, or of one consent to a client. Deleting the row revokes all its tokens.
CREATE TABLE token_chain (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  chain_id TEXT_KEY NOT NULL,
  -- 'session' of the owner, or 'client'.
  kind TEXT NOT NULL,
  -- The client and its relationship with the actor. Null for sessions.
  client_id TEXT_KEY,
  peer_id TEXT_KEY,
  -- Audience (RFC 8707) and scope of the tokens. Empty for sessions.
  audience TEXT NOT NULL DEFAULT '',
  scope TEXT NOT NULL DEFAULT '',
  -- Shown in the owner's list of sessions: how the session began (web, spa, mobile, passphrase …), and the device.
  began_with TEXT NOT NULL,
  device TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  -- When the person proved who they are: a provider may have asked them before.
  authenticated_at BIGINT NOT NULL,
  -- Written at most once a minute.
  last_used_at BIGINT NOT NULL,
  -- Absolute expiry, regardless of refreshes.
  ends_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, chain_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX token_chain_by_peer ON token_chain (actor_id, peer_id) WHERE peer_id IS NOT NULL;
CREATE INDEX token_chain_by_client ON token_chain (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX token_chain_by_end ON token_chain (ends_at);

-- Found by hash alone, because a request with a token may not name the actor.
CREATE TABLE token (
  hash TEXT_KEY NOT NULL PRIMARY KEY,
  actor_id TEXT_KEY NOT NULL,
  chain_id TEXT_KEY NOT NULL,
  -- 'access' or 'refresh'.
  kind TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Refresh tokens: first use, and the number of responses within the grace period after it.
  used_at BIGINT,
  grace_answers BIGINT NOT NULL DEFAULT 0,
  -- 1: imported refresh token without a family. Its reuse revokes this token alone.
  legacy BIGINT NOT NULL DEFAULT 0,
  FOREIGN KEY (actor_id, chain_id) REFERENCES token_chain (actor_id, chain_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX token_by_chain ON token (actor_id, chain_id);
CREATE INDEX token_by_expiry ON token (expires_at);

-- Single-use records: states, nonces, tickets, session ids, e-mail sessions, verification links, authorization codes, and
-- the ids of assertions that were presented.
CREATE TABLE one_time (
  hash TEXT_KEY NOT NULL PRIMARY KEY,
  purpose TEXT NOT NULL,
  actor_id TEXT_KEY REFERENCES actor (id) ON DELETE CASCADE,
  -- Empty when the record belongs to no provider.
  provider TEXT NOT NULL,
  -- Hash of the cookie value in the browser that must complete the flow. Null: any browser.
  browser TEXT,
  -- Sealed JSON.
  data TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Set by the conditional UPDATE that consumes the record. Kept until the purge, so a reuse differs from a guess.
  used_at BIGINT
) STRICT, WITHOUT ROWID;

CREATE INDEX one_time_by_expiry ON one_time (expires_at);
CREATE INDEX one_time_by_actor ON one_time (actor_id) WHERE actor_id IS NOT NULL;

-- Token buckets (generic cell rate algorithm).
CREATE TABLE rate_limit (
  -- Hash of the limit and the caller.
  key TEXT_KEY NOT NULL PRIMARY KEY,
  -- Time at which the bucket is empty again.
  empty_at BIGINT NOT NULL,
  -- Refusals since the last accepted request. 0 means that the request was accepted.
  refused BIGINT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX rate_limit_by_time ON rate_limit (empty_at);

-- The audit log: requests of peers and clients, never values. Written in batches after the responses.
CREATE TABLE activity (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  at BIGINT NOT NULL,
  -- Random suffix: gives entries of several processes at the same time one order.
  id TEXT_KEY NOT NULL,
  -- 'owner', 'peer', 'client', 'trustee', 'operator', or 'anonymous' without valid credentials.
  caller_kind TEXT NOT NULL,
  -- The caller's id, or its IP address.
  caller TEXT NOT NULL,
  -- 'http', 'callback', 'mcp' or 'push'.
  through TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  decision TEXT NOT NULL,
  reason TEXT NOT NULL,
  status BIGINT NOT NULL,
  -- Id of the first request, when the same request was repeated within a minute, and the number of repetitions.
  request_id TEXT NOT NULL,
  times BIGINT NOT NULL,
  -- The owner's device, for an act or a decision of the owner; otherwise empty.
  device TEXT NOT NULL,
  -- The own name of the peer or client at that time.
  caller_name TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, at, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX activity_by_age ON activity (at);
-- The owner's decisions are few among many accesses.
CREATE INDEX activity_decisions ON activity (actor_id, at, id) WHERE decision IN ('approved', 'denied');

-- The content that each change of a property or list replaced (docs/decisions/081).
CREATE TABLE history (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- Ascends with the changes of the actor.
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  name TEXT_KEY NOT NULL,
  -- 'value' or 'list'.
  kind TEXT NOT NULL,
  -- 'set' or 'delete' for a value; what happened to the items for a list.
  operation TEXT NOT NULL,
  -- 1 when the property existed before.
  existed BIGINT NOT NULL,
  characters BIGINT NOT NULL,
  version BIGINT NOT NULL,
  -- The checksum of the value as the property had it.
  checksum BIGINT,
  -- Who made the change, from its origin.
  caller_kind TEXT NOT NULL,
  caller TEXT NOT NULL,
  request TEXT NOT NULL,
  origin TEXT NOT NULL,
  -- The value before, or the steps of the change of a list. NULL when there was none, or it was too long to keep.
  content TEXT,
  PRIMARY KEY (actor_id, seq)
) STRICT;

CREATE INDEX history_by_age ON history (at);

-- Tokens of an actor at third-party services.
CREATE TABLE service_connection (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  service TEXT_KEY NOT NULL,
  -- Sealed JSON: access_token, refresh_token, expires_at, scope.
  tokens TEXT NOT NULL,
  connected_at BIGINT NOT NULL,
  -- One process refreshes the tokens until then, and the other processes wait.
  refreshing_until BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (actor_id, service)
) STRICT, WITHOUT ROWID;

-- Actors that a program created with a password, under a creator that a user proved later. The user decides whether the
-- password stays valid (docs/decisions/024).
CREATE TABLE password_access (
  -- The creator as the program wrote it, and the user name of Basic authentication.
  creator TEXT_KEY NOT NULL,
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- 'pending', 'kept' or 'revoked'.
  decision TEXT NOT NULL,
  proven_at BIGINT NOT NULL,
  decided_at BIGINT,
  PRIMARY KEY (creator, actor_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX password_access_by_actor ON password_access (actor_id);

-- Changes of the last minutes, recorded while a page or client watches, for the other processes.
CREATE TABLE recent_change (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  number BIGINT NOT NULL,
  category TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON object of what changed (live/live.ts). Empty: only the name is known.
  detail TEXT NOT NULL DEFAULT '',
  at BIGINT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX recent_change_by_age ON recent_change (at);

-- MCP sessions of the protocol versions with a handshake. Any process can serve a session.
CREATE TABLE mcp_session (
  hash TEXT_KEY NOT NULL,
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  client_id TEXT_KEY NOT NULL,
  revision TEXT NOT NULL,
  -- JSON: client_info, capabilities.
  client TEXT NOT NULL,
  -- Empty until the client sets a level.
  log_level TEXT NOT NULL,
  -- JSON array of the subscribed resources.
  subscriptions TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, hash),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX mcp_session_by_peer ON mcp_session (actor_id, peer_id);
CREATE INDEX mcp_session_by_expiry ON mcp_session (expires_at);

-- Responses of clients that reached a process other than the one that waits for them. Short-lived.
CREATE TABLE mcp_answer (
  actor_id TEXT_KEY NOT NULL,
  session TEXT_KEY NOT NULL,
  request_id TEXT_KEY NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (actor_id, session, request_id),
  FOREIGN KEY (actor_id, session) REFERENCES mcp_session (actor_id, hash) ON DELETE CASCADE
) STRICT;

-- Tool calls that continue after the response (MCP tasks).
CREATE TABLE mcp_task (
  actor_id TEXT_KEY NOT NULL,
  task_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  client_id TEXT_KEY NOT NULL,
  tool TEXT NOT NULL,
  -- 'working', 'input_required', 'completed', 'failed', 'cancelled'.
  status TEXT NOT NULL,
  status_message TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- The running process renews this lease. After its end the process counts as dead.
  leased_until BIGINT NOT NULL,
  -- Sealed JSON: arguments, and the input that the client gave before the task began.
  call TEXT NOT NULL,
  -- Sealed JSON that belongs to the status: input_requests with the answers so far, result, or error.
  outcome TEXT NOT NULL,
  PRIMARY KEY (actor_id, task_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX mcp_task_by_peer ON mcp_task (actor_id, peer_id);
CREATE INDEX mcp_task_by_expiry ON mcp_task (expires_at);

-- Calls that need the owner's approval.
CREATE TABLE approval (
  actor_id TEXT_KEY NOT NULL,
  approval_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  client_id TEXT_KEY NOT NULL,
  -- Kind and name of the operation: an action and a tool of the same name never share an approval.
  kind TEXT NOT NULL DEFAULT 'tools',
  operation TEXT NOT NULL,
  -- Hash of operation and arguments. An approval is valid for the same call only.
  digest TEXT_KEY NOT NULL,
  -- 'waiting', 'approved', 'denied', 'used'.
  state TEXT NOT NULL,
  -- How often the call ran: once, and again after each round of questions to the client.
  runs BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  -- Sealed JSON, shown to the owner.
  arguments TEXT NOT NULL,
  PRIMARY KEY (actor_id, approval_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX approval_by_peer ON approval (actor_id, peer_id, digest);
CREATE INDEX approval_by_expiry ON approval (expires_at);
-- Pages of approvals, the newest first.
CREATE INDEX approval_by_state ON approval (actor_id, state, created_at, approval_id);

-- Responses to requests with an Idempotency-Key.
CREATE TABLE idempotent_request (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- Hash of the caller and the Idempotency-Key.
  key TEXT_KEY NOT NULL,
  -- Hash of the request. The same key with another request is refused.
  request TEXT NOT NULL,
  -- 0 while the request runs. Stays 0 when its process dies.
  answered BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  -- Sealed JSON: status, headers, body.
  answer TEXT NOT NULL,
  PRIMARY KEY (actor_id, key)
) STRICT;

CREATE INDEX idempotent_request_by_age ON idempotent_request (created_at);

-- Work of an actor in the background (docs/decisions/069). Each row is a queue of entries: the events of the application, the
-- messages to a webhook, or one alarm. The entries of a row are handled in order, and one lease covers the row.
CREATE TABLE job (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- 'event', 'webhook', 'alarm', 'import', 'move' or 'arrival'.
  kind TEXT_KEY NOT NULL,
  -- Empty for events, imports and moves, the id of the webhook, or the JSON array of name and key of the alarm.
  id TEXT_KEY NOT NULL,
  -- The last entry, and the last one that needs no further attempt. An alarm is its own only entry.
  last BIGINT NOT NULL,
  done BIGINT NOT NULL DEFAULT 0,
  -- Time of the next attempt. Null: nothing to do. During a lease: its end.
  due_at BIGINT,
  -- Names the claim that has the row. Empty without one.
  lease TEXT NOT NULL DEFAULT '',
  -- 'live', or 'stopped' until a redrive.
  state TEXT NOT NULL DEFAULT 'live',
  -- Failed attempts for the first entry that is not done, and the start of the current series of failures.
  attempts BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT,
  reason TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  -- For an alarm: its time, the id of this setting, the JSON of its data, and how many changes led to it. Of a webhook: `data`
  -- has the host of its URL. Of an import: `data` has its state as JSON.
  at BIGINT,
  entry_id TEXT NOT NULL DEFAULT '',
  hops BIGINT NOT NULL DEFAULT 0,
  data TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (actor_id, kind, id)
) STRICT;

CREATE INDEX job_due ON job (kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX job_stopped ON job (kind, failing_since) WHERE state = 'stopped';

-- The events and webhook messages that wait. Those of a webhook stay for the owner's timeline.
CREATE TABLE job_entry (
  actor_id TEXT_KEY NOT NULL,
  kind TEXT_KEY NOT NULL,
  job_id TEXT_KEY NOT NULL,
  number BIGINT NOT NULL,
  -- The same for each attempt.
  entry_id TEXT NOT NULL,
  -- 'property_changed', 'list_changed' or 'test'.
  type TEXT NOT NULL,
  origin TEXT NOT NULL,
  hops BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  -- 'waiting', 'delivered' or 'failed' (final).
  outcome TEXT NOT NULL DEFAULT 'waiting',
  attempts BIGINT NOT NULL DEFAULT 0,
  sent_at BIGINT,
  answered_at BIGINT,
  -- Status of the last response of a webhook. Null: none.
  status BIGINT,
  reason TEXT NOT NULL DEFAULT '',
  -- JSON of the change, and of its origin (origin.ts).
  data TEXT NOT NULL,
  PRIMARY KEY (actor_id, kind, job_id, number),
  FOREIGN KEY (actor_id, kind, job_id) REFERENCES job (actor_id, kind, id) ON DELETE CASCADE
) STRICT;

CREATE INDEX job_entry_by_age ON job_entry (created_at);
CREATE INDEX job_entry_failed ON job_entry (kind) WHERE outcome = 'failed';

-- URLs that receive the changes of an actor. The row in `job` with the same id is the queue of its messages.
CREATE TABLE webhook (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  webhook_id TEXT_KEY NOT NULL,
  url TEXT NOT NULL,
  -- JSON arrays: the types of events, and patterns of names. No pattern: every name.
  events TEXT NOT NULL,
  names TEXT NOT NULL,
  description TEXT NOT NULL,
  -- Sealed JSON: the secret, and after a rotation the old one, which also signs for some time.
  secrets TEXT NOT NULL,
  -- Number of messages in a row that the receiver refused.
  refusals BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, webhook_id)
) STRICT, WITHOUT ROWID;

-- Schedules of the application. One process at a time runs an occurrence.
CREATE TABLE schedule (
  name TEXT_KEY NOT NULL PRIMARY KEY,
  -- JSON of the declared timing. A schedule with another timing starts again.
  timing TEXT NOT NULL,
  -- The occurrence that is due next or runs now.
  scheduled_at BIGINT NOT NULL,
  -- Time of the next attempt. During a lease: its end.
  due_at BIGINT NOT NULL,
  lease TEXT NOT NULL DEFAULT '',
  attempts BIGINT NOT NULL DEFAULT 0,
  -- The last run: its occurrence, its end, and why it failed. Empty: it succeeded.
  last_scheduled_at BIGINT,
  last_ended_at BIGINT,
  reason TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

-- Files of actors. The bytes are an object in the storage for files (file/file-bytes.ts), under a random key.
CREATE TABLE file (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT_KEY NOT NULL,
  -- Key of the object. A change of the file stores another object.
  object TEXT NOT NULL,
  size BIGINT NOT NULL,
  -- The media type, as declared.
  type TEXT NOT NULL,
  -- SHA-256 of the bytes, as 64 hexadecimal digits.
  hash TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, name)
) STRICT, WITHOUT ROWID;

-- The number and size of an actor's files.
CREATE TABLE file_usage (
  actor_id TEXT_KEY NOT NULL PRIMARY KEY REFERENCES actor (id) ON DELETE CASCADE,
  files BIGINT NOT NULL,
  bytes BIGINT NOT NULL
) STRICT, WITHOUT ROWID;

-- Every object in the storage for files has a row. It has no foreign key: the objects of a deleted actor are deleted later.
CREATE TABLE file_object (
  actor_id TEXT_KEY NOT NULL,
  object TEXT_KEY NOT NULL,
  -- 'writing' during an upload, 'used' by a file, 'unused' until it is deleted.
  state TEXT NOT NULL,
  -- When the object is deleted, or the end of the lease of its upload or deletion. Null while a file has it.
  due_at BIGINT,
  PRIMARY KEY (actor_id, object)
) STRICT, WITHOUT ROWID;

CREATE INDEX file_object_due ON file_object (due_at) WHERE due_at IS NOT NULL;
