-- One fragment a warp as in the document, then warp tiles of 32 and 64; two buffers, within 48 KB.
WITH shape(bm, bn, bk, wm, wn) AS (VALUES
         (32, 32, 32, 16, 16), (64, 64, 64, 16, 16), (64, 64, 32, 32, 32), (64, 64, 64, 32, 32),
         (128, 64, 32, 32, 32), (128, 128, 16, 64, 32), (128, 128, 32, 32, 32), (128, 128, 32, 64, 32),
         (128, 128, 32, 32, 64), (128, 128, 32, 64, 64))
SELECT bm, bn, bk, wm, wn,
       (bm / wm) * (bn / wn) * 32 AS threads,
       0 AS smem_bytes,
       wm * wn / 32 + wm / 2 + wn / 2 + 48 AS regs,
       16 AS rung,
       'WMMA f16' AS technique
FROM shape
WHERE :type = 'f16_f32' AND :cc >= 75;
