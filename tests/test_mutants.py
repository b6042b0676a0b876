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
import types
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.dont_write_bytecode = True
from mutants import SURVIVED, Laboratory, summary, table
from mutate import Generator
from compiler import Compiler, NoCompiler  # from here on in the folder that mutate adds
from equivalents import read_list, reason_of, reasons
from handmade import HandMade, SPACES, Written
from sources import Source
from spaces import configurations
from tuner import Tuner, is_ok, is_uncompilable

PROGRAM, TEMPLATES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
COUNT, SEED = int(os.environ.get("CHECK_MUTANTS", 2)), os.environ.get("CHECK_SEED")
TRIES = 2


class Mutants(unittest.TestCase):
    def tune(self, families, timeout, tries=1):
        """What became of each (family, configuration, source)."""
        tuner = Tuner(PROGRAM, "soft:h200", timeout, tries)
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                return list(pool.map(lambda f: tuner.tune(f[0], f[1].space(), f[2], *f[1].product), families))
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))

    def assert_pass(self, sources):
        families = [(family, Written(family), text) for family, text in sources]
        for (family, _), found in zip(sources, self.tune(families, "120s")):  # the machine may be busy
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

    def test_a_line_about_ways_explains_no_wrong_numbers(self):
        line = ("a.cu", "way", "if (left >= WIDTH)", "*", "vectors are loaded by elements")
        mutant = types.SimpleNamespace(before="if (left >= WIDTH) {", after="", file="a.cu", function="", subject="simt",
                                       configuration=types.SimpleNamespace(name="vectors"))
        for mutant.name, expected in ("guard", line[-1]), ("comparison", line[-1]), ("tail", None), ("arithmetic", None):
            self.assertEqual(reason_of(mutant, [line]), expected)

    def test_a_rule_explains_no_more_than_it_proves(self):
        def explained(name, before, after, configuration="persistent"):  # of mma_ws, with three blocks, or one for each tile
            mutant = types.SimpleNamespace(name=name, before=before, after=after, file="", function="", subject="mma_ws",
                                           configuration=types.SimpleNamespace(name=configuration))
            return reason_of(mutant, []) is not None

        self.assertTrue(explained("comparison", "return all - first < share ? all - first : share;",
                                  "return all - first <= share ? all - first : share;"))
        self.assertFalse(explained("comparison", "i < m ? m : i", "i <= m ? m : i"))
        self.assertFalse(explained("comparison", "i < m ? i : m", "i > m ? i : m"))
        self.assertFalse(explained("comparison", "j < n ? j : n, i < m", "j < n ? j : n, i <= m"))
        self.assertTrue(explained("narrow", "const gt_int row = tile.row * BM;", "const int row = tile.row * BM;"))
        self.assertFalse(explained("narrow", "const gt_int at = row * g.ldc;", "const int at = row * g.ldc;"))
        self.assertTrue(explained("constant", "all = (g.k + BK - 1) / BK;", "all = (g.k + BK - 0) / BK;"))
        self.assertFalse(explained("constant", "all = (g.k + BK - 1) / BK;", "all = (g.k + BK - 2) / BK;"))
        self.assertTrue(explained("loop", "for (int u = 0; u < WIDTH; u++)", "for (int u = 0; u < WIDTH + 1; u++)"))
        self.assertFalse(explained("loop", "for (int u = 0; u < WIDTH; u++)", "for (int u = 1; u < WIDTH; u++)"))
        self.assertFalse(explained("loop", "for (int u = 0; u < count; u++)", "for (int u = 0; u < count + 1; u++)"))
        tiles = "for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x)"
        self.assertTrue(explained("lane", tiles, tiles.replace("blockIdx.x", "(blockIdx.x & 7)")))
        self.assertFalse(explained("lane", tiles, tiles.replace("blockIdx.x", "(blockIdx.x & 7)"), "tiles"))
        self.assertTrue(explained("loop", tiles, tiles.replace("+= ", "+= 2 * "), "tiles"))
        self.assertFalse(explained("loop", tiles, tiles.replace("+= ", "+= 2 * ")))
        self.assertTrue(explained("constant", "multiply_wait<1>();", "multiply_wait<0>();"))
        self.assertFalse(explained("constant", "multiply_wait<1>();", "multiply_wait<2>();"))
        self.assertTrue(explained("constant", "gt_wait_copies<STAGES - 1>();", "gt_wait_copies<STAGES - 2>();"))
        self.assertFalse(explained("constant", "gt_wait_copies<STAGES - 1>();", "gt_wait_copies<STAGES - 0>();"))
        self.assertTrue(explained("lane", "threadIdx.x / 128", "(threadIdx.x & ~32) / 128"))
        self.assertFalse(explained("lane", "threadIdx.x / 32", "(threadIdx.x & ~32) / 32"))
        wgmma = types.SimpleNamespace(name="arithmetic", before="int steps = plan.end - plan.first;", file="", function="",
                                      after="int steps = plan.end + plan.first;", subject="wgmma")
        for name, expected in ("copied", True), ("split", False):  # all of K, or parts of it
            wgmma.configuration = types.SimpleNamespace(name=name)
            self.assertEqual(reason_of(wgmma, []) is not None, expected)
        self.assertTrue(explained("order", "gt_wait(); const int warp = threadIdx.x / 32;",
                                  "const int warp = threadIdx.x / 32; gt_wait();"))
        self.assertFalse(explained("order", "__syncwarp(); sum = staging[threadIdx.x];",
                                   "sum = staging[threadIdx.x]; __syncwarp();"))

    def test_machine_code_tells_what_is_a_mutant(self):
        try:
            compiler = Compiler(PROGRAM, "sm_90a")
        except NoCompiler as error:
            raise unittest.SkipTest(str(error))
        configuration, text = configurations("batched")[0], Source(TEMPLATES, "batched").text

        def code(source):
            return compiler.assemble("batched", configuration.space(), source, *configuration.product)

        product = "sum[i][j] += x[i] * y[j];"
        self.assertIn(product, text)
        self.assertEqual(code(text), code(text.replace(product, "sum[i][j] += y[j] * x[i];")))
        self.assertNotEqual(code(text), code(text.replace(product, "sum[i][j] -= x[i] * y[j];")))

    def test_no_mutant_made_by_hand_passes(self):
        made = list(HandMade(TEMPLATES))
        seed = int(SEED or time.time())  # all are known to be rejected, so each run may try others
        drawn = random.Random(seed).sample(made, min(2 * COUNT, len(made)))
        print(f"made by hand: {len(drawn)} of {len(made)}, seed {seed}", flush=True)
        found_of = self.tune([(mutant.family, mutant.configuration, mutant.text) for mutant in drawn], "60s", TRIES)
        for mutant, found in zip(drawn, found_of):
            with self.subTest(str(mutant)):
                self.assertTrue(not is_ok(found) and not is_uncompilable(found), found)
                for outcome, detail in found:  # the software GPU says where
                    self.assertTrue(outcome != "crash" or "line" in detail, detail)

    def test_sums_of_8_bit_floats_are_promoted(self):
        text, promotes = Source(TEMPLATES, "mma").text, "                if (is_promoted(t, k))\n"
        self.assertEqual(text.count(promotes), 1)
        space = """SELECT 32 AS bm, 32 AS bn, 64 AS bk, 16 AS wm, 16 AS wn, 2 AS stages, 2 AS fragments, 1 AS split_k,
            1 AS "group", 0 AS load, 1 AS store, 1 AS occ, 0 AS repack, 128 AS threads, 128 AS regs,
            max(2 * 64 * (32 + 32), 4 * 16 * (16 + 8) * 4) AS smem_bytes, :cc >= 90 AS dependent_launch"""
        never = text.replace(promotes, "                if (false)\n")
        seldom = text.replace(promotes, "                if (is_promoted(t, k) && t % 16 == 15)\n")
        tuner = Tuner(PROGRAM, "soft:rtx4090")
        for pair, wrong in ("e4m3", never), ("e5m2_e4m3_f32", seldom):
            self.assertTrue(is_ok(tuner.tune("mma", space, text, "40x36x300", "nn", pair)))
            found = tuner.tune("mma", space, wrong, "40x36x300", "nn", pair)
            self.assertTrue(all(outcome == "wrong_result" and "one large product" in detail
                                for outcome, detail in found), found)

    def test_no_generated_mutant_passes(self):
        seed = int(SEED or 1)  # the same ones each time: which of all are equivalent is not known
        print(f"generated: {COUNT}, seed {seed}", flush=True)
        gaps = [line.split(":")[0] for line in read_list("survivors.txt")]
        try:
            laboratory = Laboratory(Generator(TEMPLATES, seed), [Tuner(PROGRAM, "soft:h200", "10s", TRIES)],
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
