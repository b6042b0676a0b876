#!/usr/bin/env python3
"""Databases of several machines, on the software GPU: test_fleet.py PROGRAM."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*words, **env):
    done = subprocess.run([PROGRAM, *words], text=True, timeout=250, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "GEMMTUNE_DB": path("none.db"), "ASAN_OPTIONS": "detect_leaks=0", **env})
    return done.returncode, done.stdout, done.stderr


def path(name):
    return os.path.join(FOLDER.name, name)


def ask(name, sql):
    with sqlite3.connect(path(name)) as db:
        return db.execute(sql).fetchall()


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
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

    def test_a_merge_needs_two_files(self):
        for words in [["merge"], ["merge", path("new.db")]]:
            code, out, err = run(*words)
            self.assertEqual((code, out, err.count("\n")), (2, "", 1))
            self.assertIn("needs two files", err)
        self.assertFalse(os.path.exists(path("new.db")))


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-test-")
    unittest.main(verbosity=2)
