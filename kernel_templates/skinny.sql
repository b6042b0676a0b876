-- Where the rows or the columns of C are few. Thread tiles are fitted to them exactly; what varies is how lanes and
-- warps lie over the long side and over K, how much is in flight, and how many blocks share K. Of all that fits, an
-- estimate in clocks picks what is worth a trial: the best of each kind.
WITH side(side, few, many, along, kept_along, v) AS (
         SELECT 0, :m, :n, :trans_b, 1 - :trans_a, min(4, min(:align, 16) / :elem_bytes) WHERE :m <= :n
         UNION ALL SELECT 1, :n, :m, 1 - :trans_a, :trans_b, min(4, min(:align, 16) / :elem_bytes) WHERE :n <= :m),
     -- Bands of at most 64 of the few.
     band AS (SELECT *, (few + (few + 63) / 64 - 1) / ((few + 63) / 64) AS high FROM side
              WHERE few BETWEEN 1 AND 128 AND (few <= 64 OR :k >= 1024)),
     warps_few(warps_few) AS (VALUES (1), (2), (4)),
     t_many(t_many) AS (VALUES (4), (8)),
     lanes_k(lanes_k) AS (VALUES (1), (2), (4), (8), (16), (32)),
     lane AS (SELECT *, (high + warps_few - 1) / warps_few AS t_few, 32 / lanes_k AS lanes_many, 4 * lanes_k AS unit,
                     CASE along WHEN 1 THEN lanes_k ELSE 32 / lanes_k END * v * :elem_bytes AS segment
              FROM band, warps_few, t_many, lanes_k
              WHERE CASE WHEN high <= 16 THEN warps_few = 1 WHEN high <= 32 THEN warps_few <= 2 ELSE warps_few >= 2 END
                AND (high + warps_few - 1) / warps_few * t_many <= 128
                -- A request reads whole lines of memory, or what all lanes can, unless the matrix is narrower.
                AND CASE along WHEN 1 THEN segment >= 128 OR lanes_k = 32
                               ELSE segment >= 128 OR lanes_k = 1 OR 32 / lanes_k * t_many >= many END
                AND (32 / lanes_k * t_many < 2 * many OR lanes_k = 32)
                -- Many sums a lane: few distinct values of the kept operand a warp, or shared memory is too slow.
                AND (lanes_k * :elem_bytes <= 32 OR v < 4 OR (high + warps_few - 1) / warps_few <= 8)),
     warps_many(warps_many) AS (VALUES (1), (2), (4), (8), (16)),
     warps_k(warps_k) AS (VALUES (1), (2), (4), (8), (16)),
     stages(stages) AS (VALUES (2), (3), (4), (6), (8)),
     occ(occ) AS (VALUES (1), (2), (4)),
     block AS (SELECT *, 32 * warps_few * warps_many * warps_k AS threads, t_few * warps_few AS b_few,
                      warps_many * lanes_many * t_many AS cover,
                      (t_few * t_many + 8 * t_many) * :acc_bytes / 4 + 28 AS regs
               FROM lane, warps_many, warps_k, stages, occ
               WHERE warps_few * warps_many * warps_k IN (4, 8, 16)
                 AND occ * warps_few * warps_many * warps_k BETWEEN 8 AND 32
                 AND (warps_many * lanes_many * t_many < 2 * many OR warps_many = 1)
                 AND (warps_few = 1 OR stages <= 4) -- L1 needs room for what warps share
                 -- 6144 elements to 160 KB in flight on an SM
                 AND occ * warps_many * warps_k * stages * t_many >= 48
                 AND occ * warps_many * warps_k * stages * t_many * :elem_bytes <= 1280),
     -- Chunks of the kept operand: as many units a warp as on their way at least, and two chunks in about 48 KB.
     chunk_units(chunk_units) AS (VALUES (2), (4), (8), (16), (32), (64)),
     chunk AS (SELECT *, warps_k * unit * max(chunk_units) AS bk FROM block, chunk_units
               WHERE regs * threads * occ <= 65536 AND chunk_units >= stages
                 AND (chunk_units < 2 * stages OR (high * warps_k * unit * chunk_units * :elem_bytes <= 24576
                                                   AND warps_k * unit * chunk_units <= min(:k, 2048)))
               GROUP BY side, warps_few, t_many, lanes_k, warps_many, warps_k, stages, occ),
     cluster_k(cluster_k) AS (VALUES (1), (2), (4), (8)),
     tiled AS (SELECT *, max((2 * b_few * (bk + 4) + threads * stages * t_many * 4) * :elem_bytes,
                             warps_k * b_few * (cover + 4) * :acc_bytes)
                         + (cluster_k > 1) * b_few * cover * :acc_bytes AS smem_bytes,
                      (few + b_few - 1) / b_few * ((many + cover - 1) / cover) * :batch AS tiles
               FROM chunk, cluster_k
               WHERE (cluster_k = 1 OR (:cc >= 90 AND cover % cluster_k = 0 AND :k >= cluster_k * warps_k * unit * 2))
                 AND smem_bytes <= :smem_limit AND occ * (smem_bytes + 1024) <= :smem_limit + 1024),
     -- K over as many blocks as the GPU holds at once, over half as many, or over none.
     filled AS (SELECT *, min(64, occ * :sm_count / (tiles * cluster_k), :k / (cluster_k * warps_k * unit * 2)) AS full
                FROM tiled),
     part AS (SELECT *, clusters * cluster_k AS split_k
              FROM (SELECT *, 1 AS clusters FROM filled
                    UNION ALL SELECT *, full FROM filled WHERE full > 1
                    UNION ALL SELECT *, full / 2 FROM filled WHERE full > 3)),
     whole AS (SELECT *, split_k * tiles AS blocks,
                      (:k + split_k * warps_k * unit - 1) / (split_k * warps_k * unit) AS units
               FROM part
               WHERE split_k = 1 OR blocks <= 4 * occ * :sm_count),
     -- Clocks: reading all once at 17 bytes a clock and SM, or as fast as what is in flight allows with 1300 clocks
     -- from request to answer; 24 bytes a clock and SM from L2, where L1 serves half of what warps share; issuing all
     -- instructions, with conversions of 16-bit operands; wavefronts of L1 and shared memory; beginning and end. Not
     -- fitted to measurements yet.
     counted AS (SELECT *, (few + many) * :k * :batch * :elem_bytes * (1 + 1.0 / segment) AS bytes,
                        (blocks + occ * :sm_count - 1) / (occ * :sm_count) AS waves,
                        min(blocks, occ * :sm_count) * warps_many * warps_k * stages * t_many * :elem_bytes * 128.0
                        AS flight,
                        (blocks + :sm_count - 1) / :sm_count AS on_sm,
                        warps_k * units * unit AS steps
                 FROM whole),
     timed AS MATERIALIZED
              (SELECT *, bytes / 17 / min(blocks, :sm_count)
                         * (1 + waves * occ * :sm_count * 1.0 / max(blocks, occ * :sm_count)) / 2 AS memory,
                      bytes * 1300 / flight AS latency,
                      on_sm * steps * (b_few + cover * (warps_few + 1) / 2) * :elem_bytes / 24.0 AS l2,
                      (1.04 + 0.02 * warps_few) * on_sm
                      * (threads * units / 128.0
                         * (4 * t_many * t_few + t_few * CASE along WHEN 1 THEN 4 / v ELSE 1 END + t_many
                            + 4 * t_many / v + 30 + (:elem_bytes < 4) * 4 * (t_few + t_many))
                         + steps * b_few / CASE kept_along WHEN 1 THEN 20.0 * v ELSE 20.0 END) AS issue,
                      on_sm * (threads / 32 * units
                               * (t_few * CASE along WHEN 1 THEN max(4 / v, lanes_k * v * :elem_bytes / 64) ELSE 1 END
                                  + 2 * t_many * :elem_bytes)
                               + steps * b_few * :elem_bytes / 64.0) AS shared,
                      2500 + 1200 * (waves - 1)
                      + min(on_sm, occ) * threads * t_few * t_many * (8 + 2 * (lanes_k > 1)) / 128.0
                      + (cluster_k > 1) * (1500 + b_few * cover / 8)
                      + (clusters > 1) * (3500 + clusters * b_few * (cover / cluster_k) / 24) AS ends
               FROM counted),
     estimated AS (SELECT *, max(memory, latency, l2, issue, shared) + latency / 8 + min(memory, issue) / 8 + ends
                             AS clocks
                   FROM timed),
     ranked AS (SELECT *, row_number() OVER (PARTITION BY side, warps_few, t_many, lanes_k, cluster_k, clusters > 1
                                             ORDER BY clocks) AS place
                FROM estimated),
     -- A stream that L2 does not hold is evicted first: the rest of L2 is left to what others wrote, which need not be
     -- stored then. Behind another kernel 1x4096x4096 of f32 took 22.8 us so and 26.8 without on an H200, of bf16 14.9 and
     -- 16.2, and back to back as long.
     chosen AS (SELECT *, row_number() OVER (ORDER BY clocks) AS standing,
                       :cc >= 80 AND (:elem_bytes >= 4 OR (:elem_bytes = 2 AND :align >= 16)) AND bytes > 32000000 AS usual
                FROM ranked WHERE place <= 4)
