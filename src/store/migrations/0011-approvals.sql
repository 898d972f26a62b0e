-- The owner approves calls of every caller, whichever way they come: `kind` says what is called, so that an action and a
-- tool of the same name never share an approval.
ALTER TABLE approval RENAME COLUMN tool TO operation;
ALTER TABLE approval ADD COLUMN kind TEXT NOT NULL DEFAULT 'tools';
-- Pages of what waits, the newest first.
CREATE INDEX approval_by_state ON approval (actor_id, state, created_at, approval_id);
