-- Strided 4 x 4 elements a thread (threads 16 and 32 a side), and 8 x 8 or so of neighbours. Tiles of 32 are for
-- small matrices, which have too few of 64 for all multiprocessors.
WITH shape(strided, bm, bn, bk, tm, tn) AS (VALUES
         (1, 32, 32, 32, 4, 2), (1, 32, 32, 32, 4, 4), (1, 64, 64, 8, 4, 4), (1, 64, 64, 16, 4, 4),
         (1, 128, 64, 16, 4, 4), (1, 128, 128, 8, 4, 4), (1, 128, 128, 16, 4, 4),
         (0, 32, 32, 32, 4, 2), (0, 32, 32, 32, 4, 4), (0, 64, 32, 32, 4, 4), (0, 64, 64, 8, 4, 4),
         (0, 64, 64, 16, 8, 4), (0, 64, 64, 32, 8, 4), (0, 64, 64, 8, 8, 8), (0, 128, 64, 16, 8, 4),
         (0, 128, 64, 8, 8, 8), (0, 128, 128, 8, 8, 4), (0, 128, 128, 8, 8, 8), (0, 128, 128, 16, 8, 8))
SELECT strided, bm, bn, bk, tm, tn,
       (bm / tm) * (bn / tn) AS threads,
       0 AS smem_bytes,
       tm * tn + tm + tn + 32 AS regs,
       CASE WHEN strided THEN 12 ELSE 13 END AS rung,
       CASE WHEN strided THEN '2D register tile, strided' ELSE '2D register tile' END AS technique
FROM shape
WHERE :type IN ('f32', 's32');