SELECT side, CASE side WHEN 0 THEN b_few ELSE cover END AS bm, CASE side WHEN 0 THEN cover ELSE b_few END AS bn,
       bk,
       CASE side WHEN 0 THEN t_few ELSE t_many END AS tm, CASE side WHEN 0 THEN t_many ELSE t_few END AS tn,
       warps_few, warps_many, warps_k, lanes_k, stages, cluster_k, split_k, hint, occ,
       threads, smem_bytes, cluster_k AS cluster_y, regs,
       (clusters > 1) * clusters * b_few * cover * :acc_bytes AS ws_tile, clusters > 1 AS any_split,
       :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(clocks * (1 + 0.01 * (hint <> usual)) AS INTEGER) AS clocks
FROM chosen, (SELECT 0 AS hint UNION ALL SELECT 1 UNION ALL SELECT 2)
WHERE :math IN ('strict', 'tf32', 'fast', 'split')
  -- dot products are `vector`'s, where it has them: here a lane would have four columns or more
  AND (:m > 1 OR :n > 1 OR :elem_bytes < 2)
  AND standing <= 64
  AND (hint = usual OR (standing <= 8 AND :cc >= 80)) -- what matters little is tried on the best only
  -- 8-bit kernels with a policy were illegal instructions on an H200, each of them; nobody has tried 16 bits at odd rows
  AND (hint <> 1 OR :elem_bytes >= 4 OR (:elem_bytes = 2 AND :align >= 16))
ORDER BY clocks, hint;
