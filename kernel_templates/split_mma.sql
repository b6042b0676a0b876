-- f32 on tensor cores before Hopper and on those that have none of its instructions, operands in two parts of f16. A thread
-- has two sums for each element.
WITH tile(bm, bn, wm, wn, occ) AS (VALUES
         (64, 32, 32, 16, 2), (64, 64, 32, 32, 1), (64, 64, 32, 32, 2), (64, 128, 32, 64, 1), (128, 64, 32, 32, 1),
         (128, 64, 32, 32, 2), (128, 128, 64, 32, 1), (128, 128, 32, 64, 1)),
     stages(stages) AS (VALUES (2), (3), (4), (5)),
     split_k(split_k) AS (VALUES (1), (2), (3), (4), (6), (8), (12), (16), (24), (32)),
     -- Products of f16 that an SM makes in a clock, and bytes that L2 gives it.
     rate AS (SELECT CASE WHEN :cc IN (80, 87) OR :cc BETWEEN 100 AND 119 THEN 1024.0 ELSE 512.0 END AS fma,
                     CASE WHEN :cc IN (86, 89) OR :cc >= 120 THEN 16.0 ELSE 40.0 END AS l2),
     sized AS (SELECT *, bm / wm * (bn / wn) AS warps, (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles,
                      max(stages * (bm + bn) * 128, bm / wm * (bn / wn) * 16 * (wn + 8) * 4) AS smem_bytes,
                      ((:k + 31) / 32 + split_k - 1) / split_k AS steps
               FROM tile, stages, split_k
               WHERE bm < 2 * :m + 64 AND bn < 2 * :n + 32 AND (stages > 2 OR bm * bn >= 8192)),
     full AS (SELECT *, (tiles * split_k + :sm_count - 1) / :sm_count AS on_sm,
                     wm * wn / 16 + (wm + wn) / 4 + 60 AS regs
              FROM sized
              WHERE occ * (smem_bytes + 1024) <= :smem_limit + 1024
                AND (split_k = 1 OR (tiles * split_k <= 2 * :sm_count AND :k >= 256 * split_k))),
     -- Clocks of 32 of K: products, what moves in shared memory, what comes from L2.
     paced AS (SELECT *, max(bm * bn * 96 / fma * (1 + 1.2 / (min(occ, on_sm) * warps)),
                             1.5 * warps * (wm + wn) + bm + bn, (bm + bn) * 128 / l2) + wm * wn / 16.0 + 40 AS pace
               FROM full, rate)
SELECT bm, bn, 32 AS bk, wm, wn, stages, split_k, CASE WHEN tiles > 4 * :sm_count THEN 8 ELSE 1 END AS "group", 27 AS repack,
       occ, warps * 32 AS threads, smem_bytes, regs,
       CASE WHEN split_k > 1 THEN split_k * bm * bn * 4 ELSE 0 END AS ws_tile, split_k > 1 AS any_split,
       :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(on_sm * (steps * pace + bm * bn / 6) + (on_sm + occ - 1) / occ * (2500 + 400.0 * steps / stages) + 12000
            + (split_k > 1) * (3000 + split_k * bm * bn * 0.08)
            + 8.0 * :batch * (:m + :n) * :k / (14.0 * :sm_count) AS INTEGER) AS clocks
FROM paced
WHERE :type = 'f32' AND :math = 'split' AND :cc >= 80 AND :cc <> 90;
