-- Blocks of 16 x 16 or 32 x 32 threads, each with 2, 4 or 8 columns.
WITH side(side) AS (VALUES (16), (32)),
     coarse(coarse) AS (VALUES (2), (4), (8))
SELECT side AS bm, side * coarse AS bn, coarse,
       side * side AS threads,
       0 AS smem_bytes,
       4 AS rung,
       'thread coarsening' AS technique
FROM side, coarse
WHERE :type IN ('f32', 's32');
