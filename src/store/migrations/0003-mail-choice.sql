-- The kinds of messages that the owner of an actor does not want.
CREATE TABLE mail_choice (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  kind TEXT_KEY NOT NULL,
  declined_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, kind)
) STRICT, WITHOUT ROWID;
