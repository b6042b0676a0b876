"""How well the software GPU's times rank: those of an H200 beside them.

    python3 tests/model_table.py PROGRAM DATABASE [--shapes 2048,512x512x512] [--family simt] [--gpu h200] [--every N]
                                 [--summary]

DATABASE is a tuner's, with measured trials; PROGRAM is gemmtune, which gives a modelled time for each configuration
that was measured on a shape (gemmtune profile, sampled, on soft:GPU), or for the fastest and every Nth after it. Prints
a table for each shape, or with --summary its last lines only. Times of one run of the tuner are compared with each other
only.
"""
import argparse
import concurrent.futures
import json
import math
import os
import sqlite3
import subprocess
import sys

TRIALS = """
SELECT c.params, min(t.us) FROM trial t JOIN config c USING (kernel) JOIN problem p ON t.problem = p.id
WHERE t.timing = 'measured' AND t.outcome = 'ok' AND t.us IS NOT NULL AND c.family = ? AND p.m = ? AND p.n = ? AND p.k = ?
GROUP BY c.params ORDER BY 2"""

RUNS = """
SELECT g.name, r.driver, r.nvrtc, min(r.started) FROM run r JOIN trial t ON t.run = r.id JOIN gpu g ON t.gpu = g.id"""


def modelled(program, family, gpu, shape, params):
    """Microseconds, or the failure's line."""
    run = subprocess.run([program, "profile", family, "--device", "soft:" + gpu, "--shapes", shape, "--params", params,
                          "--json"], capture_output=True, text=True)
    if run.returncode != 0:
        return run.stderr.strip() or "status %d" % run.returncode
    return next(line["value"] for line in json.loads(run.stdout) if line["what"] == "time, modelled")


def model_all(program, family, gpu, shape, configurations):
    """Times in the configurations' order. A configuration that this program does not have ends it all."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        times = list(pool.map(lambda params: modelled(program, family, gpu, shape, params), configurations))
    for params, time in zip(configurations, times):
        if isinstance(time, str):
            sys.exit("%s %s on %s: %s" % (family, params, shape, time))
    return times


def ranks(times):
    """1 for the shortest; the same for equals, the mean of their places."""
    places = {}
    for place, time in enumerate(sorted(times), 1):
        places.setdefault(time, []).append(place)
    return [sum(places[time]) / len(places[time]) for time in times]


def spearman(a, b):
    x, y, mean = ranks(a), ranks(b), (len(a) + 1) / 2
    spread = math.sqrt(sum((u - mean) ** 2 for u in x) * sum((v - mean) ** 2 for v in y))
    return sum((u - mean) * (v - mean) for u, v in zip(x, y)) / spread if spread else 0.0


def place(times, index):
    """Of one among all: how many are shorter, and one."""
    return 1 + sum(time < times[index] for time in times)


def summarise(shape, measured, times):
    best = measured.index(min(measured))
    choice = times.index(min(times))
    errors = sorted(abs(time / us - 1) for us, time in zip(measured, times))
    return ("%-16s %4d configurations: Spearman %.3f; the fastest is the model's number %d; the model's first is %.1f%% "
            "slower; median error %.1f%%" % (shape, len(measured), spearman(measured, times), place(times, best),
                                            100 * (measured[choice] / min(measured) - 1),
                                            100 * errors[len(errors) // 2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("database")
    parser.add_argument("--shapes", default="2048")
    parser.add_argument("--family", default="simt")
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    database = sqlite3.connect("file:%s?mode=ro" % options.database, uri=True)
    name, driver, nvrtc, started = database.execute(RUNS).fetchone()
    print("# %s, driver for CUDA %s, NVRTC %s, measured %s; modelled as soft:%s" % (name, driver, nvrtc, started,
                                                                                  options.gpu))
    for shape in options.shapes.split(","):
        sizes = [int(size) for size in shape.split("x")]
        sizes = sizes if len(sizes) == 3 else 3 * sizes
        shape = "x".join(map(str, sizes))
        rows = database.execute(TRIALS, [options.family] + sizes).fetchall()[::options.every]
        if len(rows) < 2:
            sys.exit("%s has no measured trials of %s for %s" % (options.database, options.family, shape))
        measured = [us for _, us in rows]
        times = model_all(options.program, options.family, options.gpu, shape, [params for params, _ in rows])
        if not options.summary:
            print("#\n# %s\n# measured us  modelled us  rank  modelled rank  configuration of %s" % (shape, options.family))
            for i, (params, us) in enumerate(rows):
                print("%13.1f %12.1f %5d %14d  %s" % (us, times[i], place(measured, i), place(times, i), params))
        print("# " + summarise(shape, measured, times), flush=True)


if __name__ == "__main__":
    main()
