#!/usr/bin/env python3
"""A tuning run, its end, and a bench of what it found, on the software GPU: test_run.py PROGRAM SHIM.

SHIM, preloaded, puts every file on a network file system.
"""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SHIM = sys.argv.pop(1), sys.argv.pop(1)
SHAPES = ["--device", "soft", "--shapes", "32"]


def run(*words, **env):
    done = subprocess.run([PROGRAM, *words], text=True, timeout=250, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "GEMMTUNE_DB": DATABASE, "ASAN_OPTIONS": "detect_leaks=0", **env})
    return done.returncode, done.stdout, done.stderr


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        code, cls.out, cls.err = run("tune", *SHAPES, "--budget", "1s", LD_PRELOAD=SHIM,
                                     ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
        if "NVRTC" in cls.err:
            raise unittest.SkipTest(cls.err)
        assert code == 0, cls.err

    def test_a_run_cut_by_its_budget_says_so(self):
        with sqlite3.connect(DATABASE) as db:
            self.assertEqual(db.execute("SELECT ending FROM run ORDER BY id LIMIT 1").fetchone(), ("budget",))

    def test_a_network_file_system_is_warned_of_once(self):
        self.assertEqual(self.err.count("network file system"), 1, self.err)
        self.assertNotIn("network", self.out)

    def test_tune_ends_with_the_machines_ceilings(self):
        lines = self.out.splitlines()
        self.assertRegex(lines[0], r"peak %  +copy %  +vs cuBLAS")
        self.assertRegex(lines[-1], r"^NVIDIA H200 \(software\): f32 66\.9 TFLOPS \(units x clock\)$")

    def test_bench_ends_with_the_machine_and_the_day(self):
        code, out, err = run("bench", *SHAPES)
        self.assertEqual(code, 0, err)
        self.assertRegex(out.splitlines()[-1], r"^NVIDIA H200 \(software\), driver CUDA \d+\.\d, f32 66\.9 TFLOPS "
                                               r"\(units x clock\), \d{4}-\d\d-\d\d$")
        self.assertIn("cublaslt did not race on 1 of 1 shapes: ", err)
        self.assertNotIn("network", err)

    def test_bench_for_programs_has_rows_and_a_summary(self):
        code, out, err = run("bench", *SHAPES, "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        report = json.loads(out)
        row, summary = report["shapes"][0], report["summary"]
        self.assertEqual((row["shape"], row["choice"]), ("32x32x32", "exact"))
        self.assertGreater(row["us"], 0)
        self.assertIsNone(row["library"])
        self.assertEqual((summary["rated"], summary["geometric_mean"], summary["cublas"]), (0, None, None))
        self.assertEqual((summary["peak_source"], summary["copy_tbs"]), ("units x clock", None))
        self.assertRegex(summary["date"], r"^\d{4}-\d\d-\d\d$")

    def test_doctor_tells_the_ceilings(self):
        out = run("doctor")[1]
        self.assertTrue(re.search(r"^ok +ceilings +NVIDIA H200 \(software\): f32 66\.9 TFLOPS \(units x clock\)$", out,
                                  re.M), out)


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-run-")
    DATABASE = os.path.join(FOLDER.name, "gemmtune.db")
    unittest.main(verbosity=1)
