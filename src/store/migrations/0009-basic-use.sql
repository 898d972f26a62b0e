-- When the passphrase of an actor was last sent with Basic authentication, to ten minutes. Null: never, or not yet stored.
ALTER TABLE actor ADD COLUMN basic_used_at BIGINT;
