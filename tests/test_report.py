#!/usr/bin/env python3
"""The report as a file and, where there is a Chromium, as a browser shows it: test_report.py PROGRAM MAKE_STORE"""
import html
import html.parser
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM, MAKER = sys.argv.pop(1), sys.argv.pop(1)
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = [1280, 390]

# Looks at the page that it stands in: what is wider than the window, and which texts of a picture lie on each other.
PROBE = """<script>
const boxes = [...document.querySelectorAll("svg")].map(svg => [...svg.querySelectorAll("text")].map(t => t.getBoundingClientRect()));
const cross = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const seen = {
  width: document.documentElement.scrollWidth, window: innerWidth,
  pictures: boxes.length, dots: document.querySelectorAll("circle").length,
  crossings: boxes.reduce((n, list) => n + list.reduce((m, a, i) => m + list.slice(i + 1).filter(b => cross(a, b)).length, 0), 0),
  outside: [...document.querySelectorAll("svg text")].map(t => [t.getBoundingClientRect(),
    t.closest("svg").getBoundingClientRect()]).filter(([t, svg]) => t.left < svg.left || t.right > svg.right).length,
  spilled: [...document.querySelectorAll("figure table")].filter(t => t.getBoundingClientRect().right >
    t.closest("figure").getBoundingClientRect().right).length,
  first: (() => { const head = [...document.querySelectorAll("th")].filter(h => h.textContent === "us").pop(); head.click();
    return [...head.closest("table").tBodies[0].rows].map(r => parseFloat(r.cells[head.cellIndex].textContent)); })(),
};
parent.document.body.dataset["seen" + innerWidth] = JSON.stringify(seen);
</script>"""


