-- Where the rows or the columns of C are few. Threads are fitted to them exactly; what varies is how lanes and warps
-- lie over the long side and over K, how much is in flight, and how many blocks share K. Of all that fits, an estimate
-- in clocks picks what is worth a trial: the best of each kind.
WITH side(side, few, many, along, kept_along, v) AS (
         SELECT 0, :m, :n, :trans_b, 1 - :trans_a, min(:align, 16) / 4 WHERE :m <= :n
         UNION ALL SELECT 1, :n, :m, 1 - :trans_a, :trans_b, min(:align, 16) / 4 WHERE :n <= :m),
     -- Bands of at most 64 of the few.
     band AS (SELECT *, (few + (few + 63) / 64 - 1) / ((few + 63) / 64) AS high FROM side
              WHERE few BETWEEN 1 AND 128 AND (few <= 64 OR :k >= 1024)),
     ws(ws) AS (VALUES (1), (2), (4)),
     tl(tl) AS (VALUES (4), (8)),
     lk(lk) AS (VALUES (1), (2), (4), (8), (16), (32)),
     lane AS (SELECT *, (high + ws - 1) / ws AS ts, 32 / lk AS ll, 4 * lk AS unit,
                     CASE along WHEN 1 THEN lk ELSE 32 / lk END * v * 4 AS segment
              FROM band, ws, tl, lk
              WHERE CASE WHEN high <= 16 THEN ws = 1 WHEN high <= 32 THEN ws <= 2 ELSE ws >= 2 END
                AND (high + ws - 1) / ws * tl <= 128
                -- A request reads whole lines of memory, unless the matrix is narrower.
                AND CASE along WHEN 1 THEN lk * v >= 32 ELSE 32 / lk * v >= 32 OR 32 / lk * tl >= many END
                AND (32 / lk * tl < 2 * many OR lk = 32)
                -- Many sums a lane: few distinct values of the kept operand a warp, or shared memory is too slow.
                AND (lk <= 8 OR v < 4 OR (high + ws - 1) / ws <= 8)),
     wl(wl) AS (VALUES (1), (2), (4), (8), (16)),
     wk(wk) AS (VALUES (1), (2), (4), (8), (16)),
     stages(stages) AS (VALUES (2), (3), (4), (6), (8)),
     occ(occ) AS (VALUES (1), (2), (4)),
     block AS (SELECT *, 32 * ws * wl * wk AS threads, ts * ws AS bs, wl * ll * tl AS cover, ts * tl + 8 * tl + 28 AS regs
               FROM lane, wl, wk, stages, occ
               WHERE ws * wl * wk IN (4, 8, 16) AND occ * ws * wl * wk BETWEEN 8 AND 32
                 AND (wl * ll * tl < 2 * many OR wl = 1)
                 AND (ws = 1 OR stages <= 4) -- L1 needs room for what warps share
                 AND occ * wl * wk * stages * tl BETWEEN 48 AND 320), -- 24 to 160 KB in flight on an SM
     -- Chunks of the kept operand: as many units a warp as on their way at least, and two chunks in about 48 KB.
     turns(turns) AS (VALUES (2), (4), (8), (16), (32), (64)),
     chunk AS (SELECT *, wk * unit * max(turns) AS bk FROM block, turns
               WHERE regs * threads * occ <= 65536 AND turns >= stages
                 AND (turns < 2 * stages OR (high * wk * unit * turns <= 6144 AND wk * unit * turns <= min(:k, 2048)))
               GROUP BY side, ws, tl, lk, wl, wk, stages, occ),
     team(team) AS (VALUES (1), (2), (4), (8)),
     tiled AS (SELECT *, cover / team AS own,
                      max(2 * bs * (bk + 4) + threads * stages * tl * 4, wk * bs * (cover + 4)) * 4
                      + (team > 1) * bs * cover * 4 AS smem_bytes,
                      (few + bs - 1) / bs * ((many + cover - 1) / cover * team) * :batch AS tiles
               FROM chunk, team
               WHERE (team = 1 OR (:cc >= 90 AND cover % team = 0 AND :k >= team * wk * unit * 2))
                 AND smem_bytes <= :smem_limit AND occ * (smem_bytes + 1024) <= :smem_limit + 1024),
     -- K over as many blocks as the GPU holds at once, over half as many, or over none.
     filled AS (SELECT *, min(64, occ * :sm_count / tiles, :k / (team * wk * unit * 2)) AS full FROM tiled),
     whole AS (SELECT *, split_k * tiles AS blocks,
                      (:k + team * split_k * wk * unit - 1) / (team * split_k * wk * unit) AS units
               FROM (SELECT *, 1 AS split_k FROM filled
                     UNION ALL SELECT *, full FROM filled WHERE full > 1
                     UNION ALL SELECT *, full / 2 FROM filled WHERE full > 3)
               WHERE team * split_k = 1 OR blocks <= 4 * occ * :sm_count),
     -- Clocks: reading all once at 17 bytes a clock and SM, or as fast as what is in flight allows with 1300 clocks
     -- from request to answer; 24 bytes a clock and SM from L2, where L1 serves half of what warps share; issuing all
     -- instructions; wavefronts of L1 and shared memory; beginning and end. Not fitted to measurements yet.
     counted AS (SELECT *, (few + many) * :k * :batch * 4.0 * (1 + 1.0 / segment) AS bytes,
                        (blocks + occ * :sm_count - 1) / (occ * :sm_count) AS waves,
                        min(blocks, occ * :sm_count) * wl * wk * stages * tl * 512.0 AS flight,
                        (blocks + :sm_count - 1) / :sm_count AS on_sm,
                        wk * units * unit AS steps
                 FROM whole),
     timed AS (SELECT *, bytes / 17 / min(blocks, :sm_count)
                         * (1 + waves * occ * :sm_count * 1.0 / max(blocks, occ * :sm_count)) / 2 AS memory,
                      bytes * 1300 / flight AS latency,
                      on_sm * steps * (bs + cover * (ws + 1) / 2) / 6.0 AS l2,
                      (1.04 + 0.02 * ws) * on_sm
                      * (threads * units / 128.0
                         * (4 * tl * ts + ts * CASE along WHEN 1 THEN 4 / v ELSE 1 END + tl + 4 * tl / v + 30)
                         + steps * bs / CASE kept_along WHEN 1 THEN 20.0 * v ELSE 20.0 END) AS issue,
                      on_sm * (threads / 32 * units
                               * (ts * CASE along WHEN 1 THEN max(4 / v, lk * v / 16) ELSE 1 END + 8 * tl)
                               + steps * bs / 16.0) AS shared,
                      2500 + 1200 * (waves - 1)
                      + min(on_sm, occ) * threads * ts * tl * (8 + 2 * (lk > 1)) / 128.0
                      + (team > 1) * (1500 + bs * cover / 8)
                      + (split_k > 1) * (3500 + split_k * bs * own / 24) AS ends
               FROM counted),
     estimated AS (SELECT *, max(memory, latency, l2, issue, shared) + latency / 8 + min(memory, issue) / 8 + ends
                             AS clocks
                   FROM timed),
     ranked AS (SELECT *, row_number() OVER (PARTITION BY side, ws, tl, lk, team, split_k > 1 ORDER BY clocks) AS place
                FROM estimated),
     chosen AS (SELECT *, row_number() OVER (ORDER BY clocks) AS standing FROM ranked WHERE place <= 4)
SELECT side, CASE side WHEN 0 THEN bs ELSE own END AS bm, CASE side WHEN 0 THEN own ELSE bs END AS bn, bk,
       CASE side WHEN 0 THEN ts ELSE tl END AS tm, CASE side WHEN 0 THEN tl ELSE ts END AS tn,
       ws, wl, wk, lk, stages, team, split_k, hint, occ,
       threads, smem_bytes, team AS cluster_x, regs,
       (split_k > 1) * split_k * bs * own * 4 AS ws_tile, :cc >= 90 AS dependent_launch,
       CAST(clocks AS INTEGER) AS clocks
FROM chosen, (SELECT 0 AS hint UNION ALL SELECT 1 UNION ALL SELECT 2)
WHERE :type IN ('f32', 's32')
  AND standing <= 64
  AND (hint = 0 OR (standing <= 8 AND :cc >= 80)) -- what matters little is tried on the best only
ORDER BY clocks, hint;
