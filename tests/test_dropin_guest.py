#!/usr/bin/env python3
"""gemmtune run --blas on the software GPU, in programs that are demanding hosts: test_dropin_guest.py GEMMTUNE PROGRAM
PLUGIN_PROGRAM NARROW_PLUGIN WIDE_PLUGIN."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

GEMMTUNE, PROGRAM, PLUGIN_PROGRAM, NARROW, WIDE = map(os.path.abspath, sys.argv[1:6])
FOLDER = tempfile.mkdtemp(prefix="gemmtune-guest-")


class DropinGuest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([GEMMTUNE, "tune", "--quiet", "--effort", "quick", "--budget", "2s", "--no-cublas", "--db", "tuned.db",
                        "--family", "naive", "--type", "f64", "--shapes", "20x33x17"], cwd=FOLDER, check=True,
                       stdout=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(FOLDER)

    def run_program(self, command, words=(), database="tuned.db", stderr=subprocess.PIPE):
        env = {k: v for k, v in os.environ.items() if k != "GEMMTUNE_DISABLE"}
        env.update(GEMMTUNE_DB=database, GEMMTUNE_BLAS_THRESHOLD="0", ASAN_OPTIONS="verify_asan_link_order=0")
        done = subprocess.run([GEMMTUNE, "run", "--blas", *words, "--", *command], env=env, text=True, cwd=FOLDER,
                              stderr=stderr, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def check(self, part, products, **more):
        self.assertRegex(self.run_program([PROGRAM, part], **more), r"^gemmtune: %s forwarded" % products)

    def test_floating_point_traps_flags_and_rounding_are_the_programs(self):
        self.check("floating", "2 products: 2 answered, 0")

    def test_errno_is_the_programs(self):
        self.check("errors", "1 product: 1 answered, 0")

    def test_a_thread_that_is_cancelled_leaves_no_lock_behind(self):
        self.check("cancels", r"(\d+) products: \1 answered, 0")

    def test_a_handler_that_jumps_away_leaves_no_lock_behind(self):
        self.check("jumps", r"(\d+) products: \1 answered, 0")

    def test_an_xerbla_that_jumps_away_does_not_end_the_answers(self):
        self.check("catches", "2 products: 1 answered, 1")

    def test_memory_that_a_handler_brings_is_brought_to_threads_that_copy(self):
        self.check("pages", "8 products: 8 answered, 0")

    def test_where_nothing_can_be_written_no_signal_ends_the_program(self):
        self.check("full", "1 product: 1 answered, 0")
        reader, writer = os.pipe()
        os.close(reader)
        self.run_program([PROGRAM, "plain"], stderr=writer)
        os.close(writer)

    def test_a_program_may_end_while_its_threads_multiply(self):
        for i in range(12):
            self.check("leaves", r"(\d+) products: \d+ answered, \d+")

    def test_what_a_program_opens_instead_of_closed_files_is_its_own(self):
        self.run_program([PROGRAM, "reopens"])
        for i in range(8):
            self.assertEqual(os.path.getsize(os.path.join(FOLDER, "own%d" % i)), 0)

    def test_a_database_that_was_named_from_here_is_found_from_elsewhere(self):
        self.check("moves", "1 product: 1 answered, 0")
        self.check("moves", "1 product: 1 answered, 0", words=["--db", "tuned.db"], database="/nowhere/at/all.db")

    def test_each_of_a_programs_libraries_has_the_blas_that_it_was_linked_with(self):
        for plugins in [NARROW, WIDE], [WIDE, NARROW]:
            self.assertRegex(self.run_program([PLUGIN_PROGRAM, "keep", *plugins]),
                             r"^gemmtune: 2 products: 1 answered, 1 forwarded \(1 type or mode not offered\)")

    def test_a_blas_that_is_unloaded_with_what_called_it_is_still_there_for_the_next(self):
        self.assertRegex(self.run_program([PLUGIN_PROGRAM, "unload", WIDE, WIDE]), "^gemmtune: 2 products: 0 answered")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
