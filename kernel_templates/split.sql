-- f32 on tensor cores of Hopper, operands in two parts of f16. The instruction's M is 64 of a warp group, its N the tile's
-- columns. A thread has two sums for each element.
WITH RECURSIVE
     side(bn) AS (SELECT 32 UNION ALL SELECT bn + 16 FROM side WHERE bn < 208),
     rows(bm, warp_groups, occ, most) AS (VALUES (64, 1, 1, 208), (64, 1, 2, 96), (128, 2, 1, 208), (256, 2, 1, 208)),
     -- Blocks of a cluster share K. Not all multiprocessors hold four or eight.
     cluster(cluster_k, held) AS (VALUES (1, :sm_count), (2, :sm_count), (4, :sm_count - 12), (8, :sm_count - 12)),
     stages(stages) AS (VALUES (4), (5), (6), (8)),
     interval(interval) AS (VALUES (2)),
     tile AS (SELECT *, bm / 64 / warp_groups AS stacked, CASE WHEN bn / cluster_k % 32 = 0 THEN 32 ELSE 16 END AS subtile_n,
                     (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles, (bm + bn) * 128 AS stage_bytes
              FROM rows, side, cluster
              WHERE bm / 64 / warp_groups * bn <= most AND bm < 2 * :m + 64 AND bn < 2 * :n + 32 AND bn % (16 * cluster_k) = 0),
     sized AS (SELECT *, stages * stage_bytes + CASE WHEN stacked * bn / cluster_k = subtile_n THEN 1 ELSE 2 END
                         * warp_groups * 64 * subtile_n * 4 + 16 * stages + 16 AS smem_bytes,
                      (:k + 32 * interval - 1) / (32 * interval) AS intervals
               FROM tile, stages, interval
               WHERE stages >= 2 * interval AND (cluster_k = 1 OR tiles * cluster_k <= held * occ)),
     fit AS (SELECT *, row_number() OVER (PARTITION BY bm, bn, warp_groups, occ, interval, cluster_k ORDER BY stages DESC)
                       AS place
             FROM sized
             WHERE occ * (smem_bytes + 1024) <= :smem_limit + 1024
               AND (cluster_k = 1 OR bm * bn * 4 * (2 * cluster_k - 1) / cluster_k <= stages * stage_bytes)),
     -- Parts of K that meet in the workspace, each the work of a cluster.
     parts(parts) AS (VALUES (1), (2), (3), (4), (5), (6), (8), (10), (12), (16), (24), (32)),
     parted AS (SELECT *, parts * cluster_k AS split_k, tiles * parts * cluster_k AS units,
                       (intervals + parts * cluster_k - 1) / (parts * cluster_k) AS steps
                FROM fit, parts
                WHERE place = 1 AND (parts * cluster_k = 1 OR intervals * interval >= 8 * parts * cluster_k)
                  AND (parts = 1 OR (tiles * cluster_k * 2 <= :sm_count AND tiles * parts * cluster_k <= held * occ))),
     -- Clocks of an interval: products, what moves in shared memory, what comes from L2, two promotions.
     paced AS (SELECT *, (units + :sm_count - 1) / :sm_count AS busy,
                      max(bm / 64 * bn * 3.0, (bm / 64 * (2048 + 32 * bn) * 6 + stage_bytes) / 128.0, stage_bytes / 46.0)
                      * 1.16 * interval + stacked * bn * 0.2 AS pace
               FROM parted)
SELECT bm, bn, 32 AS bk, warp_groups, stages, interval, warp_groups = 2 AS ordered, cluster_k, split_k,
       CASE WHEN tiles > 4 * :sm_count THEN 8 ELSE 4 END AS "group", 19 AS repack, occ,
       CASE WHEN units > :sm_count * occ THEN :sm_count * occ ELSE 0 END AS blocks,
       warp_groups * 128 + 128 AS threads, smem_bytes, 65536 / ((warp_groups * 128 + 128) * occ) / 8 * 8 AS regs,
       cluster_k AS cluster_y, CASE WHEN parts > 1 THEN parts * bm * bn * 4 ELSE 0 END AS ws_tile,
       parts > 1 AS any_split,
       bm AS box_a_rows, 64 AS box_a_columns, bn AS box_b_rows, 64 AS box_b_columns, 3 AS swizzle_ab,
       CASE WHEN :align < 16 THEN 0 ELSE 64 END AS box_c_rows, CASE WHEN :align < 16 THEN 0 ELSE subtile_n END AS box_c_columns,
       CASE WHEN :align < 16 THEN 0 WHEN subtile_n = 32 THEN 3 ELSE 2 END AS swizzle_c, 1 AS dependent_launch, 1 AS epilogue,
       CAST(busy * (steps * pace + bm * bn / cluster_k / 8 + 2500) + 12000
            + (cluster_k > 1) * (1800 + bm * bn / 16) + (parts > 1) * (2500 + 1.0 * parts * bm * bn / cluster_k / 15)
            + 8.0 * :batch * (:m + :n) * :k / (15.0 * :sm_count) AS INTEGER) AS clocks
FROM paced
WHERE :type = 'f32' AND :math = 'split' AND :cc = 90;
