-- Warp tiles of 16 (for small matrices), 32, 64 and 128 elements a thread, in pieces of 4 x 4; one buffer or two,
-- always within 48 KB.
WITH shape(bm, bn, bk, wm, wn, wniter, tm, tn, buffers) AS (VALUES
         (32, 32, 16, 32, 16, 1, 4, 4, 2), (32, 32, 32, 32, 16, 1, 4, 4, 1), (32, 64, 16, 32, 32, 2, 4, 4, 2),
         (64, 32, 16, 32, 16, 1, 4, 4, 2), (64, 64, 16, 32, 32, 2, 4, 4, 1), (64, 64, 16, 32, 32, 2, 4, 4, 2),
         (128, 64, 8, 32, 64, 2, 4, 4, 2), (128, 128, 8, 64, 32, 2, 4, 4, 2), (128, 128, 16, 64, 32, 2, 4, 4, 1),
         (128, 128, 16, 64, 32, 2, 4, 4, 2), (128, 128, 8, 64, 64, 2, 4, 4, 2), (128, 256, 8, 64, 64, 2, 4, 4, 2))
SELECT bm, bn, bk, wm, wn, wniter, tm, tn, buffers,
       (bm / wm) * (bn / wn) * 32 AS threads,
       0 AS smem_bytes,
       wm * wn / 32 + 64 AS regs,
       15 AS rung,
       'warp tile' AS technique
FROM shape
WHERE :type IN ('f32', 's32');
