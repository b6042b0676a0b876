-- Blocks one warp high and 8 to 32 columns wide, and the 16 x 16 of the textbooks.
WITH tile(bm, bn) AS (VALUES (16, 16), (32, 8), (32, 16), (32, 32))
SELECT bm, bn,
       bm * bn AS threads,
       0 AS smem_bytes,
       1 AS rung,
       'naive' AS technique
FROM tile
WHERE :math IN ('strict', 'tf32', 'fast');
