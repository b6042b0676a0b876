-- Tensor cores through mma.sync, warp-specialised and persistent: four producer warps beside four or eight consumer
-- warps, in tiles for which sums and two buffers of fragments fit a consumer's registers, and K split only where the tiles
-- alone leave multiprocessors idle. For f64 on Hopper.
WITH tile(bm, bn, wm, wn, occ) AS (VALUES
         (128, 128, 64, 32, 1), (256, 64, 64, 32, 1), (64, 256, 32, 64, 1), (64, 128, 32, 64, 2), (128, 64, 64, 32, 2),
         (192, 64, 48, 32, 1), (128, 96, 32, 48, 1), (96, 128, 48, 32, 1), (64, 192, 32, 48, 1), (64, 96, 32, 48, 2),
         (64, 128, 32, 32, 1), (128, 64, 32, 32, 1), (64, 64, 32, 32, 2), (64, 64, 32, 16, 1), (64, 32, 16, 16, 1),
         (64, 32, 32, 16, 1), (32, 64, 16, 16, 1), (32, 64, 16, 32, 1), (32, 32, 16, 16, 1), (16, 128, 16, 16, 1),
         (16, 64, 16, 16, 2), (128, 16, 16, 16, 1)),
     instruction(inst_k) AS (VALUES (4), (8)),
     stages(stages) AS (VALUES (4), (5), (6), (8)),
     split_k(split_k) AS (VALUES (1), (2), (3), (4), (6), (8), (12), (16), (24), (32), (48)),
     grouping("group") AS (VALUES (1), (8)),
     hint(hint) AS (VALUES (0), (1)),
     -- Copies first, aligned, where that is worth it.
     repack(repack) AS (SELECT 0 UNION ALL SELECT 3 WHERE :align < 16 AND min(:m, :n, :k) >= 256),
     sized AS (SELECT *, 16 AS bk, bm / wm * (bn / wn) * 32 AS consumers, stages * (bm + bn) * 128 AS smem_bytes,
                      (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch * split_k AS units,
                      ((:k + 15) / 16 + split_k - 1) / split_k AS steps,
                      -- lines that do not begin where those of L2 do, which large tiles of warps wait for (3000x700x1300)
                      :align >= 16 AND (CASE WHEN :trans_a THEN :m ELSE :k END % 16 > 0
                                        OR CASE WHEN :trans_b THEN :k ELSE :n END % 16 > 0) AS broken,
                      wm * wn / 16 + (wm + wn) * inst_k / 8 + 12 AS used -- by sums, fragments, addresses
               FROM tile, instruction, stages, split_k, repack
               WHERE bm <= 2 * :m AND bn <= 2 * :n AND (split_k = 1 OR :k >= 128 * split_k)),
     -- An estimate, in clocks of one stage: products, with what warps leave idle, more where their tiles are small; L2, of
     -- which an SM gets 34 bytes a clock; latency, for all stages but the one that is read. By 130 trials of 128³ to 8192³,
     -- 16x4096x4096, 64x4096x4096, 4096x128x4096 and 128x128x65536 on an H200.
     paced AS (SELECT *, (units + :sm_count * occ - 1) / (:sm_count * occ) AS waves,
                      max(bm * bn / 8.0 * (1.02 + 60.0 / (wm * wn) + 0.05 * (occ = 2) + 0.005 * (stages = 4)
                                           + 0.08 * (broken AND wm * wn >= 2048)),
                          (min(bm, :m) + min(bn, :n)) * 128 / 34.0,
                          CASE WHEN 8 * :batch * (:m + :n) * :k < 40000000 THEN 900.0 ELSE 1650.0 END / (occ * (stages - 1)))
                      + 4096.0 / (wm * wn) + 0.003 * bm * bn * (inst_k = 4 AND wm * wn < 2048) AS pace,
                      8.0 * :batch * ((:m + :n) * :k + :m * :n) / :sm_count
                      / CASE WHEN 8 * :batch * (:m + :n) * :k < 40000000 THEN 27 ELSE 17.5 END AS memory
               FROM sized)
SELECT bm, bn, bk, wm, wn, inst_k, stages, split_k, "group", hint, occ, repack,
       CASE WHEN units / :batch > :sm_count * occ THEN :sm_count * occ ELSE 0 END AS blocks,
       consumers + 128 AS threads, smem_bytes, 65536 / ((consumers + 128) * occ) / 8 * 8 AS regs,
       CASE WHEN split_k > 1 THEN split_k * bm * bn * :acc_bytes ELSE 0 END AS ws_tile, split_k > 1 AS any_split,
       1 AS dependent_launch, 1 AS epilogue,
       -- Stages; C; beginning and end; partial sums, which a thread reads 16 at a time; copies first.
       CAST(max(waves * occ * (steps * pace + bm * bn * (0.25 + 0.8 * (:align < 16))), memory) + 2000
            + (split_k > 1) * (2500 + min(split_k, 8) * bm * bn * 60.0 / consumers)
            + (split_k > 8) * (1500 + (split_k + 7) / 8 * bm * bn * 60.0 / consumers)
            + (repack > 0) * (7000 + 1.0 * (:m + :n) * :k * :batch / :sm_count) AS INTEGER)
       + 10 * (hint <> (8.0 * :batch * (:m + :n) * :k > 32000000)) + 8 - stages + ("group" = 1) AS clocks
-- Of two that are alike the one with more stages comes first (cold, 512³ takes 11.4 us with eight and 13.3 with four,
-- 128³ 5.4 and 6.1), and the one whose rows of tiles are walked together (8192³ 19.5 ms, 20.5 one by one).
-- What at most two rows or columns of tiles read passes through L2: that may be worth a hint, and is where L2 hardly holds
-- it (cold, 16x4096x4096 took 40.9 us with one and 45.1 without).
FROM paced, grouping
     JOIN hint ON hint = 0 OR (repack = 0 AND 8.0 * max((:m <= 2 * bm) * :n, (:n <= 2 * bn) * :m) * :k * :batch > 8000000)
WHERE :type = 'f64' AND :cc = 90 AND (occ = 1 OR units > :sm_count) AND used <= CASE occ WHEN 1 THEN 216 ELSE 192 END
  AND occ * (smem_bytes + 1024 + 16 * (stages + 1)) <= :smem_limit + 1024
  AND (split_k = 1 OR units <= :sm_count * occ)
  AND ("group" = 1 OR (:m > 4 * bm AND :n > 4 * bn));
