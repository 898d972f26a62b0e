-- The language of messages to the owner of an actor, the devices of earlier sign-ins, and what was reported.
CREATE TABLE mail_note (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  -- 'language', 'device', 'failing' (the subject is a peer) or 'quota'.
  kind TEXT_KEY NOT NULL,
  subject TEXT_KEY NOT NULL,
  noted_at BIGINT NOT NULL,
  PRIMARY KEY (actor_id, kind, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX mail_note_quota ON mail_note (actor_id) WHERE kind = 'quota';
