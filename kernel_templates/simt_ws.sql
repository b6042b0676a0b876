-- Warp-specialised and persistent, with stream-K: four producer warps beside four or eight consumer warps. Thread tiles
-- of 8 x 16 or 12 x 12 leave room for one block on a multiprocessor, those of 8 x 8 and 8 x 12 for two small ones.
-- Blocks share all tiles among them.
WITH tile(bm, bn, wm, wn, tm, tn, occ) AS (VALUES
         (256, 128, 64, 64, 8, 16, 1), (128, 256, 32, 128, 8, 16, 1), (192, 192, 96, 48, 12, 12, 1),
         (64, 256, 16, 128, 8, 8, 1), (128, 128, 32, 64, 8, 8, 1), (256, 64, 64, 32, 8, 8, 1),
         (64, 192, 32, 96, 8, 12, 2), (128, 96, 64, 48, 8, 12, 2),
         (64, 128, 32, 64, 8, 8, 2), (64, 128, 16, 128, 8, 8, 2), (128, 64, 64, 32, 8, 8, 2)),
     bk(bk) AS (VALUES (16), (32)),
     stages(stages) AS (VALUES (2), (3), (4), (6)),
     kmajor(kmajor) AS (SELECT 0 UNION ALL SELECT 1 WHERE NOT :trans_a OR :trans_b
                        UNION ALL SELECT 2 WHERE NOT :trans_a),
     stream_k(stream_k) AS (VALUES (0), (1)),
     grouping("group") AS (VALUES (1), (8)),
     -- Copies first, aligned, of what is not transposed on its way anyway, or of one of two that are, where the product
     -- is long enough to pay for them.
     repack(repack) AS (SELECT 0 UNION ALL SELECT :trans_a + 2 * NOT (:trans_a AND :trans_b)
                        WHERE min(:m, :n, :k) >= 256 AND (:align < 16 OR (NOT :trans_a AND :trans_b))),
     sized AS (SELECT *, bm / wm * (bn / wn) * 32 + 128 AS threads, :sm_count * occ AS blocks,
                      -- what is transposed, or K-major, is padded
                      stages * (bk * (bm + bn)
                                + CASE WHEN :trans_a OR repack & 1 THEN 0 WHEN kmajor = 1 THEN 4 * bm
                                       WHEN kmajor = 2 AND :align >= 8 THEN 2 * bk ELSE 4 * bk END
                                + CASE WHEN NOT :trans_b OR repack & 2 THEN 0 WHEN kmajor = 1 AND :trans_a THEN 4 * bn
                                       ELSE 4 * bk END)
                      * :elem_bytes AS smem_bytes,
                      (:m + bm - 1) / bm * ((:n + bn - 1) / bn) AS tiles
               FROM tile, bk, stages, kmajor, repack
               WHERE bk * stages >= 48 AND bm < 2 * :m AND bn < 2 * :n AND NOT (kmajor AND repack)
                 AND (kmajor < 2 OR tm * tn = 64)), -- larger tiles are not faster by pairs
     -- With stream-K all tiles of a batch are shared, unless operands are copied first.
     joint AS (SELECT *, CASE WHEN stream_k AND NOT repack AND :batch > 1 THEN 1024 ELSE 1 END AS products
               FROM sized, stream_k),
     counted AS (SELECT *, tiles * min(products, :batch) AS shared FROM joint),
     -- An estimate. Tiles where a block stands; clocks for 128 of their multiply-adds with what is issued around them,
     -- more where copies are of single elements, of which tiles of 8 x 16 count each; clocks for an element's way to C;
     -- elements that are copied first.
     paced AS (SELECT *, CASE WHEN stream_k THEN 1.0 * tiles / blocks * :batch
                              WHEN tiles < blocks THEN (tiles * :batch + blocks - 1) / blocks -- a block for each tile
                              ELSE (tiles + blocks - 1) / blocks * :batch END AS share,
                      CASE tm * tn WHEN 64 THEN 1.23 WHEN 96 THEN 1.18 + 0.02 * (:align < 16)
                                   WHEN 144 THEN 1.15 + 0.07 * (:align < 16) ELSE 1.15 - 0.02 * (:align < 16) END
                      - 0.005 * bk / 8 + 0.03 * (stages = 2)
                      + CASE WHEN kmajor = 1 AND NOT :trans_a AND tm * tn = 128 AND :align >= 16
                             THEN 0.03 + 0.02 * (bn > bm)
                             WHEN kmajor = 1 THEN 0.08 * (tm * tn > 64 OR occ = 2 OR :align < 16)
                             WHEN kmajor = 2 THEN -0.04 * (:align >= 16) ELSE 0 END
                      + CASE WHEN tm * tn = 128 AND :align >= 16
                             THEN ((NOT :trans_a AND NOT kmajor AND NOT repack & 1) * bm
                                   + (:trans_b AND NOT repack & 2) * bn) * 0.00015
                             WHEN :trans_a OR NOT :trans_b OR repack THEN 0
                             WHEN kmajor THEN 0.0007 * bn ELSE 0.03 + 0.05 * (bk < 32) END
                      + (0.01 + (:trans_a * bm + (NOT :trans_b) * bn) / 3700.0) * (:align < 16 AND NOT repack) AS pace,
                      0.10 + 0.27 * (:align < 16) AS store,
                      ((repack & 1) * :m + (repack >> 1) * :n) * :k * :batch AS copied
               FROM counted)
SELECT bm, bn, bk, wm, wn, tm, tn, stages, kmajor, stream_k, "group", occ, repack, 1 AS ptxas, blocks, products,
       threads, smem_bytes, 65536 / (threads * occ) / 8 * 8 AS regs,
       -- Multiply-adds; C; beginning and end; partial sums on their way; copies.
       CAST(share * occ * bm * bn * ((:k + 15) / 16 / 8.0 * pace + store) + 7000
            + stream_k * CASE WHEN shared < blocks THEN 0.15 * occ * bm * bn * blocks / shared
                              ELSE 8000 + 0.28 * occ * bm * bn END
            + (repack > 0) * 7000 + 1.0 * copied / :sm_count AS INTEGER) AS clocks,
       CASE stream_k WHEN 1 THEN bm * bn * :acc_bytes ELSE 0 END AS ws_tile, 1 AS dependent_launch, 1 AS epilogue
FROM paced, grouping
WHERE :type IN ('f32', 's32') AND :math IN ('strict', 'split') AND :cc >= 90
  -- with the consumers' staging buffer where C is not aligned, and the barriers
  AND occ * (smem_bytes + (:align < 16) * 16 * :acc_bytes * (threads - 128) + 1024 + 128) <= :smem_limit + 1024
  AND (stream_k = 0 OR shared % blocks <> 0)
  AND ("group" = 1 OR (:m > 4 * bm AND :n > 4 * bn));
