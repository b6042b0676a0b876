-- 8 x 8 elements a thread, 8 x 4 on small tiles; B's tile plain, padded by a vector, and by a document's 5.
WITH shape(bm, bn, bk, tm, tn) AS (VALUES
         (64, 64, 8, 8, 4), (64, 64, 16, 8, 8), (128, 64, 8, 8, 8), (128, 128, 8, 8, 8),
         (128, 128, 16, 8, 8)),
     pad(pad) AS (VALUES (0), (4), (5))
SELECT bm, bn, bk, tm, tn, pad,
       (bm / tm) * (bn / tn) AS threads,
       0 AS smem_bytes,
       tm * tn + 2 * (tm + tn) + 24 AS regs,
       14 AS rung,
       'vectorised, A transposed' AS technique
FROM shape, pad
WHERE :type IN ('f32', 's32')
  AND (pad <> 5 OR bn = 128);
