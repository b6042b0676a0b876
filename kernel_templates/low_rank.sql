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
     -- An estimate, as estimate.c has it: C to L2 or memory, or all instructions, or elements that threads bring to shared memory
     -- and read there; a block's beginning; rows at an edge of C, which are stored by elements, after all others, where rows begin
     -- anywhere or a tile reaches beyond C; and storing C, where tiles meet in a line, and what threads spill beside it. They need
     -- more than `regs`, which decides how many blocks an SM should hold.
     counted AS (SELECT *, 1.0 * :m * :n * :batch * :c_bytes AS bytes, (blocks + :sm_count - 1) / :sm_count AS on_sm,
                        ((blocks + :sm_count - 1) / :sm_count + occ - 1) / occ AS sets, min(bm, :m) AS height,
                        min(bn, :n) AS width, (:align < 16 OR :n % bn > 0) AS edge,
                        max(0, (bk * v + 2 * tm * v) * :acc_bytes / 4 + tm * (8 - 3 * :trans_a) + 16
                               - 65536 / (threads * occ) / 8 * 8) AS spilled
                 FROM placed WHERE occ >= 1),
     timed AS (SELECT *, bytes / :sm_count / 28 AS moved,
                      on_sm * bm * bn * (bk + 0.5 * bk / v + 1.5) * :acc_bytes / 4 / 140
                      * (1 + 64.0 / (threads * min(on_sm, occ))) AS issued,
                      on_sm * bk * (width * (1 + step) + height) / 14.0 AS brought,
                      edge * (height + step - 1) / step * (1 + step / down) * (bk * v + 32) * 3.5
                      * max(1, 1.0 * sets / ((:n + bn - 1) / bn)) AS edges,
                      on_sm * height * width * :c_bytes * (1 + 128.0 / (bn * :c_bytes) + 1.5 * spilled / (tm * v)) / 70 AS stored
               FROM counted)
SELECT bm, bn, bk, tm, down, wide, occ, threads, smem_bytes, regs, :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(max(moved, issued, brought) + 0.1 * (moved + issued + brought) + stored + edges + sets * 2400 AS INTEGER) AS clocks
FROM timed
-- A shorter K is `outer`'s, whose threads read B themselves: where it lies along K, lanes read one element each elsewhere, and
-- 4095x5119x3 in f32 takes 36 to 39 us on an H200 instead of 30.
WHERE :k BETWEEN CASE WHEN :trans_b THEN 2 ELSE 5 END AND 16 AND :m > 1;
