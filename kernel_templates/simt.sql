-- Multistage, with split-K: tiles that warps and lanes cover exactly, that fit registers and shared memory, and K split
-- only where the tiles alone leave multiprocessors idle.
WITH bm(bm) AS (VALUES (16), (32), (64), (96), (128), (192), (256)),
     bn(bn) AS (VALUES (16), (32), (64), (96), (128), (192), (256)),
     bk(bk) AS (VALUES (8), (16), (32)),
     wm(wm) AS (VALUES (16), (32), (48), (64), (96), (128)),
     wn(wn) AS (VALUES (16), (32), (48), (64), (96), (128)),
     tm(tm) AS (VALUES (4), (8), (12), (16)),
     tn(tn) AS (VALUES (4), (8), (12), (16)),
     stages(stages) AS (VALUES (2), (3), (4)),
     split_k(split_k) AS (VALUES (1), (2), (3), (4), (6), (8), (12), (16), (24), (32), (48), (64), (128)),
     waves(waves) AS (VALUES (1), (2), (3)),
     grouping("group") AS (VALUES (1), (8)),
     ptxas(ptxas) AS (VALUES (1), (3)),
     loading(load) AS (VALUES (0), (1), (2)),
     occ(occ) AS (VALUES (1), (2)),
     -- Where tensor cores multiply these types, threads keep up in small products alone, and with a short K.
     slow AS (SELECT 1.0 * :m * :n * :k * :batch > 16777216 AND :k > 64
                     AND :cc >= CASE WHEN :type LIKE 'f16%' OR :type = 's8' THEN 75
                                     WHEN :type LIKE 'bf16%' OR :math = 'tf32' THEN 80
                                     WHEN :type LIKE 'e_m_%' THEN 89 ELSE 1000 END AS slow),
     -- Warps and lanes first: few pairs survive, and the wide joins below stay small.
     warp AS (SELECT wm, wn, tm, tn FROM wm, wn, tm, tn, slow
              WHERE NOT slow AND wm % tm = 0 AND wn % tn = 0 AND wm / tm * (wn / tn) = 32 AND tm * tn BETWEEN 16 AND 128
                -- threads are a power of two: a side of 96 or 192 has thread tiles of 12
                AND (wm % 3 = 0) = (tm = 12) AND (wn % 3 = 0) = (tn = 12)
                AND wm / tm BETWEEN 2 AND 16),
     tile AS (SELECT *, bm / wm * (bn / wn) * 32 AS threads,
                     (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles
              FROM bm, bn, bk, warp
              WHERE bm % wm = 0 AND bn % wn = 0 AND bm / wm * (bn / wn) BETWEEN 2 AND 16
                AND (bm % 3 = 0) = (tm = 12) AND (bn % 3 = 0) = (tn = 12)
                -- a longer unrolled loop leaves the instruction cache
                AND tm * tn * bk <= 2048
                -- no tile twice as large as the matrix
                AND (bm < 2 * :m OR bm = 16) AND (bn < 2 * :n OR bn = 16)),
     staged AS (SELECT *, max(stages * bk * ((bm + bn) * :elem_bytes + 16 * (1 - :trans_a) + 16 * :trans_b),
                              (min(:align, 16) < 4 * :c_bytes AND :c_bytes = :acc_bytes) * threads * tn * :acc_bytes)
                          AS smem_bytes
                FROM tile, stages, loading
                -- A vector along K lies in one tile. In registers, at most 128 bytes a thread. In the background,
                -- copies of four bytes or more: of what is transposed on its way only elements are copied.
                WHERE bk * :elem_bytes >= min(:align, 16)
                  AND CASE load WHEN 0 THEN stages = 2 AND (bm + bn) * bk * :elem_bytes <= 128 * threads
                                WHEN 1 THEN :cc >= 80 AND :align >= 4
                                            AND (:elem_bytes >= 4 OR (:trans_a AND NOT :trans_b))
                                ELSE :cc >= 80 AND :align >= 4 AND :trans_a = :trans_b
                                     AND (bm + bn) * bk * :elem_bytes <= 128 * threads END),
     full AS (SELECT *, (tm * tn + 2 * (tm + tn)) * :acc_bytes / 4 + 36
                        + CASE load WHEN 0 THEN (bm + bn) * bk * :elem_bytes / (4 * threads)
                                    WHEN 2 THEN bm * bk * :elem_bytes / (4 * threads) ELSE 0 END
                        AS regs
              FROM staged, occ
              WHERE (occ = 1 OR tm * tn <= 64)
                AND smem_bytes <= :smem_limit AND occ * (smem_bytes + 1024) <= :smem_limit + 1024
                AND regs <= 255 AND occ * regs * threads <= 65536),
     -- Parts of K, also as many as give every multiprocessor the same number of blocks, or nearly.
     part AS (SELECT full.*, split_k FROM full, split_k WHERE split_k = 1 OR tiles * split_k <= 4 * :sm_count
              UNION ALL SELECT full.*, :sm_count * waves / tiles FROM full, waves
              WHERE :sm_count * waves / tiles BETWEEN 2 AND 128
                AND :sm_count * waves / tiles NOT IN (SELECT split_k FROM split_k))
SELECT bm, bn, bk, wm, wn, tm, tn, stages, split_k, "group", load, occ, ptxas,
       threads, smem_bytes,
       -- The compiler takes more where it may, by 24 at the mean of 845 trials in f32 on an H200.
       max(regs, min(regs + 24, 65536 / (occ * threads) / 8 * 8, 255)) AS regs,
       CASE WHEN split_k > 1 THEN split_k * bm * bn * :acc_bytes ELSE 0 END AS ws_tile, split_k > 1 AS any_split,
       :cc >= 90 AS dependent_launch, 1 AS epilogue,
       -- What the tuner's model does not see, in thousandths: fitted to 2,586 trials of sixteen shapes on an H200, and to
       -- 1,439 of thirteen small ones, short in K or in batches. Of equals the one with fewer stages.
       CASE threads WHEN 128 THEN -15 ELSE 0 END
       + CASE tm * tn WHEN 128 THEN 70 WHEN 96 THEN -75 WHEN 64 THEN CASE tm WHEN tn THEN -85 ELSE 70 END
                      WHEN 48 THEN CASE tm WHEN 12 THEN -105 ELSE -45 END WHEN 32 THEN -70 ELSE 50 END
       + CASE bn WHEN 16 THEN 215 WHEN 32 THEN 20 WHEN 64 THEN 10 ELSE 0 END
       + CASE bm WHEN 16 THEN 95 WHEN 32 THEN 40 WHEN 256 THEN 30 ELSE 0 END - 45 * (load = 2) + stages
       + 105 * (split_k % 3 = 0) + 45 * (wm / tm >= 8) + 20 * (occ = 1) + 30 * (bk = 32)
       -- The assembler's first level keeps the order that wide register tiles need, and is slower with narrow ones: by 2
       -- to 5% in 415 pairs of trials.
       + CASE WHEN tm * tn <= 32 THEN 80 * (ptxas = 1) WHEN tm * tn = 48 THEN 50 * (ptxas = 1)
              WHEN tm * tn = 128 THEN 40 * (ptxas = 3) ELSE 0 END
       -- The best of a dozen for a K of 15 to 64 and a C of 25 MB in all layouts, aligned or not.
       - 150 * (:k BETWEEN 5 AND 64 AND bm = 64 AND bn = 128 AND bk = 16 AND wm = 32 AND tm = 8 AND tn = 8 AND stages = 2
                AND load = 1 AND occ = 2 AND ptxas = 3)
       -- Of so few steps C is all that costs: 1.66 us of 341x343x1 where `outer` takes 1.32, 38 of 3637x5636x3 where it takes 28.
       + 250 * (:k <= 4) AS penalty
FROM part, grouping, ptxas
WHERE :math IN ('strict', 'tf32', 'fast', 'split')
  AND (split_k = 1 OR :k >= 2 * bk * split_k)
  AND ("group" = 1 OR (:m > 4 * bm AND :n > 4 * bn));
