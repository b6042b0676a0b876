-- One configuration; a box is a tile as its operand is stored.
WITH tile(bm, bn, bk) AS (VALUES (16, 16, 32))
SELECT bm, bn, bk, bm * bn AS threads,
       CASE WHEN :trans_a THEN bk ELSE bm END AS box_a_rows, CASE WHEN :trans_a THEN bm ELSE bk END AS box_a_columns,
       CASE WHEN :trans_b THEN bn ELSE bk END AS box_b_rows, CASE WHEN :trans_b THEN bk ELSE bn END AS box_b_columns
FROM tile
WHERE :type = 'f32' AND :cc >= 90 AND :align >= 16;
