#!/usr/bin/env python3
"""gemmtune run --blas on the software GPU: test_dropin_blas.py GEMMTUNE PROGRAM LOST_GPU.

With netlib's own testers, where the distribution's archive can be reached."""

import glob
import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GEMMTUNE, PROGRAM, LOST_GPU = map(os.path.abspath, sys.argv[1:4])
FOLDER = tempfile.mkdtemp(prefix="gemmtune-blas-")


class DropinBlas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tuned = os.path.join(FOLDER, "tuned.db")
        for layout, type in itertools.product(["nn", "nt", "tn", "tt"], ["f32", "f64"]):
            subprocess.run([GEMMTUNE, "tune", "--quiet", "--effort", "quick", "--budget", "2s", "--no-cublas", "--db",
                            cls.tuned, "--family", "naive", "--type", type, "--layout", layout, "--shapes",
                            "20x33x17"], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(FOLDER)

    def run_program(self, command, words=(), **more):
        env = {k: v for k, v in os.environ.items() if k not in ("GEMMTUNE_DISABLE", "GEMMTUNE_BLAS_THRESHOLD")}
        env.update(GEMMTUNE_DB=self.tuned, ASAN_OPTIONS="verify_asan_link_order=0", **more)
        done = subprocess.run([GEMMTUNE, "run", "--blas", *words, "--", *command], env=env, text=True, cwd=FOLDER,
                              capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def check(self, part, expected, **more):
        """Runs a part of the program, which checks its results; gives seen, answered, forwarded and the line."""
        told = self.run_program([PROGRAM, part, expected], **more).stderr
        line = re.sub(r"(?m)^==\d+==Running thread .*\n", "", told)  # LeakSanitizer of a child that was forked
        found = re.fullmatch(r"gemmtune: (\d+) products?: (\d+) answered, (\d+) forwarded.*\n", line)
        self.assertTrue(found, line)
        return tuple(map(int, found.groups())), line

    def test_every_function_order_and_op_is_answered_and_right(self):
        self.assertEqual(self.check("layouts", "answered", GEMMTUNE_BLAS_THRESHOLD="0")[0], (112, 112, 0))
        with sqlite3.connect(self.tuned) as db:
            symbols = db.execute("SELECT count(DISTINCT symbol) FROM wanted WHERE program LIKE '%layouts'").fetchone()
        db.close()
        self.assertEqual(symbols, (18,))

    def test_matrices_larger_than_the_buffers_are_right(self):
        self.assertEqual(self.check("large", "answered", GEMMTUNE_BLAS_THRESHOLD="1000000")[0], (1, 1, 0))

    def test_what_the_gpu_has_no_memory_for_is_computed_in_tiles(self):
        for limit, launches in [("220000", range(4 * 2 * 2 * 2, 200)), ("2000000", [4])]:
            with sqlite3.connect(self.tuned) as db:
                db.execute("DELETE FROM wanted")
            db.close()
            counts, line = self.check("tiles", "answered", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_BLAS_MEMORY=limit)
            self.assertEqual(counts, (4, 4, 0))
            with sqlite3.connect(self.tuned) as db:
                self.assertIn(db.execute("SELECT sum(calls) FROM wanted").fetchone()[0], launches)
            db.close()
        counts, line = self.check("tiles", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_BLAS_MEMORY="90000")
        self.assertIn("(4 no memory on the GPU)", line)

    def test_products_of_other_shapes_take_no_more_of_the_gpus_memory_than_is_allowed(self):
        self.assertEqual(self.check("memory", "answered", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_BLAS_MEMORY="2000000")[0],
                         (7, 7, 0))

    def test_a_limit_that_is_no_number_of_bytes_is_told_of(self):
        for limit in ["4G", "-1", "1e9", "99999999999999999999"]:
            counts, line = self.check("forks", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_BLAS_MEMORY=limit)
            self.assertEqual(counts, (1, 0, 1))
            self.assertIn("(1 GEMMTUNE_BLAS_MEMORY takes a number of bytes, not '%s')" % limit, line)

    def test_what_is_small_stays_on_the_cpu_and_no_driver_is_looked_for(self):
        counts, line = self.check("layouts", "forwarded", GEMMTUNE_DRIVER="/nowhere/libcuda.so.1")
        self.assertEqual(counts, (112, 0, 112))
        self.assertIn("(112 not worth the way to the GPU)", line)
        self.assertEqual(self.check("layouts", "forwarded", GEMMTUNE_BLAS_THRESHOLD="11221")[0], (112, 0, 112))

    def test_the_gpu_is_set_up_once_that_would_have_paid_and_the_next_program_knows_the_rates(self):
        counts, line = self.check("learns", "any")
        self.assertEqual((counts[1], counts[0] > 5), (1, True), line)
        rate = "SELECT value > 0, value < 1e6 FROM coefficient WHERE family = 'host' AND term = 'cpu f64 22'"
        with sqlite3.connect(self.tuned) as db:
            self.assertEqual(db.execute(rate).fetchall(), [(1, 1)])
            db.execute("UPDATE coefficient SET value = 1e-3 WHERE term = 'cpu f64 22'")
        db.close()
        self.assertEqual(self.check("learns", "answered")[0], (1, 1, 0))
        with sqlite3.connect(self.tuned) as db:
            db.execute("DELETE FROM coefficient WHERE family = 'host'")
        db.close()

    def test_without_a_driver_or_a_database_the_cpu_computes(self):
        counts, line = self.check("layouts", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_DRIVER="/nowhere/cuda")
        self.assertEqual(counts, (112, 0, 112))
        self.assertIn("/nowhere/cuda", line)
        empty = os.path.join(FOLDER, "none.db")
        line = self.run_program([PROGRAM, "layouts", "forwarded"], words=["--db", empty],
                                GEMMTUNE_BLAS_THRESHOLD="0").stderr
        self.assertIn("no database at", line)

    def test_what_a_blas_has_its_own_answer_to_comes_there(self):
        self.assertEqual(self.check("others", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0")[0], (3, 0, 3))

    def test_a_blas_whose_file_says_that_its_integers_are_wide_is_left_alone(self):
        fake = os.path.join(os.path.dirname(PROGRAM), "fake", "libfakeblas.so")
        for name, answered in [("libblas64.so.3", 0), ("libmkl_intel_ilp64.so.2", 0), ("libmkl_intel_lp64.so.2", 1)]:
            copy = shutil.copy(fake, os.path.join(FOLDER, name))
            counts, line = self.check("forks", "answered" if answered else "forwarded", GEMMTUNE_BLAS_THRESHOLD="0",
                                      LD_PRELOAD=copy)
            self.assertEqual(counts, (1, answered, 1 - answered), line)

    def test_what_a_lost_gpu_left_half_written_is_computed_again_where_c_was_not_read(self):
        self.assertEqual(self.check("lost", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_DRIVER=LOST_GPU)[0],
                         (1, 0, 1))
        with self.assertRaisesRegex(AssertionError, "(?s)-6 != 0.*the GPU was lost"):
            self.check("lost_for_good", "forwarded", GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_DRIVER=LOST_GPU)

    def test_a_program_that_ends_while_a_result_comes_back_ends_as_it_would(self):
        self.run_program([PROGRAM, "ends", "any"], GEMMTUNE_BLAS_THRESHOLD="0", GEMMTUNE_DRIVER=LOST_GPU, TEST_ENDING="1")

    def test_a_capture_of_the_programs_holds_none_of_our_calls_and_lasts(self):
        self.assertEqual(self.check("captures", "answered", GEMMTUNE_BLAS_THRESHOLD="0")[0], (6, 6, 0))

    def test_eight_threads(self):
        self.assertEqual(self.check("threads", "answered", GEMMTUNE_BLAS_THRESHOLD="0")[0], (160, 160, 0))

    def test_a_child_process_computes_on_the_cpu(self):
        self.assertEqual(self.check("forks", "answered", GEMMTUNE_BLAS_THRESHOLD="0")[0], (1, 1, 0))

    def test_disabled_it_neither_answers_nor_speaks(self):
        done = self.run_program([PROGRAM, "layouts", "forwarded"], GEMMTUNE_DISABLE="1", GEMMTUNE_BLAS_THRESHOLD="0")
        self.assertEqual(done.stderr, "")

    def test_what_was_asked_for_is_known(self):
        self.check("forks", "answered", GEMMTUNE_BLAS_THRESHOLD="0")
        with sqlite3.connect(self.tuned) as db:
            rows = db.execute("SELECT DISTINCT type, layout, m, n, k, align FROM wanted JOIN problem ON problem.id ="
                              " problem WHERE symbol = 'dgemm_' AND program LIKE '%forks'").fetchall()
        db.close()
        self.assertEqual(rows, [("f64", "nn", 20, 33, 17, 16)])

    def fetch_testers(self):
        """Netlib's testers and reference library from the distribution's packages, unpacked."""
        folder = os.path.join(FOLDER, "netlib")
        os.mkdir(folder)
        try:
            subprocess.run(["apt-get", "download", "-qq", "libblas-test", "libblas3", "libgfortran5"], cwd=folder,
                           check=True, capture_output=True, timeout=60)
            for package in glob.glob(os.path.join(folder, "*.deb")):
                subprocess.run(["dpkg-deb", "-x", package, folder], check=True, capture_output=True)
            return os.path.dirname(glob.glob(os.path.join(folder, "usr/lib/*/blas/libblas.so.3"))[0])
        except (OSError, subprocess.SubprocessError, IndexError) as reason:
            self.skipTest("netlib's testers cannot be fetched: %s" % reason)

    def read_input(self, path):
        """A tester's input for gemm alone, of two sizes: all that it tries takes a minute on this GPU."""
        with open(path) as file:
            text = file.read()
        text = re.sub(r"(?m)^6( +NUMBER OF VALUES OF N)\n.*", r"2\1\n1 9", text)
        return re.sub(r"(?m)^((?!\w*gemm)(?:cblas_)?[sd]\w+ +)T ", r"\1F ", text, flags=re.IGNORECASE)

    def test_netlibs_testers_are_content_and_every_product_is_answered(self):
        blas = self.fetch_testers()
        paths = blas + ":" + os.path.dirname(blas) + ":" + os.environ.get("LD_LIBRARY_PATH", "")
        for letter in "sd":
            for tester, words in [("xblat3" + letter, letter + "blat3.in"), ("x%scblat3" % letter, letter + "in3")]:
                done = subprocess.run([GEMMTUNE, "run", "--blas", "--", os.path.join(blas, tester)], cwd=FOLDER,
                                      input=self.read_input(os.path.join(blas, words)), text=True, capture_output=True,
                                      timeout=120, env={**os.environ, "LD_LIBRARY_PATH": paths, "GEMMTUNE_DB": self.tuned,
                                                        "GEMMTUNE_BLAS_THRESHOLD": "0",
                                                        "ASAN_OPTIONS": "verify_asan_link_order=0"})
                out = os.path.join(FOLDER, letter + "blat3.out")
                said = done.stdout
                if os.path.exists(out):
                    with open(out) as file:
                        said += file.read()
                    os.remove(out)
                print(tester, done.stderr.strip())
                self.assertEqual(done.returncode, 0, said + done.stderr)
                self.assertEqual(len(re.findall(r"(?i)gemm\s+PASSED THE .*COMPUTATIONAL TESTS", said)),
                                 2 if "cblat" in tester else 1, said)
                self.assertNotRegex(said, r"FAIL|SUSPECT|FATAL|LESS THAN HALF")
                self.assertRegex(done.stderr, r"(?m)^gemmtune: \d+ products: [1-9]\d+ answered, \d+ forwarded \(\d+ empty or"
                                 r" illegal\)")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
