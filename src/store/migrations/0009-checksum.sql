-- CRC-32 of a value and its key (property/checksum.ts), so that a bit that flipped on the disk is seen. Null for what was
-- written before; secrets are authenticated by their seals, and the parts of a list by their fitting together.
ALTER TABLE property ADD COLUMN checksum BIGINT;
ALTER TABLE list_item ADD COLUMN checksum BIGINT;
