#!/usr/bin/env python3
"""Mutants of the production templates through the whole tuner: mutants.py PROGRAM TEMPLATES [--count N] [--seed N].

A mutant that compiles to other code than its template must be rejected. One that passes has survived: it is either
equivalent, for a reason that mutants/equivalent.txt gives, or unexplained, which is a gap in the tuner's checks.

On a real GPU (--device 0) the second table tells how many are seen there, and by what: wrong values, crashes.
"""
import argparse
import collections
import os
import pathlib
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from mutate import CLASSES, SUBJECTS, Generator
import spaces  # from here on in the folder that mutate adds
from compiler import Compiler, NoCompiler
from tuner import Tuner, is_ok, is_uncompilable

HERE = pathlib.Path(__file__).parent / "mutants"
REJECTED, EQUIVALENT, SURVIVED, IDENTICAL, UNCOMPILABLE = "rejected", "equivalent", "survived", "identical", "uncompilable"
COUNTED = (REJECTED, EQUIVALENT, SURVIVED)


class Result:
    def __init__(self, mutant, verdict, why):
        self.mutant, self.verdict, self.why = mutant, verdict, why


def read_list(name):
    lines = (line.strip() for line in (HERE / name).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def reasons():
    """(place, class, before, after, reason) of equivalent mutants; * is any, before and after are parts of a line."""
    return [[word.strip() for word in line.split(" :: ")] for line in read_list("equivalent.txt")]


def reason_of(mutant, table):
    def fits(word, text):
        return word == "*" or word in text

    places = ("*", mutant.file, f"{mutant.file}:{mutant.function}")
    for place, classes, before, after, reason in table:
        name, _, configurations = classes.partition("@")
        if place in places and name in ("*", mutant.name) and fits(before, mutant.before) and fits(after, mutant.after) \
                and (not configurations or mutant.configuration.name in configurations.split("|")):
            return reason
    return None


class Laboratory:
    """Tries mutants, and knows the code of the templates as they are."""

    def __init__(self, generator, tuner, compiler):
        self.generator, self.tuner, self.compiler, self.table = generator, tuner, compiler, reasons()
        self.originals, self.lock = {}, threading.Lock()

    def code(self, configuration, text):
        host = spaces.HOSTS.get(configuration.family, configuration.family)
        return self.compiler.compile(host, configuration.space(), text, *configuration.product)

    def original(self, configuration):
        """The code of a configuration as it is."""
        with self.lock:
            if configuration.key not in self.originals:
                text = self.generator.sources[configuration.family].text
                self.originals[configuration.key] = self.code(configuration, text)
            return self.originals[configuration.key]

    def tune(self, configuration, text):
        host = spaces.HOSTS.get(configuration.family, configuration.family)
        return self.tuner.tune(host, configuration.space(), text, *configuration.product)

    def check_original(self, configuration):
        rows = self.tune(configuration, self.generator.sources[configuration.family].text)
        return None if is_ok(rows) else f"{configuration.family} ({configuration.name}) fails as it is: {rows}"

    def try_mutant(self, mutant):
        code = self.code(mutant.configuration, mutant.text)
        if code is None:
            return Result(mutant, UNCOMPILABLE, "")
        if code == self.original(mutant.configuration):
            return Result(mutant, IDENTICAL, "the same code as its template's")
        rows = self.tune(mutant.configuration, mutant.text)
        if is_uncompilable(rows):
            return Result(mutant, UNCOMPILABLE, rows[0][1])
        if not is_ok(rows):
            return Result(mutant, REJECTED, next(f"{outcome}: {detail}" for outcome, detail in rows if outcome != "ok"))
        reason = reason_of(mutant, self.table)
        return Result(mutant, EQUIVALENT if reason else SURVIVED, reason or "unexplained")

    def check_originals(self, jobs):
        """What the templates fail at as they are, in the configurations that mutants take."""
        with ThreadPoolExecutor(jobs) as pool:
            found = pool.map(self.check_original, [c for s in self.generator.sources for c in spaces.configurations(s)])
            return [failure for failure in found if failure]

    def run(self, count, jobs, seconds=None):
        """Results in the mutants' order until `count` of them compiled to code of their own, or time is up."""
        done, until = 0, time.monotonic() + (seconds or 1e9)
        with ThreadPoolExecutor(jobs) as pool:
            queue, mutants = collections.deque(), iter(self.generator)
            while done < count and time.monotonic() < until:
                while len(queue) < 2 * jobs and (mutant := next(mutants, None)):
                    queue.append(pool.submit(self.try_mutant, mutant))
                if not queue:
                    break
                result = queue.popleft().result()
                done += result.verdict in COUNTED
                yield result
            for waiting in queue:
                waiting.cancel()


def table(results):
    """A line for each class: how many of each verdict."""
    verdicts = [*COUNTED, IDENTICAL, UNCOMPILABLE]
    tally = collections.Counter((r.mutant.name, r.verdict) for r in results)
    lines = ["class        " + "".join(f"{v:>14}" for v in verdicts)]
    names = sorted({name for name, _ in tally}, key=CLASSES.index)
    for name in names:
        lines.append(f"{name:<13}" + "".join(f"{tally[name, v]:>14}" for v in verdicts))
    lines.append(f"{'all':<13}" + "".join(f"{sum(tally[n, v] for n in names):>14}" for v in verdicts))
    return "\n".join(lines)


def causes(results):
    """A line for each class: what its mutants were rejected by."""
    tally = collections.Counter((r.mutant.name, r.why.split(":")[0]) for r in results if r.verdict == REJECTED)
    outcomes = sorted({outcome for _, outcome in tally}, key=lambda o: -sum(n for (_, x), n in tally.items() if x == o))
    names = sorted({name for name, _ in tally}, key=CLASSES.index)
    lines = ["rejected by  " + "".join(f"{o:>16}" for o in outcomes)]
    return "\n".join(lines + [f"{name:<13}" + "".join(f"{tally[name, o]:>16}" for o in outcomes) for name in names])


def summary(results):
    counted = [r for r in results if r.verdict in COUNTED]
    survivors = [r for r in counted if r.verdict == SURVIVED]
    subjects = {r.mutant.subject for r in counted}
    return (f"{len(counted)} mutants in {len({r.mutant.name for r in counted})} classes of {', '.join(sorted(subjects))}: "
            f"{len(survivors)} unexplained survivors ({100 * len(survivors) / max(len(counted), 1):.1f}%)")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("templates", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000, help="mutants that compile to code of their own (1000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the choice of mutants (the time)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tuners side by side (cores)")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--device", default="soft:h200", help="what they are tuned on (soft:h200)")
    parser.add_argument("--arch", default="sm_90a", help="the device's (sm_90a)")
    parser.add_argument("--timeout", default="120s", help="of one candidate, by the clock: other programs run too (120s)")
    parser.add_argument("--trust-templates", action="store_true", help="do not try the templates as they are first")
    parser.add_argument("--classes", default=",".join(CLASSES), help="of mutations, commas between (all)")
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help="families, and repack for the copies (all)")
    parser.add_argument("--only", type=lambda text: {int(n) for n in text.split(",")}, help="numbers of mutants to try")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the sources of survivors")
    parser.add_argument("--list", action="store_true", help="print mutants and try none")
    parser.add_argument("--verbose", action="store_true", help="print rejected ones too")
    return parser.parse_args()


