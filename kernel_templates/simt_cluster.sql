-- Tiles for warps with trades where K is shared by squads of a block, blocks of a cluster and clusters: eight consumer
-- warps in all, one block on a multiprocessor, and parts of K so that one turn of blocks fills the GPU.
WITH tile(bm, bn, wm, wn, tm, tn, slices) AS (VALUES
         (128, 256, 32, 128, 8, 16, 1), (256, 128, 64, 64, 8, 16, 1),
         (128, 128, 64, 64, 8, 16, 2), (64, 256, 32, 128, 8, 16, 2), (256, 64, 64, 64, 8, 16, 2),
         (64, 128, 32, 128, 8, 16, 4), (128, 64, 64, 64, 8, 16, 4), (32, 256, 32, 128, 8, 16, 4),
         (64, 64, 64, 64, 8, 16, 8), (32, 128, 32, 128, 8, 16, 8), (16, 256, 16, 256, 8, 16, 8),
         (128, 128, 32, 64, 8, 8, 1), (64, 128, 32, 64, 8, 8, 2), (128, 64, 32, 64, 8, 8, 2),
         (64, 64, 32, 64, 8, 8, 4), (32, 128, 32, 64, 8, 8, 4), (16, 256, 16, 128, 8, 8, 4), (32, 64, 32, 64, 8, 8, 8),
         (16, 256, 16, 64, 4, 8, 2), (32, 128, 16, 64, 4, 8, 2), (16, 128, 16, 64, 4, 8, 4), (32, 64, 32, 32, 4, 8, 4)),
     bk(bk) AS (VALUES (16), (32), (64), (128)),
     stages(stages) AS (VALUES (3), (4)),
     team(team) AS (VALUES (1), (2), (4)),
     deep(deep) AS (SELECT 0 UNION ALL SELECT 1 WHERE NOT :trans_a OR :trans_b),
     repack(repack) AS (SELECT 0 UNION ALL SELECT 1
                        WHERE min(:m, :n, :k) >= 256 AND (:align < 16 OR (NOT :trans_a AND :trans_b))),
     sized AS (SELECT *, bm / wm * (bn / wn) * 32 * slices + 128 AS threads,
                      -- what is turned, or lies deep, is padded
                      max(stages * (bk * (bm + bn)
                                    + CASE WHEN :trans_a OR repack THEN 0 WHEN deep THEN 4 * bm ELSE 4 * bk END
                                    + CASE WHEN NOT :trans_b OR repack THEN 0 WHEN deep AND :trans_a THEN 4 * bn
                                           ELSE 4 * bk END),
                          bm * bn * slices) * :elem_bytes AS smem_bytes,
                      (:m + bm - 1) / bm * ((:n + bn - 1) / bn) AS tiles
               FROM tile, bk, stages, team, deep, repack
               WHERE bk / slices BETWEEN (CASE slices WHEN 8 THEN 8 ELSE 16 END) AND 32 AND (bm < 2 * :m OR bm = 16) AND bn < 2 * :n
                 AND (bm > 16 OR bk >= 32) AND team * slices > 1 AND deep + repack < 2),
     -- As many clusters of a tile as fill one turn, or one.
     part AS (SELECT *, team AS split_k FROM sized
              UNION SELECT *, team * (:sm_count / (tiles * :batch * team)) FROM sized
              WHERE :sm_count / (tiles * :batch * team) BETWEEN 2 AND 32),
     timed AS (SELECT *, ((:k + bk - 1) / bk + split_k - 1) / split_k AS steps,
                      (tiles * split_k * :batch + :sm_count - 1) / :sm_count AS turns
               FROM part)
SELECT bm, bn, bk, wm, wn, tm, tn, slices, stages, deep, team, split_k, repack, 1 AS occ, 1 AS ptxas,
       threads, smem_bytes, 65536 / threads / 8 * 8 AS regs,
       -- Multiply-adds at 128 a clock and SM, with what is issued around them; beginning and end; sums on their way.
       CAST(turns * (steps * bk * bm * bn / 128 * CASE tm * tn WHEN 128 THEN 1.19 WHEN 64 THEN 1.24 ELSE 1.45 END
                     + 3000 + bm * bn * slices / 32 + (team > 1) * (1200 + bm * bn * slices / 24)
                     + (split_k > team) * (2500 + bm * bn / team * (split_k / team) / 16))
            + CASE WHEN :align >= 16 THEN 0
                   WHEN repack THEN 5000 + 8.0 * :batch * (:m + :n) * :k / (13 * :sm_count)
                   ELSE 0.16 * :batch * :m * :n * :k / 128 / :sm_count END AS INTEGER) AS clocks,
       CASE WHEN split_k > team THEN split_k / team * bm * bn * 4 ELSE 0 END AS ws_tile
FROM timed
WHERE :type IN ('f32', 's32') AND :cc >= 90
  AND smem_bytes <= :smem_limit - 512
  AND (turns = 1 OR (split_k = 1 AND turns <= 4))
  AND (team < 4 OR tiles * split_k * :batch <= :sm_count * 10 / 11) -- not every part of the chip has room for as many clusters
  AND steps >= 2;
