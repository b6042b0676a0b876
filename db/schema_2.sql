-- Version 2: how fast a GPU copies its own memory, in 10^12 bytes a second, read and written together. Measured; what
-- products that do little but stream their operands are held to.
CREATE TABLE bandwidth (
    gpu INTEGER PRIMARY KEY REFERENCES gpu (id),
    copy_tbs REAL NOT NULL CHECK (copy_tbs > 0)
) STRICT;

PRAGMA user_version = 2;
