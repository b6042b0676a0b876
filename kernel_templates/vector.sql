-- One row of C. What varies is how many columns a warp has where B lies along K and else how many lanes lie over K, how
-- much is on its way to a lane, and how warps and blocks share K. Blocks of split K fill the GPU, or half of it, or there
-- are none.
WITH cols(cols) AS (SELECT 1 UNION ALL SELECT 2 WHERE :trans_b AND :n > 1 UNION ALL SELECT 4 WHERE :trans_b AND :n > 2),
     lanes(lanes_k) AS (SELECT column1 FROM (VALUES (1), (2), (4), (8), (16), (32)) WHERE (column1 = 32) = :trans_b),
     unroll(unroll) AS (VALUES (2), (4), (8), (16)),
     warps(warps_n, warps_k) AS (VALUES (1, 4), (1, 8), (1, 16), (2, 2), (2, 4), (2, 8), (4, 1), (4, 2), (4, 4),
                                       (8, 1), (8, 2), (8, 4)),
     -- Rows that begin anywhere are read in whole vectors, one more than the tile has; along K by warps whose columns are
     -- as many apart as a vector has elements.
     wide AS (SELECT 16 / :elem_bytes AS v, NOT :trans_b AND :align < 16 AS shifted,
                     :cc >= 80 AND :n * :k * :batch * :m * :elem_bytes > 32000000 AS usual), -- hint, as in skinny
     tile AS (SELECT *, warps_n * CASE WHEN :trans_b THEN cols ELSE 32 / lanes_k * v END - shifted * v AS bn,
                     32 * warps_n * warps_k AS threads, CASE WHEN shifted THEN warps_k * lanes_k ELSE warps_k END AS parts,
                     CASE WHEN :trans_b THEN 32 * v ELSE lanes_k END * unroll AS step,
                     32 * warps_n * warps_k * unroll * cols * v * :elem_bytes AS flight, -- bytes, of a block
                     (unroll * (cols + :trans_b) * v * :elem_bytes + 3) / 4 + (1 - :trans_b) * unroll * :acc_bytes / 4
                     + CASE WHEN :trans_b THEN cols ELSE v END * :acc_bytes / 4 + 40
                     -- as compiled for f32: a policy costs or saves some
                     + CASE WHEN NOT :trans_b THEN CASE WHEN usual THEN -12 ELSE 6 * unroll - 30 END
                            ELSE 26 * (usual AND unroll * cols * v * :elem_bytes = 128) END
                     -- of vectors that are there in part each element of 16 bits has a register of its own
                     + (:elem_bytes < 4) * 5 * v / 2 * (unroll * (cols + :trans_b) - 2 * (1 + :trans_b)) AS regs
              FROM cols, lanes, unroll, warps, wide
              WHERE unroll * cols * v * :elem_bytes BETWEEN 16 AND 128
                -- Of what L2 does not hold a request reads whole lines.
                AND (:trans_b OR 32 / lanes_k * v * :elem_bytes >= 128 OR :n * :k * :batch * :elem_bytes < 32000000)
                AND (NOT shifted OR (warps_k * lanes_k % v = 0 AND bn >= 3 * v))
                AND (NOT :trans_b OR :align >= 16 OR cols = 1 OR warps_n % v = 0)),
     placed AS (SELECT *, (:n + bn - 1) / bn * :batch * :m AS tiles, min(32, 2048 / threads, 65536 / (regs * threads)) AS fit
                FROM tile
                WHERE regs <= 200 AND regs * threads <= 65536 AND (bn < 2 * :n OR warps_n = 1) AND (warps_k = 1 OR :k > warps_k * step)),
     filled AS (SELECT *, min(128, fit * :sm_count / tiles, :k / (warps_k * step)) AS full FROM placed),
     part AS (SELECT *, 1 AS split_k FROM filled
              UNION SELECT *, full FROM filled WHERE full > 1
              UNION SELECT *, full / 2 FROM filled WHERE full > 3
              UNION SELECT *, full / 4 FROM filled WHERE full > 7),
     -- An estimate: B once from memory, and where rows begin within sectors or lines what requests or two tiles share; longer
     -- where some SMs have more blocks than others, and quicker from L2 where the next launch finds room beside this one; or
     -- what is on its way, in 600 clocks once (see estimate.c for all of these); beginning and end; partial sums.
     timed AS (SELECT *, 1.0 * :n * :k * :batch * :m * :elem_bytes AS bytes,
                      1 + (NOT :trans_b AND :n * :elem_bytes % 128 > 0)
                          * (0.25 * (:n * :elem_bytes % 32 > 0) + 32.0 / (bn * :elem_bytes)) AS times,
                      tiles * split_k AS blocks, (tiles * split_k + fit * :sm_count - 1) / (fit * :sm_count) AS waves
               FROM part),
     shared AS (SELECT *, bytes < 48000000 AS in_l2, 2 * blocks <= fit * :sm_count AS beside,
                       CASE WHEN 2 * blocks > fit * :sm_count AND blocks < :sm_count * (fit - 1)
                            THEN 1.0 * fit * :sm_count / blocks
                            WHEN blocks > :sm_count
                            THEN 0.5 + 0.5 * ((blocks + :sm_count - 1) / :sm_count) * :sm_count / blocks
                            ELSE 1 END AS uneven
                FROM timed),
     moved AS (SELECT *, bytes * times * uneven / :sm_count
                         / CASE WHEN in_l2 AND beside THEN 36.0 WHEN in_l2 THEN 27 ELSE 17.5 END AS stream,
                      bytes * times * 600 / (min(blocks, fit * :sm_count) * flight) AS answers
               FROM shared),
     chosen AS (SELECT *, max(stream, answers) + 0.2 * min(stream, answers) + 2500 - 500 * beside + waves * 800 + bn / 8
                          + (split_k > 1) * (2000 + split_k * 30) AS clocks
                FROM moved),
     ranked AS (SELECT *, row_number() OVER (ORDER BY clocks) AS place FROM chosen)
SELECT 1 AS bm, bn, cols, lanes_k, warps_n, warps_k, unroll, split_k, hint, threads, parts * bn * :acc_bytes AS smem_bytes,
       regs, (split_k > 1) * split_k * bn * :acc_bytes AS ws_tile, split_k > 1 AS any_split,
       :cc >= 90 AS dependent_launch, 1 AS epilogue, CAST(clocks * (1 + 0.01 * (hint <> usual)) AS INTEGER) AS clocks
FROM ranked, (SELECT 0 AS hint UNION ALL SELECT 1)
WHERE place <= 64 AND :m = 1 AND :elem_bytes >= 2 AND :math IN ('strict', 'tf32', 'split')
  AND (hint = usual OR (place <= 8 AND :cc >= 80)); -- what matters little is tried on the best
