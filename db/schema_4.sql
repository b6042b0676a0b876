-- Version 4. Behind this step the table of kernels is made anew with the columns of its launch facts (migrate.c): cluster
-- and early take their new names with them, params goes.

-- Parameters are integers. The order is that of the space's columns.
CREATE TABLE kernel_param (
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    place INTEGER NOT NULL CHECK (place >= 0),
    name TEXT NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (kernel, place),
    UNIQUE (kernel, name)
) STRICT, WITHOUT ROWID;

-- What they were before: 'bm=128 bn=256 bk=16'. A word that is no name=number is left out.
INSERT OR IGNORE INTO kernel_param (kernel, place, name, value)
WITH RECURSIVE word(kernel, place, word, rest) AS (
    SELECT id, -1, '', trim(params) || ' ' FROM kernel
    UNION ALL
    SELECT kernel, place + 1, substr(rest, 1, instr(rest, ' ') - 1), ltrim(substr(rest, instr(rest, ' ') + 1)) FROM word
    WHERE rest <> '')
SELECT kernel, place, substr(word, 1, instr(word, '=') - 1), CAST(substr(word, instr(word, '=') + 1) AS INTEGER)
FROM word WHERE place >= 0 AND instr(word, '=') > 1;

ALTER TABLE kernel RENAME COLUMN cluster TO cluster_x;
ALTER TABLE kernel RENAME COLUMN early TO dependent_launch;
