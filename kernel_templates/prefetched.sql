-- Tiles of 16 and 32; the textbook's pad of 1, and 4, which keeps rows whole vectors; 4 to 16 steps a turn.
WITH tile(tile) AS (VALUES (16), (32)),
     pad(pad) AS (VALUES (1), (4)),
     unroll(unroll) AS (VALUES (4), (8), (16))
SELECT tile AS bm, tile AS bn, pad, unroll,
       tile * tile AS threads,
       0 AS smem_bytes,
       10 AS rung,
       'padded, prefetched, unrolled' AS technique
FROM tile, pad, unroll
WHERE :type IN ('f32', 's32');
