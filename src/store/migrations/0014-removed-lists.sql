-- A list with many items is removed at once, and its rows are deleted in batches afterwards (property/removed-lists.ts).
-- Rows up to the last numbers belong to no list; those before the next item are deleted already. A new list of the same
-- name counts from behind them.
CREATE TABLE removed_list (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL,
  list TEXT /*postgres: COLLATE "C" */ NOT NULL,
  next_item BIGINT NOT NULL,
  last_item BIGINT NOT NULL,
  last_node BIGINT NOT NULL,
  PRIMARY KEY (actor_id, list)
) /*sqlite: STRICT, WITHOUT ROWID */;

-- A foreign key that cascades would delete all items of a list, or of an actor, within one statement.
/*postgres:
ALTER TABLE list_node DROP CONSTRAINT list_node_actor_id_list_fkey;
ALTER TABLE list_item DROP CONSTRAINT list_item_actor_id_list_fkey;
*/
/*sqlite:
CREATE TABLE kept_list_node (
  actor_id TEXT NOT NULL,
  list TEXT NOT NULL,
  node INTEGER NOT NULL,
  entries TEXT NOT NULL,
  PRIMARY KEY (actor_id, list, node)
) STRICT, WITHOUT ROWID;
INSERT INTO kept_list_node (actor_id, list, node, entries) SELECT actor_id, list, node, entries FROM list_node;
DROP TABLE list_node;
ALTER TABLE kept_list_node RENAME TO list_node;

CREATE TABLE kept_list_item (
  actor_id TEXT NOT NULL,
  list TEXT NOT NULL,
  item INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  value TEXT NOT NULL,
  origin TEXT NOT NULL DEFAULT '',
  checksum INTEGER,
  PRIMARY KEY (actor_id, list, item)
) STRICT;
INSERT INTO kept_list_item (actor_id, list, item, revision, value, origin, checksum)
  SELECT actor_id, list, item, revision, value, origin, checksum FROM list_item;
DROP TABLE list_item;
ALTER TABLE kept_list_item RENAME TO list_item;
*/

-- Every way to remove a list ends here: by itself, with all properties, with its actor. The rows of an actor with few
-- items are deleted at once.
/*sqlite:
-- The bound on the number is a range of the key: NOT EXISTS would look at every row of the list.
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
  DELETE FROM list_item WHERE actor_id = OLD.actor_id AND list = OLD.name AND item <= CASE
    WHEN EXISTS (SELECT 1 FROM removed_list AS kept WHERE kept.actor_id = OLD.actor_id AND kept.list = OLD.name)
    THEN -1 ELSE 9223372036854775807 END;
  DELETE FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name AND node <= CASE
    WHEN EXISTS (SELECT 1 FROM removed_list AS kept WHERE kept.actor_id = OLD.actor_id AND kept.list = OLD.name)
    THEN -1 ELSE 9223372036854775807 END;
END;
*/
/*postgres:
CREATE FUNCTION property_list_removed() RETURNS trigger LANGUAGE plpgsql AS $body$
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
    DELETE FROM list_node WHERE actor_id = OLD.actor_id AND list = OLD.name;
  END IF;
  RETURN NULL;
END
$body$;

CREATE TRIGGER property_list_removed AFTER DELETE ON property
  FOR EACH ROW WHEN (OLD.kind = 'list') EXECUTE FUNCTION property_list_removed();
*/
