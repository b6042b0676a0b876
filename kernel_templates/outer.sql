-- Few steps of K: how many threads lie side by side and below each other, how many rows each has at a time, and how often.
WITH along(along) AS (VALUES (8), (16), (32), (64)),
     -- Rows of a thread begin alike: they are a multiple of a sector's elements apart, or all of them are aligned.
     down(down) AS (SELECT column1 FROM (VALUES (8), (16), (32)) WHERE :align >= 16 OR column1 * :c_bytes % 32 = 0),
     thread(tm) AS (VALUES (1), (2), (4)),
     turns(turns) AS (VALUES (1), (2), (4), (8)),
     bk(bk) AS (SELECT max(:k, 1)), -- all steps together
     -- Rows that begin anywhere have a sector less than their threads reach.
     tile AS (SELECT *, down * tm * turns AS bm, (16 * along - 32 * (:align < 16)) / :c_bytes AS bn, along * down AS threads,
                     (tm * (16 / :c_bytes + bk) + bk * 16 / :c_bytes) * :acc_bytes / 4 + 3 * tm + 32 AS regs
              FROM along, down, thread, turns, bk
              WHERE along * down BETWEEN 128 AND 512),
     placed AS (SELECT *, (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS blocks,
                       min(32, 2048 / threads, 65536 / (threads * regs)) AS fit
                FROM tile
                WHERE regs <= 168 AND regs * threads <= 65536
                  AND (bm < 2 * :m OR bm = (SELECT min(down) FROM down)) AND (bn < 2 * :n OR along = 8)),
     -- An estimate, as estimate.c has it: C to memory, or L2, or all instructions; a block's beginning, and what it waits for
     -- at each turn; and storing C, where tiles meet in a line.
     counted AS (SELECT *, 1.0 * :m * :n * :batch * :c_bytes AS bytes, (blocks + :sm_count - 1) / :sm_count AS on_sm
                 FROM placed WHERE fit >= 1),
     timed AS (SELECT *, bytes / :sm_count / CASE WHEN bytes < 48000000 THEN 35 ELSE 22 END AS moved,
                      on_sm * bm * bn * bk * (1 + 64.0 / (threads * min(on_sm, fit))) / 35 AS issued,
                      on_sm * min(bm, :m) * min(bn, :n) * :c_bytes * (1 + 128.0 / (bn * :c_bytes)) / 72 AS stored
               FROM counted)
SELECT bm, bn, bk, tm, down, threads, 0 AS smem_bytes, regs, :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(max(moved, issued) + 0.3 * min(moved, issued) + stored
            + (on_sm + fit - 1) / fit * (1100 + turns * 640.0) AS INTEGER) AS clocks
FROM timed
WHERE :k <= 4 AND :m > 1 AND :elem_bytes >= 2 AND :math IN ('strict', 'split');
