SELECT 16 AS bm, 16 AS bn, 4 AS split_k, 256 AS threads, 4 * 16 * 16 * 4 AS ws_tile WHERE :type = 'f32';
