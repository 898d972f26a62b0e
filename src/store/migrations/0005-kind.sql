-- The kind of an actor, which chooses the declarations of the application. All actors of before are of the person.
ALTER TABLE actor ADD COLUMN kind TEXT_KEY NOT NULL DEFAULT 'person';
CREATE INDEX actor_by_kind ON actor (kind) WHERE kind <> 'person';
