-- Few steps of K: how many threads lie side by side and below each other, how many rows each has at a time, and how often.
WITH along(along) AS (VALUES (8), (16), (32), (64)),
     down(down) AS (VALUES (8), (16), (32)),
     thread(tm) AS (VALUES (1), (2), (4)),
     turns(turns) AS (VALUES (1), (2), (4), (8)),
     -- As many steps together as there are, or equal parts of them.
     bk(bk) AS (VALUES (4), (8) UNION SELECT :k WHERE :k BETWEEN 1 AND 8),
     -- Rows that begin anywhere have a sector less than their threads reach.
     tile AS (SELECT *, down * tm * turns AS bm, (16 * along - 32 * (:align < 16)) / :c_bytes AS bn, along * down AS threads,
                     (tm * (16 / :c_bytes + bk) + bk * 16 / :c_bytes) * :acc_bytes / 4 + 4 * tm + 30 AS regs
              FROM along, down, thread, turns, bk
              WHERE along * down BETWEEN 128 AND 512 AND bk < 2 * :k),
     placed AS (SELECT *, (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS blocks,
                       min(32, 2048 / threads, 65536 / (threads * regs)) AS fit, (:k + bk - 1) / bk AS parts
                FROM tile
                WHERE regs * threads <= 65536
                  AND (bm < 2 * :m OR bm = 8) AND (bn < 2 * :n OR along = 8)),
     -- An estimate: C to memory, or L2, where tiles meet twice; all instructions; a block's beginning and end, and what it
     -- waits for at each turn.
     counted AS (SELECT *, 1.0 * :m * :n * :batch * :c_bytes AS bytes, (blocks + :sm_count - 1) / :sm_count AS on_sm
                 FROM placed WHERE fit >= 1),
     timed AS (SELECT *, bytes * (1 + 8.0 / bn) / :sm_count / CASE WHEN bytes < 40000000 THEN 28 ELSE 20 END AS stored,
                      on_sm * threads / 128.0
                      * (150 + bk * 16 / :c_bytes * 3
                         + turns * (20 + parts * tm * bk * (16 / :c_bytes + 1) + 9 * tm
                                    + (parts - 1) * bk * 16 / :c_bytes * 3)) AS issued
               FROM counted)
SELECT bm, bn, bk, tm, down, threads, 0 AS smem_bytes, regs, :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(max(stored, issued) + 0.3 * min(stored, issued) + 700
            + (on_sm + fit - 1) / fit * (500 + turns * parts * 300.0) AS INTEGER) AS clocks
FROM timed
WHERE :k <= 16 AND :m > 1 AND :type IN ('f32', 'f64') AND :math IN ('strict', 'split');
