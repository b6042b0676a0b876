#!/usr/bin/env python3
"""Keeps the time model from rotting: test_model.py PROGRAM TABLE. TABLE is what model_table.py made on a GPU."""
import sys
import unittest

import model_table

PROGRAM, TABLE = sys.argv.pop(1), sys.argv.pop(1)
CONFIGURATIONS = 8  # each is compiled: a second


def read_table():
    """The first shape of the table, and its rows: measured us, modelled us, configuration."""
    shape, rows = None, []
    with open(TABLE, encoding="utf-8") as lines:
        for line in lines:
            words = line.split(None, 4)
            if line.startswith("#"):
                if rows:
                    break
                shape = words[1] if len(words) == 2 else shape
            else:
                rows.append((float(words[0]), float(words[1]), words[4].strip()))
    return shape, rows


class Model(unittest.TestCase):
    def test_the_table_shows_that_times_rank_like_the_gpus(self):
        _, rows = read_table()
        measured, times = [row[0] for row in rows], [row[1] for row in rows]
        self.assertGreaterEqual(len(rows), 40)
        self.assertGreaterEqual(model_table.spearman(measured, times), 0.8)
        self.assertLessEqual(model_table.place(times, measured.index(min(measured))), 5)

    def test_todays_program_still_says_what_the_table_does(self):
        shape, rows = read_table()
        chosen = [rows[i * len(rows) // CONFIGURATIONS] for i in range(CONFIGURATIONS)]
        times = model_table.model_all(PROGRAM, "simt", "h200", shape, [row[2] for row in chosen])
        told = ", ".join("%.1f, then %.1f: %.1f" % (us, then, time) for (us, then, _), time in zip(chosen, times))
        for (us, then, _), time in zip(chosen, times):
            self.assertLess(abs(time / us - 1), 0.1, told)
            self.assertLess(abs(time / then - 1), 0.03, told)

    def test_todays_program_sees_banks_of_registers(self):
        # The same tile, its registers chosen by another level of the assembler: it was 14% slower on the GPU.
        shape, rows = read_table()
        chosen = [row for row in rows if "bk=8 " in row[2] and "tm=8 tn=16" in row[2]]
        self.assertEqual(len(chosen), 2)
        times = model_table.model_all(PROGRAM, "simt", "h200", shape, [row[2] for row in chosen])
        self.assertGreater(times[1], 1.03 * times[0])


if __name__ == "__main__":
    unittest.main()
