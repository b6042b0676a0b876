#!/usr/bin/env python3
"""A suite of pytest's without the front and with it: same_verdicts.py GEMMTUNE SECONDS WORDS [-- PYTEST'S WORDS].

The suite's tests are dealt to a process for each core: one half runs them without the front, the other at the same time
under `gemmtune run WORDS`, for SECONDS. Prints the verdicts that differ, of the tests that both have got to, and how many one of
them has not: no verdict is none, whether the time was too short or a process crashed. Every STRIDEth test only, where that is in
the environment: of a suite that takes hours a sample is better than its beginning.
"""
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PART = os.environ.get("SAME_VERDICTS_PART")  # "which of how many: file of verdicts", in a process of the suite
UNREACHED = "unreached"  # what a test's verdict is until it has one


def pytest_collection_modifyitems(items):
    which, many = map(int, PART.split(":")[0].split("/"))
    items[:] = items[:: int(os.environ.get("STRIDE", "1"))][which::many]
    for item in items:
        write(UNREACHED, item.nodeid)


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":  # a failure of the preparation is one, too
        write(report.outcome, report.nodeid)


def write(verdict, name):
    with open(PART.split(":", 1)[1], "a") as file:
        file.write("%s %s\n" % (verdict, name))


GRACE = 10  # seconds in which a process that is told to end does


def wait(processes, end):
    """Ends those that are left when the time is over, as a user would: pytest finishes, and the front tells its counts."""
    for end, stop in [(end, signal.SIGINT), (end + GRACE, signal.SIGKILL)]:
        while any(process.poll() is None for process in processes) and time.monotonic() < end:
            time.sleep(0.1)
        for process in processes:
            if process.poll() is None:
                process.send_signal(stop)
    for process in processes:
        process.wait()


def start(before, words, many, folder):
    """Processes of one side, each with one core, and the files of their verdicts."""
    started = []
    os.mkdir(folder)
    for i in range(many):
        file = os.path.join(folder, "%d" % i)
        env = {**os.environ, "SAME_VERDICTS_PART": "%d/%d:%s" % (i, many, file), "OMP_NUM_THREADS": "1",
               "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)) + ":" + os.environ.get("PYTHONPATH", "")}
        with open(file + ".said", "w") as out:
            started.append((subprocess.Popen([*before, sys.executable, "-m", "pytest", "-q", "-p", "same_verdicts", "-p",
                                              "no:cacheprovider", *words], env=env, stdout=out, stderr=out), file))
    return started


def read(started):
    """Verdicts by test, and what the processes said."""
    verdicts, said = {}, []
    for _, file in started:
        with open(file + ".said") as out:
            said.append(out.read())
        for line in open(file) if os.path.exists(file) else []:
            verdict, name = line.rstrip("\n").split(" ", 1)
            verdicts[name] = verdict
    return verdicts, said


def main():
    program, seconds, words = sys.argv[1], float(sys.argv[2]), sys.argv[3].split()
    suite = sys.argv[sys.argv.index("--") + 1:]
    end, many = time.monotonic() + seconds, max(os.cpu_count() // 2, 1)
    with tempfile.TemporaryDirectory() as folder:
        sides = [start(before, suite, many, os.path.join(folder, name))
                 for name, before in [("without", []), ("with", [program, "run", *words, "--"])]]
        wait([process for side in sides for process, _ in side], end)
        (without, said), (ours, our_said) = map(read, sides)
    for name, verdicts in [("without", without), ("with the front", ours)]:
        counts = collections.Counter(verdicts.values())
        print("%-15s %s" % (name, ", ".join("%d %s" % (n, verdict) for verdict, n in sorted(counts.items()))))
    tests = without.keys() | ours.keys()
    both = sorted(name for name in tests if UNREACHED not in (without.get(name, UNREACHED), ours.get(name, UNREACHED)))
    differ = [name for name in both if without[name] != ours[name]]
    for name in differ:
        print("%s, %s with the front: %s" % (without[name], ours[name], name))
    counts = [re.findall(r"gemmtune: (\d+) products?: (\d+) answered", text) for text in our_said]
    seen, answered = (sum(int(count[i]) for part in counts for count in part) for i in (0, 1))
    print("%d of %d tests on both sides, %d differ; %d products, %d answered"
          % (len(both), len(tests), len(differ), seen, answered))
    if not both:
        print("\n".join([*said[:1], *our_said[:1]])[-3000:])
    sys.exit(1 if differ or not both or len(both) < len(tests) else 0)


if __name__ == "__main__":
    main()
