-- Messages to people. The row in `job` with the same id is the attempt that is due.
CREATE TABLE mail (
  actor_id TEXT_KEY NOT NULL REFERENCES actor (id) ON DELETE CASCADE,
  mail_id TEXT_KEY NOT NULL,
  kind TEXT NOT NULL,
  -- 'waiting', 'sent', 'refused', 'unknown' (handed over without an answer) or 'expired'.
  state TEXT NOT NULL DEFAULT 'waiting',
  -- Time at which the content was handed over. Null: not yet.
  handed_at BIGINT,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  -- Sealed JSON: recipient, subject, text and HTML. Empty when the message has ended.
  content TEXT NOT NULL,
  PRIMARY KEY (actor_id, mail_id)
) STRICT;

CREATE INDEX mail_by_age ON mail (created_at);
CREATE INDEX mail_waiting ON mail (created_at) WHERE state = 'waiting';
