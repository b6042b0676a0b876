#!/usr/bin/env python3
"""Production templates with a bug each, through the whole tuner on the software GPU: test_mutants.py PROGRAM TEMPLATES.

A mutant is a family of its own, with one configuration that takes the broken path. None may pass; the templates as they
are must. Some mutants are made by hand, others are drawn: CHECK_MUTANTS says how many, CHECK_SEED which ones. All of them
are mutants.py's.
"""
import os
import pathlib
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

from mutants import SURVIVED, Laboratory, read_list, summary, table
from mutate import Generator
from handmade import MUTANTS, SPACES  # noqa: E402  in the folder that mutate adds
from sources import Source
from compiler import Compiler, NoCompiler
from tuner import Tuner, is_ok

PROGRAM, TEMPLATES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
COUNT, SEED = int(os.environ.get("CHECK_MUTANTS", 24)), int(os.environ.get("CHECK_SEED", 1))


class Mutants(unittest.TestCase):
    tuner = Tuner(PROGRAM, "soft:h200,races")

    def outcomes(self, family, source):
        """What became of the only configuration of a family with this source."""
        try:
            return self.tuner.tune(family, SPACES[family], source, "64x127x512")
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))

    def test_templates_pass_as_they_are(self):
        for family in SPACES:
            with self.subTest(family):
                found = self.outcomes(family, Source(TEMPLATES, family).text)
                self.assertTrue(is_ok(found), found)

    def test_templates_pass_where_every_lane_arrives(self):  # as they are rendered for racecheck
        for family in ("simt_ws", "simt_cluster"):
            with self.subTest(family):
                source = Source(TEMPLATES, family).text
                self.assertIn("#ifndef GT_CHECKED\n", source)
                found = self.outcomes(family, "#define GT_CHECKED 1\n" + source)
                self.assertTrue(is_ok(found), found)

    def test_no_mutant_passes(self):
        sources = {family: Source(TEMPLATES, family).text for family in SPACES}
        for family, wrong, right_text, _ in MUTANTS:
            self.assertEqual(sources[family].count(right_text), 1, f"{family} has changed: find again what {wrong}")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda m: self.outcomes(m[0], sources[m[0]].replace(m[2], m[3])), MUTANTS))
        for (family, wrong, _, _), found in zip(MUTANTS, outcomes):
            with self.subTest(family + " " + wrong):
                self.assertTrue(all(outcome not in ("ok", "compile_error") or "never waits" in detail
                                    for outcome, detail in found), found)
                for outcome, detail in found:  # the software GPU says where
                    self.assertTrue(outcome != "crash" or "line" in detail, detail)

    def test_no_generated_mutant_passes(self):
        print(f"seed {SEED}", flush=True)
        gaps = [line.split(":")[0] for line in read_list("survivors.txt")]
        try:
            laboratory = Laboratory(Generator(TEMPLATES, SEED), Tuner(PROGRAM, "soft:h200"), Compiler(PROGRAM, "sm_90a"))
            results = list(laboratory.run(COUNT, os.cpu_count()))
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))
        print(table(results), summary(results), sep="\n")
        for result in results:
            with self.subTest(str(result.mutant)):
                self.assertTrue(result.verdict != SURVIVED or result.mutant.name in gaps, result.why)


if __name__ == "__main__":
    unittest.main()
