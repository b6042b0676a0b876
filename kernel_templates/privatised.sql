-- Square tiles; a thread has 2, 4 or 8 rows of one.
WITH tile(tile) AS (VALUES (16), (32), (64)),
     reg(reg) AS (VALUES (2), (4), (8))
SELECT tile AS bm, tile AS bn, reg,
       tile * tile / reg AS threads,
       0 AS smem_bytes,
       9 AS rung,
       'privatised registers' AS technique
FROM tile, reg
WHERE :type IN ('f32', 's32')
  AND tile * tile / reg BETWEEN 64 AND 1024;
