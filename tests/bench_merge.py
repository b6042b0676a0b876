#!/usr/bin/env python3
"""A million trials: how long a merge takes, and `best` afterwards. bench_merge.py PROGRAM [TRIALS]"""
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

PROGRAM, TRIALS = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
KERNELS, PROBLEMS, RUNS = 20_000, 500, 50


def timed(*words):
    start = time.monotonic()
    subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def fill(path):
    """Rows without code, as losers have them; every problem has winners and a baseline."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("INSERT INTO gpu VALUES (1, 'NVIDIA H200', 90, 'sm_90a', 132, 1980000, 150323855360, 1, 1)")
    db.executemany("INSERT INTO run (id, program, driver, nvrtc, host, arguments, seed) VALUES (?, '', '', '', '', '', '1')",
                   ((i,) for i in range(RUNS)))
    db.executemany("INSERT INTO problem VALUES (?, 'f32', 'strict', 'nn', ?, 64, 64, 1, 16, 'none')",
                   ((i, 64 + i) for i in range(PROBLEMS)))
    facts = [row[1] for row in db.execute("PRAGMA table_info(kernel)") if row[2] == "INTEGER" and row[1] != "id"]
    db.executemany(f"INSERT INTO kernel (id, family, source_hash, nvrtc, arch, {', '.join(facts)}) VALUES "
                   f"(?, 'simt', printf('%064d', ?), '13.0', 'sm_90a', {', '.join('1' * len(facts))})",
                   ((i, i) for i in range(1, KERNELS + 1)))
    db.executemany("INSERT INTO kernel_param VALUES (?, ?, ?, ?)",
                   ((i, place, name, i % 64) for i in range(1, KERNELS + 1)
                    for place, name in enumerate(["bm", "bn", "bk", "wm", "wn", "tm", "tn", "stages"])))
    db.executemany("""INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, us_min, us_spread,
                      us_cold, samples, stopped_early, clock_mhz, error, margin, registers, spills, tried_at)
                      VALUES (?, 1, ?, ?, ?, 'ok', '', 'measured', ?, 1, 0.01, 2, 30, 0, 1980, 1e-7, ?, 168, 0,
                      strftime('%Y-%m-%d %H:%M:%f', '2026-01-01', ? || ' seconds'))""",
                   ((i % RUNS, i % PROBLEMS, 1 + i * 7 % KERNELS, "screen" if i % 100 else "race", 10 + i * 31 % 997,
                     None if i % 100 else 0.02, i * 0.05) for i in range(TRIALS)))
    db.commit()
    db.close()


with tempfile.TemporaryDirectory(prefix="gemmtune-bench-") as folder:
    into, source, empty = (os.path.join(folder, name) for name in ("into.db", "from.db", "empty.db"))
    subprocess.run([PROGRAM, "merge", source, empty], capture_output=True)  # refuses what is not there, and makes the file
    fill(source)
    first, again, best = timed("merge", into, source), timed("merge", into, source), timed("best", "--db", into)
    with sqlite3.connect(into) as db:
        assert db.execute("SELECT count(*) FROM trial").fetchone() == (TRIALS,)
    print(f"{TRIALS} trials, {os.path.getsize(into) / 2**20:.0f} MiB: merged in {first:.1f} s, again in {again:.1f} s; "
          f"best in {best:.2f} s")
    sys.exit(first > 60 or best > 1)
