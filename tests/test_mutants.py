#!/usr/bin/env python3
"""Production templates with a bug each, through the whole tuner on the software GPU: test_mutants.py PROGRAM TEMPLATES.

A mutant is a family of its own, with one configuration that takes the broken path. None may pass; the templates as they
are must.
"""
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

PROGRAM, TEMPLATES = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))

# One configuration of each family: K is shared within blocks, clusters and through the workspace. Rows of C and B begin
# anywhere.
SPACES = {
    "simt": """SELECT 32 AS bm, 64 AS bn, 16 AS bk, 16 AS wm, 32 AS wn, 4 AS tm, 4 AS tn, 3 AS stages, 2 AS split_k,
               1 AS "group", 1 AS load, 1 AS occ, 3 AS ptxas, 128 AS threads, 19200 AS smem_bytes, 128 AS regs,
               2 * 32 * 64 * 4 AS ws_tile""",
    "simt_ws": """SELECT 64 AS bm, 128 AS bn, 32 AS bk, 32 AS wm, 64 AS wn, 8 AS tm, 8 AS tn, 3 AS stages, 0 AS kmajor,
                  1 AS stream_k, 1 AS "group", 2 AS occ, 2 AS repack, 1 AS ptxas, 20 AS blocks, 256 AS threads,
                  75264 AS smem_bytes, 128 AS regs, 2 * 64 * 128 * 4 AS ws_tile, 1 AS dependent_launch""",
    "simt_cluster": """SELECT 32 AS bm, 64 AS bn, 64 AS bk, 32 AS wm, 32 AS wn, 4 AS tm, 8 AS tn, 4 AS slices, 3 AS stages,
                       2 AS kmajor, 2 AS cluster_k, 4 AS split_k, 0 AS repack, 1 AS occ, 1 AS ptxas, 384 AS threads,
                       76800 AS smem_bytes, 2 AS cluster_y, 168 AS regs, 2 * 32 * 64 * 4 AS ws_tile""",
}

# A family, what is wrong with it, and how that is written.
MUTANTS = [
    ("simt", "reads a stage before all have filled it",
     "                    wait_copies<STAGES - 2>();\n                    __syncthreads();\n",
     "                    wait_copies<STAGES - 2>();\n"),
    ("simt", "waits for one copy too few", "                    wait_copies<STAGES - 2>();\n",
     "                    wait_copies<STAGES - 1>();\n"),
    ("simt", "leaves out a part of K", "for (int s = 1; s < SPLIT_K; s++)", "for (int s = 2; s < SPLIT_K; s++)"),
    ("simt", "leaves its counter", "        g.counters[tile] = 0;", "        g.counters[tile] = 1;"),
    ("simt_ws", "leaves out a block's part", "for (unsigned block = first; block < blockIdx.x; block++) {",
     "for (unsigned block = first + 1; block < blockIdx.x; block++) {"),
    ("simt_ws", "leaves its flags", "*flag_of(g, block) = 0;", "*flag_of(g, block) = 2;"),
    ("simt_ws", "does a step twice", "return all / BLOCKS * block + (block < rest ? block : rest);",
     "return all / BLOCKS * block + (block < rest ? block : rest) - (block == 3);"),
    ("simt_ws", "drops the end of a tile", "s.end = turn == 0 ? end - s.tile * steps : steps;",
     "s.end = turn == 0 ? end - s.tile * steps : steps - 1;"),
    ("simt_ws", "reads a stage that is not full",
     "                if (!ready)\n                    gt_mbarrier_wait(full + at.stage * GT_MBARRIER_BYTES, at.phase);\n", ""),
    ("simt_ws", "fills a stage that is being read",
     "        gt_mbarrier_wait(r.empty + at.stage * GT_MBARRIER_BYTES, at.phase);\n", ""),
    ("simt_ws", "stops short of the end of K", "BK) + UNROLLED - 1) / UNROLLED", "BK)) / UNROLLED"),
    ("simt_ws", "mistakes its neighbour's sum", "staging[e + lane]", "staging[e + (lane ^ 1)]"),
    ("simt_ws", "copies B without the last of its columns", "along < (ALONG_K ? k_left : outer_left))",
     "along < (ALONG_K ? k_left : outer_left - 1))"),
    ("simt_ws", "never waits for what came before", "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n", ""),
    ("simt_cluster", "overwrites stages that are being read", "    consumers_sync(); // nobody reads stages any more\n", ""),
    ("simt_cluster", "reads K-slice groups' partial sums before they are there",
     "piece(sum, p));\n    consumers_sync();\n", "piece(sum, p));\n"),
    ("simt_cluster", "reads blocks' partial sums before they are there",
     "    cluster_arrive<WROTE>();\n    cluster_wait();\n", ""),
    ("simt_cluster", "overwrites partial sums that are being read",
     "(SLICES > 1 ? FOUR_BYTES * SLICES * PIECES * SLICE_THREADS : 0)", "0"),
    ("simt_cluster", "mistakes the order of a pair", "(k + e % STEPS) % HELD", "(k + (e + 1) % STEPS) % HELD"),
    ("simt_cluster", "mistakes its place in the cluster", "return blockIdx.y % CLUSTER_K;",
     "return (blockIdx.y + 1) % CLUSTER_K;"),
    ("simt_cluster", "loses partial sums", "for (int l = 1; l < COUNT; l++)", "for (int l = 2; l < COUNT; l++)"),
    ("simt_cluster", "drops the last step of K", "/ BK * part / SPLIT_K;", "/ BK * part / SPLIT_K - (part == SPLIT_K);"),
    ("simt_cluster", "leaves its counter", "        *counter = 0;", "        *counter = 1;"),
]


