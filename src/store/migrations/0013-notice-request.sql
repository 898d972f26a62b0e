-- Id of the request that caused the notice, sent to the peer as X-Parent-Request-ID; empty where no request did.
ALTER TABLE notice ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
