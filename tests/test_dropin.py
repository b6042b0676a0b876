#!/usr/bin/env python3
"""gemmtune run and the cuBLAS front, on the software GPU: test_dropin.py GEMMTUNE PROGRAM_OF_12 PROGRAM_OF_13 LT
DLSYM LOAD CUBLAS_12 CUBLAS_13 PEER_GPU."""

import json
import itertools
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GEMMTUNE, PROGRAM_12, PROGRAM_13, LT_PROGRAM, DLSYM_PROGRAM, LOAD_PROGRAM, CUBLAS_12, CUBLAS_13, PEER_GPU = sys.argv[1:10]
FOLDER = tempfile.mkdtemp(prefix="gemmtune-dropin-")
FAMILIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "families")  # one of them always has a workspace
NVIDIAS_LT = "/usr/local/cuda/lib64/libcublasLt.so.13"  # where it is there, its descriptors are read, too
SLOW, FAST = 1e6, 1e-3  # microseconds: a cuBLAS that anybody beats, and one that nobody does


def tune(database, *words):
    """Tunes one problem: a run finds something for its first one whatever the budget is."""
    subprocess.run([GEMMTUNE, "tune", "--quiet", "--effort", "quick", "--budget", "1s", "--no-cublas", "--db", database,
                    *words], check=True, stdout=subprocess.DEVNULL)


def put_baseline(database, us):
    """cuBLAS needs this long for everything that was tuned."""
    with sqlite3.connect(database) as db:
        db.execute("DELETE FROM baseline")
        db.execute("INSERT INTO baseline (run, gpu, problem, name, version, outcome, detail, timing, us, samples,"
                   " measured_at) SELECT max(run), gpu, problem, 'cublas', '13.0', 'ok', '', timing, ?, 3,"
                   " CURRENT_TIMESTAMP || printf('.%06d', row_number() OVER ()) FROM trial"
                   " GROUP BY gpu, problem, timing", (us,))
    db.close()


