-- Version 3.

-- Whether a kernel waits itself for what its stream ran before, so that it may be launched earlier.
ALTER TABLE kernel ADD COLUMN early INTEGER NOT NULL DEFAULT 0 CHECK (early IN (0, 1));

-- repack says which operands are copied first: 1: A, 2: B, 3: both, as it was always.
ALTER TABLE kernel ADD COLUMN copied INTEGER NOT NULL DEFAULT 0 CHECK (copied BETWEEN 0 AND 3);
UPDATE kernel SET copied = 3 * repack;
ALTER TABLE kernel DROP COLUMN repack;
ALTER TABLE kernel RENAME COLUMN copied TO repack;

PRAGMA user_version = 3;