def run(*words):
    done = subprocess.run([PROGRAM, *words], text=True, timeout=120, stdin=subprocess.DEVNULL, capture_output=True,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return done.returncode, done.stdout, done.stderr


def path(name):
    return os.path.join(FOLDER.name, name)


def make(name):
    """An empty database."""
    subprocess.run([MAKER, path(name)], check=True)
    return path(name)


def fill(file, problems, gpu="NVIDIA H200"):
    draw = random.Random(7)
    with sqlite3.connect(file) as db:
        db.execute("INSERT INTO gpu VALUES (1, ?, 90, 'sm_90a', 132, 1980000, 150323855360, 1, 1)", (gpu,))
        db.execute("INSERT INTO run (id, program, driver, nvrtc, host, arguments, seed) VALUES (1, '0.1.0', '12.9', '13.0', "
                   "'', '', '1'), (2, '0.1.0', '13.0', '13.0', '', '', '1')")
        db.execute("INSERT INTO peak VALUES (1, 'f32', 'strict', 66, 'measured')")
        db.execute("INSERT INTO bandwidth VALUES (1, 4.2)")
        facts = [row[1] for row in db.execute("PRAGMA table_info(kernel)") if row[2] == "INTEGER" and row[1] != "id"]
        db.execute(f"INSERT INTO kernel (id, family, source_hash, nvrtc, arch, {', '.join(facts)}) VALUES (1, 'simt_cluster', "
                   f"printf('%064d', 1), '13.0', 'sm_90a', {', '.join('1' * len(facts))})")
        names = "bm bn bk wm wn tm tn stages split_k group load occ ptxas slices kmajor cluster_k repack blocks".split()
        db.executemany("INSERT INTO kernel_param VALUES (1, ?, ?, 128)", enumerate(names))
        for i in range(1, problems + 1):
            m, n, k = (int(2 ** draw.uniform(3, 13)) for _ in range(3))
            us = 2 + m * n * k / 2.5e7
            db.execute("INSERT OR IGNORE INTO problem VALUES (?, 'f32', 'strict', 'nn', ?, ?, ?, 1, 16, 'none')", (i, m, n, k))
            for j, stage in enumerate(["screen", "screen", "race"]):
                db.execute("INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, samples, "
                           "stopped_early, error, margin, registers, spills, tried_at) VALUES (?, 1, ?, 1, ?, 'ok', '', "
                           "'measured', ?, 30, 0, ?, ?, 1, 0, strftime('%Y-%m-%d %H:%M:%f', '2026-01-01', ? || ' seconds'))",
                           (1 + (i > 3), i, stage, us * (3 - j), draw.uniform(3e-8, 2e-7), 0.02 if j == 2 else None,
                            3 * i + j))
            db.execute("INSERT INTO baseline (run, gpu, problem, name, version, outcome, detail, timing, us, samples, "
                       "measured_at) VALUES (2, 1, ?, 'cublas', '13', 'ok', '', 'measured', ?, 30, ?)",
                       (i, us * draw.uniform(0.8, 2), f"2026-01-02 00:{i // 60:02}:{i % 60:02}"))


class Links(html.parser.HTMLParser):
    """Collects what a page would fetch, and checks that elements that must be closed are."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.fetched += [value for name, value in attributes if name in ("src", "href", "srcset", "data")]
        if tag in ("svg", "figure", "table", "div", "text", "title", "style", "script"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("svg", "figure", "table", "div", "text", "title", "style", "script"):
            assert self.open.pop() == tag, tag


class Report(unittest.TestCase):
    def report(self, file):
        code, out, err = run("report", "--db", file)
        self.assertEqual((code, err), (0, ""))
        return out

    def test_five_hundred_problems_are_below_a_megabyte_and_fetch_nothing(self):
        file = make("large.db")
        fill(file, 500)
        text = self.report(file)
        self.assertLess(len(text.encode()), 1 << 20)
        page = Links(text)
        self.assertEqual((page.fetched, page.open), ([], []))
        self.assertNotRegex(text, r"https?:|@import|url\(")
        self.assertEqual(text.count("<tr><td>") >= 500, True)
        self.assertRegex(text, r"<b>500</b>problems tuned")
        self.assertRegex(text, r"driver 12\.9, now 13\.0<td class=n>3\n")

    def test_an_empty_database_is_a_page_too(self):
        text = self.report(make("empty.db"))
        self.assertIn("Nothing is tuned yet", text)
        self.assertEqual(Links(text).open, [])

    def test_what_the_database_says_is_text(self):
        file = make("odd.db")
        fill(file, 3, gpu="<script>alert('x')</script> & \"more\"")
        text = self.report(file)
        self.assertIn("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;more&quot;", text)
        self.assertEqual(text.count("<script>"), 1)

    def test_a_file_is_written_whole_or_not_at_all(self):
        file = make("some.db")
        self.assertEqual(run("report", "--db", file, "-o", path("some.html")), (0, "", ""))
        with open(path("some.html")) as page:
            self.assertTrue(page.read().endswith("</script>\n"))
        code, out, err = run("report", "--db", file, "-o", path("missing/some.html"))
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))
        self.assertIn("cannot be written", err)
        code, out, err = run("report", "--db", path("never.db"), "-o", path("never.html"))
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertFalse(os.path.exists(path("never.html")))

    def test_who_may_read_the_page_is_up_to_the_umask(self):
        file = make("masked.db")
        for mask, mode in [(0o077, 0o600), (0o022, 0o644)]:
            before = os.umask(mask)
            self.assertEqual(run("report", "--db", file, "-o", path("masked.html"))[0], 0)
            os.umask(before)
            self.assertEqual(os.stat(path("masked.html")).st_mode & 0o777, mode)

    def test_what_is_no_plain_file_stays_what_it_is(self):
        open(path("page.html"), "w").close()
        os.symlink(path("page.html"), path("link.html"))
        self.assertEqual(run("report", "--db", make("linked.db"), "-o", path("link.html"))[0], 0)
        self.assertTrue(os.path.islink(path("link.html")))
        with open(path("page.html")) as page:
            self.assertTrue(page.read().endswith("</script>\n"))

    def test_two_gpus_of_one_name_have_their_own_winners(self):
        file = make("twins.db")
        fill(file, 3, gpu="RTX 3080")
        with sqlite3.connect(file) as db:  # on the second model, with other SMs and memory, another kernel won the first size
            facts = ", ".join(row[1] for row in db.execute("PRAGMA table_info(kernel)") if row[2] == "INTEGER" and row[1] != "id")
            db.executescript(
                "INSERT INTO gpu SELECT 2, name, cc, arch, 70, clock_khz, 12 << 30, l2_bytes, smem_limit FROM gpu;"
                "UPDATE gpu SET sm_count = 68, memory_bytes = 10 << 30 WHERE id = 1;"
                f"INSERT INTO kernel (id, family, source_hash, nvrtc, arch, {facts}) SELECT 2, 'vector', printf('%064d', 2),"
                f" nvrtc, arch, {facts} FROM kernel;"
                "INSERT INTO trial (run, gpu, problem, kernel, stage, outcome, detail, timing, us, samples, stopped_early,"
                " error, margin, registers, spills, tried_at) SELECT 2, 2, problem, 2, stage, outcome, detail, timing, us / 2,"
                " samples, 0, error, margin, 1, 0, '2026-02-01 00:00:00' FROM trial WHERE problem = 1 AND stage = 'race';"
                "INSERT INTO peak VALUES (2, 'f32', 'strict', 77, 'measured');"
                "UPDATE problem SET m = 64, n = 64, k = 64 WHERE id = 1")
        text = self.report(file)
        self.assertEqual(re.findall("<b>(.*)</b>problems tuned", text), ["4"])
        self.assertEqual(re.findall("<h2>(.*)</h2>", text), ["RTX 3080, 68 SMs, 10 GiB", "RTX 3080, 70 SMs, 12 GiB"])
        self.assertEqual([len(re.findall("<tr><td>.* nn<td>", part)) for part in text.split("<h2>")[1:]], [3, 1])
        self.assertEqual([part.count("<td>vector") for part in text.split("<h2>")[1:]], [0, 1])
        found = json.loads(run("why", "64", "--db", file, "--json")[1])
        self.assertEqual([why["gpu"] for why in found], ["RTX 3080, 68 SMs, 10 GiB", "RTX 3080, 70 SMs, 12 GiB"])
        self.assertEqual([[w["family"] for w in why["winner"]] for why in found], [["simt_cluster"], ["vector"]])
        self.assertEqual([[b["TFLOPS"] for b in why["bound"]] for why in found], [[66], [77]])
        rows = json.loads(run("best", "--db", file, "--json")[1])
        self.assertEqual([(row["gpu_id"], row["family"]) for row in rows], 3 * [(1, "simt_cluster")] + [(2, "vector")])

    @unittest.skipUnless(BROWSER, "no Chromium on this machine")
    def test_a_browser_shows_it_without_overlap_at_both_widths(self):
        file = make("shown.db")
        fill(file, 60)
        inner = html.escape(self.report(file) + PROBE, quote=True)
        with open(path("shown.html"), "w") as page:  # frames, for a window has a least width
            page.write("<!doctype html><body>" + "".join(
                f'<iframe width={width} height=900 style="border:0" srcdoc="{inner}"></iframe>' for width in WIDTHS))
        done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                               f"--user-data-dir={path('profile')}", "--window-size=1800,1000", "--virtual-time-budget=3000",
                               "--dump-dom", "file://" + path("shown.html")], text=True, capture_output=True, timeout=200)
        for width in WIDTHS:
            found = re.search(rf'data-seen{width}="([^"]*)"', done.stdout)
            if not found and "<iframe" not in done.stdout:
                self.skipTest(f"{BROWSER} does not start here: {done.stderr[-200:]}")
            seen = json.loads(html.unescape(found.group(1)))
            self.assertLessEqual(seen["width"], width)
            self.assertEqual((seen["crossings"], seen["outside"], seen["spilled"]), (0, 0, 0), width)
            self.assertEqual((seen["pictures"], seen["dots"]), (4, 180))
            self.assertEqual(seen["first"], sorted(seen["first"]))
            self.assertEqual(len(seen["first"]), 60)


if __name__ == "__main__":
    FOLDER = tempfile.TemporaryDirectory(prefix="gemmtune-test-")
    unittest.main(verbosity=2)
