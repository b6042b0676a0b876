#!/usr/bin/env python3
"""Mutants of the production templates through the whole tuner: mutants.py PROGRAM TEMPLATES [--count N] [--seed N].

A mutant that compiles to other code than its template must be rejected. One that passes has survived: it is either
equivalent, for a reason that mutants/equivalents.py finds or because its machine code is its template's, or unexplained, which
is a gap in the tuner's checks.

--device 0 --then soft:h200 tries them on a real GPU, and on the software one what passes there: the second table tells how many
the GPU shows by wrong values or faults, and how many only the software GPU sees. --handmade tries those made by hand.

--log FILE writes every result into a file, and goes on behind those that are there of the same seed: a long run may be made
in pieces, on several machines too (--only 1-500 and --only 501-1000, their files put together). The tables are of all.
"""
import argparse
import collections
import json
import os
import pathlib
import sys
import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from mutate import CLASSES, SUBJECTS, Generator
import spaces  # from here on in the folder that mutate adds
from compiler import Compiler, NoCompiler
from equivalents import reason_of, reasons
from handmade import HandMade
from tuner import Tuner, is_ok, is_uncompilable

REJECTED, EQUIVALENT, SURVIVED, IDENTICAL, UNCOMPILABLE = "rejected", "equivalent", "survived", "identical", "uncompilable"
COUNTED = (REJECTED, EQUIVALENT, SURVIVED)


class Result:
    def __init__(self, mutant, verdict, why, cause=""):
        """`cause`: what it was rejected by, in a word."""
        self.mutant, self.verdict, self.why, self.cause = mutant, verdict, why, cause


class Log:
    """Results in a file, a line each."""

    def __init__(self, path, seed):
        self.path, self.seed = path, seed

    def add(self, result):
        mutant = result.mutant
        words = {word: getattr(mutant, word) for word in ("number", "name", "subject", "file", "function", "before", "after")}
        with open(self.path, "a") as file:
            print(json.dumps({"seed": self.seed, **words, "configuration": mutant.configuration.name, "verdict": result.verdict,
                              "why": result.why, "cause": result.cause}), file=file)

    def results(self, table):
        """What is there of this seed. Survivors may have been explained since."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        found = {}
        for words in map(json.loads, lines):
            mutant = types.SimpleNamespace(**words)
            mutant.configuration = types.SimpleNamespace(name=mutant.configuration)
            if mutant.seed != self.seed:
                continue
            reason = reason_of(mutant, table) if mutant.verdict == SURVIVED else None
            found[mutant.number] = Result(mutant, EQUIVALENT if reason else mutant.verdict, reason or mutant.why, mutant.cause)
        return list(found.values())


class Laboratory:
    """Tries mutants, on each tuner's device until one rejects them, and knows the code of the templates as they are.
    Without a compiler every mutant is taken to have code of its own."""

    def __init__(self, generator, tuners, compiler):
        self.generator, self.tuners, self.compiler, self.table = generator, tuners, compiler, reasons()
        self.originals, self.lock = {}, threading.Lock()

    def code(self, translate, configuration, text):
        host = spaces.HOSTS.get(configuration.family, configuration.family)
        return translate(host, configuration.space(), text, *configuration.product)

    def original(self, translate, configuration):
        """The code of a configuration as it is."""
        with self.lock:
            key = (translate, configuration.key)
            if key not in self.originals:
                text = self.generator.sources[configuration.family].text
                self.originals[key] = self.code(translate, configuration, text)
            return self.originals[key]

    def is_same(self, mutant):
        """Whether a mutant's machine code is its template's, though its PTX is not."""
        if not self.compiler:
            return False
        code = self.code(self.compiler.assemble, mutant.configuration, mutant.text)
        return code is not None and code == self.original(self.compiler.assemble, mutant.configuration)

    def tune(self, tuner, configuration, text):
        host = spaces.HOSTS.get(configuration.family, configuration.family)
        return tuner.tune(host, configuration.space(), text, *configuration.product)

    def check_original(self, configuration):
        for tuner in self.tuners:
            rows = self.tune(tuner, configuration, self.generator.sources[configuration.family].text)
            if not is_ok(rows):
                return f"{configuration.family} ({configuration.name}) fails on {tuner.device} as it is: {rows}"
        return None

    def try_mutant(self, mutant):
        if self.compiler:
            code = self.code(self.compiler.compile, mutant.configuration, mutant.text)
            if code is None:
                return Result(mutant, UNCOMPILABLE, "")
            if code == self.original(self.compiler.compile, mutant.configuration):
                return Result(mutant, IDENTICAL, "the same code as its template's")
        for tuner in self.tuners:
            rows = self.tune(tuner, mutant.configuration, mutant.text)
            if is_uncompilable(rows):
                return Result(mutant, UNCOMPILABLE, rows[0][1])
            if not is_ok(rows):
                outcome, detail = next(row for row in rows if row[0] != "ok")
                return Result(mutant, REJECTED, f"{outcome}: {detail}", outcome if tuner is self.tuners[0] else tuner.device)
        reason = reason_of(mutant, self.table) or (self.is_same(mutant) and "the same machine code as its template's")
        return Result(mutant, EQUIVALENT if reason else SURVIVED, reason or "unexplained")

    def check_originals(self, jobs):
        """What the templates fail at as they are, in the configurations that mutants take."""
        with ThreadPoolExecutor(jobs) as pool:
            found = pool.map(self.check_original, self.generator.configurations)
            return [failure for failure in found if failure]

    def run(self, count, jobs, seconds=None, known=()):
        """Results in the mutants' order until `count` of them, with those that are known, compiled to code of their own, or
        time is up."""
        done, until = sum(r.verdict in COUNTED for r in known), time.monotonic() + (seconds or 1e9)
        tried = {r.mutant.number for r in known}
        with ThreadPoolExecutor(jobs) as pool:
            queue, mutants = collections.deque(), (m for m in self.generator if m.number not in tried)
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


def classes_of(results):
    """The classes of results, in the generator's order."""
    names = dict.fromkeys(r.mutant.name for r in results)
    return sorted(names, key=lambda name: CLASSES.index(name) if name in CLASSES else 0)


