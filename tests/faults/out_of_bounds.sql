-- One configuration is enough to be found out.
SELECT 16 AS bm, 16 AS bn, 256 AS threads, 0 AS smem_bytes;
