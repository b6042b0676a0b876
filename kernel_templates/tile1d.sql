-- 64 x 64 x 8 with 8 rows a thread is the documents' choice; around it, tiles that the threads load evenly.
WITH shape(bm, bn, bk, tm) AS (VALUES
         (32, 32, 16, 8), (32, 32, 32, 4), (64, 64, 8, 8), (64, 64, 16, 8), (64, 64, 16, 16),
         (128, 64, 8, 16), (128, 64, 16, 8), (128, 64, 16, 16))
SELECT bm, bn, bk, tm,
       bm / tm * bn AS threads,
       0 AS smem_bytes,
       11 AS rung,
       '1D tile' AS technique
FROM shape
WHERE :type IN ('f32', 's32');
