-- Version 2.

-- A fixed number of blocks that share all tiles among them; 0: one block for each tile. ws_tile is then for one of them.
-- It is a parameter too, and so part of the source's hash.
ALTER TABLE kernel ADD COLUMN blocks INTEGER NOT NULL DEFAULT 0 CHECK (blocks >= 0);

-- Whether copies of A and B, aligned, are made first. A parameter too.
ALTER TABLE kernel ADD COLUMN repack INTEGER NOT NULL DEFAULT 0 CHECK (repack IN (0, 1));

-- How fast a GPU copies its own memory, in 10^12 bytes a second, read and written together. Measured; what
-- products that do little but stream their operands are held to.
CREATE TABLE bandwidth (
    gpu INTEGER PRIMARY KEY REFERENCES gpu (id),
    copy_tbs REAL NOT NULL CHECK (copy_tbs > 0)
) STRICT;

PRAGMA user_version = 2;
