-- The members of groups: the role of each relationship. The permission override of the relationship has the rules of the role.
CREATE TABLE group_member (
  actor_id TEXT_KEY NOT NULL,
  peer_id TEXT_KEY NOT NULL,
  role TEXT_KEY NOT NULL,
  since BIGINT NOT NULL,
  -- 'application', 'invitation', or the id of a manager.
  given_by TEXT NOT NULL,
  PRIMARY KEY (actor_id, peer_id),
  FOREIGN KEY (actor_id, peer_id) REFERENCES trust (actor_id, peer_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The members with a role that a release declares differently.
CREATE INDEX group_member_by_role ON group_member (role, actor_id);

-- The role that an invited member gets. Null: another relationship.
ALTER TABLE invitation ADD COLUMN role TEXT;
