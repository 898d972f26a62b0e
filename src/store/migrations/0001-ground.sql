-- Every table's key begins with the actor, and every row goes with its actor.
-- Text is compared byte by byte on both databases. Times are Unix milliseconds.

CREATE TABLE actor (
  id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  creator TEXT /*postgres: COLLATE "C" */ NOT NULL,
  passphrase TEXT NOT NULL,
  trustee_root TEXT,
  created_at BIGINT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX actor_by_creator ON actor (creator);

-- Written only while creators have to be unique: the row that two creations at one instant fight for.
CREATE TABLE unique_creator (
  creator TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX unique_creator_by_actor ON unique_creator (actor_id);

-- Kept 30 days, so that late work can tell a deleted actor from one that never was.
CREATE TABLE deleted_actor (
  id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  deleted_at BIGINT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX deleted_actor_by_time ON deleted_actor (deleted_at);

-- One row per name, a value or a list: the key itself keeps a property and a list from sharing a name.
-- kind 'value': the JSON text. kind 'list': the JSON text of the list's head (property/list-store.ts).
CREATE TABLE property (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  name TEXT /*postgres: COLLATE "C" */ NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('value', 'list')),
  value TEXT NOT NULL,
  PRIMARY KEY (actor_id, name)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- The order of a list: a counted tree whose leaves hold item numbers (property/order-tree.ts).
CREATE TABLE list_node (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  list TEXT /*postgres: COLLATE "C" */ NOT NULL,
  node BIGINT NOT NULL,
  entries TEXT NOT NULL,
  PRIMARY KEY (actor_id, list, node),
  FOREIGN KEY (actor_id, list) REFERENCES property (actor_id, name) ON DELETE CASCADE
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE TABLE list_item (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  list TEXT /*postgres: COLLATE "C" */ NOT NULL,
  item BIGINT NOT NULL,
  revision BIGINT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (actor_id, list, item),
  FOREIGN KEY (actor_id, list) REFERENCES property (actor_id, name) ON DELETE CASCADE
) /*sqlite: STRICT */;

-- Value to actor, for the indexed names only. The first owner of a value keeps it.
CREATE TABLE property_lookup (
  name TEXT /*postgres: COLLATE "C" */ NOT NULL,
  value TEXT /*postgres: COLLATE "C" */ NOT NULL,
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  PRIMARY KEY (name, value)
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX property_lookup_by_actor ON property_lookup (actor_id, name);

-- Internal attributes in buckets, beside the properties (the devtest endpoints show them).
CREATE TABLE attribute (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  bucket TEXT /*postgres: COLLATE "C" */ NOT NULL,
  name TEXT /*postgres: COLLATE "C" */ NOT NULL,
  data TEXT NOT NULL,
  timestamp BIGINT NOT NULL,
  PRIMARY KEY (actor_id, bucket, name)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- Facts about the whole store, such as which property names its look-up table was built for.
CREATE TABLE setting (
  name TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) /*sqlite: STRICT, WITHOUT ROWID */;
