-- The 2D register tile's shapes. B's tile is padded by a vector where it is transposed as A's is, and once by a
-- document's 5.
WITH shape(bm, bn, bk, tm, tn, pad) AS (VALUES
         (32, 32, 16, 4, 4, NULL), (32, 32, 32, 4, 4, NULL), (64, 32, 32, 4, 4, NULL), (64, 64, 8, 8, 4, NULL),
         (64, 64, 16, 8, 4, NULL), (64, 64, 32, 8, 4, NULL), (64, 64, 16, 8, 8, NULL), (128, 64, 16, 8, 4, NULL),
         (128, 64, 8, 8, 8, NULL), (128, 128, 8, 8, 8, NULL), (128, 128, 16, 8, 8, NULL), (128, 128, 8, 8, 8, 5))
SELECT bm, bn, bk, tm, tn,
       coalesce(pad, 4 * :trans_b) AS pad,
       (bm / tm) * (bn / tn) AS threads,
       0 AS smem_bytes,
       tm * tn + 2 * (tm + tn) + 24 AS regs,
       14 AS rung,
       'vectorised, A transposed' AS technique
FROM shape
WHERE :type IN ('f32', 's32');
