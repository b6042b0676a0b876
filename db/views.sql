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
-- vs_cublas is against the better of cuBLAS's two libraries, each at its newest time (SQLite takes a bare column from the row that has the
-- maximum), of the winner's own run where there is one. Each subquery is one seek in an index, and WHERE on sizes
-- reaches the problem table.
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
       coalesce((SELECT min(us) FROM (SELECT us, max(id) FROM baseline WHERE problem = t.problem AND gpu = t.gpu
                 AND name IN ('cublas', 'cublaslt') AND run = t.run AND outcome = 'ok' AND timing = t.timing
                 AND us IS NOT NULL GROUP BY name)),
                (SELECT min(us) FROM (SELECT us, max(id) FROM baseline WHERE problem = t.problem AND gpu = t.gpu
                 AND name IN ('cublas', 'cublaslt') AND outcome = 'ok' AND timing = t.timing
                 AND us IS NOT NULL GROUP BY name)))
           / t.us AS vs_cublas,
       t.error, t.margin, t.timing, t.tried_at AS tuned_at, p.align, k.id AS kernel
FROM problem p
CROSS JOIN gpu g
JOIN trial t ON t.id = coalesce(
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'measured' AND margin IS NOT NULL
     AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY id DESC LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'measured' AND outcome = 'ok'
     AND us IS NOT NULL AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY us LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'modelled' AND margin IS NOT NULL
     AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY id DESC LIMIT 1),
    (SELECT id FROM trial WHERE problem = p.id AND gpu = g.id AND timing = 'modelled' AND outcome = 'ok'
     AND us IS NOT NULL AND kernel NOT IN (SELECT kernel FROM convicted) ORDER BY us LIMIT 1))
JOIN kernel k ON k.id = t.kernel
LEFT JOIN peak ON peak.gpu = g.id AND peak.type = p.type AND peak.math = p.math;
