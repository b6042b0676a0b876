-- Tensor cores of Hopper, fed by the copy engine. The instruction's M is 64 of a warp group, its N a side of the tile.
-- Of the many tiles an estimate in clocks picks what is worth a trial.
WITH RECURSIVE
     side(n) AS (SELECT 16 UNION ALL SELECT n + 16 FROM side WHERE n < 256),
     -- The tile along the instruction's M, warp groups and whether each has a tile of its own, blocks on a multiprocessor,
     -- and registers of a thread for sums and fragments that leave room for the rest.
     rows(side_m, warp_groups, pingpong, occ, most) AS (VALUES
         (64, 1, 0, 1, 192), (64, 1, 0, 2, 128), (64, 1, 0, 3, 48), (128, 1, 0, 1, 192), (128, 2, 0, 1, 208),
         (128, 2, 0, 2, 48), (192, 3, 0, 1, 96), (256, 2, 0, 1, 192), (128, 2, 1, 1, 208)),
     -- Blocks of a cluster share operands, or K.
     cluster(cluster_m, cluster_n, cluster_k) AS (VALUES
         (1, 1, 1), (2, 1, 1), (1, 2, 1), (4, 1, 1), (1, 4, 1), (2, 2, 1), (4, 2, 1), (2, 4, 1), (1, 1, 2), (1, 1, 4), (1, 1, 8)),
     lines(lines) AS (VALUES (1), (2)), -- of 128 bytes along K
     stages(stages) AS (VALUES (3), (4), (5), (6), (7), (8), (10), (12)),
     swap(swap) AS (VALUES (0), (1)),
     kind AS (SELECT CASE WHEN :type IN ('f16', 'f16_f32', 'bf16', 'bf16_f32') THEN 2
                          WHEN :type = 'f32' AND :math = 'tf32' THEN 4
                          WHEN :type = 's8' OR :type LIKE 'e4m3%' OR :type LIKE 'e5m2%' THEN 1 END AS bytes,
                     :type LIKE 'e_m_%' AND :math = 'strict' AS promoted),
     -- Copies first, aligned, of what the copy engine cannot read: as stored, or along K, which leaves the tile's side
     -- free; and along K of what only registers could turn.
     -- Or producers' threads copy from rows that begin at 4 or 8 bytes.
     repack(repack) AS (VALUES (0), (7), (9), (10), (11)),
     load(load) AS (VALUES (1), (2)),
     hint(hint) AS (VALUES (0), (3)),
     copied AS (SELECT *, CASE WHEN repack & 1 AND repack & 8 THEN 1 ELSE NOT :trans_a END AS a_along_k,
                       CASE WHEN repack & 2 AND repack & 8 THEN 1 ELSE :trans_b END AS b_along_k
                FROM kind, repack, load
                WHERE bytes > 0 AND :cc = 90 AND
                      CASE WHEN load = 1 THEN repack = 0 AND bytes = 2 AND :align IN (4, 8)
                           WHEN :align < 16 THEN (repack = 7 AND bytes = 2)
                                                 OR (repack = 11 AND (bytes <> 2 OR :trans_a OR NOT :trans_b))
                           WHEN bytes = 2 THEN repack = 0
                           ELSE repack = 0
                                OR (repack & 8 AND (repack & 1) <= :trans_a AND (repack & 2) / 2 <= NOT :trans_b) END),
     -- Elements that are not of 16 bits lie along K, or go through registers as the instruction's A.
     turned AS (SELECT *, bytes <> 2 AND NOT CASE swap WHEN 1 THEN b_along_k ELSE a_along_k END AS from_registers
                FROM copied, swap
                WHERE bytes = 2 OR CASE swap WHEN 1 THEN a_along_k ELSE b_along_k END),
     -- Where consumers of a tile meet, and registers are left for sums that others made, a launch may have any parts of K.
     tile AS (SELECT *, pingpong = 0 AND stacked * (n / 2 + 32 * from_registers) <= 128 AS any_split,
                     CASE swap WHEN 1 THEN n ELSE side_m END AS bm, CASE swap WHEN 1 THEN side_m ELSE n END AS bn,
                     CASE swap WHEN 1 THEN :n ELSE :m END AS all_m, CASE swap WHEN 1 THEN :m ELSE :n END AS all_n,
                     1 + from_registers AS instructions,
                     128 / bytes AS line
              FROM (SELECT *, side_m / 64 * (1 + pingpong) / warp_groups AS stacked FROM rows), side, turned
              WHERE stacked * (n / 2 * (1 + promoted) + from_registers * (32 - 16 * promoted)) <= most
                AND stacked % (1 + from_registers) = 0),
     placed AS (SELECT *, ((:m + bm * cluster_m - 1) / (bm * cluster_m)) * ((:n + bn * cluster_n - 1) / (bn * cluster_n))
                          * cluster_m * cluster_n AS tiles,
                       -- Clusters of four or eight do not fit on all multiprocessors.
                       :sm_count - 12 * (cluster_m * cluster_n * cluster_k >= 4) AS held
                FROM tile, cluster
                WHERE bm < 2 * :m + 16 AND bn < 2 * :n + 16
                  -- Swapped tiles of more rows where these may be any sixteen and columns may not, or four blocks share them.
                  AND (swap = 0 OR bm <= 128
                       OR (n % 64 > 0 AND pingpong = 0 AND ((a_along_k AND NOT b_along_k) OR cluster_n = 4)))
                  -- Of tiles larger than the matrix the next one in steps of 64, and of 32 or 16, whose C leaves in more parts.
                  AND n - max(min(n & -n, 64), 16 * cluster_k) < all_n AND side_m - 64 < all_m
                  AND (pingpong = 0 OR (cluster_k = 1 AND 1.0 * :m * :n > bm * bn * :sm_count))
                  AND (swap = 1 OR :m > 32 OR bytes <> 2) AND (cluster_m - 1) * bm < :m AND (cluster_n - 1) * bn < :n
                  AND n % (16 * cluster_k) = 0
                  -- Operands that lie along M or N take whole lines, of 64 elements or 32: as the instruction's N they should be
                  -- whole, or a few tiles cover the matrix with next to nothing beyond it.
                  AND (load = 2 OR cluster_m * cluster_n = 1)
                  AND (n % 32 = 0 OR n < 48 OR load = 1 OR CASE swap WHEN 1 THEN a_along_k ELSE b_along_k END
                       OR (all_n <= 4 * n AND (n - 16 * cluster_k) * ((all_n + n - 1) / n) < all_n))),
     sized AS (SELECT *, warp_groups * 128 + 128 AS threads, lines * line AS bk,
                      (:k + lines * line - 1) / (lines * line) AS all_steps,
                      -- Of C, along the instruction's N, on its way through shared memory.
                      CASE WHEN n / cluster_k % 64 = 0 AND instructions * :c_bytes = 2 THEN 64
                           WHEN n / cluster_k % 32 = 0 AND instructions * :c_bytes <= 4 THEN 32 ELSE 16 END AS subtile_n
               FROM placed, lines
               WHERE (lines = 1 OR NOT (from_registers OR promoted))
                 -- Larger clusters share operands, and larger tiles are swapped, where no block has a second tile. Where rows
                 -- begin within lines of L2, which are then read twice, clusters of four take the least time: 424x2408x1016 tn
                 -- in bf16 on an H200 7.5 us, in clusters of two 10.5; 16x13408x792 5.3 and 6.7 without.
                 AND (cluster_m * cluster_n <= 2 OR (tiles * :batch <= held * occ AND pingpong = 0))
                 AND (swap = 0 OR bm <= 128 OR tiles * :batch <= held * occ)
                 AND (cluster_k = 1 OR (tiles * :batch * cluster_k <= held * occ AND :k >= lines * line * 2 * cluster_k))),
     -- Lines that do not begin where those of L2 do are fetched in two parts.
     stage AS (SELECT *, CASE WHEN load = 1 OR repack & 1 OR CASE WHEN :trans_a THEN :m ELSE :k END * bytes % 128 = 0
                              THEN 1.0 ELSE 1.8 END AS broken_a,
                      CASE WHEN load = 1 OR repack & 2 OR CASE WHEN :trans_b THEN :k ELSE :n END * bytes % 128 = 0
                              THEN 1.0 ELSE 1.8 END AS broken_b,
                      -- Lines along M or N are of 32 elements of 16 bits where those of 64 would reach beyond the side, or of
                      -- the 16 that it has.
                      CASE WHEN NOT a_along_k AND load = 2 AND (bm = 16 OR bm % line = 32) THEN bm % line ELSE line END AS line_a,
                      CASE WHEN NOT b_along_k AND load = 2 AND (bn = 16 OR bn % line = 32) THEN bn % line ELSE line END AS line_b,
                      CASE WHEN a_along_k THEN bm ELSE bk END AS lines_a, CASE WHEN b_along_k THEN bn ELSE bk END AS lines_b,
                      CASE WHEN stacked * n / cluster_k = subtile_n * instructions OR warp_groups = 3 THEN 1 ELSE 2 END
                      * warp_groups * 64 * instructions * subtile_n * :c_bytes AS buffer_bytes
               FROM sized),
     staged AS MATERIALIZED
               (SELECT *, bk * bytes * (CASE WHEN a_along_k THEN bm ELSE (bm + line_a - 1) / line_a * line_a END
                                        + CASE WHEN b_along_k THEN bn ELSE (bn + line_b - 1) / line_b * line_b END)
                          AS stage_bytes
                FROM stage),
     -- Stages that fit, behind them C's buffers and barriers. As many as there is room for, or a few less. Two stages are
     -- read, the one that multiplies and the one before: instead of three there are six of half the size. SQLite 3.45 would
     -- compute all of it anew for each of `parts`.
     fit AS MATERIALIZED
            (SELECT *, stages * stage_bytes + buffer_bytes + 16 * stages + 16 AS smem_bytes,
                    row_number() OVER (PARTITION BY bm, bn, bk, swap, warp_groups, pingpong, occ, cluster_m, cluster_n, cluster_k,
                                                    repack, load ORDER BY stages DESC) AS place
             FROM staged, stages
             WHERE (stages > 3 OR (stage_bytes >= 40960 AND load = 2 AND lines = 1))
               AND (cluster_k = 1 OR bm * bn * :acc_bytes * (2 * cluster_k - 1) / cluster_k <= stages * stage_bytes)
               AND occ * (stages * stage_bytes + buffer_bytes + 16 * stages + 16 + 1024) <= :smem_limit + 1024),
     -- Parts of K that meet in the workspace, each the work of a cluster. Where its blocks share operands they are to fill three
     -- quarters of the GPU.
     parts(parts) AS (VALUES (1), (2), (3), (4), (5), (6), (7), (8), (10), (12), (14), (15), (16), (24), (32)),
     parted AS (SELECT *, parts * cluster_k AS split_k, (all_steps + parts * cluster_k - 1) / (parts * cluster_k) AS steps,
                       tiles * :batch * parts * cluster_k AS units
                FROM fit, parts
                WHERE place <= 2
                  AND (parts = 1 OR (any_split AND tiles * :batch * parts * cluster_k <= held * occ
                                     AND all_steps >= 4 * parts * cluster_k AND tiles * :batch * cluster_k * 2 <= :sm_count
                                     AND (cluster_m * cluster_n = 1
                                          OR (place = 1 AND tiles * :batch * parts * 4 > :sm_count * 3))))),
     -- Clocks of a step: products (by trials of 512x4096x11008 and 2048³ to 8192³ on an H200), what the instructions
     -- and the copy engine move in shared memory, what comes from L2 (56 bytes an SM, 64 where few ask, less where little is
     -- in flight: 580 trials of bf16; 48 where clusters share a deep K: 128x128x65536 with 24 to 56 parts), what threads
     -- copy (16 bytes a clock where rows begin at 8, 8 where at 4: 80 trials at 300x500x700 to 2052³), and what a single warp
     -- group waits for fragments of tf32 (128x128x65536).
     paced AS (SELECT *,
                      (units + :sm_count - 1) / :sm_count AS busy,
                      (units + :sm_count * occ - 1) / (:sm_count * occ) AS waves,
                      max(side_m / 64 * (n / 2) * (bk * bytes / 32) * 1.16,
                          (side_m / 64 * (2048 * (1 + (from_registers AND bytes = 1)) + 32 * n) * (bk * bytes / 32) + stage_bytes)
                          / 128.0,
                          bk * bytes * (bm * broken_a / cluster_n + bn * broken_b / cluster_m)
                          / min(CASE WHEN parts > 1 AND cluster_k > 1 THEN 48.0 ELSE 64.0 END,
                                56.0 * :sm_count / min(units, :sm_count),
                                min(occ, (units + :sm_count - 1) / :sm_count) * (stages - 1.7) * stage_bytes / 1600.0),
                          (load = 1) * stage_bytes / ((2.0 + (occ > 1 AND units > :sm_count)) * :align))
                      + 20 + promoted * (from_registers OR stacked * n > 128) * stacked * n
                      + 130 * (from_registers AND bytes = 4 AND warp_groups = 1) * (1 + (n > 64)) AS pace,
                      -- rows of C that begin at any element leave by elements or words, at 4 or 8 bytes in vectors;
                      -- one behind the other where sums leave few registers. Those of 16 bits at odd ones hold up the other
                      -- warp group, too (4097x4095x4093 of bf16: 274 us with turns, 240 without).
                      bm * bn / cluster_k * CASE WHEN :align >= 16 OR stacked * n / cluster_k <= 256
                                                 THEN CASE WHEN :align < 4 THEN 0.25 ELSE :c_bytes / 40.0 END
                                                 ELSE CASE WHEN :align < 4 THEN 2.5 ELSE :c_bytes / 8.0 END END + 800 AS store,
                      1.0 * bytes * :batch * (:m + :n) * :k / :sm_count
                      / CASE WHEN bytes * :batch * (:m + :n) * :k < 40000000 THEN 27 ELSE 17.5 END AS memory
               FROM parted)