def keep(folder, result):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.mutant.number}_{result.mutant.family}.cu").write_text(result.mutant.text)
    (folder / f"{result.mutant.number}_{result.mutant.family}.sql").write_text(result.mutant.configuration.space())


def main():
    args = arguments()
    print(f"seed {args.seed}", flush=True)
    generator = Generator(args.templates, args.seed, args.subjects.split(","), args.classes.split(","), args.only)
    if args.list:
        for mutant, _ in zip(generator, range(args.count)):
            print(mutant)
        return 0
    results = []
    try:
        laboratory = Laboratory(generator, Tuner(args.program, args.device, args.timeout),
                                Compiler(args.program, args.arch))
        if not args.trust_templates and (failures := laboratory.check_originals(args.jobs)):
            print(*failures, sep="\n")
            return 1
        for result in laboratory.run(args.count, args.jobs, args.seconds):
            results.append(result)
            if args.verbose or result.verdict in (SURVIVED, EQUIVALENT):
                print(f"{result.verdict}: {result.mutant}\n    {result.why}", flush=True)
            if args.keep and result.verdict == SURVIVED:
                keep(args.keep, result)
    except NoCompiler as error:
        print(error)
        return 77
    print(table(results), causes(results), summary(results), sep="\n")
    return 1 if any(r.verdict == SURVIVED for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
