#!/usr/bin/env python3
"""The built program as people and scripts meet it: test_cli.py PROGRAM. Needs no GPU."""
import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else "gemmtune"
COMMANDS = ("tune best ladder bench space render profile verify forget doctor run merge fit wanted why report"
            " revalidate slurm").split()


def run(*words, variables=(), **more):
    """Runs the program in an environment of its own; gives (exit code, stdout, stderr)."""
    env = {k: v for k, v in os.environ.items() if k not in ("GEMMTUNE_DB", "NO_COLOR")}
    env.update(variables)
    # NVIDIA's libraries leave memory behind when they are closed.
    env["ASAN_OPTIONS"] = "detect_leaks=0"
    env["GEMMTUNE_DB"] = os.path.join(FOLDER.name, "none", "gemmtune.db")
    done = subprocess.run([PROGRAM, *words], env=env, text=True, timeout=120, stdin=subprocess.DEVNULL,
                          **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})
    return done.returncode, done.stdout, done.stderr


class CommandLine(unittest.TestCase):
    def refused(self, *words, says, code=2):
        got, out, err = run(*words)
        self.assertEqual(got, code, f"{words}: {err}")
        self.assertEqual(out, "")
        self.assertTrue(err.startswith("gemmtune: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn(says, err)

    def test_help_fits_a_screen(self):
        for words in [["--help"], ["-h"], *([c, "--help"] for c in COMMANDS)]:
            code, out, err = run(*words)
            self.assertEqual((code, err), (0, ""))
            lines = out.splitlines()
            self.assertLessEqual(len(lines), 24, words)
            self.assertLessEqual(max(map(len, lines)), 80, words)
            self.assertIn("Usage: gemmtune", out)
            self.assertRegex(out, "[Ee]xample")

    def test_help_of_tune_names_every_option(self):
        out = run("tune", "--help")[1]
        for option in "wanted top jobs nvrtc shapes quiet".split():
            self.assertRegex(out, f"--{option}\\b")

    def test_help_names_every_command(self):
        out = run("--help")[1]
        for command in COMMANDS:
            self.assertIn(f"  {command} ", out)

    def test_version_is_one_line(self):
        code, out, err = run("--version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^gemmtune \d+\.\d+\.\d+\n$")

    def test_bad_words_end_with_two_and_one_line(self):
        self.refused("--shape", "64", says="did you mean '--shapes'?")
        self.refused("tun", says="did you mean 'tune'?")
        self.refused("frobnicate", says="unknown command")
        self.refused("worker", says="unknown command")
        self.refused("worker", "x", says="unknown command")
        self.refused("why", says="needs a SHAPE")
        self.refused("why", "64,128", says="one shape")
        self.refused("render", says="needs a FAMILY")
        self.refused("best", "4096", says="no operand")
        self.refused("best", "--effort", "full", says="takes no --effort")
        self.refused("--shapes", says="needs a value")
        self.refused("--shapes", "", says="empty")
        self.refused("--device", "soft:nothing", says="h200 a100 rtx4090 t4")
        self.refused("--device", "soft:h200,racing", says="races")
        self.refused("--family", "smit", says="did you mean 'simt'?")
        self.refused("ladder", "--family", "smit", says="did you mean 'simt'?")
        self.refused("space", "smit", says="did you mean 'simt'?")
        self.refused("space", "--all", says="gemmtune space FAMILY --all")
        self.refused("profile", "simt", "--params", "bm=100", says="bm=100")
        self.refused("forget", says="one of --kernel, --family and --shapes")
        self.refused("forget", "--kernel", "1", "--shapes", "64", says="one of --kernel, --family and --shapes")
        self.refused("forget", "--family", "simt", "--layout", "nt", says="--layout with --shapes only")
        self.refused("forget", "simt", says="no operand")
        self.refused("verify", "--kernel", "1", says="takes no --kernel")

    def test_bad_shapes_are_named(self):
        for item, says in [("0", "at least 1"), ("-1", "negative"), ("4x4", "two sizes"), ("a", "'a'"),
                           ("99999999999999999999", "64 bits"), ("@/nowhere", "No such file")]:
            self.refused("--shapes", item, says=says)
            self.refused("space", "--shapes", "64," + item, says=says)
        self.refused("--shapes", "4000000000x4000000000x1", says="4000000000x4000000000x1")

    def test_odd_bytes_stay_one_plain_line(self):
        self.refused("--shapes", "\x1b[31m\n7", says="shape")
        self.refused("--device", "\n\n", says="--device")

    def test_without_a_gpu_tuning_says_so(self):
        if run("doctor")[0] == 0:
            self.skipTest("there is a GPU here")
        code, out, err = run("tune", "--shapes", "64", "-q")
        self.assertEqual(code, 1)
        self.assertTrue(err.startswith("gemmtune: "), err)


class Output(unittest.TestCase):
    def test_json_is_json(self):
        for words in [["space"], ["space", "coalesced"], ["space", "coalesced", "--all", "--shapes", "64,128"],
                      ["space", "coalesced", "--shapes", "64,128"], ["space", "wmma", "--all"]]:
            code, out, err = run(*words, "--json", "--arch", "sm_80")
            self.assertEqual((code, err), (0, ""), words)
            self.assertIsInstance(json.loads(out), list)
        report = json.loads(run("doctor", "--json")[1])
        self.assertIn("ready", report)
        self.assertLessEqual({c["mark"] for c in report["checks"]}, {"ok", "warning", "missing"})

    def test_profile_counts_every_multiply_add(self):
        code, out, err = run("profile", "tile2d", "--shapes", "64x96x32", "--json")
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual(code, 0, err)
        counts = {row["what"]: row["value"] for row in json.loads(out)}
        self.assertGreaterEqual(counts["multiply-adds"], 64 * 96 * 32 / 32)
        self.assertGreater(counts["time, modelled"], 0)

    def test_space_counts_what_it_lists(self):
        count = json.loads(run("space", "coalesced", "--arch", "90", "--json")[1])[0]["configurations"]
        rows = json.loads(run("space", "coalesced", "--arch", "90", "--json", "--all")[1])
        self.assertEqual(len(rows), count)
        self.assertGreater(count, 0)

    def test_no_colours_in_a_pipe(self):
        for words in [["doctor"], ["space", "--arch", "80"], ["--help"]]:
            self.assertNotIn("\x1b", "".join(map(str, run(*words))))

    def test_a_full_disk_is_a_failure(self):
        with open("/dev/full", "w") as full:
            for words in [["--help"], ["space", "simt", "--all", "--arch", "90"]]:
                code, _, err = run(*words, stdout=full)
                self.assertEqual(code, 1, words)
                self.assertIn("cannot write the output", err)

    def test_a_closed_output_is_a_failure(self):
        code = subprocess.run(["sh", "-c", '"$0" space --arch 80 >&-', PROGRAM], stderr=subprocess.DEVNULL).returncode
        self.assertEqual(code, 1)

    def test_a_reader_that_leaves_is_no_failure(self):
        script = '{ "$0" space simt --all --arch 90; echo "code $?" >&2; } | head -1'
        done = subprocess.run(["sh", "-c", script, PROGRAM], text=True, capture_output=True)
        self.assertEqual(done.stderr, "code 0\n")
        self.assertEqual(done.stdout.count("\n"), 1)


class Render(unittest.TestCase):
    def fails(self, *words, says):
        code, out, err = run("render", *words, "--arch", "90")
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn(says, err)

    def test_the_chosen_parameters_are_in_the_source(self):
        code, out, err = run("render", "simt", "--params", "bm=128 bn=64", "--arch", "90")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("#define BM 128\n", out)
        self.assertIn("#define BN 64\n", out)

    def test_the_same_words_give_the_same_bytes(self):
        self.assertEqual(*(run("render", "simt", "--arch", "90")[1] for _ in range(2)))

    def test_a_source_may_be_rendered_into_the_folder_of_its_family(self):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        with open(os.path.join(folder, "mine.cu"), "w") as kernel, open(os.path.join(folder, "mine.sql"), "w") as space:
            kernel.write("// BM BN\n")
            space.write("SELECT 16 AS bm, 16 AS bn, 256 AS threads")
        with open(os.path.join(folder, "full.cu"), "w") as full:
            code, _, err = run("render", "mine", "--templates", folder, "--arch", "90", stdout=full)
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(run("space", "--templates", folder, "--arch", "90")[0], 0)
        self.fails("full", "--templates", folder, says="full.sql")

    def test_what_does_not_fit_is_named(self):
        self.fails("smit", says="did you mean 'simt'?")
        self.fails("simt", "--params", "bx=1", says="no parameter 'bx'")
        self.fails("simt", "--params", "bm=100", says="bm=100")
        self.fails("simt", "--params", "bm", says="no value")
        self.fails("simt", "--params", "bm=wide", says="whole number")
        self.fails("simt", "--shapes", "64,128", says="one shape")


class Advice(unittest.TestCase):
    def test_it_names_the_device_that_was_used(self):
        path = os.path.join(FOLDER.name, "nowhere.db")
        for command in ["bench", "verify"]:
            code, out, err = run(command, "--device", "soft:a100", "--db", path)
            if "NVRTC" in err:
                self.skipTest(err)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(f"run `gemmtune --device soft:a100 --db {path}`", err)

    def test_what_reads_a_database_makes_none(self):
        path = os.path.join(FOLDER.name, "none.db")
        for words in [["best"], ["why", "64"], ["report"], ["forget", "--shapes", "64"], ["fit", "--device", "soft"],
                      ["revalidate", "--device", "soft"]]:
            with self.subTest(words[0]):
                code, out, err = run(*words, "--db", path)
                self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
                self.assertIn(f"{path}: no database here; run `gemmtune --db {path}`", err)
                self.assertFalse(os.path.exists(path))

    def test_fit_needs_the_gpu_whose_trials_it_fits(self):
        with unittest.mock.patch.dict(os.environ, GEMMTUNE_DRIVER="/nowhere/libcuda.so.1"):
            code, out, err = run("fit", "--db", os.path.join(FOLDER.name, "none.db"))
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        self.assertIn("/nowhere/libcuda.so.1", err)

    def test_fit_prints_one_json_value_for_all_types_and_takes_those_that_are_named(self):
        path = os.path.join(FOLDER.name, "trials.txt")
        with open(path, "w") as file:
            file.write("device cc=90 sm_count=132 clock_khz=1980000 l2_bytes=62914560 memory_bytes=150109880320 name=H200\n")
            for type in ["f32", "f64"]:
                for size in range(64, 264, 8):
                    file.write(f"{type} strict none nn 16\t{size}x64x64x1\t{size / 16}\tnaive\t32\ttile_m=16 tile_n=16 threads=256"
                               "\tbm=16 bn=16\n")
        code, out, err = run("fit", "--trials", path, "--json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual([row["type"] for row in json.loads(out)], ["f32", "f64"])
        code, out, err = run("fit", "--trials", path, "--json", "--type", "f64")
        self.assertEqual([row["type"] for row in json.loads(out)], ["f64"])
        code, out, err = run("fit", "--trials", path, "--type", "s8")
        self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
        for word in ["--save", "--db"]:
            code, out, err = run("fit", "--trials", path, word, os.path.join(FOLDER.name, "other"))
            self.assertEqual((code, out, err.count("\n")), (2, "", 1), err)

    def test_a_compiler_that_is_named_and_cannot_be_loaded_is_told_of(self):
        for words, env in [(["--nvrtc", "/nowhere/libnvrtc.so"], {}), ([], {"GEMMTUNE_NVRTC": "/nowhere/libnvrtc.so"})]:
            with unittest.mock.patch.dict(os.environ, env):
                code, out, err = run("profile", "naive", "--shapes", "16", *words)
            self.assertEqual((code, out, err.count("\n")), (1, "", 1), err)
            self.assertIn("cannot load NVRTC '/nowhere/libnvrtc.so'", err)

    def test_profile_says_that_it_counts_on_the_software_gpu(self):
        code, out, err = run("profile", "naive", "--shapes", "16", "--device", "0")
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual(code, 0, err)
        self.assertIn("profile counts on the software GPU, not on device 0", err)

    def test_a_file_that_may_not_grow_is_told_of(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (40960, 40960))
        code, out, err = run("tune", "--device", "soft", "--shapes", "16", "--budget", "1s", "--db",
                             os.path.join(FOLDER.name, "small", "x.db"), preexec_fn=limit)
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual(code, 1)
        self.assertIn("x.db", err)


class Regret(unittest.TestCase):
    def test_what_untuned_and_normal_lose_is_measured_outside_the_users_database(self):
        path = os.path.join(FOLDER.name, "regret.db")
        code, out, err = run("tune", "--device", "soft", "--shapes", "1x15x15", "--layout", "nt", "--effort", "quick",
                             "--budget", "1s", "--db", path)
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual(code, 0, err)
        with open(path, "rb") as file:
            before = file.read()
        scratch = os.path.join(FOLDER.name, "scratch")
        words = ["bench", "--device", "soft", "--regret", "1", "--seed", "20", "--budget", "2s", "--db", path]
        code, out, err = run(*words, variables={"TMPDIR": scratch})
        self.assertEqual(code, 1)
        self.assertIn(f"in {scratch}: name another one by TMPDIR", err)
        os.mkdir(scratch)
        code, out, err = run(*words, variables={"TMPDIR": scratch})
        self.assertEqual(code, 0, err)
        row = next(line for line in out.splitlines() if "1x7x11" in line).split()
        untuned, normal = float(row[-2]), float(row[-1])
        self.assertTrue(min(untuned, normal) >= 1.0 and max(untuned, normal) < 100)
        self.assertIn(f"untuned: 1 shape takes {untuned:.3f} of the best known time", out)
        self.assertIn(f"normal: 1 shape takes {normal:.3f} of the best known time", out)
        self.assertIn("seed 20", out)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(scratch), [])


    def test_quiet_has_no_notes(self):
        code, out, err = run("bench", "--device", "soft", "--regret", "1", "--seed", "20", "--budget", "1s", "-q", "--db",
                             os.path.join(FOLDER.name, "nothing.db"))
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual((code, err), (0, ""))


class Trust(unittest.TestCase):
    def test_nothing_is_tuned_into_a_place_that_no_reader_trusts(self):
        folder = os.path.join(FOLDER.name, "shared")
        path = os.path.join(folder, "x.db")
        os.mkdir(folder)
        os.chmod(folder, 0o775)
        words = ["tune", "--device", "soft", "--shapes", "16", "--effort", "quick", "--budget", "1s", "--db", path]
        code, out, err = run(*words)
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"chmod go-w '{folder}'", err)
        self.assertFalse(os.path.exists(path))
        os.chmod(folder, 0o755)
        with open(path, "w"):
            os.chmod(path, 0o664)
        code, out, err = run(*words)
        self.assertEqual((code, out), (1, ""))
        self.assertIn(f"chmod go-w '{path}'", err)


class Best(unittest.TestCase):
    def test_a_missing_database_is_a_failure_that_names_it(self):
        path = os.path.join(FOLDER.name, "missing", "x.db")
        for words in [["best"], ["forget", "--family", "simt"]]:
            code, out, err = run(*words, "--db", path)
            self.assertEqual((code, out), (1, ""))
            self.assertIn(path, err)
            self.assertFalse(os.path.exists(os.path.dirname(path)))

    def test_what_is_no_database_is_refused(self):
        path = os.path.join(FOLDER.name, "text.db")
        with open(path, "w") as file:
            file.write("not a database\n" * 100)
        code, out, err = run("best", "--db", path, "--json")
        self.assertEqual((code, out), (1, ""))
        self.assertIn(path, err)


class Author(unittest.TestCase):
    """A family of one's own, tuned on the software GPU."""

    def test_a_family_that_cannot_be_launched_is_told_of_with_the_reason(self):
        folder = tempfile.mkdtemp(dir=FOLDER.name)
        with open(os.path.join(folder, "mine.cu"), "w") as kernel, open(os.path.join(folder, "mine.sql"), "w") as space:
            kernel.write("// BM BN\n")
            space.write("SELECT 16 AS bm, 16 AS bn, 12800 AS threads")
        code, out, err = run("tune", "--device", "soft", "--shapes", "16", "--templates", folder, "--family", "mine", "-q",
                             "--db", os.path.join(folder, "x.db"))
        if "NVRTC" in err:
            self.skipTest(err)
        self.assertRegex(err, "no configuration of mine can be launched; the first: f32 nn 16x16x16, mine bm=16 bn=16: "
                              "threads is 12800, outside 1 to 1024\n")


class Tuned(unittest.TestCase):
    """What is said of a database with one problem, a vector, tuned on the software GPU."""

    @classmethod
    def setUpClass(cls):
        cls.path = os.path.join(FOLDER.name, "tuned.db")
        code, out, err = run("tune", "--device", "soft", "--shapes", "50x1x30", "--effort", "quick", "--budget", "5s", "-q",
                             "--db", cls.path)
        if "NVRTC" in err:
            raise unittest.SkipTest(err)
        assert code == 0, err

    def of(self, *words):
        return run(*words, "--db", self.path)

    def test_best_finds_a_vector_by_the_sizes_that_it_was_tuned_by(self):
        for words in [["50x1x30"], ["1x50x30", "--layout", "nt"], ["1x50x30,50x1x30", "--layout", "nt"],
                      ["50x1x30", "--layout", "nn", "--type", "f32"]]:
            code, out, err = self.of("best", "--device", "soft", "--shapes", *words)
            self.assertEqual((code, err), (0, ""), words)
            self.assertRegex(out, r"\n.* nt +1 +50 +30 ", words)
        self.assertRegex(self.of("best", "--device", "soft", "--shapes", "50x1x30", "--layout", "tn")[2], "nothing .* matches")

    def test_best_says_what_would_be_taken_on_the_gpu_that_is_named(self):
        code, out, err = self.of("best", "--device", "soft", "--shapes", "60x1x30", "--layout", "nn")
        self.assertEqual((code, out), (0, ""))
        self.assertRegex(err, "f32 nt 1x60x30 align 8: not tuned; the library takes ")
        self.assertRegex(self.of("best", "--device", "soft:t4", "--shapes", "50x1x30")[2], "no kernel for .* on Tesla T4")
        self.assertEqual(self.of("best", "--device", "1023", "--shapes", "50x1x30")[0], 1)

    def test_bench_goes_on_behind_a_shape_without_a_kernel(self):
        code, out, err = self.of("bench", "--device", "soft", "--shapes", "64,50x1x30", "--json", "-q")
        self.assertEqual((code, err.count("\n")), (1, 1), err)
        self.assertRegex(err, "no kernel for f32 nn 64x64x64 on .*: run `gemmtune --device soft --type f32 .*64x64x64 --db ")
        rows = json.loads(out)["shapes"]
        self.assertEqual([(row["shape"], row["choice"], row["us"] is None) for row in rows],
                         [("64x64x64", None, True), ("1x50x30", "exact", False)])
        code, out, err = self.of("bench", "--device", "soft", "--shapes", "64,128")
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))

    def test_what_to_run_is_run_on_the_same_database(self):
        for words in [["bench", "--shapes", "64"], ["best", "--shapes", "8", "--type", "s8"], ["verify", "--type", "s8"],
                      ["why", "64"]]:
            self.assertIn(f" --db {self.path}`", self.of(*words, *(["--device", "soft"] if words[0] != "why" else []))[2])

    def test_a_table_of_trials_that_cannot_be_written_is_told_of_with_the_reason(self):
        code, out, err = self.of("fit", "--device", "soft", "--save", os.path.join(FOLDER.name, "nowhere", "x"))
        self.assertEqual((code, out), (1, ""))
        self.assertIn("nowhere/x: cannot be written: No such file or directory", err)

    def test_bench_untuned_says_that_no_other_size_has_a_kernel(self):
        code, out, err = self.of("bench", "--device", "soft", "--shapes", "50x1x30", "--untuned", "-q")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, "f32 nt 1x50x30 align 8: untuned it has no kernel: none that was tuned on another size")

    def test_a_winner_that_a_filter_hides_is_tuned_all_the_same(self):
        code, out, err = self.of("best", "--device", "soft", "--shapes", "50x1x30", "--family", "simt")
        self.assertEqual((code, out), (0, ""))
        self.assertNotIn("not tuned", err)
        self.assertRegex(err, "1x50x30 align 8: the library takes .*: tuned for this problem")


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-cli-")
    unittest.main(verbosity=1)
