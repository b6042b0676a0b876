#!/usr/bin/env python3
"""A suite of pytest's without the front and with it: same_verdicts.py GEMMTUNE SECONDS WORDS [-- PYTEST'S WORDS].

The suite's tests are dealt to as many processes as there are cores, which have SECONDS without the front and as many under
`gemmtune run WORDS`. Prints the verdicts that differ, of the tests that both have got to. Every STRIDEth test only, where
that is in the environment: of a suite that takes hours a sample is better than its beginning.
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


def pytest_collection_modifyitems(items):
    which, many = map(int, PART.split(":")[0].split("/"))
    items[:] = items[:: int(os.environ.get("STRIDE", "1"))][which::many]


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":  # a failure of the preparation is one, too
        with open(PART.split(":", 1)[1], "a") as file:
            file.write("%s %s\n" % (report.outcome, report.nodeid))


def finish(process):
    try:
        return process.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def run(before, words, seconds, folder):
    """Verdicts by test, and what the processes said at last."""
    many, end = os.cpu_count(), time.monotonic() + seconds
    files = [os.path.join(folder, "%d" % i) for i in range(many)]
    processes = []
    for i, file in enumerate(files):
        env = {**os.environ, "SAME_VERDICTS_PART": "%d/%d:%s" % (i, many, file),
               "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)) + ":" + os.environ.get("PYTHONPATH", "")}
        processes.append(subprocess.Popen([*before, sys.executable, "-m", "pytest", "-q", "-p", "same_verdicts", "-p",
                                           "no:cacheprovider", *words], env=env, text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.STDOUT))
    said = []
    for process in processes:
        try:
            said.append(process.communicate(timeout=max(end - time.monotonic(), 0.1))[0])
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)  # pytest ends as it would, and the front tells its counts
            said.append(finish(process))
    verdicts = {}
    for file in files:
        for line in open(file) if os.path.exists(file) else []:
            verdict, name = line.rstrip("\n").split(" ", 1)
            verdicts[name] = verdict
    return verdicts, said


def main():
    program, seconds, words = sys.argv[1], float(sys.argv[2]), sys.argv[3].split()
    suite = sys.argv[sys.argv.index("--") + 1:]
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "with"))
        without, said = run([], suite, seconds, folder)
        ours, our_said = run([program, "run", *words, "--"], suite, seconds, os.path.join(folder, "with"))
    for name, verdicts in [("without", without), ("with the front", ours)]:
        counts = collections.Counter(verdicts.values())
        print("%-15s %s" % (name, ", ".join("%d %s" % (n, verdict) for verdict, n in sorted(counts.items()))))
    both = sorted(without.keys() & ours.keys())
    differ = [name for name in both if without[name] != ours[name]]
    for name in differ:
        print("%s, %s with the front: %s" % (without[name], ours[name], name))
    counts = [re.findall(r"gemmtune: (\d+) products?: (\d+) answered", text) for text in our_said]
    seen, answered = (sum(int(count[i]) for part in counts for count in part) for i in (0, 1))
    print("%d tests on both sides, %d differ; %d products, %d answered" % (len(both), len(differ), seen, answered))
    if not both:
        print("\n".join([*said[:1], *our_said[:1]])[-3000:])
    sys.exit(1 if differ or not both else 0)


if __name__ == "__main__":
    main()
