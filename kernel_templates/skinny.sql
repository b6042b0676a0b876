-- Where the rows or the columns of C are few. A block's threads are fitted to them exactly; what varies is how the
-- lanes and warps lie over the long side and over K, how much is in flight, and how many blocks share K. Of all that
-- fits, the rows that an estimate in clocks holds best are offered.
WITH side(side, few, many, along, v) AS (
         SELECT 0, :m, :n, :trans_b, min(:align, 16) / 4 WHERE :m <= :n
         UNION ALL SELECT 1, :n, :m, 1 - :trans_a, min(:align, 16) / 4 WHERE :n <= :m),
     -- Bands of at most 64; of a band up to 32 sums deep for each warp.
     band AS (SELECT *, (few + (few + 63) / 64 - 1) / ((few + 63) / 64) AS high FROM side
              WHERE few BETWEEN 1 AND 128 AND (few <= 64 OR :k >= 1024)),
     ws(ws) AS (VALUES (1), (2), (4)),
     tl(tl) AS (VALUES (4), (8)),
     lk(lk) AS (VALUES (1), (2), (4), (8), (16), (32)),
     lane AS (SELECT *, (high + ws - 1) / ws AS ts, 32 / lk AS ll, 4 * lk AS unit FROM band, ws, tl, lk
              WHERE CASE WHEN high <= 16 THEN ws = 1 WHEN high <= 32 THEN ws <= 2 ELSE ws >= 2 END
                AND (high + ws - 1) / ws * tl <= 128
                -- whole lines of memory a request, but where the matrix has none
                AND CASE WHEN along THEN lk * v >= 32 ELSE (32 / lk * v >= 32 AND lk <= 4) OR 32 / lk * tl >= many END
                AND (32 / lk * tl < 2 * many OR lk = 32)
                -- with many sums a lane is cheapest where the warp's share their values of the kept operand
                AND ((high + ws - 1) / ws <= 8 OR lk <= 8 OR v < 4)),
     wl(wl) AS (VALUES (1), (2), (4), (8), (16)),
     wk(wk) AS (VALUES (1), (2), (4), (8), (16)),
     stages(stages) AS (VALUES (1), (2), (3), (4)),
     occ(occ) AS (VALUES (1), (2), (4)),
     warps AS (SELECT *, 32 * ws * wl * wk AS threads, wl * ll * tl AS cover, occ * ws * wl * wk AS on_sm,
                      ts * tl + 4 * tl * stages + 30 + 2 * tl * along + 3 * (4 - v) AS regs
               FROM lane, wl, wk, stages, occ
               WHERE ws * wl * wk IN (4, 8, 16)
                 AND occ * ws * wl * wk BETWEEN 8 AND 32
                 AND (wl * ll * tl < 2 * many OR wl = 1)
                 -- from 16 KB to 160 KB in flight on an SM
                 AND occ * wl * wk * stages * tl BETWEEN 32 AND 320),
     -- Chunks of the kept operand: whole turns of all warps, and two of them in about 48 KB.
     turns(turns) AS (VALUES (1), (2), (4), (8), (16), (32)),
     chunk AS (SELECT *, wk * unit * stages * max(turns) AS bk FROM warps, turns
               WHERE regs * threads * occ <= 67584
                 AND (turns = 1 OR (high * wk * unit * stages * turns <= 6144
                                    AND wk * unit * stages * turns <= min(:k, 2048)))
               GROUP BY side, ws, tl, lk, wl, wk, stages, occ),
     team(team) AS (VALUES (1), (2), (4), (8)),
     split_k(split_k) AS (VALUES (1), (2), (3), (4), (6), (8), (12), (16), (24), (32), (48), (64)),
     whole AS (SELECT *, ts * ws AS bs, cover / team AS own,
                      max(2 * ts * ws * (bk + 4), wk * ts * ws * (cover + 4)) * 4
                      + CASE WHEN team > 1 THEN ts * ws * cover * 4 ELSE 0 END AS smem_bytes,
                      (few + ts * ws - 1) / (ts * ws) * ((many + cover - 1) / cover * team) * :batch * split_k AS blocks
               FROM chunk, team, split_k
               WHERE (team = 1 OR (:cc >= 90 AND cover % team = 0))
                 AND (team * split_k = 1 OR :k >= team * split_k * wk * unit * stages)
                 AND smem_bytes <= :smem_limit AND occ * (smem_bytes + 1024) <= :smem_limit + 1024),
     -- Clocks of an SM: to read everything once, to issue all instructions, and before and after.
     counted AS (SELECT *, (blocks + occ * :sm_count - 1) / (occ * :sm_count) AS waves,
                        (:k + team * split_k * wk * unit - 1) / (team * split_k * wk * unit) AS units,
                        (few + many) * :k * :batch * 4.0 / 17 AS bytes
                 FROM whole
                 WHERE blocks <= 4 * occ * :sm_count OR team * split_k = 1),
     timed AS (SELECT *, bytes / :sm_count * max(1.0, 1.0 * :sm_count / blocks, 0.9 * occ * :sm_count * waves / blocks)
                         * (1 + 8000.0 / (min(occ, max(1, blocks / :sm_count)) * wl * wk * stages * tl * 512)) AS memory,
                      1.1 * ((blocks + :sm_count - 1) / :sm_count) * (threads / 128.0)
                      * units * (4 * tl * ts + ts * (CASE WHEN along THEN 4 / v ELSE 1 END) + 4 * tl / v + 12) AS issue,
                      waves * (1500 + occ * (threads * ts * tl * 8 / 128 + (lk > 1) * threads * ts * tl / 32)
                               + (team > 1) * (1500 + bs * cover / 8)
                               + (split_k > 1) * (3000 + split_k * bs * own / 24)) AS ends
               FROM counted)
SELECT side, CASE side WHEN 0 THEN bs ELSE own END AS bm, CASE side WHEN 0 THEN own ELSE bs END AS bn, bk,
       CASE side WHEN 0 THEN ts ELSE tl END AS tm, CASE side WHEN 0 THEN tl ELSE ts END AS tn,
       ws, wl, wk, lk, stages, team, split_k, hint, occ,
       threads, smem_bytes, team AS cluster, min(regs, 65536 / (threads * occ)) AS regs,
       CASE WHEN split_k > 1 THEN split_k * bs * own * 4 ELSE 0 END AS ws_tile,
       -900 AS penalty
FROM timed, (SELECT 0 AS hint UNION ALL SELECT 1 UNION ALL SELECT 2)
WHERE :type IN ('f32', 's32') AND (ws = 1 OR hint = 0)
ORDER BY max(memory, issue) + min(memory, issue) / 8 + ends, hint
LIMIT 90;
