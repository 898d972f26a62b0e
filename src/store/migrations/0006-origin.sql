-- Who made a change, and through what: written with the change itself (observe/origin.ts). Empty for what is older.
ALTER TABLE property ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE list_item ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE recent_change ADD COLUMN origin TEXT NOT NULL DEFAULT '';