def table(results):
    """A line for each class: how many of each verdict."""
    verdicts = [*COUNTED, IDENTICAL, UNCOMPILABLE]
    tally = collections.Counter((r.mutant.name, r.verdict) for r in results)
    lines = ["class        " + "".join(f"{v:>14}" for v in verdicts)]
    names = classes_of(results)
    for name in names:
        lines.append(f"{name:<13}" + "".join(f"{tally[name, v]:>14}" for v in verdicts))
    lines.append(f"{'all':<13}" + "".join(f"{sum(tally[n, v] for n in names):>14}" for v in verdicts))
    return "\n".join(lines)


def causes(results):
    """A line for each class: what its mutants were rejected by."""
    rejected = [r for r in results if r.verdict == REJECTED]
    tally = collections.Counter((r.mutant.name, r.cause) for r in rejected)
    found = collections.Counter(r.cause for r in rejected).most_common()
    lines = ["rejected by  " + "".join(f"{cause:>16}" for cause, _ in found)]
    for name in classes_of(rejected):
        lines.append(f"{name:<13}" + "".join(f"{tally[name, cause]:>16}" for cause, _ in found))
    return "\n".join([*lines, f"{'all':<13}" + "".join(f"{count:>16}" for _, count in found)])


def summary(results):
    counted = [r for r in results if r.verdict in COUNTED]
    survivors = [r for r in counted if r.verdict == SURVIVED]
    subjects = {r.mutant.subject for r in counted}
    return (f"{len(counted)} mutants in {len({r.mutant.name for r in counted})} classes of {', '.join(sorted(subjects))}: "
            f"{len(survivors)} unexplained survivors ({100 * len(survivors) / max(len(counted), 1):.1f}%)")


def numbers(text):
    spans = [[int(number) for number in part.split("-")] for part in text.split(",")]
    return {number for span in spans for number in range(span[0], span[-1] + 1)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("templates", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=1000, help="mutants that compile to code of their own (1000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the choice of mutants (the time)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tuners side by side (cores)")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--device", default="soft:h200", help="what they are tuned on (soft:h200)")
    parser.add_argument("--then", help="what those are tuned on that pass there")
    parser.add_argument("--arch", default="sm_90a", help="the device's (sm_90a)")
    parser.add_argument("--timeout", default="120s", help="of one candidate, by the clock: other programs run too (120s)")
    parser.add_argument("--trust-templates", action="store_true", help="do not try the templates as they are first")
    parser.add_argument("--classes", default=",".join(CLASSES), help="of mutations, commas between (all)")
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help="families, and repack for the copies (all)")
    parser.add_argument("--handmade", action="store_true", help="those made by hand, all of them, instead of generated ones")
    parser.add_argument("--only", type=numbers, help="numbers of mutants to try: 3,17,200-299")
    parser.add_argument("--log", type=pathlib.Path, help="file of all results, which a run adds to")
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
    if args.handmade:
        generator = HandMade(args.templates, args.only)
    else:
        print(f"seed {args.seed}", flush=True)
        generator = Generator(args.templates, args.seed, args.subjects.split(","), args.classes.split(","), args.only)
    if args.list:
        for mutant, _ in zip(generator, range(args.count)):
            print(mutant)
        return 0
    log = Log(args.log, "by hand" if args.handmade else args.seed) if args.log else None
    results = log.results(reasons()) if log else []
    try:
        tuners = [Tuner(args.program, device, args.timeout) for device in (args.device, args.then) if device]
        laboratory = Laboratory(generator, tuners, None if args.handmade else Compiler(args.program, args.arch))
        if not args.trust_templates and (failures := laboratory.check_originals(args.jobs)):
            print(*failures, sep="\n")
            return 1
        for result in laboratory.run(args.count, args.jobs, args.seconds, tuple(results)):
            results.append(result)
            if log:
                log.add(result)
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
