-- Tensor cores of Hopper, fed by the copy engine. One or two warp groups multiply; the instruction's M is 64 of each.
WITH tile(bm, bn, swap, warp_groups, stages) AS (VALUES
         (128, 256, 0, 2, 4), (256, 128, 0, 2, 4), (128, 192, 0, 2, 5), (128, 128, 0, 2, 4), (128, 128, 0, 2, 6))
SELECT bm, bn, 64 AS bk, swap, warp_groups, stages, 1 AS cluster_m, 1 AS cluster_n, 1 AS split_k, 8 AS "group", 0 AS repack,
       1 AS occ, 0 AS blocks,
       warp_groups * 128 + 128 AS threads,
       stages * 64 * 2 * ((bm + 63) / 64 * 64 + (bn + 63) / 64 * 64) + warp_groups * 4 * 2560 + 16 * stages + 8 AS smem_bytes,
       CASE WHEN :trans_a THEN 64 ELSE bm END AS box_a_rows, 64 AS box_a_columns,
       CASE WHEN :trans_b THEN bn ELSE 64 END AS box_b_rows, 64 AS box_b_columns,
       3 AS swizzle_ab, 1 AS dependent_launch
FROM tile
WHERE :type IN ('f16_f32', 'bf16_f32') AND :cc >= 90 AND :align >= 16;
