#!/usr/bin/env python3
"""What a machine does that others use, too, is no candidate's result: test_machine.py PROGRAM SOFTGPU NVRTC.

SOFTGPU and NVRTC fail while a file is there: see fake/failing_softgpu.c and fake/failing_nvrtc.c.
"""
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOFTGPU, NVRTC = (sys.argv.pop(1) for _ in range(3))
NAIVE = ["--family", "naive", "--shapes", "33", "--no-cublas"]
TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel_templates")


def run(database, *words, **env):
    done = subprocess.run([PROGRAM, *words, "--db", database], text=True, timeout=250, stdin=subprocess.DEVNULL,
                          capture_output=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **env})
    return done.returncode, done.stdout, done.stderr


def query(database, sql):
    with sqlite3.connect(database) as db:
        return db.execute(sql).fetchall()


class Machine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="gemmtune-machine-")
        self.addCleanup(self.folder.cleanup)
        self.database = os.path.join(self.folder.name, "machine.db")
        self.flag = os.path.join(self.folder.name, "flag")

    def tune(self, *words, **env):
        code, out, err = run(self.database, "tune", "--device", "soft", *(words or NAIVE), **env)
        if "NVRTC (libnvrtc.so) not found" in err:
            raise unittest.SkipTest(err)
        return code, out, err

    def check_recovers(self, why, **env):
        """A run that the machine fails stores nothing and says why, once; the next one tries all there is."""
        open(self.flag, "w").close()
        code, out, err = self.tune(**env)
        self.assertEqual(code, 1, err)
        self.assertEqual(len(re.findall(why, err)), 1, err)
        self.assertRegex(err, r"(?m)no winner \(0 tried, 0 known; 3 could not be tried\)$")
        self.assertRegex(err, r"(?m)^gemmtune: 3 candidates could not be tried, and are for the next run; the first: f32 nn ")
        self.assertEqual(query(self.database, "SELECT outcome, detail FROM trial"), [])
        os.remove(self.flag)
        code, out, err = self.tune(**env)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"\([1-9]\d* tried, 0 known\)")

    def test_memory_that_others_hold(self):
        self.check_recovers(r"33x33x33 align 4 needs 0\.0 GiB, 0\.0 GiB free", GEMMTUNE_SOFTGPU=SOFTGPU, TEST_SHORT=self.flag)

    def test_a_system_that_kills_workers(self):
        self.check_recovers("the worker died of SIGKILL while verifying", GEMMTUNE_SOFTGPU=SOFTGPU, TEST_KILL=self.flag)

    def test_a_compiler_that_is_out_of_memory(self):
        path = re.search(r"(?m)^.*nvrtc.* (/\S+)", run(self.database, "doctor")[1], re.IGNORECASE)
        if not path:
            self.skipTest("no NVRTC")
        self.check_recovers("NVRTC failed: NVRTC_ERROR_OUT_OF_MEMORY", GEMMTUNE_NVRTC=NVRTC, TEST_NVRTC=path[1],
                            TEST_SHORT=self.flag)

    def test_libraries_that_are_there_and_cannot_be_loaded_are_told_from_missing_ones(self):
        open(os.path.join(self.folder.name, "libcuda.so.1"), "w").close()  # as in a container without a GPU
        self.assertRegex(run(self.database, "doctor", LD_LIBRARY_PATH=self.folder.name, GEMMTUNE_DRIVER="")[1],
                         r"(?m)^missing  driver .*cannot be loaded: .*file too short")
        if not re.search(r"(?m)^ok +NVRTC", run(self.database, "doctor")[1]):
            self.skipTest("no NVRTC")
        done = subprocess.run(["prlimit", "--as=100000000", PROGRAM, "doctor", "--db", self.database], text=True,
                              capture_output=True)
        if "driver" not in done.stdout:
            self.skipTest("a sanitizer needs more")
        self.assertRegex(done.stdout, r"(?m)^missing  NVRTC .*cannot be loaded: /.*failed to map segment")

    def test_what_a_machine_that_failed_left_in_databases_counts_no_more(self):
        one = os.path.join(self.folder.name, "one")  # a family of one configuration
        os.mkdir(one)
        shutil.copy(os.path.join(TEMPLATES, "naive.cu"), os.path.join(one, "one.cu"))
        with open(os.path.join(TEMPLATES, "naive.sql")) as old, open(os.path.join(one, "one.sql"), "w") as new:
            new.write(old.read().rstrip().rstrip(";") + " LIMIT 1")
        words = ["--templates", one, "--family", "one", "--shapes", "16", "--no-cublas"]
        self.assertEqual(self.tune(*words)[0], 0)
        failures = [("launch_error", "the worker died of SIGKILL while verifying"),
                    ("launch_error", "no answer within 120.0 s; worker killed while preparing the problem"),
                    ("over_resources", "f32 nn 33x33x33 align 4 needs 3.1 GiB, 0.5 GiB free"),
                    ("compile_error", "NVRTC_ERROR_OUT_OF_MEMORY")]
        for outcome, detail in failures:
            with sqlite3.connect(self.database) as db:
                db.execute("DELETE FROM searched")
                db.execute("DELETE FROM trial WHERE stage = 'race'")
                db.execute("UPDATE trial SET us = NULL, us_min = NULL, us_cold = NULL, outcome = ?, detail = ?",
                           (outcome, detail))
            code, out, err = self.tune(*words)
            self.assertEqual(code, 0, err)
            self.assertRegex(err, r"\(1 tried, 0 known\)")


if __name__ == "__main__":
    unittest.main()
