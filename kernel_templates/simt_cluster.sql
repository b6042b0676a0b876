-- Warp-specialised, with K split over K-slice groups of a block, blocks of a cluster and clusters: eight consumer warps
-- in all, one block on a multiprocessor, and parts of K so that one wave of blocks fills the GPU.
WITH tile(bm, bn, wm, wn, tm, tn, slices) AS (VALUES
         (128, 256, 32, 128, 8, 16, 1), (256, 128, 64, 64, 8, 16, 1),
         (128, 128, 64, 64, 8, 16, 2), (64, 256, 32, 128, 8, 16, 2), (256, 64, 64, 64, 8, 16, 2),
         (64, 128, 32, 128, 8, 16, 4), (128, 64, 64, 64, 8, 16, 4), (32, 256, 32, 128, 8, 16, 4),
         (64, 64, 64, 64, 8, 16, 8), (32, 128, 32, 128, 8, 16, 8), (16, 256, 16, 256, 8, 16, 8),
         (128, 128, 32, 64, 8, 8, 1), (64, 128, 32, 64, 8, 8, 2), (128, 64, 32, 64, 8, 8, 2),
         (64, 64, 32, 64, 8, 8, 4), (32, 128, 32, 64, 8, 8, 4), (16, 256, 16, 128, 8, 8, 4),
         (32, 64, 32, 64, 8, 8, 8), (16, 128, 16, 128, 8, 8, 8),
         (16, 256, 16, 64, 4, 8, 2), (32, 128, 16, 64, 4, 8, 2), (16, 128, 16, 64, 4, 8, 4), (32, 64, 32, 32, 4, 8, 4),
         (16, 64, 16, 64, 4, 8, 8),
         -- few columns
         (256, 32, 64, 32, 8, 8, 2), (128, 32, 64, 32, 8, 8, 4), (64, 32, 64, 32, 8, 8, 8),
         (256, 16, 64, 16, 8, 4, 2), (128, 16, 64, 16, 8, 4, 4), (64, 16, 64, 16, 8, 4, 8)),
     bk(bk) AS (VALUES (16), (32), (64), (128)),
     stages(stages) AS (VALUES (3), (4)),
     cluster_k(cluster_k) AS (VALUES (1), (2), (4)),
     kmajor(kmajor) AS (SELECT 0 UNION ALL SELECT 1 WHERE NOT :trans_a OR :trans_b
                        UNION ALL SELECT 2 WHERE NOT :trans_a),
     -- Copies first, aligned, of what is not transposed on its way anyway, or of one of two that are, where the product
     -- is long enough to pay for them.
     repack(repack) AS (SELECT 0 UNION ALL SELECT :trans_a + 2 * NOT (:trans_a AND :trans_b)
                        WHERE min(:m, :n, :k) >= 256 AND (:align < 16 OR (NOT :trans_a AND :trans_b))),
     sized AS (SELECT *, bm / wm * (bn / wn) * 32 * slices + 128 AS threads,
                      -- The ring, in which what is transposed or K-major is padded; in the same place the staging
                      -- buffers of K-slice groups and cluster.
                      max(stages * (bk * (bm + bn)
                                    + CASE WHEN :trans_a OR repack & 1 THEN 0 WHEN kmajor = 1 THEN 4 * bm
                                           WHEN kmajor = 2 AND :align >= 8 THEN 2 * bk ELSE 4 * bk END
                                    + CASE WHEN NOT :trans_b OR repack & 2 THEN 0
                                           WHEN kmajor = 1 AND :trans_a THEN 4 * bn ELSE 4 * bk END) * :elem_bytes,
                          bm * bn * (slices + (slices > 1 AND cluster_k > 1)) * :acc_bytes) AS smem_bytes,
                      (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles,
                      (stages - 1) * bk * (bm + bn) AS ahead -- elements on their way
               FROM tile, bk, stages, cluster_k, kmajor, repack
               WHERE bk / slices BETWEEN (CASE slices WHEN 8 THEN 8 ELSE 16 END) AND 32 AND (bm > 16 OR bk >= 32)
                 AND (bm < 2 * :m OR bm = 16) AND (bn < 2 * :n OR (bn = 16 AND :n > 4)) AND (bn >= 64 OR :n <= 32)
                 AND cluster_k * slices > 1 AND NOT (kmajor AND repack)),
     -- As many clusters for a tile as fill one wave, or one.
     part AS (SELECT *, cluster_k AS split_k FROM sized
              UNION SELECT *, cluster_k * (:sm_count / (tiles * cluster_k)) FROM sized
              WHERE :sm_count / (tiles * cluster_k) BETWEEN 2 AND 32),
     -- An estimate. Clocks for 128 multiply-adds with what is issued around them; more for what is stored K-major, for
     -- a second operand that is transposed, for copies of single elements that are not, and for short rounds. Clocks
     -- until all operands have come from memory, more where few elements are on their way, or too many.
     paced AS (SELECT *, ((:k + bk - 1) / bk + split_k - 1) / split_k AS steps, split_k / cluster_k AS clusters,
                      (tiles * split_k + :sm_count - 1) / :sm_count AS waves,
                      CASE tm * tn WHEN 128 THEN 1.20 WHEN 64 THEN 1.19 ELSE 1.53 END
                      + CASE WHEN :trans_a AND (NOT :trans_b OR repack & 2) THEN 0
                             WHEN kmajor = 1 THEN CASE tn WHEN 16 THEN 0.02 ELSE 0.07 END
                                                  + 0.05 * (slices = 8 AND tm = 8)
                             WHEN kmajor = 2 THEN 0.03 + 0.07 * (slices = 8 AND tm * tn = 64)
                             ELSE 0.01 + 0.02 * slices + 0.03 * (CASE WHEN :trans_a THEN bn ELSE bm END > 64) END
                      + 0.11 * (NOT :trans_a AND :trans_b AND NOT repack & 2)
                      + 0.05 * slices * (:align < 16 AND NOT repack)
                      + 0.07 * (bk / slices = 8 AND tm = 8) AS pace,
                      1.0 * :elem_bytes * :batch * (:m + :n) * :k / (18.5 * :sm_count)
                      * (1 + 0.10 * (ahead < 15000) + 0.03 * (ahead > 25000)) AS memory
               FROM part),
     timed AS (SELECT *, waves * steps * (bk * bm * bn / 128 * pace + 30) AS multiply FROM paced)
SELECT bm, bn, bk, wm, wn, tm, tn, slices, stages, kmajor, cluster_k, split_k, repack, 1 AS occ, 1 AS ptxas,
       threads, smem_bytes, cluster_k AS cluster_y, 65536 / threads / 8 * 8 AS regs,
       -- Multiply-adds at 128 a clock and SM beside memory; stages, and the first of them; partial sums on their way
       -- between K-slice groups, blocks, clusters; copies. Half of 360 trials of 22 shapes on an H200 are within 2% of
       -- each other.
       CAST(max(multiply, memory) + 0.15 * min(multiply, memory)
            + waves * (2000 + bk * (bm + bn) / 10 + bm * bn * slices * 11 / 128 + 0.10 * bm * bn * (:align < 16)
                       + (cluster_k > 1) * (1200 + bm * bn * 10 / 128))
            + (clusters > 1) * (2400 + bm * bn / cluster_k * clusters / 8)
            + (repack > 0) * 7000
            + 2.0 * :elem_bytes * :batch * ((repack & 1) * :m + (repack >> 1) * :n) * :k / (8 * :sm_count)
            AS INTEGER) AS clocks,
       (clusters > 1) * clusters * bm * bn * :acc_bytes AS ws_tile, clusters > 1 AS any_split, 1 AS dependent_launch, 1 AS epilogue
FROM timed
WHERE :type IN ('f32', 's32') AND :math IN ('strict', 'split') AND :cc >= 90
  -- with the consumers' staging buffer where C is not aligned, and the barriers
  AND smem_bytes + (:align < 16) * 16 * :acc_bytes * (threads - 128) <= :smem_limit - 512
  AND (waves = 1 OR (split_k = 1 AND waves <= 4))
  -- clusters of four do not fit into every part of the chip
  AND (cluster_k < 4 OR tiles * split_k <= :sm_count * 10 / 11)
  AND steps >= 2;
