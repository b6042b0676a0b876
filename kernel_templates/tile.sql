-- Tiles of 16 and 32, plain and padded. A pad of 1 is the textbook's; 4 keeps rows whole vectors of 16 bytes.
WITH tile(tile) AS (VALUES (16), (32)),
     pad(pad) AS (VALUES (0), (1), (4))
SELECT tile AS bm, tile AS bn, pad,
       tile * tile AS threads,
       0 AS smem_bytes,
       CASE WHEN pad = 0 THEN 5 ELSE 7 END + (tile = 32) AS rung,
       'shared tile ' || tile || CASE WHEN pad = 0 THEN '' ELSE ' padded' END AS technique
FROM tile, pad
WHERE :type IN ('f32', 's32');