class Dropin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tuned = os.path.join(FOLDER, "tuned.db")
        for layout, shape in itertools.product(["nn", "nt", "tn", "tt"], ["64", "20x33x17"]):
            tune(cls.tuned, "--family", "naive", "--type", "f32", "--layout", layout, "--shapes", shape)
        for type in ["f64", "f16", "f16_f32", "bf16", "bf16_f32", "s8"]:
            tune(cls.tuned, "--family", "naive", "--type", type, "--shapes", "63")
        tune(cls.tuned, "--family", "naive", "--type", "f32", "--math", "tf32", "--shapes", "64")
        tune(cls.tuned, "--templates", FAMILIES, "--family", "partial_sums", "--type", "f32", "--shapes", "16x16x4096")
        for batch in ["1", "2"]:  # has epilogues
            tune(cls.tuned, "--family", "batched", "--type", "f32", "--shapes", "20x33x17", "--batch", batch)
        put_baseline(cls.tuned, SLOW)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(FOLDER)

    def run_program(self, part, expected, program=PROGRAM_13, words=(), database=None, **more):
        """Runs a part of the program, which checks its results; gives what it wrote to stderr."""
        env = {k: v for k, v in os.environ.items() if k not in ("GEMMTUNE_DISABLE", "NVIDIA_TF32_OVERRIDE",
                                                               "CUBLAS_BATCH_INVARIANCE_FLAGS")}
        env.update(GEMMTUNE_DB=database or self.tuned, ASAN_OPTIONS="verify_asan_link_order=0", **more)
        done = subprocess.run([GEMMTUNE, "run", *words, "--", program, part, expected], env=env, text=True,
                              capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stderr

    def counts(self, line):
        """Seen, answered, forwarded of the summary, which is all that is on stderr."""
        found = re.fullmatch(r"gemmtune: (\d+) products?: (\d+) answered, (\d+) forwarded( \(.*?\))?(; saved about"
                             r" [0-9.e+]+ of [0-9.e+]+ ms)?(; not stored: .*|; next: gemmtune tune --wanted)?\n", line)
        self.assertTrue(found, line)
        return tuple(map(int, found.groups()[:3]))

    def copy(self, name):
        path = os.path.join(FOLDER, name)
        shutil.copy(self.tuned, path)
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM wanted")
        db.close()
        return path

    def test_all_ops_rows_and_batches_are_answered_and_right(self):
        for program in [PROGRAM_13, PROGRAM_12]:
            self.assertEqual(self.counts(self.run_program("layouts", "answered", program)), (144, 144, 0))

    def test_all_types_are_answered_and_right(self):
        self.assertEqual(self.counts(self.run_program("types", "answered")), (48, 48, 0))

    def test_what_a_zero_multiplies_is_not_read(self):
        self.assertEqual(self.counts(self.run_program("zeros", "answered")), (12, 12, 0))

    def test_what_is_not_offered_comes_to_cublas(self):
        line = self.run_program("others", "forwarded")
        self.assertEqual(self.counts(line), (9, 0, 9))
        self.assertIn("(8 type or mode not offered, 1 scalars on the device)", line)

    def test_tf32_is_left_to_nvidias_libraries_where_a_user_overrides_it(self):
        line = self.run_program("types", "any", NVIDIA_TF32_OVERRIDE="0")
        self.assertEqual(self.counts(line), (48, 43, 5))

    def test_batches_whose_rows_are_to_have_the_same_bits_in_each_are_left_to_nvidias_libraries(self):
        line = self.run_program("types", "forwarded", CUBLAS_BATCH_INVARIANCE_FLAGS="4")
        self.assertIn("(48 type or mode not offered)", line)
        self.assertEqual(self.counts(self.run_program("zeros", "answered", CUBLAS_BATCH_INVARIANCE_FLAGS="0")), (12, 12, 0))

    def test_f32_is_rounded_to_tf32_only_where_the_user_says_so(self):
        self.assertEqual(self.counts(self.run_program("rounded", "answered", words=["--f32", "tf32"])), (2, 2, 0))
        self.assertEqual(self.counts(self.run_program("rounded", "any")), (2, 2, 0))
        database = self.copy("split.db")
        tune(database, "--family", "split", "--type", "f32", "--math", "split", "--shapes", "64")
        put_baseline(database, SLOW)
        self.assertEqual(self.counts(self.run_program("rounded", "any", words=["--f32", "split"], database=database)),
                         (2, 2, 0))
        with sqlite3.connect(database) as db:
            db.execute("UPDATE baseline SET us = ? WHERE problem IN (SELECT id FROM problem WHERE math = 'strict')", (FAST,))
        db.close()
        line = self.run_program("between", "any", words=["--f32", "split"], database=database)
        self.assertEqual(self.counts(line), (9, 7, 2))
        self.assertEqual(self.ask(database, "SELECT math, sum(calls) FROM wanted JOIN problem ON problem.id = problem"
                                  " WHERE fate = 'answered' GROUP BY math"), [("split", 8), ("strict", 1)])
        done = subprocess.run([GEMMTUNE, "run", "--f32", "f16", "true"], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--f32 takes strict, split or tf32", done.stderr)

    def test_f32_in_parts_that_nobody_tuned_must_be_twice_as_fast(self):
        database = self.copy("untuned.db")
        tune(database, "--family", "split", "--type", "f32", "--math", "split", "--shapes", "64x64x128")
        for times, why in [(20, "1 answered, 1 forwarded"), (2, "2 cuBLAS is as fast")]:
            put_baseline(database, FAST)
            with sqlite3.connect(database) as db:
                db.execute("UPDATE baseline SET us = ? * (SELECT min(us) FROM trial WHERE trial.problem = baseline.problem)"
                           " WHERE problem IN (SELECT id FROM problem WHERE math = 'split')", (times,))
            db.close()
            self.assertIn(why, self.run_program("rounded", "any", words=["--f32", "split"], database=database))

    def test_descriptors_of_cublaslt_are_read_and_products_with_epilogues_answered(self):
        env = dict(os.environ, GEMMTUNE_DB=self.tuned, ASAN_OPTIONS="verify_asan_link_order=0")
        fake = os.path.join(os.path.dirname(CUBLAS_13), "libcublasLt.so.13")
        for library, known in [(fake, [9]), (NVIDIAS_LT, [4, 7])]:  # 13 has no counters any more, 13.8 three others
            if not os.path.exists(library):
                continue
            done = subprocess.run([GEMMTUNE, "run", "--", LT_PROGRAM, library], env=env, text=True, capture_output=True,
                                  timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            modes = self.counts(done.stderr)[0] - 61
            self.assertIn(modes, known)
            self.assertEqual(self.counts(done.stderr), (61 + modes, 47, 14 + modes))
            self.assertIn("(3 empty or illegal, %d type or mode not offered, 6 with an epilogue, 1 scalars on the"
                          " device, 4 not tuned)" % modes, done.stderr)

    def look_up(self, expected, words=(), **more):
        env = {**os.environ, "GEMMTUNE_DB": self.tuned, "ASAN_OPTIONS": "verify_asan_link_order=0", **more}
        return subprocess.run([GEMMTUNE, "run", *words, "--", DLSYM_PROGRAM, CUBLAS_12, CUBLAS_13, expected], env=env,
                              text=True, capture_output=True, timeout=300)

    def test_a_program_that_finds_cublas_by_dlsym_is_answered_where_that_is_asked_for(self):
        done = self.look_up("answered", ["--dlsym"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.counts(done.stderr), (6, 3, 3))
        done = subprocess.run([GEMMTUNE, "run", "--dlsym", "--blas", "true"], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (2, "gemmtune: --blas and --dlsym: one of them\n"))

    def test_children_are_answered_where_their_parent_only_looked_cublas_up(self):
        done = self.look_up("forks", ["--dlsym"])
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines(keepends=True)
        self.assertEqual([self.counts(line) for line in lines], [(1, 1, 0)] * 2)

    def test_it_finds_cublas_itself_where_nothing_answers(self):
        for words, more in [(["--dlsym"], {"GEMMTUNE_DISABLE": "1"}), ([], {"GEMMTUNE_DISABLE": "1"})]:
            done = self.look_up("forwarded", words, **more)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_statuses_are_cublas_own(self):
        self.assertEqual(self.counts(self.run_program("statuses", "forwarded")), (11, 0, 11))

    def test_nothing_is_planned_in_a_capture_and_each_has_a_workspace_that_was_set_aside(self):
        line = self.run_program("capture", "any")
        self.assertEqual(self.counts(line), (20, 17, 3))
        self.assertIn("(3 in a graph capture)", line)

    def test_the_workspace_of_a_graph_that_is_destroyed_is_the_next_ones(self):
        self.assertEqual(self.counts(self.run_program("recaptures", "answered")), (301, 301, 0))

    def test_in_a_graph_whatever_is_faster_is_answered(self):
        database = self.copy("tight.db")
        with sqlite3.connect(database) as db:
            db.execute("UPDATE baseline SET us = 1 + (SELECT min(us) FROM trial WHERE trial.problem = baseline.problem)")
        db.close()
        self.assertEqual(self.counts(self.run_program("tight", "any", database=database)), (2, 2, 0))

    def test_products_of_a_graph_share_its_workspace_and_graphs_share_none(self):
        env = dict(os.environ, GEMMTUNE_DB=self.tuned, ASAN_OPTIONS="verify_asan_link_order=0")
        done = subprocess.run([GEMMTUNE, "run", "--dlsym", "--", LOAD_PROGRAM, os.path.abspath(CUBLAS_13), "graphs"],
                              env=env, text=True, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.counts(done.stderr), (160, 160, 0))

    def test_each_stream_has_a_workspace_of_its_own(self):
        self.assertEqual(self.counts(self.run_program("workspaces", "answered")), (6, 6, 0))

    def test_streams_that_are_made_anew_for_ever_do_not_take_all_of_the_memory_and_of_the_table(self):
        line = self.run_program("renews", "any")
        self.assertEqual(self.counts(line), (150, 130, 20))
        self.assertIn("(20 no memory on the GPU)", line)

    def test_streams_that_nobody_makes_are_answered_in_each_thread_by_itself(self):
        self.assertEqual(self.counts(self.run_program("streams", "answered")), (9, 9, 0))

    def ask(self, database, sql):
        with sqlite3.connect(database) as db:
            rows = db.execute(sql).fetchall()
        db.close()
        return rows

    def test_what_a_program_asked_for_is_known_afterwards(self):
        database = self.copy("asked.db")
        for times in [1, 2]:
            line = self.run_program("layouts", "answered", database=database)
            self.assertIn("; saved about", line)
            self.assertEqual(self.ask(database, "SELECT sum(calls) FROM wanted WHERE program LIKE '%layouts'"),
                             [(144 * times,)])
        self.assertEqual(self.ask(database, "SELECT symbol, sum(calls) FROM wanted GROUP BY symbol HAVING symbol LIKE"
                                  " 'cublasS%' ORDER BY symbol"),
                         [("cublasSgemmStridedBatched", 36), ("cublasSgemmStridedBatched_64", 36),
                          ("cublasSgemm_v2", 36), ("cublasSgemm_v2_64", 36)])
        self.assertEqual(self.ask(database, "SELECT DISTINCT fate, m, n, k, layout FROM wanted JOIN problem ON"
                                  " problem.id = problem WHERE layout = 'nt' AND batch = 1 AND align = 4"),
                         [("answered", 20, 33, 17, "nt")])
        self.run_program("others", "forwarded", database=database)
        self.assertEqual(self.ask(database, "SELECT fate, sum(calls) FROM wanted WHERE program LIKE '%others'"
                                  " GROUP BY fate ORDER BY fate"),
                         [("scalars on the device", 1), ("type or mode not offered", 6)])
        done = subprocess.run([GEMMTUNE, "wanted", "--db", database, "--json"], check=True, capture_output=True)
        rows = json.loads(done.stdout)
        self.assertEqual(sum(row["calls"] for row in rows), 288 + 7)
        self.assertEqual([row["ms"] for row in rows], sorted((row["ms"] for row in rows), reverse=True))
        top = subprocess.run([GEMMTUNE, "wanted", "--db", database, "--json", "--top", "1"], check=True,
                             capture_output=True)
        self.assertEqual(json.loads(top.stdout), rows[:1])

    def test_what_was_only_counted_can_be_tuned_and_is_answered_then(self):
        database = os.path.join(FOLDER, "counted.db")
        line = self.run_program("forks", "forwarded", words=["--capture-only"], database=database)
        self.assertEqual(self.counts(line), (1, 0, 1))
        self.assertIn("(1 only counted); next: gemmtune tune --wanted", line)
        tune(database, "--family", "naive", "--wanted", "--top", "1")
        self.assertEqual(self.ask(database, "SELECT DISTINCT type, layout, m, n, k FROM trial JOIN problem ON"
                                  " problem.id = problem"), [("f32", "nn", 64, 64, 64)])
        put_baseline(database, SLOW)
        self.assertEqual(self.counts(self.run_program("forks", "answered", database=database)), (1, 1, 0))

    def test_of_the_types_that_are_named_the_products_that_take_longest_are_tuned(self):
        database = os.path.join(FOLDER, "named.db")
        self.run_program("types", "forwarded", words=["--capture-only"], database=database)
        with sqlite3.connect(database) as db:
            db.execute("UPDATE wanted SET us = (SELECT iif(type = 'f64', m, 1000) FROM problem WHERE problem.id = problem)")
        db.close()
        tune(database, "--family", "naive", "--wanted", "--top", "1", "--type", "f64")
        self.assertEqual(self.ask(database, "SELECT DISTINCT type FROM trial JOIN problem ON problem.id = problem"), [("f64",)])

    def test_databases_are_found_where_a_program_goes_to_another_folder(self):
        away = ["sh", "-c", 'cd / && exec "$@"', "sh", os.path.abspath(PROGRAM_13), "forks", "answered"]
        for variable in ["GEMMTUNE_DB", "GEMMTUNE_SYSTEM_DB"]:
            env = {**os.environ, "GEMMTUNE_DB": os.path.join(FOLDER, "own.db"), "GEMMTUNE_SYSTEM_DB": "/none",
                   "ASAN_OPTIONS": "verify_asan_link_order=0", variable: os.path.basename(self.tuned)}
            done = subprocess.run([os.path.abspath(GEMMTUNE), "run", "--", *away], env=env, cwd=FOLDER, text=True, capture_output=True)
            self.assertEqual((done.returncode, self.counts(done.stderr)[1:]), (0, (1, 0)), variable + done.stdout + done.stderr)

    def test_under_a_budget_all_that_was_asked_for_races_before_anything_has_a_second_candidate(self):
        database = os.path.join(FOLDER, "raced.db")
        self.run_program("layouts", "forwarded", words=["--capture-only"], database=database)
        tune(database, "--family", "naive", "--wanted", "--top", "3", "--budget", "30s")
        rows = self.ask(database, "SELECT problem, stage FROM trial ORDER BY tried_at, id")
        second = [i for i, row in enumerate(rows) if row[1] == "screen" and row in rows[:i]][0]
        self.assertEqual(len({problem for problem, stage in rows[:second] if stage == "race"}), 3)

    def test_what_may_be_computed_in_parts_is_counted_with_the_time_that_it_takes_without_us(self):
        database = os.path.join(FOLDER, "parts.db")
        for math in ["strict", "split"]:
            self.run_program("forks", "forwarded", words=["--capture-only", "--f32", math], database=database)
        rows = self.ask(database, "SELECT math, us FROM wanted JOIN problem ON problem.id = problem ORDER BY math")
        self.assertEqual([row[0] for row in rows], ["split", "strict"])
        self.assertEqual(rows[0][1], rows[1][1])

    def test_nothing_is_tuned_where_no_program_asked_for_anything(self):
        database = os.path.join(FOLDER, "unasked.db")
        done = subprocess.run([GEMMTUNE, "tune", "--wanted", "--quiet", "--db", database], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no program asked for a product on", done.stderr)

    def test_a_program_that_is_killed_has_told_what_it_asked_for(self):
        database = self.copy("killed.db")
        with self.assertRaises(AssertionError):
            self.run_program("killed", "answered", database=database)
        self.assertEqual(self.ask(database, "SELECT sum(calls) FROM wanted"), [(1,)])

    def test_nothing_is_written_where_that_cannot_be_and_it_is_told(self):
        database = self.copy("locked" * 20 + ".db")
        with sqlite3.connect(database, isolation_level=None) as db:
            db.execute("BEGIN IMMEDIATE")
            line = self.run_program("forks", "answered", database=database)
            db.execute("ROLLBACK")
        db.close()
        self.assertEqual(self.counts(line), (1, 1, 0))
        self.assertRegex(line, r"; not stored: .*\(database is locked\)\n$")

    def test_eight_threads_with_two_streams_each(self):
        self.assertEqual(self.counts(self.run_program("threads", "answered")), (193, 193, 0))

    def test_what_waits_for_one_gpu_does_not_hold_up_another_that_it_waits_for(self):
        line = self.run_program("collective", "answered", GEMMTUNE_DRIVER=os.path.abspath(PEER_GPU))
        self.assertEqual(self.counts(line), (2, 2, 0))

    def test_a_child_process_counts_nothing_of_its_parents(self):
        self.assertEqual(self.counts(self.run_program("forks", "answered")), (1, 1, 0))

    def test_more_sizes_than_there_is_room_for_are_forwarded(self):
        database = self.copy("many.db")
        put_baseline(database, FAST)
        self.assertIn("16 too many problems", self.run_program("many", "forwarded", database=database))

    def test_a_faster_cublas_is_left_alone(self):
        database = self.copy("fast.db")
        put_baseline(database, FAST)
        line = self.run_program("layouts", "forwarded", database=database)
        self.assertEqual(self.counts(line), (144, 0, 144))
        self.assertIn("(144 cuBLAS is as fast)", line)

    def test_a_program_may_pause_it(self):
        self.assertEqual(self.counts(self.run_program("pauses", "answered")), (2, 2, 0))

    def test_a_margin_of_minus_100_answers_whatever_has_a_kernel(self):
        database = self.copy("all.db")
        put_baseline(database, FAST)
        line = self.run_program("forks", "answered", words=["--margin", "-100"], database=database)
        self.assertEqual(self.counts(line), (1, 1, 0))

    def test_a_margin_leaves_to_cublas_what_is_little_faster(self):
        database = self.copy("margin.db")
        put_baseline(database, SLOW)
        with sqlite3.connect(database) as db:
            db.execute("UPDATE baseline SET us = 1.5 * (SELECT min(us) FROM trial WHERE trial.problem = baseline.problem)")
        db.close()
        self.assertEqual(self.counts(self.run_program("forks", "answered", database=database)), (1, 1, 0))
        self.assertEqual(self.counts(self.run_program("forks", "answered", words=["--margin", "20"], database=database)),
                         (1, 1, 0))
        line = self.run_program("forks", "forwarded", words=["--margin", "80"], database=database)
        self.assertIn("(1 cuBLAS is as fast)", line)

    def test_what_was_forwarded_is_so_again_and_nothing_else(self):
        database = self.copy("again.db")
        with sqlite3.connect(database) as db:
            db.execute("DELETE FROM baseline WHERE problem IN (SELECT id FROM problem WHERE type = 'f32' AND math = 'strict')")
        db.close()
        line = self.run_program("again", "any", database=database)
        self.assertEqual(self.counts(line), (1133, 22, 1111))
        self.assertIn("(11 not tuned, 1100 no time of cuBLAS stored)", line)
        self.assertEqual(self.ask(database, "SELECT fate, sum(calls) FROM wanted GROUP BY fate ORDER BY fate"),
                         [("answered", 22), ("no time of cuBLAS stored", 1100), ("not tuned", 11)])

    def test_without_a_time_of_cublas_nothing_is_claimed(self):
        database = self.copy("unraced.db")
        with sqlite3.connect(database) as db:
            db.execute("DELETE FROM baseline")
        db.close()
        self.assertIn("(144 no time of cuBLAS stored)", self.run_program("layouts", "forwarded", database=database))

    def test_without_a_database_the_program_runs_as_before(self):
        line = self.run_program("layouts", "forwarded", database=os.path.join(FOLDER, "none.db"))
        self.assertEqual(self.counts(line), (144, 0, 144))
        self.assertIn("no database at", line)

    def test_a_database_that_others_can_write_is_not_used(self):
        database = self.copy("open.db")
        os.chmod(database, 0o666)
        self.assertEqual(self.counts(self.run_program("layouts", "forwarded", database=database)), (144, 0, 144))

    def test_another_gpu_is_not_answered(self):
        database = self.copy("other.db")
        with sqlite3.connect(database) as db:
            db.execute("UPDATE gpu SET name = 'NVIDIA H100'")
        db.close()
        self.assertIn("(144 not tuned)", self.run_program("layouts", "forwarded", database=database))

    def test_without_a_driver_the_program_runs_as_before(self):
        line = self.run_program("layouts", "forwarded", GEMMTUNE_DRIVER="/nowhere/libcuda.so.1")
        self.assertEqual(self.counts(line), (144, 0, 144))

    def test_where_the_library_is_there_and_cannot_be_loaded_the_loaders_reason_is_told(self):
        older = os.path.join(FOLDER, "older")  # an SQLite of the program's own, which lacks what the library calls
        os.mkdir(older)
        subprocess.run(["cc", "-shared", "-nostdlib", "-x", "c", "-o", os.path.join(older, "libsqlite3.so.0"), "/dev/null",
                        "-Wl,-soname,libsqlite3.so.0"], check=True)
        done = subprocess.run([GEMMTUNE, "run", "--", "sh", "-c", 'LD_LIBRARY_PATH=$0 exec "$@"', older,
                               os.path.abspath(PROGRAM_13), "forks", "forwarded"], text=True, capture_output=True,
                              env={**os.environ, "GEMMTUNE_DB": self.tuned, "ASAN_OPTIONS": "verify_asan_link_order=0"})
        self.assertEqual((done.returncode, self.counts(done.stderr)), (0, (1, 0, 1)), done.stderr)
        self.assertRegex(done.stderr, "libgemmtune.so.0: undefined symbol: sqlite3_")

    def test_disabled_it_neither_answers_nor_speaks(self):
        self.assertEqual(self.counts(self.run_program("layouts", "answered", GEMMTUNE_DISABLE="0"))[1], 144)
        self.assertEqual(self.run_program("layouts", "forwarded", GEMMTUNE_DISABLE="1"), "")

    def test_quiet_answers_without_a_line(self):
        self.assertEqual(self.run_program("layouts", "answered", words=["--quiet"]), "")

    def test_a_database_may_be_named(self):
        err = self.run_program("layouts", "answered", words=["--db", self.tuned], database="/nowhere/at/all.db")
        self.assertEqual(self.counts(err)[1], 144)

    def test_a_program_keeps_its_words_code_and_signals(self):
        done = subprocess.run([GEMMTUNE, "run", "-q", sys.executable, "-c",
                               "import signal, sys; print(sys.argv[1:]); sys.exit(7)", "--quiet", "--", "-x"],
                              text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (7, "['--quiet', '--', '-x']\n", ""))
        done = subprocess.run([GEMMTUNE, "run", "-q", "sh", "-c", "kill -PIPE $$; echo here"], text=True,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (-13, ""))
        done = subprocess.run(["sh", "-c", "trap '' PIPE XFSZ; exec \"$@\"", "sh", GEMMTUNE, "run", "-q", "sh", "-c",
                               "kill -PIPE $$; kill -XFSZ $$; echo here"], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, "here\n"))

    def test_a_program_that_nothing_can_be_preloaded_into_is_told_of(self):
        static = os.path.join(FOLDER, "static")
        with open(os.path.join(FOLDER, "static.c"), "w") as file:
            file.write("int main(void) { return 3; }")
        if subprocess.run(["cc", "-static", "-o", static, static + ".c"], capture_output=True).returncode != 0:
            self.skipTest("no static libc")
        done = subprocess.run([GEMMTUNE, "run", static], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"^gemmtune: .*/static is static: .*\n$")
        self.assertEqual(subprocess.run([GEMMTUNE, "run", "-q", static], capture_output=True).stderr, b"")

    def test_a_program_without_products_and_one_that_is_not_there_are_told_of(self):
        done = subprocess.run([GEMMTUNE, "run", "true"], text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertRegex(done.stderr, r"^gemmtune: no product of cuBLAS's seen in true; .*\n$")
        done = subprocess.run([GEMMTUNE, "run", "--", "/nowhere/program"], text=True, capture_output=True)
        self.assertEqual(done.returncode, 127)
        self.assertRegex(done.stderr, r"^gemmtune: cannot run '/nowhere/program'.*\n$")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[10:])
