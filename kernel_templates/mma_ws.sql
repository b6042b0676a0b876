-- Tensor cores through mma.sync, warp-specialised and persistent: four producer warps beside four or eight consumer
-- warps, in tiles for which sums and fragments fit a consumer's registers. For f64 on Hopper.
WITH tile(bm, bn, wm, wn, occ) AS (VALUES
         (128, 128, 64, 32, 1), (128, 128, 32, 64, 1), (256, 64, 64, 32, 1), (64, 256, 32, 64, 1),
         (192, 64, 48, 32, 1), (128, 96, 32, 48, 1), (96, 128, 48, 32, 1), (64, 192, 32, 48, 1),
         (64, 128, 32, 32, 1), (128, 64, 32, 32, 1), (64, 64, 32, 16, 1),
         (64, 128, 64, 32, 2), (64, 128, 32, 64, 2), (128, 64, 64, 32, 2), (64, 96, 32, 48, 2), (64, 64, 32, 32, 2)),
     instruction(inst_k, fragments) AS (VALUES (4, 2), (8, 1), (8, 2), (16, 1)),
     bk(bk) AS (VALUES (16)),
     stages(stages) AS (VALUES (3), (4), (5), (6), (8)),
     grouping("group") AS (VALUES (1), (8)),
     -- Copies first, aligned, where that is worth it.
     repack(repack) AS (SELECT 0 UNION ALL SELECT 3 WHERE :align < 16 AND min(:m, :n, :k) >= 256),
     sized AS (SELECT *, bm / wm * (bn / wn) * 32 + 128 AS threads, stages * (bm + bn) * bk * 8 AS smem_bytes,
                      (:m + bm - 1) / bm * ((:n + bn - 1) / bn) * :batch AS tiles,
                      -- sums, fragments, addresses
                      wm * wn / 16 + (wm + wn) / 8 * inst_k / 2 * fragments + 12 AS used
               FROM tile, instruction, bk, stages, repack
               WHERE bm < 2 * :m AND bn < 2 * :n AND bk / inst_k % fragments = 0),
     -- An estimate, in clocks of one step of an SM: products, with what its warps leave idle.
     paced AS (SELECT *, (tiles + :sm_count * occ - 1) / (:sm_count * occ) AS waves,
                      min(occ, (tiles + :sm_count - 1) / :sm_count) AS together, (:k + bk - 1) / bk AS steps,
                      bm * bn * bk / 128.0 * (1.04 + 0.02 * (wm * wn < 2048) + 0.02 * (stages < 4) + 0.01 * (fragments = 1))
                      AS pace
               FROM sized)
SELECT bm, bn, bk, wm, wn, inst_k, fragments, stages, "group", occ, repack,
       CASE WHEN tiles / :batch > :sm_count * occ THEN :sm_count * occ ELSE 0 END AS blocks,
       threads, smem_bytes, 65536 / (threads * occ) / 8 * 8 AS regs, 1 AS dependent_launch,
       -- Steps; beginning and end; C; copies first.
       CAST(waves * together * (steps * pace + bm * bn * 0.25) + 4000
            + (repack > 0) * (7000 + 1.0 * (:m + :n) * :k * :batch * 8 / 8 / :sm_count) AS INTEGER) AS clocks
FROM paced, grouping
WHERE :type = 'f64' AND :cc = 90 AND used <= CASE occ WHEN 1 THEN 216 ELSE 192 END
  AND occ * (smem_bytes + 1024 + 16 * stages) <= :smem_limit + 1024
  AND ("group" = 1 OR (:m > 4 * bm AND :n > 4 * bn));
