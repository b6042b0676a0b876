#!/usr/bin/env python3
"""A tuning run, its end, and a bench of what it found, on the software GPU: test_run.py PROGRAM SHIM README.

SHIM, preloaded, puts every file on a network file system. README is the program that README.md shows.
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM, SHIM, README = (sys.argv.pop(1) for _ in range(3))
SHAPES = ["--device", "soft", "--shapes", "32"]


def run(*words, **env):
    done = subprocess.run([PROGRAM, *words], text=True, timeout=250, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "GEMMTUNE_DB": DATABASE, "ASAN_OPTIONS": "detect_leaks=0", **env})
    return done.returncode, done.stdout, done.stderr


def interrupt_when(seen, *words):
    """Ctrl-C, as soon as there is something to see."""
    with subprocess.Popen([PROGRAM, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            time.sleep(0.1)
            if seen():
                process.send_signal(signal.SIGINT)
                break
        out, err = process.communicate()
    return process.returncode, out, err


def query(database, sql):
    if not os.path.exists(database):
        return []
    try:
        with sqlite3.connect(database) as db:
            return db.execute(sql).fetchall()
    except sqlite3.OperationalError:  # being made
        return []


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        code, cls.out, cls.err = run("tune", *SHAPES, "--budget", "1s", LD_PRELOAD=SHIM,
                                     ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=0")
        if "NVRTC" in cls.err:
            raise unittest.SkipTest(cls.err)
        assert code == 0, cls.err
        shutil.copy(DATABASE, COPY)

    def test_a_run_cut_by_its_budget_says_so(self):
        with sqlite3.connect(DATABASE) as db:
            self.assertEqual(db.execute("SELECT ending FROM run ORDER BY id LIMIT 1").fetchone(), ("budget",))

    def test_what_a_budget_does_not_reach_is_left_and_told(self):
        path = os.path.join(os.path.dirname(DATABASE), "short.db")
        words = ["--device", "soft", "--family", "naive", "--shapes", "16..32768", "--budget", "1s", "--db", path]
        code, out, err = run("tune", *words)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"the budget ended before \d+ of 12 problems; the same command goes on with them")
        with sqlite3.connect(path) as db:
            self.assertLess(db.execute("SELECT count(DISTINCT problem) FROM trial").fetchone()[0], 12)
            self.assertEqual(db.execute("SELECT count(*) FROM problem WHERE id NOT IN (SELECT problem FROM trial)").fetchone(),
                             (0,))  # a row for each would take the disk's time

    def test_a_budget_gives_every_problem_its_first_choice_before_any_its_second(self):
        path = os.path.join(os.path.dirname(DATABASE), "first.db")
        words = ["--device", "soft", "--family", "naive", "--shapes", "16,24,40", "--budget", "20s", "--db", path]
        code, out, err = run("tune", *words)
        self.assertEqual(code, 0, err)
        with sqlite3.connect(path) as db:
            tried = [row[0] for row in db.execute("SELECT problem FROM trial WHERE stage = 'screen' ORDER BY id")]
        self.assertEqual(len(set(tried[:3])), 3, tried)
        self.assertGreater(len(tried), 3)
        told = [int(line.split()[-2]) for line in out.splitlines()[1:4]]
        self.assertEqual(told, [tried.count(problem) for problem in tried[:3]])  # of both laps

    def test_a_budget_begins_with_a_kernel_for_any_size_of_each_layout(self):
        path = os.path.join(os.path.dirname(DATABASE), "layouts.db")
        sql = "SELECT layout, align FROM trial t JOIN problem p ON p.id = t.problem ORDER BY t.id LIMIT 4"
        code, out, err = interrupt_when(lambda: len(query(path, sql)) == 4, "tune", "--device", "soft", "--family", "naive",
                                        "--type", "f32", "--shapes", "cover", "--budget", "2m", "--no-cublas", "--db", path)
        self.assertEqual(code, 130, err)
        self.assertEqual(sorted(query(path, sql)), [("nn", 4), ("nt", 4), ("tn", 4), ("tt", 4)])

    def test_a_short_budget_goes_into_candidates_where_a_race_is_among_our_own(self):
        path = os.path.join(os.path.dirname(DATABASE), "unraced.db")
        words = ["--device", "soft", "--family", "naive", "--shapes", "8,9,10,11,12", "--budget", "5s", "--no-cublas"]
        code, out, err = run("tune", *words, "--db", path)
        self.assertEqual(code, 0, err)
        with sqlite3.connect(path) as db:
            raced = {row[0] for row in db.execute("SELECT m FROM trial t JOIN problem p ON p.id = t.problem WHERE stage = 'race'")}
        self.assertLessEqual(raced, {12})  # the last one, behind which nobody waits
        self.assertRegex(out, r"8x8x8 +naive .* modelled")

    def test_what_was_tried_and_not_raced_when_a_run_was_killed_races_in_the_next_one_and_only_then(self):
        path = os.path.join(os.path.dirname(DATABASE), "killed.db")
        words = ["tune", "--device", "soft", "--family", "naive", "--shapes", "8", "--no-cublas", "--quiet", "--db", path]
        self.assertEqual(run(*words)[0], 0)
        count = "SELECT count(*), count(margin) FROM trial WHERE stage = 'race'"
        with sqlite3.connect(path) as db:
            found = db.execute(count).fetchone()
            db.execute("DELETE FROM trial WHERE stage = 'race'")
            db.execute("DELETE FROM searched")
        for _ in range(2):
            self.assertEqual(run(*words)[0], 0)
            with sqlite3.connect(path) as db:
                self.assertEqual(db.execute(count).fetchone(), found)

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
        self.assertNotIn("autotune", err)  # of one cuBLAS that is not there one line is enough
        self.assertNotIn("network", err)

    def test_bench_ends_with_its_budget(self):
        code, out, err = run("bench", "--device", "soft", "--shapes", "32,40,48", "--budget", "0.001")
        self.assertEqual(code, 0, err)
        self.assertIn("the budget ended before 2 of 3 shapes", err)
        self.assertEqual(len(re.findall(r"(?m)^f32 ", out)), 1, out)

    def test_bench_for_programs_has_rows_and_a_summary(self):
        code, out, err = run("bench", *SHAPES, "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        report = json.loads(out)
        row, summary = report["shapes"][0], report["summary"]
        self.assertEqual((row["shape"], row["choice"]), ("32x32x32", "exact"))
        self.assertGreater(row["us"], 0)
        self.assertIsNone(row["library"])
        self.assertIsNone(row["cold vs cuBLAS"])
        self.assertEqual((report["ratings"], summary["cublas"]), ([], None))
        self.assertEqual((summary["peaks"][0]["source"], summary["copy_tbs"]), ("units x clock", None))
        self.assertRegex(summary["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertNotIn("vs strict", row)

    def test_bench_races_other_math_with_the_kernel_of_strict_math(self):
        code, out, err = run("bench", *SHAPES, "--type", "f32", "--math", "strict,split", "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        strict, split = json.loads(out)["shapes"]
        self.assertEqual((split["type"], split["family"]), ("f32 split", strict["family"]))
        self.assertEqual((strict["vs strict"], split["vs strict"]), (None, 1))

    def test_a_slower_family_does_not_take_the_winners_place(self):
        best = "SELECT family, params, us FROM best_configs"
        with sqlite3.connect(DATABASE) as db:
            before = db.execute(best).fetchall()
            code, out, err = run("tune", *SHAPES, "--family", "naive", "--budget", "1s")
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"(?m)^f32 +32x32x32 +naive ")
            self.assertRegex(err, r"naive .* 0\.\d\d of the winner's speed")
            self.assertEqual(db.execute(best).fetchall(), before)

    def test_the_program_that_the_readme_shows_runs_on_the_software_gpu(self):
        done = subprocess.run([README], text=True, capture_output=True, timeout=250, env={
            **os.environ, "GEMMTUNE_DB": COPY, "GEMMTUNE_DRIVER": "soft", "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^C\[0\] = 512\n\w+ .*\nfastest expected of ")

    def test_verify_draws_fresh_data_and_tells_the_seed(self):
        code, out, err = run("verify", "--device", "soft", GEMMTUNE_DB=COPY)
        self.assertEqual(code, 0, err)
        seed = re.search(r"(?m)^1 winner, 1 round, none wrong \(seed (\d+)\)$", err)
        self.assertTrue(seed, err)
        self.assertNotEqual(seed[1], "1")

    def test_verify_goes_over_kernels_that_never_won_only_where_all_are_asked_for(self):
        shutil.copy(COPY, COPY + "2")
        with sqlite3.connect(COPY + "2") as db:
            db.execute("UPDATE trial SET margin = NULL")
        code, out, err = run("verify", "--device", "soft", GEMMTUNE_DB=COPY + "2")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("nothing to verify: no stored winner for NVIDIA H200", err)
        self.assertIn("nothing to verify: no stored winner of type bf16 for NVIDIA H200",
                      run("verify", "--device", "soft", "--type", "bf16", GEMMTUNE_DB=COPY + "2")[2])
        code, out, err = run("verify", "--device", "soft", "--all", "--rounds", "2", "--seed", "5", "--verbose", "--json",
                             GEMMTUNE_DB=COPY + "2")
        self.assertEqual((code, [row["outcome"] for row in json.loads(out)]), (0, ["ok"]), err)
        self.assertRegex(err, r"(?m)^round 2 of 2, seed 6: 1 checked, 0 more wrong$")
        self.assertRegex(err, r"(?m)^1 kernel, 2 rounds, none wrong \(seed 5\)$")

    def test_doctor_tells_the_ceilings(self):
        out = run("doctor")[1]
        self.assertTrue(re.search(r"^ok +ceilings +NVIDIA H200 \(software\): f32 66\.9 TFLOPS \(units x clock\)$", out,
                                  re.M), out)


# Two configurations: one does not compile, one leaves C as it was.
BROKEN = {"broken.cu": """
#include "gemm.cuh"
#ifndef WHAT
#define WHAT 2
#endif
#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 16
#endif
#if WHAT == 1
#error "what is 1"
#endif
extern "C" __global__ void gemm(gt_args g)
{
}
""", "broken.sql": """
WITH what(what) AS (VALUES (1), (2))
SELECT what, 16 AS bm, 16 AS bn, 32 AS threads, 0 AS smem_bytes FROM what;
"""}


def write_family(folder, files):
    for name, text in files.items():
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


class Rejected(unittest.TestCase):
    def test_the_screen_says_why(self):
        with tempfile.TemporaryDirectory(prefix="gemmtune-broken-") as folder:
            write_family(folder, BROKEN)
            words = ["tune", "--device", "soft", "--templates", folder, "--family", "broken", "--shapes", "32",
                     "--seed", "1"]
            env = {"GEMMTUNE_DB": os.path.join(folder, "broken.db")}
            code, out, err = run(*words, **env)
            if "NVRTC" in err:
                raise unittest.SkipTest(err)
            self.assertEqual(code, 1, err)
            self.assertRegex(out, r"(?m)^f32 +32x32x32 +- ")
            self.assertRegex(err, r"(?m)no winner \(2 tried, 0 known; rejected: 1 \w+, 1 \w+\)$")
            self.assertRegex(err, r"(?m)^gemmtune: rejected: 1 \w+, 1 \w+ \(--verbose says why\)$")
            self.assertRegex(err, r"(?m)^gemmtune: no candidate of broken passed, of 2; the first: f32 nn 32x32x32, "
                                  r"broken what=\d bm=16 bn=16: (compile_error: .*what is 1|wrong_result: element )")
            self.assertEqual(err.count("element ") + err.count("what is 1"), 1, err)
            code, out, err = run(*words, "--verbose", **env)
            self.assertRegex(err, r'(?m)^rejected before: f32 nn 32x32x32, broken what=1 bm=16 bn=16: compile_error: .*"what is 1"')
            self.assertRegex(err, r"(?m)^rejected before: f32 nn 32x32x32, broken what=2 bm=16 bn=16: wrong_result: element \(0,0\)")
            self.assertNotIn("rejected", out)


class Together(unittest.TestCase):
    def test_two_tuners_of_one_database_try_nothing_twice(self):
        with tempfile.TemporaryDirectory(prefix="gemmtune-together-") as folder:
            write_family(folder, {**BROKEN, "broken.sql": BROKEN["broken.sql"].replace("(1), (2)", "(2), (3), (4), (5)")})
            database = os.path.join(folder, "together.db")
            command = [PROGRAM, "tune", "--device", "soft", "--templates", folder, "--family", "broken", "--shapes",
                       "32,48,64,80", "--db", database, "--jobs", "1"]
            both = [subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in "12"]
            ends = [process.communicate() for process in both]
            if "NVRTC" in ends[0][1]:
                raise unittest.SkipTest(ends[0][1])
            for process, (out, err) in zip(both, ends):
                self.assertEqual(process.returncode, 1, err)  # none of them passes
                self.assertEqual(re.findall(r"(?m)^f32 +(\d+x\d+x\d+)", out), ["32x32x32", "48x48x48", "64x64x64", "80x80x80"])
            tried, pairs = query(database, "SELECT count(*), count(DISTINCT problem || '.' || kernel) FROM trial")[0]
            self.assertEqual(tried, pairs)
            self.assertGreaterEqual(pairs, 4)


class Interrupted(unittest.TestCase):
    def test_the_table_and_best_agree(self):
        database = os.path.join(FOLDER.name, "interrupted.db")
        code, out, err = interrupt_when(lambda: "ok" in str(query(database, "SELECT outcome FROM trial")),
                                        "tune", "--device", "soft", "--shapes", "32", "--json", "--db", database)
        if "NVRTC" in err:
            raise unittest.SkipTest(err)
        self.assertEqual(code, 130, err)
        best = json.loads(run("best", "--json", GEMMTUNE_DB=database)[1])
        self.assertEqual([(row["family"], row["configuration"]) for row in json.loads(out)],
                         [(row["family"], row["params"]) for row in best])


class Types(unittest.TestCase):
    """coalesced has two of all types."""

    def test_all_means_those_that_there_is_a_kernel_for_and_tables_go_type_by_type(self):
        env = {"GEMMTUNE_DB": os.path.join(FOLDER.name, "types.db")}
        words = ["--device", "soft", "--shapes", "16,17", "--type", "all"]
        code, out, err = run("tune", *words, "--family", "coalesced", **env)
        if "NVRTC" in err:
            raise unittest.SkipTest(err)
        self.assertEqual(code, 0, err)
        groups = r"(?m)f32 .*16x16x16.*\nf32 .*17x17x17.*\n\ns32 .*16x16x16.*\ns32 .*17x17x17.*\n"
        self.assertRegex(out, groups + r"\n")
        code, out, err = run("bench", *words, "--quiet", **env)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, groups + r"\n")
        code, out, err = run("best", **env)
        self.assertEqual([line.split("  ")[1:2] for line in out.splitlines()[1:]],
                         [["f32"], ["f32"], [], ["s32"], ["s32"]])
        self.assertEqual(run("best", "--type", "all", **env)[1], out)
        code, out, err = run("verify", "--device", "soft", **env)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^f32 nn .*\nf32 nn .*\n\ns32 nn ")
        self.assertRegex(err, r"(?m)^4 winners, ")
        code, out, err = run("forget", "--shapes", "16,17", "--type", "f32,s32", **env)
        self.assertEqual((code, len(out.splitlines())), (0, 5), err)

    def test_a_family_for_no_type_is_told_of(self):
        code, out, err = run("tune", "--device", "soft:t4", "--shapes", "16", "--type", "all", "--family", "wgmma",
                             GEMMTUNE_DB=os.path.join(FOLDER.name, "none.db"))
        if "NVRTC" in err:
            raise unittest.SkipTest(err)
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"^gemmtune: wgmma has no configuration for any type on ")
        code, out, err = run("tune", "--device", "soft:t4", "--shapes", "16", "--family", "wgmma",
                             GEMMTUNE_DB=os.path.join(FOLDER.name, "none.db"))
        self.assertRegex(err, r"^gemmtune: wgmma has no configuration for f32 nn 16x16x16 on ")


class Ladder(unittest.TestCase):
    def climb(self, *words):
        code, out, err = run("ladder", *words, "--json", "--quiet")
        if "NVRTC" in err:
            raise unittest.SkipTest(err)
        self.assertEqual((code, err), (0, ""))
        return {row["rung"]: row for row in json.loads(out)}

    def test_an_interrupted_one_shows_the_rungs_that_were_climbed(self):
        with subprocess.Popen([PROGRAM, "ladder", "--device", "soft", "--shapes", "512", "--json"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ladder:
            self.assertIn("[1/1] 512x512x512", ladder.stderr.readline())  # after ten seconds, a rung or more
            ladder.send_signal(signal.SIGINT)
            rungs = json.loads(ladder.communicate(timeout=100)[0])
        self.assertEqual(ladder.returncode, 130)
        self.assertTrue(rungs and all(rung["configuration"] for rung in rungs))

    def test_it_climbs_on_to_wgmma_with_one_more_technique_a_rung(self):
        # More tiles than the GPU has room for blocks.
        rungs = self.climb("--device", "soft", "--shapes", "3072x2304x16", "--family", "wgmma", "--effort", "quick")
        self.assertEqual([*rungs], [18, 19, 20])
        wanted = {18: r"bm=64 .*warp_groups=1 .*cluster_m=1 .*blocks=0", 19: r"warp_groups=2 .*cluster_m=1 .*blocks=0",
                  20: r"cluster_m=2 .*blocks=[1-9]"}
        for order, rung in rungs.items():
            self.assertGreater(rung["GFLOPS"], 0)
            self.assertEqual(rung["type"], "f16_f32")
            self.assertRegex(rung["configuration"], wanted[order])

    def test_quick_is_one_configuration_a_rung(self):
        words = ["--device", "soft", "--shapes", "63", "--family", "naive"]
        quick, normal = self.climb(*words, "--effort", "quick")[1], self.climb(*words)[1]
        self.assertEqual(quick["configuration"], "bm=16 bn=16")  # the space's first
        self.assertGreater(normal["GFLOPS"], quick["GFLOPS"])  # the best of four

    def test_a_gpu_without_a_technique_says_so(self):
        rungs = self.climb("--device", "soft:a100", "--shapes", "64", "--family", "wgmma")
        self.assertEqual({rung["configuration"] for rung in rungs.values()}, {"none for f16_f32 nn 64x64x64 on sm_80"})
        self.assertEqual({rung["GFLOPS"] for rung in rungs.values()}, {None})
        self.assertGreater(self.climb("--device", "soft:a100", "--shapes", "64", "--family", "mma")[17]["GFLOPS"], 0)
        last = self.climb("--device", "soft:a100", "--shapes", "64", "--family", "split")
        self.assertEqual({order: rung["configuration"] for order, rung in last.items()},
                         {21: "none for f32 split nn 64x64x64 on sm_80"})


# Where K is 16, 32 rows are the fastest, and the author's estimate likes 16 better; other sizes have only one
# configuration each, of 16 rows, which the search leaves alone where K is 16.
LAP = {"lap.cu": """
#include "gemm.cuh"
#ifndef BM
#define BM 16
#endif
#ifndef BN
#define BN 32
#endif
#ifndef D
#define D 0
#endif
extern "C" __global__ void gemm(gt_args g)
{
    gt_select_batch(g);
    const gt_tile tile = gt_find_tile<BM, BN>(g, 1);
    const gt_int i = tile.row * BM + threadIdx.x / BN, j = tile.column * BN + threadIdx.x % BN;
    if (i >= g.m || j >= g.n)
        return;
    const gt_int down_a = gt_at_a(g, 0, 1) - gt_at_a(g, 0, 0), down_b = gt_at_b(g, 1, 0) - gt_at_b(g, 0, 0);
    const float *a = gt_at_a(g, i, 0), *b = gt_at_b(g, 0, j);
    float sum = 0, nothing = 0;
    for (int n = 0; n < (BM == 32 ? 0 : 60) + D; n++)
        asm volatile("add.rn.f32 %0, %0, %0;" : "+f"(nothing));
    for (gt_int p = 0; p < g.k; p++, a += down_a, b += down_b)
        sum += *a * *b;
    gt_store_c(g, i, j, sum);
}
""", "lap.sql": """
WITH RECURSIVE d(d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM d WHERE d < 9), bm(bm) AS (VALUES (16), (32))
SELECT bm, 32 AS bn, d, 32 * bm AS threads, 0 AS smem_bytes, 100 * bm + d AS clocks
FROM bm, d
WHERE :type = 'f32' AND CASE :k WHEN 24 THEN bm = 16 AND d = 8 WHEN 40 THEN bm = 16 AND d = 9 ELSE 1 END;
"""}


class LastLap(unittest.TestCase):
    def test_what_others_won_with_does_not_replace_what_is_faster(self):
        with tempfile.TemporaryDirectory(prefix="gemmtune-lap-") as folder:
            database = os.path.join(folder, "lap.db")
            write_family(folder, LAP)
            code, out, err = run("tune", "--device", "soft", "--templates", folder, "--family", "lap", "--shapes",
                                 "32x32x16,32x32x24,32x32x40", "--effort", "quick", GEMMTUNE_DB=database)
            if "NVRTC" in err:
                raise unittest.SkipTest(err)
            self.assertEqual(code, 0, err)
            with sqlite3.connect(database) as db:
                best = dict(db.execute("SELECT k, params FROM best_configs"))
                tried = {k: {row[0] for row in db.execute(
                    "SELECT c.params FROM trial t JOIN config c USING (kernel) JOIN problem p ON p.id = t.problem "
                    "WHERE p.k = ?", (k,))} for k in best}
            self.assertEqual(best, {16: "bm=32 bn=32 d=0", 24: "bm=16 bn=32 d=8", 40: "bm=16 bn=32 d=9"})
            self.assertLessEqual({best[24], best[40]}, tried[16])
            # What the library would take where nobody had tuned is tried, though the search has no such configuration. 24
            # is too near to both others.
            self.assertEqual(tried[24], {best[24]})
            self.assertGreater(tried[40], {best[40]})


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-run-")
    DATABASE = os.path.join(FOLDER.name, "gemmtune.db")
    COPY = DATABASE + ".copy"  # with one kernel, which won
    unittest.main(verbosity=1)
