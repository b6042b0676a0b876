-- Many small products in a block: tiles that hold a small matrix whole, or nearly, and threads for as many of them as
-- fill a block.
WITH side(side) AS (VALUES (4), (8), (16), (32), (64)),
     thread(tm, tn) AS (VALUES (1, 1), (1, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 4)),
     -- Tiles by powers of two, or as large as the matrices; K in equal steps.
     bm(tm, bm) AS (SELECT tm, side FROM thread, side WHERE side >= tm
                    UNION SELECT tm, (:m + tm - 1) / tm * tm FROM thread),
     bn(tn, bn) AS (SELECT tn, side FROM thread, side WHERE side >= tn
                    UNION SELECT tn, (:n + tn - 1) / tn * tn FROM thread),
     bk(bk) AS (VALUES (4), (8), (16), (32) UNION SELECT (:k - 1) / ((:k + 31) / 32) + 1 WHERE :k > 0),
     threads(most) AS (VALUES (32), (64), (96), (128), (192), (256), (320)),
     tile AS (SELECT bm, bn, bk, tm, tn, bm / tm * (bn / tn) AS "group",
                     (:m + bm - 1) / bm * ((:n + bn - 1) / bn) AS tiles
              FROM thread JOIN bm USING (tm) JOIN bn USING (tn), bk
              WHERE bm / tm * (bn / tn) BETWEEN 4 AND 256
                AND (bm < 2 * :m OR bm = 4) AND (bn < 2 * :n OR bn = 4) AND (bk < 2 * :k OR bk = 4)
                AND (bk = 4 OR bm * bn < 4096 OR bk <= 16)
                -- no more than two tiles a side
                AND 2 * bm >= :m AND 2 * bn >= :n),
     -- Lines of whole vectors, or of one.
     whole AS (SELECT * FROM (SELECT *, CASE WHEN :trans_a THEN bm ELSE bk END AS line_a,
                                     CASE WHEN :trans_b THEN bk ELSE bn END AS line_b,
                                     max(min(:align, 16) / :elem_bytes, 1) AS vector FROM tile)
               WHERE (line_a % vector = 0 OR line_a IN (1, 2, 4)) AND (line_b % vector = 0 OR line_b IN (1, 2, 4))),
     block AS (SELECT *, most / "group" AS products, most / "group" * "group" AS threads,
                      most / "group"
                      * ((max(bk * (bm + bn + 4 * (1 - :trans_a) + 4 * :trans_b) * :elem_bytes,
                              (tn * :c_bytes > max(min(:align, 16), :c_bytes)) * bm * bn * :acc_bytes) + 15) / 16 * 16)
                      AS smem_bytes,
                      -- as compiled for f32 where rows are aligned, within twelve
                      tm * tn * (1 + :acc_bytes / 4) * 3 / 4 + (tm + tn) * 3 / 2
                      + (bm + bn) * bk * :elem_bytes * 13 / (40 * "group") + 24 AS regs
               FROM whole, threads
               WHERE CASE WHEN 32 % "group" = 0 OR most = "group" THEN most IN (32, 64, 128, 256)
                          ELSE most / "group" * "group" * 8 >= most * 7 END -- nearly all lanes have work
                 AND (most / "group" <= max(:batch, 1) OR most = 32)
                 -- elements that come one by one have addresses of their own: with 60 on their way a thread takes 249 registers
                 AND (:align >= 16 OR (bm + bn) * bk <= 48 * "group")),
     -- An estimate: all operands once from memory, or L2, and all instructions; a block's beginning and end, and what it
     -- waits for at every step of K where few others are there to go on. Not fitted to measurements yet.
     counted AS (SELECT *, tiles * ((:batch + products - 1) / products) AS blocks,
                        -- an SM's four parts have a quarter of its registers each
                        min(32, 2048 / threads, 65536 / ((threads + 127) / 128 * 128 * regs),
                            (:smem_limit + 1024) / (smem_bytes + 1024)) AS fit
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
  AND :m * :n <= 4096 AND :m <= 192 AND :n <= 192;
