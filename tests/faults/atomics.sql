-- It does not say that it is not deterministic: that shows when it runs.
SELECT 2 AS bm, 2 AS bn, 1024 AS threads WHERE :type = 'f32';
