#!/usr/bin/env python3
"""Production templates with a bug each, through the whole tuner on the software GPU: test_mutants.py PROGRAM TEMPLATES.

A mutant is a family of its own, with one configuration that takes the broken path. None may pass; the templates as they
are must. A sample is tried, of those made by hand and of those that mutants.py generates: CHECK_MUTANTS says how many of
each, CHECK_SEED which ones. Checks draw other data each time: a mutant that passes is told of and tried once more.
"""
import os
import pathlib
import random
import sys
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from mutants import SURVIVED, Laboratory, read_list, reasons, summary, table
from mutate import Generator
from compiler import Compiler, NoCompiler  # from here on in the folder that mutate adds
from handmade import MUTANTS, SPACES, SPLIT, SPLIT_MMA, WGMMA
from sources import Source
from spaces import configurations
from tuner import Tuner, is_ok

PROGRAM, TEMPLATES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
COUNT, SEED = int(os.environ.get("CHECK_MUTANTS", 4)), os.environ.get("CHECK_SEED")
TRIES = 2


class Mutants(unittest.TestCase):
    def outcomes(self, sources, timeout="10s", tries=1):
        """What became of the only configuration of each (family, source)."""
        tuner = Tuner(PROGRAM, "soft:h200", timeout, tries)
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return list(pool.map(lambda s: tuner.tune(s[0], SPACES[s[0]], s[1], "64x127x512"), sources))
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))

    def assert_pass(self, sources):
        for (family, _), found in zip(sources, self.outcomes(sources, timeout="120s")):  # the machine may be busy
            with self.subTest(family):
                self.assertTrue(is_ok(found), found)

    def test_templates_pass_as_they_are(self):
        self.assert_pass([(family, Source(TEMPLATES, family).text) for family in SPACES])

    def test_templates_pass_where_every_lane_arrives(self):  # as they are rendered for racecheck
        sources = [(family, Source(TEMPLATES, family).text) for family in ("simt_ws", "simt_cluster")]
        for _, text in sources:
            self.assertIn("#ifndef GT_CHECKED\n", text)
        self.assert_pass([(family, "#define GT_CHECKED 1\n" + text) for family, text in sources])

    def test_code_that_equivalents_are_of_is_still_there(self):
        texts = {file.name: " ".join(file.read_text().split()) for file in TEMPLATES.glob("*.cu*")}
        for place, _, before, _, _ in reasons():
            file, part = place.partition(":")[0], " ".join(before.split())
            with self.subTest(f"{place} :: {before}"):
                self.assertTrue(part == "*" or any(part in text for name, text in texts.items() if file in ("*", name)))

    def test_no_mutant_passes(self):
        sources = {family: Source(TEMPLATES, family).text for family in SPACES}
        for family, wrong, right_text, _ in MUTANTS:
            self.assertEqual(sources[family].count(right_text), 1, f"{family} has changed: find again what {wrong}")
        seed = int(SEED or time.time())  # all are known to be rejected, so each run may try others
        drawn = random.Random(seed).sample(MUTANTS, min(COUNT, len(MUTANTS)))
        print(f"made by hand: {len(drawn)} of {len(MUTANTS)}, seed {seed}", flush=True)
        found_of = self.outcomes([(m[0], sources[m[0]].replace(m[2], m[3])) for m in drawn], tries=TRIES)
        for (family, wrong, _, _), found in zip(drawn, found_of):
            with self.subTest(family + " " + wrong):
                self.assertTrue(all(outcome not in ("ok", "compile_error") or "never waits" in detail
                                    for outcome, detail in found), found)
                for outcome, detail in found:  # the software GPU says where
                    self.assertTrue(outcome != "crash" or "line" in detail, detail)

    def test_no_mutant_of_wgmma_or_split_passes(self):
        made_of = {"wgmma": WGMMA, "split": SPLIT, "split_mma": SPLIT_MMA}
        made = [(family, *mutant) for family, mutants in made_of.items() for mutant in mutants]
        texts = {family: Source(TEMPLATES, family).text for family in made_of}
        named = {c.key: c for family in texts for c in configurations(family)}
        for family, _, wrong, right_text, _ in made:
            self.assertEqual(texts[family].count(right_text), 1, f"{family} has changed: find again what {wrong}")
        seed = int(SEED or time.time())
        drawn = random.Random(seed).sample(made, min(COUNT, len(made)))
        print(f"made by hand of wgmma and split: {len(drawn)} of {len(made)}, seed {seed}", flush=True)
        tuner = Tuner(PROGRAM, "soft:h200", "60s", TRIES)

        def tune(mutant):
            family, name, _, right_text, wrong_text = mutant
            configuration = named[family, name]
            return tuner.tune(family, configuration.space(), texts[family].replace(right_text, wrong_text),
                              *configuration.product)

        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found_of = list(pool.map(tune, drawn))
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))
        for (family, _, wrong, _, _), found in zip(drawn, found_of):
            with self.subTest(f"{family} {wrong}"):
                self.assertTrue(all(outcome not in ("ok", "compile_error") for outcome, _ in found), found)

    def test_sums_of_8_bit_floats_are_promoted(self):
        text, promotes = Source(TEMPLATES, "mma").text, "                if (is_promoted(t, k))\n"
        self.assertEqual(text.count(promotes), 1)
        space = """SELECT 32 AS bm, 32 AS bn, 64 AS bk, 16 AS wm, 16 AS wn, 2 AS stages, 2 AS fragments, 1 AS split_k,
            1 AS "group", 0 AS load, 1 AS store, 1 AS occ, 0 AS repack, 128 AS threads, 128 AS regs,
            max(2 * 64 * (32 + 32), 4 * 16 * (16 + 8) * 4) AS smem_bytes, :cc >= 90 AS dependent_launch"""
        never = text.replace(promotes, "                if (false)\n")
        seldom = text.replace(promotes, "                if (is_promoted(t, k) && t % 16 == 15)\n")
        tuner = Tuner(PROGRAM, "soft:rtx4090")
        for types, wrong in ("e4m3", never), ("e5m2_e4m3_f32", seldom):
            self.assertTrue(is_ok(tuner.tune("mma", space, text, "40x36x300", "nn", types)))
            found = tuner.tune("mma", space, wrong, "40x36x300", "nn", types)
            self.assertTrue(all(outcome == "wrong_result" and "one large product" in detail
                                for outcome, detail in found), found)

    def test_no_generated_mutant_passes(self):
        seed = int(SEED or 1)  # the same ones each time: which of all are equivalent is not known
        print(f"generated: {COUNT}, seed {seed}", flush=True)
        gaps = [line.split(":")[0] for line in read_list("survivors.txt")]
        try:
            laboratory = Laboratory(Generator(TEMPLATES, seed), Tuner(PROGRAM, "soft:h200", "10s", TRIES),
                                    Compiler(PROGRAM, "sm_90a"))
            results = list(laboratory.run(COUNT, os.cpu_count()))
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))
        print(table(results), summary(results), sep="\n")
        for result in results:
            with self.subTest(str(result.mutant)):
                self.assertTrue(result.verdict != SURVIVED or result.mutant.name in gaps, result.why)


if __name__ == "__main__":
    unittest.main()
