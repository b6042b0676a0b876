-- Short K: how many threads lie side by side and below each other, what each stores at once, how many rows it has at a time,
-- and how often.
WITH along(along) AS (VALUES (16), (32), (64)),
     down(down) AS (VALUES (4), (8), (16), (32)),
     wide(wide) AS (VALUES (8), (16)),
     thread(tm) AS (VALUES (1), (2), (4)),
     turns(turns) AS (VALUES (1), (2), (4), (8), (16)),
     bk(bk) AS (SELECT max(:k, 1)), -- all steps together
     -- Rows of a thread that begin alike are as many apart as a sector has elements, or all of them are aligned.
     tile AS (SELECT *, wide / :c_bytes AS v, along * wide / :c_bytes AS bn, along * down AS threads,
                     max(down, (:align < 16) * 32 / :c_bytes) AS step
              FROM along, down, wide, bk
              WHERE along * down BETWEEN 128 AND 512),
     staged AS (SELECT *, step * tm * turns AS bm,
                       (step * tm * turns * ((bk * :acc_bytes + 15) / 16 | 1) * 16 / :acc_bytes
                        + bk * (bn + 64 / :c_bytes * (:align < 16)) / v * (v + 1)) * :acc_bytes AS smem_bytes,
                       ((bk + tm + 1) * v + bk) * :acc_bytes / 4 + 28 AS regs
                FROM tile, thread, turns
                WHERE step * tm * turns <= 512),
     placed AS (SELECT *, (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS blocks,
                       min(8, 2048 / threads, 65536 / (threads * regs), (:smem_limit + 1024) / (smem_bytes + 1024)) AS occ
                FROM staged
                WHERE regs <= 168 AND (bm < 2 * :m OR bm = step) AND (bn < 2 * :n OR along = 16)),
     -- An estimate: C to L2, or to memory, or all instructions, those of a vector (multiply-adds, reads of A, results) and of a
     -- turn; reading columns of B; a block's beginning, which others cover in part, and turns; and storing C, where tiles meet in a
     -- line.
     counted AS (SELECT *, 1.0 * :m * :n * :batch * :c_bytes AS bytes, (blocks + :sm_count - 1) / :sm_count AS on_sm
                 FROM placed WHERE occ >= 1),
     timed AS (SELECT *, bytes / :sm_count / CASE WHEN bytes < 48000000 THEN 35 ELSE 22 END AS moved,
                      on_sm * bm * bn / v * (bk * v * :acc_bytes / 4 + bk / 2.0 + 1.5 * v + 4 + 14.0 / tm) / 128
                      * (1 + 128.0 / (threads * min(on_sm, occ))) + on_sm * step * bn * bk / 32.0 AS issued,
                      on_sm * min(bm, :m) * min(bn, :n) * :c_bytes * (1 + 128.0 / (bn * :c_bytes)) / 72 AS stored
               FROM counted)
SELECT bm, bn, bk, tm, down, wide, occ, threads, smem_bytes, regs, :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(max(moved, issued) + 0.3 * min(moved, issued) + stored
            + (on_sm + occ - 1) / occ * (1100 + 1600.0 / min(on_sm, occ) + turns * step / down * 40.0) AS INTEGER) AS clocks
FROM timed
-- A shorter K is `outer`'s, whose threads read B themselves: where it lies along K, lanes read one element each elsewhere, and
-- 4095x5119x3 in f32 takes 36 to 39 us on an H200 instead of 30.
WHERE :k BETWEEN CASE WHEN :trans_b THEN 2 ELSE 5 END AND 16 AND :m > 1;