SELECT bm, bn, bk, swap, warp_groups, pingpong, stages, cluster_m, cluster_n, cluster_k, split_k,
       CASE WHEN tiles > 4 * :sm_count THEN 8 ELSE 4 END AS "group", repack, load, hint, occ,
       -- Of a batch every matrix has blocks of its own: persistent ones pay only where its tiles outnumber them.
       CASE WHEN tiles > :sm_count * occ AND split_k = 1 THEN :sm_count * occ ELSE 0 END AS blocks,
       threads, smem_bytes, 65536 / (threads * occ) / 8 * 8 AS regs, cluster_m * cluster_n AS cluster_x,
       cluster_k AS cluster_y, any_split * parts * bm * bn * :acc_bytes AS ws_tile, any_split,
       -- Blocks of a cluster ask for whole boxes of what they share or, of each, a part of its lines, by eight.
       (load = 2) * CASE WHEN NOT a_along_k AND (bm + line_a - 1) / line_a % cluster_n = 0 THEN bk
                         WHEN lines_a % (8 * cluster_n) = 0 THEN lines_a / cluster_n
                         WHEN lines_a % 24 = 0 THEN lines_a / 3 ELSE lines_a / 2 END AS box_a_rows,
       (load = 2) * CASE WHEN NOT b_along_k AND (bn + line_b - 1) / line_b % cluster_m = 0 THEN bk
                         WHEN lines_b % (8 * cluster_m) = 0 THEN lines_b / cluster_m
                         WHEN lines_b % 24 = 0 THEN lines_b / 3 ELSE lines_b / 2 END AS box_b_rows,
       (load = 2) * line_a AS box_a_columns, (load = 2) * line_b AS box_b_columns,
       3 + (line_a + line_b < 2 * line) AS swizzle_ab,
       CASE WHEN :align < 16 THEN 0 WHEN swap THEN subtile_n ELSE 64 * instructions END AS box_c_rows,
       CASE WHEN :align < 16 THEN 0 WHEN swap THEN 128 / :c_bytes ELSE subtile_n END AS box_c_columns,
       CASE WHEN :align < 16 THEN 0 WHEN swap OR subtile_n * :c_bytes = 128 THEN 3 WHEN subtile_n * :c_bytes = 64 THEN 2
            ELSE 1 END AS swizzle_c,
       1 AS dependent_launch, 1 AS epilogue,
       CAST(max(busy * steps * pace, memory) + 2400 + stage_bytes / 114.0
            + CASE WHEN pingpong AND (:c_bytes > 2 OR :align >= 4) THEN store + (waves - 1) * max(0, store - steps * pace)
                   ELSE waves * store END
            + (cluster_m * cluster_n > 1) * (800 + 700 * (waves = 1))
            + (cluster_k > 1) * (1400 + 1.0 * bm * bn * (cluster_k - 1) / cluster_k * :acc_bytes / 8)
            + (parts > 1) * (3600 + 1.0 * parts * bm * bn / cluster_k * :acc_bytes / 17)
            + (repack > 0) * (CASE WHEN :align < 16 THEN 5000 ELSE 7000 END
                              + 2.0 * bytes * :batch * ((repack & 1) * :m + (repack & 2) / 2 * :n) * :k
                                / (CASE WHEN bytes * :batch * (:m + :n) * :k < 40000000 THEN 27 ELSE 17 END * :sm_count))
            AS INTEGER) - hint + swap + 12 - stages AS clocks
-- Of two that are alike the one that is not swapped comes first (4096x128x4096 of bf16: 9.6 and 12.1 us), and the one with
-- more stages: cold, 512x4096x11008 of 8 bits took 4 to 8% less with six of 128x128 than with five.
-- What at most two rows or columns of tiles read and L2 does not hold leaves it behind them, but for a quarter that the
-- next launch may find there: on an H200 16x4096x4096 of tf32 takes 18.4 us so and 25.4 behind another kernel, 18.9 and
-- 26.9 without. What L2 holds is found there whole.
FROM paced JOIN hint ON hint = 0 OR (load = 2 AND cluster_m * cluster_n = 1
                                     AND max((:m <= 2 * bm) * :n, (:n <= 2 * bn) * :m) * :k * :batch * bytes > 40000000);
