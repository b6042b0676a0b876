SELECT 8 AS bm, 32 AS bn, 3 AS split_k, 256 AS threads, 3 * 8 * 32 * 4 AS ws_tile WHERE :type = 'f32';
