-- For people. The last step of every migration makes these; its first has dropped the ones before. So it does with
-- `convicted`, the kernels whose code failed a check and has not passed it since (internal.h: the store's own queries
-- have the same rule).

-- A kernel's configuration in one line.
CREATE VIEW config AS
SELECT k.id AS kernel, k.family,
       (SELECT group_concat(name || '=' || value, ' ')
        FROM (SELECT name, value FROM kernel_param WHERE kernel = k.id ORDER BY place)) AS params
FROM kernel k;

-- The best kernel of each GPU and problem. That is the newest winner of a race, else the fastest, of those that are not
-- convicted; a measured time stands before any modelled one. A parameter that the family does not have is NULL.
-- vs_cublas is against the better of cuBLAS's two libraries, each at its newest time (internal.h: GT_BASELINE_US), of the
-- winner's own run where there is one. The newest is by time: rows may come from another file. gpu_id tells models of one
-- name apart. Each subquery is one seek in an index, and WHERE on sizes reaches the problem table.
CREATE VIEW best_configs AS
SELECT g.name AS gpu, p.type, p.math, p.layout, p.m, p.n, p.k, p.batch, k.family,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'bm') AS bm,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'bn') AS bn,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'bk') AS bk,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'wm') AS wm,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'wn') AS wn,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'tm') AS tm,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'tn') AS tn,
       (SELECT value FROM kernel_param WHERE kernel = k.id AND name = 'stages') AS stages,
       k.split_k, (SELECT params FROM config WHERE kernel = k.id) AS params, t.us,
       2.0 * p.m * p.n * p.k * p.batch / t.us / 1e6 AS tflops,
       100.0 * (2.0 * p.m * p.n * p.k * p.batch / t.us / 1e6) / peak.tflops AS peak_pct,
       coalesce((SELECT min(b.us) FROM baseline b WHERE b.problem = t.problem AND b.gpu = t.gpu AND b.run = t.run
                 AND b.name IN ('cublas', 'cublaslt') AND b.outcome = 'ok' AND b.timing = t.timing AND b.us IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM baseline n WHERE n.problem = b.problem AND n.gpu = b.gpu AND n.run = b.run
                                 AND n.name = b.name AND n.measured_at > b.measured_at AND n.outcome = 'ok'
                                 AND n.timing = b.timing AND n.us IS NOT NULL)),
                (SELECT min(b.us) FROM baseline b WHERE b.problem = t.problem AND b.gpu = t.gpu
                 AND b.name IN ('cublas', 'cublaslt') AND b.outcome = 'ok' AND b.timing = t.timing AND b.us IS NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM baseline n WHERE n.problem = b.problem AND n.gpu = b.gpu
                                 AND n.name = b.name AND n.measured_at > b.measured_at AND n.outcome = 'ok'
                                 AND n.timing = b.timing AND n.us IS NOT NULL)))
           / t.us AS vs_cublas,
       t.error, t.margin, t.timing, substr(t.tried_at, 1, 19) AS tuned_at, p.align, k.id AS kernel, t.run,
       g.id AS gpu_id
FROM problem p
CROSS JOIN gpu g
JOIN trial t ON t.id = coalesce(
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'measured' AND margin IS NOT NULL
     AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY tried_at DESC, us LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'measured' AND outcome = 'ok'
     AND us IS NOT NULL AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY us, tried_at LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'modelled' AND margin IS NOT NULL
     AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY tried_at DESC, us LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'modelled' AND outcome = 'ok'
     AND us IS NOT NULL AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY us, tried_at LIMIT 1))
JOIN kernel k ON k.id = t.kernel
LEFT JOIN peak ON peak.gpu = g.id AND peak.type = p.type AND peak.math = p.math;

-- Problems with more than one winner, which have never raced each other: they come from different files, or one could not
-- run in the other's race. A kernel counts that won the last race that it ran in.
CREATE VIEW contested AS
SELECT problem, gpu, timing, count(*) AS winners
FROM (SELECT DISTINCT w.problem, w.gpu, w.timing, w.kernel
      FROM trial w JOIN kernel k ON k.id = w.kernel
      WHERE w.margin IS NOT NULL AND k.cubin IS NOT NULL AND w.kernel NOT IN (SELECT kernel FROM convicted)
      AND NOT EXISTS (SELECT 1 FROM trial l WHERE l.kernel = w.kernel AND l.problem = w.problem AND l.gpu = w.gpu
                      AND l.stage = 'race' AND l.outcome = 'ok' AND l.margin IS NULL AND l.tried_at > w.tried_at))
GROUP BY problem, gpu, timing HAVING count(*) > 1;
