-- The coalesced kernel's blocks with 2, 4 or 8 steps of K in one turn.
WITH tile(bm, bn) AS (VALUES (16, 16), (8, 32), (32, 32)),
     unroll(unroll) AS (VALUES (2), (4), (8))
SELECT bm, bn, unroll,
       bm * bn AS threads,
       0 AS smem_bytes,
       3 AS rung,
       'unrolled' AS technique
FROM tile, unroll
WHERE :type IN ('f32', 's32');