def whole(family):
    """A template with its headers in their places, each where it is first asked for."""
    seen = set()

    def expand(name):
        if name in seen:
            return ""
        seen.add(name)
        return re.sub(r'^#include "(.*)"$', lambda include: expand(include[1]), (TEMPLATES / name).read_text(),
                      flags=re.MULTILINE)

    return expand(family + ".cu")


class Mutants(unittest.TestCase):
    def outcomes(self, family, source):
        """What became of the only configuration of a family with this source."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, family + ".cu").write_text(source)
            pathlib.Path(folder, family + ".sql").write_text(SPACES[family])
            database = os.path.join(folder, "m.db")
            run = subprocess.run([PROGRAM, "tune", "--device", "soft:h200,races", "--db", database, "--templates", folder,
                                  "--family", family, "--shapes", "64x127x512", "--quiet"], capture_output=True, text=True,
                                 timeout=200, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
            if "NVRTC" in run.stderr:
                raise unittest.SkipTest(run.stderr)
            with sqlite3.connect(database) as db:
                return db.execute("SELECT DISTINCT outcome, detail FROM trial").fetchall()

    def test_templates_pass_as_they_are(self):
        for family in SPACES:
            with self.subTest(family):
                found = self.outcomes(family, whole(family))
                self.assertTrue(found and all(outcome == "ok" for outcome, _ in found), found)

    def test_templates_pass_where_every_lane_arrives(self):  # as they are rendered for racecheck
        for family in ("simt_ws", "simt_cluster"):
            with self.subTest(family):
                source = whole(family)
                self.assertIn("#ifndef GT_CHECKED\n", source)
                found = self.outcomes(family, "#define GT_CHECKED 1\n" + source)
                self.assertTrue(found and all(outcome == "ok" for outcome, _ in found), found)

    def test_no_mutant_passes(self):
        sources = {family: whole(family) for family in SPACES}
        for family, wrong, right_text, _ in MUTANTS:
            self.assertEqual(sources[family].count(right_text), 1, f"{family} has changed: find again what {wrong}")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda m: self.outcomes(m[0], sources[m[0]].replace(m[2], m[3])), MUTANTS))
        for (family, wrong, _, _), found in zip(MUTANTS, outcomes):
            with self.subTest(family + " " + wrong):
                self.assertTrue(found and all(outcome not in ("ok", "compile_error") or "never waits" in (detail or "")
                                              for outcome, detail in found), found)
                for outcome, detail in found:  # the software GPU says where
                    self.assertTrue(outcome != "crash" or "line" in detail, detail)


if __name__ == "__main__":
    unittest.main()
