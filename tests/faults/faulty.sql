-- Four right configurations, and each fault once among them.
WITH tile(bm, bn) AS (VALUES (8, 32), (16, 16), (4, 32), (2, 32)),
     fault(fault) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10))
SELECT bm, bn, fault, bm * bn AS threads, 0 AS smem_bytes
FROM tile, fault
WHERE fault = 0 OR (bm = 8 AND bn = 32);
