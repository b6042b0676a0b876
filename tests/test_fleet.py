#!/usr/bin/env python3
"""Databases of several machines, on the software GPU: test_fleet.py PROGRAM PLAN.

PLAN tells what the library plans.
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, PLAN = (sys.argv.pop(1) for _ in range(2))
TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel_templates")


def run(*words, program=PROGRAM, **env):
    done = subprocess.run([program, *words], text=True, timeout=250, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "GEMMTUNE_DB": path("none.db"), "ASAN_OPTIONS": "detect_leaks=0", **env})
    return done.returncode, done.stdout, done.stderr


def path(name):
    return os.path.join(FOLDER.name, name)


def ask(name, sql):
    with sqlite3.connect(path(name)) as db:
        return db.execute(sql).fetchall()


def setUpModule():
    code, _, err = run("--device", "soft", "--shapes", "32", "--family", "naive", "--quiet", "--db", path("a.db"))
    if "NVRTC" in err:
        raise unittest.SkipTest(err)
    assert code == 0, err
    # Another machine, where another kernel won an hour before; neither was in the other's race.
    shutil.copy(path("a.db"), path("b.db"))
    with sqlite3.connect(path("b.db")) as db:
        db.execute("UPDATE run SET identity = 'another'")
        db.execute("UPDATE trial SET tried_at = strftime('%Y-%m-%d %H:%M:%f', tried_at, '-1 hour')")
        db.execute("UPDATE trial SET margin = iif(margin IS NULL, 0.5, NULL) WHERE stage = 'race'")
    for name in ["a.db", "b.db"]:
        with sqlite3.connect(path(name)) as db:
            db.execute("DELETE FROM trial WHERE stage = 'race' AND margin IS NULL")


class Merge(unittest.TestCase):
    def test_two_winners_race_in_the_next_run_and_only_then(self):
        code, out, err = run("merge", path("all.db"), path("a.db"), path("b.db"))
        self.assertEqual(code, 0, err)
        self.assertIn("1 problem has more than one winner", err)
        tune = ["--device", "soft", "--shapes", "32", "--family", "naive", "--quiet", "--db", path("all.db")]
        races = "SELECT count(*) FROM trial WHERE stage = 'race'"
        before = ask("all.db", races)[0][0]
        self.assertEqual(run(*tune)[0], 0)
        self.assertGreater(ask("all.db", races)[0][0], before)
        self.assertEqual(ask("all.db", "SELECT * FROM contested"), [])
        after = ask("all.db", races)
        self.assertEqual(run(*tune)[0], 0)
        self.assertEqual(ask("all.db", races), after)

    def test_a_file_that_is_refused_leaves_the_others_merged(self):
        with open(path("text.db"), "w") as file:
            file.write("My thesis.")
        code, out, err = run("merge", "--json", path("some.db"), path("a.db"), path("text.db"), path("b.db"), "--quiet")
        self.assertEqual(code, 1)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("text.db: not a gemmtune database", err)
        self.assertEqual([(os.path.basename(row["merged"]), row["runs"]) for row in json.loads(out)],
                         [("a.db", 1), ("b.db", 1)])

    def test_a_merge_of_nothing_makes_no_file(self):
        with open(path("note.db"), "w") as file:
            file.write("My thesis.")
        code, out, err = run("merge", path("new.db"), path("missing.db"), path("note.db"))
        self.assertEqual((code, err.count("\n")), (1, 2), err)
        self.assertFalse(os.path.exists(path("new.db")))

    def test_a_merge_needs_two_files(self):
        for words in [["merge"], ["merge", path("new.db")]]:
            code, out, err = run(*words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn("needs two files", err)
        self.assertFalse(os.path.exists(path("new.db")))


class Why(unittest.TestCase):
    def test_the_evidence_is_told_and_nothing_is_written(self):
        with open(path("a.db"), "rb") as file:
            before = file.read()
        code, out, err = run("why", "32", "--json", "--db", path("a.db"))
        self.assertEqual((code, err), (0, ""))
        [why] = json.loads(out)
        [(family, params, us)] = ask("a.db", "SELECT family, params, us FROM best_configs")
        [winner] = why["winner"]
        self.assertEqual((winner["family"], winner["configuration"]), (family, params))
        self.assertAlmostEqual(winner["us"], us)
        self.assertEqual([row["behind %"] for row in why["race"]], [0])
        self.assertEqual([(row["family"], row["tried"], row["passed"]) for row in why["families"]], [("naive", 4, 4)])
        self.assertEqual({row["stage"]: row["failed"] for row in why["proof"]}, {"screen": 0, "race": 0})
        with open(path("a.db"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_failures_come_with_their_reason_and_neighbours_with_their_size(self):
        shutil.copy(path("a.db"), path("why.db"))
        with sqlite3.connect(path("why.db")) as db:
            db.execute("UPDATE trial SET outcome = 'wrong_result', detail = 'element 7' WHERE id = (SELECT id FROM trial "
                       "WHERE kernel NOT IN (SELECT kernel FROM trial WHERE margin IS NOT NULL) LIMIT 1)")
            db.execute("INSERT INTO problem SELECT 2, type, math, layout, 48, n, k, batch, align, epilogue FROM problem")
            db.execute("UPDATE trial SET problem = 2 WHERE id = (SELECT min(id) FROM trial WHERE outcome = 'ok')")
        [why] = json.loads(run("why", "32", "--json", "--db", path("why.db"))[1])
        self.assertEqual([(row["outcome"], row["reason"]) for row in why["failures"]], [("wrong_result", "element 7")])
        self.assertEqual([row["shape"] for row in why["neighbours"]], ["48x32x32"])

    def test_a_name_with_escape_sequences_is_told_without_them(self):
        shutil.copy(path("a.db"), path("name.db"))
        with sqlite3.connect(path("name.db")) as db:
            db.execute("UPDATE gpu SET name = char(27) || '[31mA GPU'")
        for words in [["why", "32"], ["doctor"]]:
            out = run(*words, "--db", path("name.db"))[1]
            self.assertIn(" [31mA GPU", out)
            self.assertNotIn("\033", out)

    def test_a_size_that_was_never_tried_is_one_line(self):
        code, out, err = run("why", "64x32x32", "--db", path("a.db"))
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))
        self.assertIn("nothing was tried on f32 nn 64x32x32", err)
        advised = "--type f32 --layout nn --shapes 64x32x32 --db " + path("a.db")
        self.assertIn(f"`gemmtune {advised}` does", err)

    def test_the_advice_names_all_that_was_asked_for(self):
        err = run("why", "64", "--type", "f32", "--math", "tf32", "--layout", "tn", "--batch", "3", "--align", "4", "--db",
                  path("a.db"))[2]
        self.assertIn("--type f32 --math tf32 --layout tn --shapes 64x64x64 --batch 3 --align 4", err)


class Stale(unittest.TestCase):
    """Winners that were proved under another driver, clock or template."""

    def setUp(self):
        # The loser of the race is said to be twice as fast as it is, and to have won.
        shutil.copy(path("a.db"), path("stale.db"))
        with sqlite3.connect(path("stale.db")) as db:
            db.execute("UPDATE run SET driver = '12.1'")
            db.execute("DELETE FROM trial WHERE stage = 'race'")
            db.execute("UPDATE trial SET stage = 'race', us = us / 2, margin = 0.5 WHERE id = (SELECT t.id FROM trial t JOIN "
                       "kernel k ON k.id = t.kernel WHERE k.cubin NOT NULL ORDER BY us DESC LIMIT 1)")

    def test_a_winner_that_is_slower_now_is_replaced_and_told_of(self):
        [(before,)] = ask("stale.db", "SELECT params FROM best_configs")
        code, out, err = run("revalidate", "--device", "soft", "--effort", "quick", "--json", "--db", path("stale.db"))
        self.assertEqual(code, 0, err)
        [row] = json.loads(out)
        self.assertEqual((row["proved under"], row["winner"]), ("driver 12.1, now 13.0", "replaced"))
        self.assertGreater(row["change %"], 50)
        [(after, driver)] = ask("stale.db", "SELECT params, driver FROM best_configs b JOIN run r ON r.id = b.run")
        self.assertNotEqual(after, before)
        self.assertEqual(driver, "13.0")
        code, out, err = run("revalidate", "--device", "soft", "--json", "--db", path("stale.db"))
        self.assertEqual((code, out.strip()), (0, "[]"))
        self.assertIn("all proved under the conditions of now", err)

    def test_the_library_and_the_doctor_tell_of_it(self):
        code, out, err = run("32", program=PLAN, GEMMTUNE_DB=path("stale.db"))
        self.assertEqual(code, 0, err)
        self.assertIn("log: the winner for f32 nn 32x32x32 was proved under driver 12.1, now 13.0", out)
        out = run("doctor", GEMMTUNE_DB=path("stale.db"))[1]
        self.assertRegex(out, r"warning  stale +1 winner on NVIDIA H200 \(software\) was proved under driver 12\.1, now 13\.0")
        out = run("doctor", GEMMTUNE_DB=path("a.db"))[1]
        self.assertNotIn("stale", out)

    def test_a_clock_that_the_gpu_does_not_reach_any_more_is_told_of(self):
        shutil.copy(path("a.db"), path("clock.db"))
        for mhz, stale in [(1985, False), (2400, True)]:
            with sqlite3.connect(path("clock.db")) as db:
                db.execute("UPDATE trial SET clock_mhz = ?", (mhz,))
            out = run("32", program=PLAN, GEMMTUNE_DB=path("clock.db"))[1]
            self.assertEqual("was proved under an SM clock of 2400 MHz, now 1980 at most" in out, stale)

    def test_a_winner_of_another_template_races_what_its_configuration_is_rendered_to_now(self):
        other = path("templates")
        shutil.copytree(TEMPLATES, other, ignore=lambda _, names: [n for n in names if not n.startswith("naive.")])
        with open(os.path.join(other, "naive.cu"), "a") as file:
            file.write("// Another template.\n")
        shutil.copy(path("a.db"), path("other.db"))
        doctor = ["doctor", "--templates", other, "--db", path("other.db")]
        says = "1 winner on NVIDIA H200 (software) was proved under another template of naive"
        self.assertIn(says, run(*doctor)[1])
        kernels = "SELECT count(DISTINCT source_hash) FROM kernel"
        [(before,)] = ask("other.db", kernels)
        code, out, err = run("revalidate", "--device", "soft", "--effort", "quick", "--json", *doctor[1:])
        self.assertEqual(code, 0, err)
        self.assertEqual([row["proved under"] for row in json.loads(out)], ["another template of naive"])
        self.assertEqual(ask("other.db", kernels), [(before + 1,)])
        raced = "SELECT count(*) FROM trial WHERE stage = 'race' AND outcome = 'ok' AND kernel = (SELECT max(id) FROM kernel)"
        self.assertEqual(ask("other.db", raced), [(1,)])
        self.assertNotIn(says, run(*doctor)[1])


class SideBySide(unittest.TestCase):
    """A machine with two GPUs."""

    @classmethod
    def setUpClass(cls):
        # A family of one configuration: what is looked at is who tunes what.
        os.mkdir(path("one"))
        shutil.copy(os.path.join(TEMPLATES, "naive.cu"), path("one/one.cu"))
        with open(os.path.join(TEMPLATES, "naive.sql")) as old, open(path("one/one.sql"), "w") as new:
            new.write(old.read().rstrip().rstrip(";") + " LIMIT 1")

    def start(self, name, *shapes, stdin=subprocess.DEVNULL):
        words = [PROGRAM, "--device", "all", "--templates", path("one"), "--family", "one", "--json", "--db", path(name),
                 "--shapes", *(shapes or ["16,24"])]
        return subprocess.Popen(words, text=True, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "GEMMTUNE_DRIVER": "soft:h200,gpus=2"})

    def tuner_of(self, process, gpu):
        """The process of one GPU, once it has begun."""
        for line in process.stderr:
            if line.startswith(f"GPU {gpu}: gemmtune: shard"):
                break
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = file.read().split()
        for pid in children:
            with open(f"/proc/{pid}/cmdline") as file:
                if f"\0--device\0{gpu}\0" in file.read():
                    return int(pid)
        self.fail(f"no tuner of GPU {gpu} among {children}")

    def check_all_tuned_once(self, name, out):
        self.assertEqual([(row["shape"], row["tried"]) for row in json.loads(out)], [("16x16x16", 1), ("24x24x24", 1)])
        self.assertEqual(ask(name, "SELECT problem, count(*) FROM trial WHERE stage = 'screen' GROUP BY problem"),
                         [(1, 1), (2, 1)])

    def test_each_has_its_part_and_no_problem_is_tried_twice(self):
        process = self.start("two.db")
        out, err = process.communicate(timeout=250)
        self.assertEqual(process.returncode, 0, err)
        self.check_all_tuned_once("two.db", out)
        parts = ask("two.db", "SELECT substr(arguments, instr(arguments, '--shard'), 11), (SELECT count(DISTINCT problem) "
                              "FROM trial WHERE run = r.id) FROM run r WHERE arguments LIKE '%--shard%' ORDER BY 1")
        self.assertEqual(parts, [("--shard 1/2", 1), ("--shard 2/2", 1)])
        [(together,)] = ask("two.db", "SELECT max(started) <= min(ended) FROM run WHERE arguments LIKE '%--shard%'")
        self.assertTrue(together)

    def test_a_list_on_standard_input_is_for_all_of_them(self):
        process = self.start("piped.db", "16,@-", "--random", "1", "--seed", "20", stdin=subprocess.PIPE)
        out, err = process.communicate("24 # the second\n", timeout=250)
        self.assertEqual(process.returncode, 0, err)
        self.assertNotIn("its tuner ended", err)
        self.assertEqual([row["shape"] for row in json.loads(out)], ["16x16x16", "24x24x24", "1x7x11"])
        parts = ask("piped.db", "SELECT substr(arguments, instr(arguments, '--shard'), 11), (SELECT count(DISTINCT problem) "
                                "FROM trial WHERE run = r.id) FROM run r WHERE arguments LIKE '%--shard%' ORDER BY 1")
        self.assertEqual((sum(tried for _, tried in parts), [part for part, _ in parts]),
                         (3, ["--shard 1/2", "--shard 2/2"]))

    def test_what_a_tuner_that_died_left_is_tuned_by_the_other(self):
        process = self.start("died.db")
        os.kill(self.tuner_of(process, 1), signal.SIGKILL)
        out, err = process.communicate(timeout=250)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("GPU 1: its tuner ended by signal 9; GPU 0 goes on with what it left", err)
        self.check_all_tuned_once("died.db", out)

    def test_one_interruption_ends_all_of_them(self):
        process = self.start("ended.db")
        tuner = self.tuner_of(process, 0)
        process.terminate()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertFalse(os.path.exists(f"/proc/{tuner}"))
        self.assertEqual(ask("ended.db", "SELECT DISTINCT ending FROM run"), [("interrupted",)])


class System(unittest.TestCase):
    """The system's file behind the user's."""

    def plan(self, **env):
        code, out, err = run("32", program=PLAN, **env)
        return out.strip().split(" ", 1) if code == 0 else err

    def user(self, *changes):
        shutil.copy(path("b.db"), path("user.db"))
        with sqlite3.connect(path("user.db")) as db:
            for sql in changes:
                db.execute(sql)
        return {"GEMMTUNE_DB": path("user.db"), "GEMMTUNE_SYSTEM_DB": path("a.db")}

    def test_the_users_rows_win(self):
        [(theirs,)], [(ours,)] = (ask(name, "SELECT params FROM best_configs") for name in ("a.db", "b.db"))
        self.assertNotEqual(ours, theirs)
        self.assertEqual(self.plan(**self.user()), ["exact", ours])

    def test_a_problem_that_only_the_system_tuned_is_not_predicted_from_the_users_rows(self):
        [(theirs,)] = ask("a.db", "SELECT params FROM best_configs")
        self.assertEqual(self.plan(**self.user("UPDATE problem SET m = 16")), ["exact", theirs])

    def test_bench_runs_what_the_library_would(self):
        [(theirs,)] = ask("a.db", "SELECT params FROM best_configs")
        code, out, err = run("bench", "--device", "soft", "--shapes", "32", "--json", "--quiet",
                             **self.user("UPDATE problem SET m = 16"))
        self.assertEqual(code, 0, err)
        [row] = json.loads(out)["shapes"]
        self.assertEqual((row["choice"], row["configuration"]), ("exact", theirs))

    def test_without_a_file_of_ones_own_the_systems_is_used(self):
        self.assertEqual(self.plan(GEMMTUNE_SYSTEM_DB=path("a.db"))[0], "exact")

    def test_code_that_failed_for_the_user_is_not_taken_from_the_system(self):
        user = self.user("UPDATE problem SET m = 16", "UPDATE trial SET outcome = 'wrong_result', margin = NULL")
        self.assertIn("tune", self.plan(**user))

    def test_a_file_that_others_can_write_is_not_trusted(self):
        shutil.copy(path("a.db"), path("open.db"))
        os.chmod(path("open.db"), 0o666)
        self.assertIn("others can write it", self.plan(GEMMTUNE_SYSTEM_DB=path("open.db")))


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-test-")
    unittest.main(verbosity=2)
