-- Many small products in a block: tiles that hold a small matrix whole, or nearly, and threads for as many of them as
-- fill a block. Groups of threads that are no part of a warp have a block for themselves.
WITH side(side) AS (VALUES (4), (8), (16), (32), (64)),
     thread(tm, tn) AS (VALUES (1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 4)),
     bk(bk) AS (VALUES (4), (8), (16), (32)),
     threads(threads) AS (VALUES (32), (64), (128), (256)),
     tile AS (SELECT a.side AS bm, b.side AS bn, bk, tm, tn, a.side / tm * (b.side / tn) AS "group",
                     (:m + a.side - 1) / a.side * ((:n + b.side - 1) / b.side) AS tiles
              FROM side a, side b, thread, bk
              WHERE a.side >= tm AND b.side >= tn AND a.side / tm * (b.side / tn) BETWEEN 4 AND 256
                AND (a.side < 2 * :m OR a.side = 4) AND (b.side < 2 * :n OR b.side = 4) AND (bk < 2 * :k OR bk = 4)
                AND (bk = 4 OR a.side * b.side < 4096 OR bk <= 16)
                -- no more than two tiles a side
                AND 2 * a.side >= :m AND 2 * b.side >= :n),
     block AS (SELECT *, threads / "group" AS products,
                      threads / "group" * max(bk * (bm + bn + 4 * (1 - :trans_a) + 4 * :trans_b) * :elem_bytes,
                                              (tn * :c_bytes > max(min(:align, 16), :c_bytes)) * bm * bn * :acc_bytes)
                      AS smem_bytes,
                      tm * tn * (1 + :acc_bytes / 4) + 2 * (tm + tn)
                      + (bm + bn) * bk * :elem_bytes / 4 / "group" + 40 AS regs
               FROM tile, threads
               WHERE threads % "group" = 0 AND (threads = "group" OR 32 % "group" = 0)
                 AND (threads / "group" <= max(:batch, 1) OR threads = 32)),
     -- An estimate: all operands once from memory, or L2, and all instructions; a block's beginning and end, and what it
     -- waits for at every step of K where few others are there to go on. Not fitted to measurements yet.
     counted AS (SELECT *, tiles * ((:batch + products - 1) / products) AS blocks,
                        min(32, 2048 / threads, 65536 / (threads * regs), (:smem_limit + 1024) / (smem_bytes + 1024)) AS fit
                 FROM block WHERE regs <= 200 AND smem_bytes <= 49152),
     paced AS (SELECT *, (blocks + :sm_count - 1) / :sm_count AS on_sm, (:k + bk - 1) / bk AS steps,
                      1.0 * :batch * ((:m + :n) * :k * :elem_bytes + :m * :n * :c_bytes) / (18 * :sm_count) AS memory
               FROM counted WHERE fit >= 1)
SELECT bm, bn, bk, tm, tn, products, threads, smem_bytes, regs, :cc >= 90 AS dependent_launch, 1 AS epilogue,
       CAST(max(memory, on_sm * threads / 128.0
                        * (steps * (bk * (1.1 * tm * tn + 0.5 * (tm + tn))
                                    + (bm + bn) * bk / "group" * CASE WHEN :align < 16 THEN 4.0 ELSE 2.0 END) + 60
                           + tm * tn * CASE WHEN :align < 16 THEN 3.0 ELSE 1.5 END))
            + 0.5 * memory + 1500 + (on_sm + fit - 1) / fit * (900 + steps * 500.0) + on_sm * 40.0 AS INTEGER) AS clocks
FROM paced
WHERE :math IN ('strict', 'split') AND :type IN ('f32', 'f64', 'f16', 'bf16')
  AND :m <= 64 AND :n <= 64;
