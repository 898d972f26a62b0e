-- How many changes, each made by a handler that was told of the one before, led to this one. Where actors that listen to
-- each other answer every change with another, it says when to stop.
ALTER TABLE diff ADD COLUMN hops BIGINT NOT NULL DEFAULT 0;
