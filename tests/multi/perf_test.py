#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shoal-perf as its user meets it: figures for every test, files that parse, messages that help. No assertion about time.

perf_test.py SHOAL_PERF SHOALRUN [unittest arguments]
"""
import csv
import html.parser
import json
import math
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

PERF, SHOALRUN = sys.argv[1:3]
DEADLINE = 300  # seconds until a run is taken for hung
SHORT = ["--sizes", "8,4k,64k", "--samples", "3", "--sample-time", "0.05", "--table", "64k"]
# What the tool promises to measure. A test that is added is added here, one that vanishes is noticed.
TESTS = """put get put_nbi get_nbi p g iput iget ibput ibget put_batch overlap-put_nbi overlap-get_nbi
  put-bw get-bw put_nbi-bw get_nbi-bw put-bidir get-bidir put-rate get-rate gups gups-remote
  atomic-add atomic-inc atomic-set atomic-and atomic-or atomic-xor atomic-fetch atomic-fetch_add atomic-fetch_inc atomic-fetch_and
  atomic-fetch_or atomic-fetch_xor atomic-swap atomic-compare_swap atomic-fetch_add_nbi atomic-float_add atomic-double_add
  atomic-contended signal-put_signal signal-pingpong signal-set signal-add signal-fetch wait-pingpong wait-atomic_pingpong
  wait-any_pingpong wait-all_pingpong wait-ready wait-test fence quiet barrier_all sync_all team_sync sync-pe lock lock-test
  lock-contended sem broadcast collect fcollect alltoall alltoalls reduce inscan exscan malloc-64 malloc-1m team-split_strided
  team-split_2d ctx-create ctx-put thread-put thread-get thread-fetch_add""".split()
BY_SIZE = """put get put_nbi get_nbi iput iget ibput ibget put_batch overlap-put_nbi overlap-get_nbi put-bw get-bw put_nbi-bw get_nbi-bw
  put-bidir get-bidir signal-put_signal signal-pingpong broadcast collect fcollect alltoall alltoalls reduce inscan exscan""".split()
TWO_PES = "signal-pingpong wait-pingpong wait-atomic_pingpong wait-any_pingpong wait-all_pingpong sync-pe".split()
COLUMNS = ("test,group,who,pes,bytes,threads,median_ns,q1_ns,q3_ns,min_ns,max_ns,samples,operations,gb_per_s,mops_per_s,limit,"
           "limit_median_ns,limit_q1_ns,limit_q3_ns,ratio,noisy,note").split(",")


def run(*arguments, command=(PERF,), env=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SHOAL_", "SHMEM_", "SMA_"))}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=DEADLINE, stdin=subprocess.DEVNULL,
                          env={**clean, **(env or {})}, check=False)


class Page(html.parser.HTMLParser):
    """Notes text and structure, and complains about elements that are not closed in order."""

    VOID = {"meta", "link", "br", "hr", "img", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.text, self.tags, self.attributes = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise ValueError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.text.append(data)


class Scratch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="shoal perf ")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def good(self, *arguments, **how):
        result = run(*arguments, **how)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def bad(self, status, *arguments, **how):
        """One line on stderr, nothing else."""
        result = run(*arguments, **how)
        self.assertEqual(result.returncode, status, f"{arguments}\n{result.stdout}\n{result.stderr}")
        self.assertEqual(result.stdout, "")
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr

    def json_of(self, *arguments, **how):
        name = self.path("out.json")
        self.good(*arguments, "--json", name, **how)
        with open(name, encoding="utf-8") as file:
            return json.load(file)


class Measuring(Scratch):
    def check_stats(self, stats, label):
        self.assertGreaterEqual(len(stats["samples"]), 3, label)
        self.assertGreaterEqual(stats["operations"], 1, label)
        for value in stats["samples"]:
            self.assertTrue(math.isfinite(value) and value > 0, label)
        self.assertEqual(stats["min"], min(stats["samples"]), label)
        self.assertEqual(stats["max"], max(stats["samples"]), label)
        self.assertTrue(stats["min"] <= stats["q1"] <= stats["median"] <= stats["q3"] <= stats["max"], label)

    def check_all(self, pes):
        data = self.json_of("-n", str(pes), "--quick", *SHORT)
        self.assertEqual(data["format"], "shoal-perf 1")
        self.assertEqual(data["pes"], pes)
        for part, key in (("machine", "cpu"), ("machine", "kernel"), ("build", "version"), ("build", "compiler"), ("options", "sizes"), ("options", "pin")):
            self.assertTrue(data[part][key], f"{part}: {key}")
        found = {}
        for figure in data["figures"]:
            label = f"{figure['test']} {figure['bytes']}"
            found.setdefault(figure["test"], []).append(figure)
            self.check_stats(figure["time_ns"], label)
            self.check_stats(figure["limit_ns"], label)  # on one machine everything has a limit
            self.assertAlmostEqual(figure["ratio"], figure["time_ns"]["median"] / figure["limit_ns"]["median"], delta=figure["ratio"] * 1e-4, msg=label)
            self.assertGreater(figure["mops_per_s"], 0, label)
            self.assertTrue(figure["limit"] and figure["about"] and figure["who"], label)
        expected = [test for test in TESTS if pes > 1 or test not in TWO_PES]
        self.assertEqual(list(dict.fromkeys(figure["test"] for figure in data["figures"])), [test for test in self.listed() if test in expected])
        self.assertEqual(sorted(entry["test"] for entry in data["skipped"]), sorted(set(TESTS) - set(expected)))
        for test in expected:
            sizes = [figure["bytes"] for figure in found[test]]
            if test in BY_SIZE:
                self.assertEqual(sizes, [8, 4096, 65536], test)
                self.assertTrue(all(figure["gb_per_s"] > 0 for figure in found[test]), test)
            else:
                self.assertEqual(set(sizes), {None}, test)
            self.assertEqual(all(figure["threads"] for figure in found[test]), test.startswith("thread-"), test)

    def listed(self):
        return self.good("--names").stdout.split()

    def test_every_test_gives_figures_on_one_pe(self):
        self.check_all(1)

    def test_every_test_gives_figures_on_two_pes(self):
        self.check_all(2)

    def test_every_test_gives_figures_on_three_pes(self):
        self.check_all(3)

    def test_table_has_a_row_for_each_figure(self):
        result = self.good("put", "atomics", "quiet", *SHORT)
        self.assertEqual(result.stderr, "")  # progress is for terminals
        rows = [line.split()[0] for line in result.stdout.splitlines() if re.match(r"  \S+ .* [\d.]+ (ns|us|ms) +\[", line)]
        self.assertEqual(rows, ["put"] * 3 + [test for test in TESTS if test.startswith("atomic-")] + ["quiet"])
        self.assertIn("copy + full fence", result.stdout)

    def test_csv_has_a_row_for_each_figure(self):
        name = self.path("out.csv")
        self.good("get", "reduce", "fence", "thread-put", *SHORT, "--threads", "3", "--csv", name)
        with open(name, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), COLUMNS)
        self.assertEqual([(row["test"], row["bytes"], row["threads"]) for row in rows],
                         [("get", size, "") for size in ("8", "4096", "65536")] + [("fence", "", "")] +
                         [("reduce", size, "") for size in ("8", "4096", "65536")] + [("thread-put", "", count) for count in "123"])
        for row in rows:
            for column in ("median_ns", "q1_ns", "q3_ns", "samples", "operations", "mops_per_s", "limit_median_ns", "ratio"):
                self.assertGreater(float(row[column]), 0, (row["test"], column))
            self.assertIn(row["noisy"], ("yes", "no"))

    def test_options_choose_what_is_measured(self):
        data = self.json_of("reduce", "--min", "4", "--max", "64", "--samples", "5", "--sample-time", "0.02", "--type", "uint64", "--op", "xor", "--pin", "none")
        self.assertEqual([figure["bytes"] for figure in data["figures"]], [4, 8, 16, 32, 64])
        self.assertEqual({len(figure["time_ns"]["samples"]) for figure in data["figures"]}, {5})
        self.assertEqual((data["options"]["type"], data["options"]["op"], data["options"]["pin"]), ("uint64", "xor", "none"))

    def test_every_reduction_that_is_offered_runs(self):
        message = self.bad(2, "--type", "nosuch")
        types = re.search(r"expected one of (.*)", message).group(1).split(", ")
        self.assertGreater(len(types), 15)
        for kind in ("float", "double", "int", "half", "bfloat16"):
            self.assertIn(kind, types)
        for kind in types:
            for op in ("prod", "max"):
                self.good("reduce", "--type", kind, "--op", op, "--sizes", "100", "--samples", "3", "--sample-time", "0.01")

    def test_sizes_that_are_no_multiple_of_anything_work(self):
        sized = [test for test in BY_SIZE if test != "put_batch"]
        data = self.json_of(*sized, "--sizes", "1,3,7,13,1001", "--stride", "5", "--samples", "3", "--sample-time", "0.01", "-n", "3")
        self.assertEqual(len(data["figures"]), 5 * len(sized))

    def test_runs_as_the_job_that_shoalrun_started(self):
        data = self.json_of("-n", "3", PERF, "fence", *SHORT, command=(SHOALRUN,))
        self.assertEqual(data["pes"], 3)
        result = run("-n", "2", PERF, "-n", "3", "fence", command=(SHOALRUN,))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("-n 3, but shoalrun started 2 PEs", result.stderr)

    def test_users_heap_size_is_kept_and_one_too_small_is_named(self):
        data = self.json_of("fence", *SHORT, env={"SHMEM_SYMMETRIC_SIZE": "64m"})
        self.assertEqual(data["environment"]["SHMEM_SYMMETRIC_SIZE"], "64m")
        result = run("put", "--sizes", "64m", env={"SHMEM_SYMMETRIC_SIZE": "16m"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("set SHMEM_SYMMETRIC_SIZE higher, or choose a smaller --max", result.stderr)


class CommandLine(Scratch):
    def test_list_names_each_test_once_with_what_it_does(self):
        self.assertEqual(self.good("--names").stdout.split(), list(dict.fromkeys(self.good("--names").stdout.split())))
        self.assertEqual(sorted(self.good("--names").stdout.split()), sorted(TESTS))
        listing = self.good("--list").stdout
        for test in TESTS:
            self.assertRegex(listing, rf"(?m)^  {re.escape(test)} +(PE 0|0 and 1|pairs|all) +\S")

    def test_help_and_version(self):
        text = self.good("--help").stdout
        for option in ("--quick", "--sizes", "--min", "--max", "--samples", "--sample-time", "--type", "--op", "--threads", "--stride", "--table",
                       "--pin", "--csv", "--json", "--list", "--names", "report", "compare"):
            self.assertIn(option, text)
        self.assertRegex(self.good("--version").stdout, r"^shoal-perf \d+\.\d+\.\d+")
        self.assertIn("FILE.json", self.good("report", "--help").stdout)
        self.assertIn("--runs", self.good("compare", "--help").stdout)

    def test_patterns_and_groups_choose(self):
        data = self.json_of("atomic-fetch_*", "order", *SHORT)
        self.assertEqual({figure["test"] for figure in data["figures"]},
                         {test for test in TESTS if test.startswith("atomic-fetch_")} | {"fence", "quiet"})

    def test_mistakes_are_named(self):
        for arguments, words in (
                (["--bogus"], "unknown option --bogus"),
                (["put", "nosuch"], "no test or group is called nosuch"),
                (["nosuch*"], "no test or group is called nosuch*"),
                (["--sizes", "8,3x"], "--sizes 3x: expected a size"),
                (["--sizes", ""], "--sizes : expected a size"),
                (["--sizes", "8", "--max", "16"], "--sizes cannot go with --min or --max"),
                (["--min", "1m", "--max", "4k"], "--min 1 MiB leaves no size"),
                (["--max", "0"], "--max 0: expected a size"),
                (["-n"], "-n needs a value"),
                (["-n", "0"], "-n 0: expected a whole number from 1"),
                (["-n", "2x"], "-n 2x: expected a whole number"),
                (["--samples", "2"], "--samples 2: expected a whole number from 3"),
                (["--sample-time", "fast"], "--sample-time fast: expected milliseconds"),
                (["--threads", "0"], "--threads 0: expected a whole number from 1"),
                (["--stride", "0"], "--stride 0: expected a whole number from 1"),
                (["--table", "5000"], "--table: the size must be a power of two"),
                (["--type", "quaternion"], "--type quaternion: expected one of float"),
                (["--op", "mean"], "--op mean: expected sum"),
                (["--op", "xor"], "--op xor is not defined for --type float"),
                (["--pin", "socket"], "--pin socket: expected core or none"),
                (["--quick=1"], "--quick takes no value"),
                (["--json", ""], "--json: the file's name is empty")):
            self.assertIn(f"shoal-perf: {words}", self.bad(2, *arguments))

    def test_file_that_cannot_be_written_is_named_before_anything_is_measured(self):
        name = self.path("no/such/folder/out.json")
        for option in ("--json", "--csv"):
            result = run("fence", option, name)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, "")
            self.assertIn(f"cannot write {name}: No such file or directory", result.stderr)

    def test_full_disk_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for option in ("--json", "--csv"):
            result = run("fence", *SHORT, option, "/dev/full")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("cannot write /dev/full", result.stderr)


class Report(Scratch):
    def parse(self, name):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        page = Page()
        page.feed(text)
        page.close()
        self.assertEqual(page.open, [])
        return page, text

    def measured(self, name, *arguments):
        path = self.path(name)
        self.good(*arguments, *SHORT, "--json", path)
        return path

    def test_page_names_every_test_and_needs_nothing_else(self):
        source, out = self.measured("one & <two>.json", "--quick"), self.path("out.html")
        self.good("report", source, "-o", out)
        page, text = self.parse(out)
        words = " ".join(page.text)
        for test in TESTS:
            self.assertIn(test, words)
        self.assertIn("one & <two>", words)
        self.assertGreaterEqual(page.tags.count("svg"), 2 * len(BY_SIZE))
        self.assertNotIn("script", page.tags)
        for name, value in page.attributes:
            if name in ("src", "href"):
                self.assertTrue(value.startswith("#"), value)
        self.assertNotIn("@import", text)
        self.assertNotRegex(text, r"(?<!\w)(nan|inf)(?!\w)")
        targets = {value for name, value in page.attributes if name == "id"}
        links = {value[1:] for name, value in page.attributes if name == "href"}
        self.assertEqual(links - targets, set())

    def test_several_files_share_a_page(self):
        first, second = self.measured("first.json", "put", "quiet", "-n", "2"), self.measured("second.json", "put", "signal-pingpong", "lock", "-n", "3")
        result = self.good("report", first, second, "-o", self.path("out.html"), "--title", "Two <runs>")
        self.assertIn(self.path("out.html"), result.stdout)
        page, _ = self.parse(self.path("out.html"))
        words = " ".join(page.text)
        for text in ("first", "second", "Two <runs>", "signal-pingpong", "lock"):
            self.assertIn(text, words)

    def test_one_size_and_no_sizes_draw_too(self):
        for arguments in (["put", "--sizes", "8"], ["quiet"]):
            source = self.path("few.json")
            self.good(*arguments, "--samples", "3", "--sample-time", "0.01", "--json", source)
            self.good("report", source)
            self.parse(self.path("few.html"))  # the default name

    def test_files_that_are_no_results_are_named(self):
        broken, other, page = self.path("broken.json"), self.path("other.json"), self.path("out.html")
        with open(broken, "w", encoding="utf-8") as file:
            file.write('{"format": "shoal-perf 1", ')
        with open(other, "w", encoding="utf-8") as file:
            file.write('{"format": "something else"}')
        self.assertIn("cannot read", self.bad(2, "report", self.path("missing.json"), "-o", page))
        self.assertIn("not JSON, or was cut short", self.bad(2, "report", broken, "-o", page))
        self.assertIn("was not written by shoal-perf --json", self.bad(2, "report", other, "-o", page))
        self.assertFalse(os.path.exists(page))


class Compare(Scratch):
    """With stand-ins for the compilers and launchers: what they print is what is compared."""

    def stand_in(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def compare(self, *arguments, **others):
        compiler = self.stand_in("shoalcc", 'for last; do :; done\nprintf "#!/bin/sh\\necho \\"put + quiet,8,10\\"\\necho barrier_all,0,100\\n" >"$last"\nchmod +x "$last"\n')
        for name, text in others.items():
            self.stand_in(name, text)
        # python3 must be there, but no compiler of anybody else's.
        os.symlink(sys.executable, self.path("python3"))
        for tool in ("sh", "chmod", "printf"):
            os.symlink(shutil.which(tool), self.path(tool))
        return run("compare", "--shoalcc", compiler, "--runs", "1", *arguments, env={"PATH": self.folder})

    def test_what_is_not_installed_is_named_with_its_packages(self):
        result = self.compare()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("oshcc and oshrun are not installed (Debian: apt-get install openmpi-bin libopenmpi-dev)", result.stderr)
        self.assertIn("mpicc and mpirun are not installed", result.stderr)
        self.assertRegex(result.stdout, r"(?m)^put \+ quiet +8 +10\.0 ns$")

    def test_ratios_are_others_time_over_ours(self):
        compiler = 'for last; do :; done\n: >"$last"\n'
        launcher = 'echo "put + quiet,8,25"\necho "barrier_all,0,50"\necho "not a figure"\n'
        result = self.compare(oshcc=compiler, oshrun=launcher)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^put \+ quiet +8 +10\.0 ns +25\.0 ns +2\.50$")
        self.assertRegex(result.stdout, r"(?m)^barrier_all +100 ns +50\.0 ns +0\.50$")

    def test_other_that_fails_is_left_out_with_its_words(self):
        result = self.compare(oshcc="echo no such header >&2; exit 1\n", oshrun="exit 0\n", mpicc='for last; do :; done\n: >"$last"\n',
                              mpirun="echo out of luck >&2; exit 3\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("its compiler failed", result.stderr)
        self.assertIn("no such header", result.stderr)
        self.assertIn("exit status 3\nout of luck", result.stderr)

    def test_shoal_that_fails_is_an_error(self):
        self.assertNotEqual(run("compare", "--shoalcc", "/bin/false", "--runs", "1").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
