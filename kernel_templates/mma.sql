-- Tensor cores through mma.sync, multistage, with split-K: tiles that warps cover in whole blocks, that fit registers
-- and shared memory, and K split only where the tiles alone leave multiprocessors idle.
WITH kind(type, math, least_cc, most_cc, c_bytes, step, inst_k, fragments) AS (VALUES -- step: bytes of K
         ('f16', 'strict', 75, 79, 2, 32, 8, 2), ('f16', 'strict', 80, 999, 2, 32, 16, 2),
         ('f16_f32', 'strict', 75, 79, 4, 32, 8, 2), ('f16_f32', 'strict', 80, 999, 4, 32, 16, 2),
         ('bf16', 'strict', 80, 999, 2, 32, 16, 2), ('bf16_f32', 'strict', 80, 999, 4, 32, 16, 2),
         ('f32', 'tf32', 80, 999, 4, 32, 8, 2),
         ('s8', 'strict', 75, 79, 4, 32, 16, 2), ('s8', 'strict', 80, 999, 4, 32, 32, 2),
         ('f64', 'strict', 80, 89, 8, 64, 4, 1), ('f64', 'strict', 80, 89, 8, 64, 4, 2),
         ('f64', 'strict', 90, 999, 8, 64, 8, 1), ('f64', 'strict', 90, 999, 8, 64, 8, 2),
         ('f64', 'strict', 90, 999, 8, 128, 16, 1)
         -- 8-bit floats of any mix and math
         UNION ALL SELECT :type, :math, 89, 999, CASE WHEN :type GLOB '*_f32' THEN 4 ELSE 2 END, 32, 32, 2
                   WHERE :type GLOB 'e[45]m[32]*'),
     bm(bm) AS (VALUES (16), (32), (48), (64), (128), (192), (256)),
     bn(bn) AS (VALUES (16), (32), (48), (64), (96), (128), (160), (192), (256)),
     warp(wm, wn) AS (VALUES (16, 16), (16, 32), (16, 48), (16, 64), (32, 16), (64, 16), (32, 32), (32, 48), (32, 64),
                             (32, 80), (32, 96), (64, 32), (64, 48), (64, 64)),
     line(line) AS (VALUES (64), (128), (256)), -- bytes of a tile along K
     stages(stages) AS (VALUES (2), (3), (4), (5), (6), (8)),
     split_k(split_k) AS (VALUES (1), (2), (3), (4), (6), (8), (12), (16), (24), (32), (48), (64), (128)),
     grouping("group") AS (VALUES (1), (8)),
     occ(occ) AS (VALUES (1), (2), (3), (4), (5)),
     store(store) AS (VALUES (0), (1), (2)),
     -- Copies first, aligned, where that is worth it.
     repack(repack) AS (SELECT 0 UNION ALL SELECT 3 WHERE :align < 16 AND min(:m, :n, :k) >= 256),
     -- Products that an SM makes in a clock, by mma.sync, and bytes that L2 gives it. The first are the whitepapers',
     -- less on Hopper, which is at its best with other instructions only.
     rate AS (SELECT CASE WHEN :type <> 'f64'
                          THEN CASE WHEN :cc = 90 THEN 2540.0 / (1 + (:type GLOB 'e*')) -- converted to f16
                                    WHEN :cc IN (80, 87) OR :cc BETWEEN 100 AND 119 THEN 2048.0 ELSE 1024.0 END
                               / :elem_bytes
                          WHEN :cc = 90 THEN 128.0 WHEN :cc IN (80, 100) THEN 64.0 ELSE 2.0 END AS fma,
                     CASE WHEN :cc IN (86, 89) OR :cc >= 120 THEN 16.0 WHEN :cc = 90 THEN 20.0 ELSE 40.0 END AS l2),
     tile AS MATERIALIZED (SELECT *, bm / wm * (bn / wn) AS warps, line / :elem_bytes AS bk, bn * c_bytes / 16 + 1 AS vectors,
                     (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles
              FROM kind, bm, bn, warp, line
              WHERE type = :type AND math = :math AND :cc BETWEEN least_cc AND most_cc
                AND bm % wm = 0 AND bn % wn = 0 AND line % (step * fragments) = 0
                AND CASE WHEN bm * bn >= 32768 THEN bm / wm * (bn / wn) IN (8, 16)
                         WHEN bm * bn >= 8192 THEN bm / wm * (bn / wn) BETWEEN 4 AND 8
                         ELSE bm / wm * (bn / wn) BETWEEN 2 - (bm * bn = 256) AND 4 END
                AND (bm * bn < 8192 OR wm * wn >= 1024)
                AND (line < 256 OR bm * bn <= 4096)
                -- no tile twice as large as the matrix, and none of which there are very many where larger ones fit
                AND (bm < 2 * :m OR bm = 16) AND (bn < 2 * :n OR bn = 16)
                -- 48 where that leaves next to nothing of the tile empty
                AND (bm <> 48 OR :m BETWEEN 33 AND 48) AND (bn <> 48 OR :n BETWEEN 33 AND 48)
                AND (bm * bn >= 16384 OR :m * :n * :batch <= 24 * :sm_count * bm * bn OR bm >= :m OR bn >= :n)),
     loading(load) AS (VALUES (0), (1), (2)),
     -- In the background where it can be, else through registers: by words on Turing and for bytes, else by elements, which
     -- takes half the time on an H200. M/N-major operands of four bytes are read by 32.
     loaded AS (SELECT * FROM tile, repack, loading
                WHERE CASE load WHEN 0 THEN :cc < 80 OR (:align < 4 AND :elem_bytes = 1 AND NOT repack)
                                WHEN 1 THEN :cc >= 80 AND (:align >= 4 OR repack)
                                ELSE :align < 4 AND NOT repack END
                  AND (:elem_bytes <> 4 OR wm % 32 = 0 OR NOT (:trans_a OR repack))
                  AND (:elem_bytes <> 4 OR wn % 32 = 0 OR (:trans_b AND NOT repack))),
     staged AS MATERIALIZED (SELECT *, warps * 32 AS threads,
                       max(stages * (bm + bn) * line, warps * 16 * (wn + 8) * :acc_bytes,
                           (store = 2) * bm / wm * 256 * (vectors + (9 - vectors % 8) % 8)) AS smem_bytes,
                       -- sums, two of each where they are promoted, fragments, pieces on their way, addresses
                       wm * wn * :acc_bytes / 128 * (1 + (type GLOB 'e*' AND math = 'strict'))
                       + 48 + 24 * (:acc_bytes = 8)
                       + CASE fragments WHEN 1 THEN wn + 16 ELSE 2 * (wm + wn) END / 8 * step / 16
                       + CASE load WHEN 0 THEN (bm + bn) * line * (4 + (:align < 4)) / 16 / (warps * 32)
                                   WHEN 2 THEN 16 ELSE 0 END AS regs
                FROM loaded, stages, store
                WHERE CASE load WHEN 1 THEN stages > 2 OR bm * bn >= 16384 ELSE stages = 2 END
                  AND stages * line <= 1024
                  -- Lanes have pairs of C, and four of them a sector. Rows of the tile are for those that begin anywhere, where
                  -- C is much of the time.
                  AND CASE store WHEN 0 THEN c_bytes >= 4 AND :align >= 8 WHEN 2 THEN :align < 16 AND :k <= 256 ELSE 1 END),
     full AS (SELECT *, (tiles * split_k + :sm_count - 1) / :sm_count AS on_sm,
                     ((:k + bk - 1) / bk + split_k - 1) / split_k AS steps,
                     -- share of steps in which words end beyond K: several questions for each
                     (load = 0 AND :align < 4 AND :k % bk > 0) * 1.0 * bk / max(:k, bk) AS ragged
              FROM staged, split_k, occ
              WHERE smem_bytes <= :smem_limit AND occ * (smem_bytes + 1024) <= :smem_limit + 1024
                AND regs <= 255 AND occ * regs * threads <= 65536
                AND occ * warps BETWEEN 4 AND 16 AND (occ < 5 OR warps = 3)
                -- parts of K that fill a good part of the GPU, or are as short as is worth it
                AND (split_k = 1 OR (tiles * split_k <= 4 * :sm_count AND :k >= 2 * bk * split_k
                                     AND (3 * tiles * split_k >= :sm_count OR :k < 8 * bk * split_k)))),
     -- An estimate, in clocks of one step of a block: products, with what warps leave idle; shared memory; L2; copies.
     paced AS (SELECT *, min(occ, on_sm) AS together,
                      bm * bn * bk / fma * (1 + 0.6 / (min(occ, on_sm) * warps)) AS products,
                      1.0 * (warps * (wm + wn) + bm + bn) * line / 128 AS shared,
                      (bm + bn) * line / l2 AS brought,
                      1.0 * (bm + bn) * line / CASE WHEN repack THEN 16 WHEN load = 1 THEN min(:align, 16)
                                                    WHEN load = 2 THEN 1 ELSE max(min(:align, 16) / 2, 3) END / 16
                      * (1 + 4 * ragged) AS copies,
                      -- what a step waits for beside its first elements: divergent branches, or further elements
                      CASE load WHEN 0 THEN ragged * (bm + bn) * line / threads * 16.0
                                WHEN 2 THEN max((bm + bn) * line / threads / 32 - 1, 0) * 900.0 ELSE 0 END AS waits,
                      -- A, B and C once, from memory or L2
                      1.0 * :batch * ((:m + :n) * :k * :elem_bytes + :m * :n * c_bytes) / :sm_count
                      / CASE WHEN :batch * (:m + :n) * :k * :elem_bytes < 40000000 THEN 27 ELSE 17.5 END AS memory
               FROM full, rate),
     timed AS (SELECT *, max(products + copies / 3, shared, brought) + (shared + brought) / 12 AS clocks_step
               FROM paced)
SELECT bm, bn, bk, wm, wn, stages, fragments, inst_k, split_k, "group", load, store, occ, repack,
       threads, smem_bytes, regs,
       CASE WHEN split_k > 1 THEN split_k * bm * bn * :acc_bytes ELSE 0 END AS ws_tile, split_k > 1 AS any_split,
       :cc >= 90 AS dependent_launch, 1 AS epilogue,
       -- Steps; beginnings, barriers, latency that stages do not cover; C; partial sums; copies first. Fitted to 242 trials
       -- of bf16 on an H200.
       CAST(max(on_sm * steps * clocks_step, memory)
            + (on_sm + together - 1) / together
              * (1600 + steps * (270 + max(0.0, 660.0 / (stages - 1) - together * clocks_step)
                         + waits))
            + on_sm * bm * bn * (0.18 + 0.03 * (store > 0) + 0.01 * (store = 2) + 0.19 * (:align < 4)
                                  + 0.8 * (store = 0 AND :align < 2 * c_bytes))
            + (split_k > 1) * (900 + on_sm * bm * bn * 0.14 + min(split_k, 8) * bm * bn * 0.27)
            + (split_k > 8) * (1500 + (split_k + 7) / 8 * bm * bn * 0.27)
            + (repack > 0) * (7000 + 1.0 * (:m + :n) * :k * :batch * :elem_bytes / 8 / :sm_count)
            AS INTEGER) AS clocks
FROM timed, grouping
WHERE "group" = 1 OR (:m > 4 * bm AND :n > 4 * bn);
