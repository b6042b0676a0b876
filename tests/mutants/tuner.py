"""One mutant through the whole tuner, and what became of it."""
import os
import pathlib
import sqlite3
import subprocess
import tempfile

from compiler import NoCompiler, type_options

# Rejections that the tuner makes by reading the compiled code.
READ_IN_CODE = ("never waits", "launches on several streams would share")


class Tuner:
    def __init__(self, program, device, timeout="120s", tries=1):
        """`tries`: how often a source may pass before it counts as one that does, since checks draw other data each time."""
        self.program, self.device, self.timeout, self.tries = program, device, timeout, tries

    def tune(self, family, space, source, shape, layout="nn", types="f32"):
        """Rows (outcome, detail) of the only configuration of a family with this source."""
        for left in reversed(range(self.tries)):
            try:
                rows = self.try_source(family, space, source, shape, layout, types)
            except subprocess.TimeoutExpired:
                return [("timeout", "the tuner itself")]
            if left == 0 or not is_ok(rows):
                return rows
            print(f"{family} {shape} {layout} {types} passed, and is tried again", flush=True)

    def try_source(self, family, space, source, shape, layout, types):
        with tempfile.TemporaryDirectory(prefix="mutant.") as folder:
            pathlib.Path(folder, family + ".cu").write_text(source)
            pathlib.Path(folder, family + ".sql").write_text(space)
            database = os.path.join(folder, "m.db")
            run = subprocess.run(
                [self.program, "tune", "--device", self.device, "--db", database, "--templates", folder, "--family", family,
                 "--shapes", shape, "--layout", layout, *type_options(types), "--timeout", self.timeout, "--no-cublas", "--quiet"],
                capture_output=True, text=True, timeout=600, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
            if "NVRTC" in run.stderr:
                raise NoCompiler(run.stderr)
            with sqlite3.connect(database) as db:
                rows = db.execute("SELECT DISTINCT outcome, detail FROM trial").fetchall()
            if not rows:
                raise RuntimeError(f"{family} was not tried: {run.stderr or run.stdout}")
            return rows


def is_uncompilable(rows):
    return all(outcome == "compile_error" and not any(words in detail for words in READ_IN_CODE) for outcome, detail in rows)


def is_ok(rows):
    return all(outcome == "ok" for outcome, _ in rows)
