-- f32 on tensor cores of Hopper, operands in two parts of f16. The instruction's M is 64 of a warp group, its N the tile's
-- columns. A thread has two sums for each element.
WITH RECURSIVE
     side(bn) AS (SELECT 32 UNION ALL SELECT bn + 16 FROM side WHERE bn < 208),
     rows(bm, warp_groups, occ, most) AS (VALUES (64, 1, 1, 208), (64, 1, 2, 96), (128, 2, 1, 208), (256, 2, 1, 208)),
     stages(stages) AS (VALUES (3), (4), (5), (6), (8)),
     interval(interval) AS (VALUES (1), (2)),
     tile AS (SELECT *, bm / 64 / warp_groups AS stacked, CASE WHEN bn % 32 = 0 THEN 32 ELSE 16 END AS subtile_n,
                     (:m + bm - 1) / bm * ((:n + bn - 1) / bn) AS tiles, (bm + bn) * 128 AS stage_bytes
              FROM rows, side
              WHERE bm / 64 / warp_groups * bn <= most AND bm < 2 * :m + 64 AND bn < 2 * :n + 32),
     sized AS (SELECT *, stages * stage_bytes + CASE WHEN stacked * bn = subtile_n THEN 1 ELSE 2 END
                         * warp_groups * 64 * subtile_n * 4 + 16 * stages AS smem_bytes
               FROM tile, stages, interval
               WHERE stages >= 2 * interval),
     fit AS (SELECT *, row_number() OVER (PARTITION BY bm, bn, warp_groups, occ, interval ORDER BY stages DESC) AS place,
                    (tiles * :batch + :sm_count - 1) / :sm_count AS busy
             FROM sized WHERE occ * (smem_bytes + 1024) <= :smem_limit + 1024),
     -- Clocks of 32 of K: products, what moves in shared memory, what comes from L2, two promotions an interval.
     paced AS (SELECT *, max(bm / 64 * bn * 3.0, (bm / 64 * (2048 + 32 * bn) * 6 + stage_bytes) / 128.0, stage_bytes / 46.0)
                         * 1.16 + stacked * bn / interval * 0.2 AS pace
               FROM fit WHERE place = 1)
SELECT bm, bn, 32 AS bk, warp_groups, stages, interval, warp_groups = 2 AS ordered,
       CASE WHEN tiles > 4 * :sm_count THEN 8 ELSE 4 END AS "group", 27 AS repack, occ,
       CASE WHEN tiles * :batch > :sm_count * occ THEN :sm_count * occ ELSE 0 END AS blocks,
       warp_groups * 128 + 128 AS threads, smem_bytes, 65536 / ((warp_groups * 128 + 128) * occ) / 8 * 8 AS regs,
       bm AS box_a_rows, 64 AS box_a_columns, bn AS box_b_rows, 64 AS box_b_columns, 3 AS swizzle_ab,
       CASE WHEN :align < 16 THEN 0 ELSE 64 END AS box_c_rows, CASE WHEN :align < 16 THEN 0 ELSE subtile_n END AS box_c_columns,
       CASE WHEN :align < 16 THEN 0 WHEN subtile_n = 32 THEN 3 ELSE 2 END AS swizzle_c, 1 AS dependent_launch, 1 AS epilogue,
       CAST(busy * ((:k + 31) / 32 * pace + bm * bn / 8 + 2500) + 12000
            + 12.0 * :batch * (:m + :n) * :k / (17.0 * :sm_count) AS INTEGER) AS clocks
FROM paced
WHERE :type = 'f32' AND :math = 'split' AND :cc = 90;
