-- One row of C. What varies is how many columns a warp has where B lies along K, how much is on its way to a lane, and
-- how warps and blocks share K. Blocks of split K fill the GPU, or half of it, or there are none.
WITH cols(cols) AS (SELECT 1 UNION ALL SELECT 2 WHERE :trans_b AND :n > 1 UNION ALL SELECT 4 WHERE :trans_b AND :n > 2),
     unroll(unroll) AS (VALUES (2), (4), (8), (16)),
     warps(warps_n, warps_k) AS (VALUES (1, 4), (1, 8), (1, 16), (2, 2), (2, 4), (4, 1), (4, 2), (8, 1)),
     wide AS (SELECT min(:align, 16) / :elem_bytes AS v),
     tile AS (SELECT *, warps_n * CASE WHEN :trans_b THEN cols ELSE 32 * v END AS bn, 32 * warps_n * warps_k AS threads,
                     CASE WHEN :trans_b THEN 32 * v ELSE 1 END * unroll AS step,
                     32 * warps_n * warps_k * unroll * cols * v * :elem_bytes AS flight, -- bytes, of a block
                     (unroll * (cols + :trans_b) * v * :elem_bytes + 3) / 4 + (1 - :trans_b) * unroll * :acc_bytes / 4
                     + CASE WHEN :trans_b THEN cols ELSE v END * :acc_bytes / 4 + 40 AS regs
              FROM cols, unroll, warps, wide
              WHERE unroll * cols * v * :elem_bytes BETWEEN 16 AND 128),
     placed AS (SELECT *, (:n + bn - 1) / bn * :batch * :m AS tiles, min(32, 2048 / threads, 65536 / (regs * threads)) AS fit
                FROM tile
                WHERE regs <= 200 AND (bn < 2 * :n OR warps_n = 1) AND (warps_k = 1 OR :k > warps_k * step)),
     filled AS (SELECT *, min(128, fit * :sm_count / tiles, :k / (warps_k * step)) AS full FROM placed),
     part AS (SELECT *, 1 AS split_k FROM filled
              UNION SELECT *, full FROM filled WHERE full > 1
              UNION SELECT *, full / 2 FROM filled WHERE full > 3
              UNION SELECT *, full / 4 FROM filled WHERE full > 7),
     -- An estimate: B once from memory, or as fast as what is on its way allows with 1000 clocks from request to answer;
     -- beginning and end; partial sums. Not fitted to measurements yet.
     timed AS (SELECT *, 1.0 * :n * :k * :batch * :m * :elem_bytes AS bytes,
                      (tiles * split_k + fit * :sm_count - 1) / (fit * :sm_count) AS waves,
                      min(fit, (tiles * split_k + :sm_count - 1) / :sm_count) AS together,
                      min(tiles * split_k, :sm_count) AS busy
               FROM part),
     chosen AS (SELECT *, max(bytes / :sm_count / CASE WHEN bytes < 40000000 THEN 27 ELSE 17.5 END,
                              bytes / busy / min(64.0, together * flight / 1000.0))
                          * (1 + 0.5 / waves * (tiles * split_k % (fit * :sm_count) > 0 AND waves > 1))
                          + 2500 + waves * 800 + bn / 8 + (split_k > 1) * (3000 + split_k * 40) AS clocks
                FROM timed),
     ranked AS (SELECT *, row_number() OVER (ORDER BY clocks) AS place FROM chosen)
SELECT 1 AS bm, bn, cols, warps_n, warps_k, unroll, split_k, threads, warps_k * bn * :acc_bytes AS smem_bytes, regs,
       (split_k > 1) * split_k * bn * :acc_bytes AS ws_tile, split_k > 1 AS any_split, :cc >= 90 AS dependent_launch,
       1 AS epilogue, CAST(clocks AS INTEGER) AS clocks
FROM ranked
WHERE place <= 64 AND :m = 1 AND :math IN ('strict', 'split')
  AND :type IN ('f32', 'f64');
