-- Actors that a program created with a password, under a creator that a person proved later: the person decides whether
-- the password keeps working (docs/decisions/024).
CREATE TABLE password_access (
  actor_id TEXT /*postgres: COLLATE "C" */ NOT NULL PRIMARY KEY REFERENCES actor (id) ON DELETE CASCADE,
  -- As the program named it; Basic credentials with this user keep working until the decision is 'revoked'.
  creator TEXT /*postgres: COLLATE "C" */ NOT NULL,
  -- 'pending', 'kept' or 'revoked'.
  decision TEXT NOT NULL,
  -- Unix milliseconds: when the person proved to be the creator, and when they decided.
  proven_at BIGINT NOT NULL,
  decided_at BIGINT
) /*sqlite: STRICT, WITHOUT ROWID */;

CREATE INDEX password_access_by_creator ON password_access (creator);
