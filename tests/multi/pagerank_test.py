#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PageRank, the main example, as its user meets it: right scores, the same at any number of PEs, and clear errors.

Run as: pagerank_test.py SHOALRUN PAGERANK [unittest arguments]; SHOAL_TEST_SEED repeats a random graph.
"""
import os
import random
import re
import stat
import subprocess
import sys
import tempfile
import unittest

SHOALRUN, PAGERANK = sys.argv[1:3]
PE_COUNTS = (1, 2, 3, 4, 5, 8)
DEADLINE = 120
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = ("hello", "ring", "histogram", "halo", "allreduce", "teams", "locks", "pipeline", "native", "pagerank")

SAMPLE_PACKAGES = """\
Package: app
Status: install ok installed
Version: 1.0
Depends: libone:any (>= 1.2), libtwo (<< 3~) [amd64 arm64] <!nocheck> | libthree, mail-server,
 perl (>= 5)
Pre-Depends: base
Recommends: extra
Description: An application
 with a description that says Depends: nothing
 .
 of several lines

Package: libone
Status: install ok installed
PRE-DEPENDS: base (>= 1)
depends: base (>= 2), base (<< 9)

Package: libtwo
Status: install ok installed
Depends: libone, base, nowhere-to-be-found

Package: libthree
Status: install ok installed
Provides: perl (= 5.36)

Package: exim
Status: install ok installed
Provides: mail-server
Depends: libone, mail-server

Package: postfix
Status: install ok installed
Provides: sendmail, mail-server (= 3)

Package: gone
Status: deinstall ok config-files
Depends: base

Package: base
Status: install ok installed
Version: 1
Depends: libtwo

Package: base
Status: install ok installed
Version: 2

Package: extra
Status: install ok installed
"""
SAMPLE_EDGES = [
    ("app", "libone"), ("app", "libtwo"), ("app", "libthree"), ("app", "exim"), ("app", "postfix"), ("app", "base"),
    ("libone", "base"), ("libtwo", "libone"), ("libtwo", "base"), ("exim", "libone"), ("exim", "postfix")]
SAMPLE_NAMES = ["app", "libone", "libtwo", "libthree", "exim", "postfix", "base", "extra"]


def reference(names, edges, damping=0.85, steps=2000):
    """PageRank by the textbook; {name: score}."""
    edges = set(edges)
    targets = {name: [] for name in names}
    for source, destination in edges:
        targets[source].append(destination)
    n = len(names)
    scores = {name: 1 / n for name in names}
    for _ in range(steps):
        received = {name: 0.0 for name in names}
        lost = 0.0
        for name in names:
            if not targets[name]:
                lost += scores[name]
            for destination in targets[name]:
                received[destination] += scores[name] / len(targets[name])
        new = {name: (1 - damping) / n + damping * (received[name] + lost / n) for name in names}
        change = sum(abs(new[name] - scores[name]) for name in names)
        scores = new
        if change < 1e-15:
            break
    return scores


class PageRankTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def run_job(self, pes, *arguments, env=None):
        return subprocess.run([SHOALRUN, "-n", str(pes), PAGERANK, *arguments], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False,
                              env={**os.environ, **(env or {})}, encoding="utf-8", errors="replace")

    def scores(self, pes, *arguments, env=None):
        """Runs a job that must succeed; ({name: score}, {name: dependents}, names in order of rank, whole output)."""
        job = self.run_job(pes, "--top", "1000000", *arguments, env=env)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        self.assertRegex(job.stdout, r"check against a serial run .*: passed")
        rows = re.findall(r"^ *(\d+)  (\S+) +(\d\.\d+e[-+]\d+) +([\d,]+)$", job.stdout, re.MULTILINE)
        self.assertEqual([int(row[0]) for row in rows], list(range(1, len(rows) + 1)), job.stdout)
        return ({name: float(score) for _, name, score, _ in rows},
                {name: int(count.replace(",", "")) for _, name, _, count in rows},
                [row[1] for row in rows], job.stdout)

    def assert_scores(self, found, expected, message):
        self.assertEqual(set(found), set(expected), message)
        for name, score in expected.items():
            self.assertAlmostEqual(found[name] / score, 1, delta=2e-6, msg=f"{message}: {name}")

    def assert_error(self, job, pattern, status=1):
        """The job failed, and it is told once, on one PE, in words that match."""
        text = job.stdout + job.stderr
        self.assertEqual(job.returncode, status, text)
        self.assertEqual(len(re.findall(pattern, job.stderr)), 1, f"expected once: {pattern}\nfound: {text}")
        self.assertEqual(len(re.findall(r"pagerank: ", job.stderr)), 1, text)
        self.assertNotIn("rank  ", job.stdout)

    # Graphs with known scores

    def check_everywhere(self, edges, expected, *arguments):
        path = self.write("edges", "".join(f"{source} {destination}\n" for source, destination in edges))
        for pes in PE_COUNTS:
            with self.subTest(pes=pes):
                found, _, _, output = self.scores(pes, *arguments, path)
                self.assert_scores(found, expected, output)

    def test_a_cycle_has_equal_scores(self):
        names = [str(i) for i in range(5)]
        self.check_everywhere(list(zip(names, names[1:] + names[:1])), {name: 1 / 5 for name in names})

    def test_a_vertex_without_edges_out_spreads_its_score_evenly(self):
        d = 0.85
        self.check_everywhere([("a", "b")], {"a": 1 / (2 + d), "b": (1 + d) / (2 + d)})

    def test_the_hub_of_a_star(self):
        d, leaves = 0.5, 40
        leaf = 1 / (1 + leaves + d * leaves)
        expected = {f"leaf{i}": leaf for i in range(leaves)}
        expected["hub"] = leaf * (1 + d * leaves)
        self.check_everywhere([(f"leaf{i}", "hub") for i in range(leaves)], expected, "--damping", "0.5")

    def test_a_vertex_that_points_at_itself_keeps_its_share(self):
        # b's score: (1 - d) / 2 + d (b + a); a's: (1 - d) / 2
        d = 0.85
        self.check_everywhere([("a", "b"), ("b", "b")], {"a": (1 - d) / 2, "b": (1 + d) / 2})

    def test_without_damping_all_scores_are_equal(self):
        self.check_everywhere([("a", "b"), ("c", "b")], dict.fromkeys("abc", 1 / 3), "--damping=0")

    def test_a_random_graph_against_another_implementation(self):
        seed = int(os.environ.get("SHOAL_TEST_SEED") or random.SystemRandom().randrange(2**32))
        print(f"random graph: SHOAL_TEST_SEED={seed}", flush=True)
        rng = random.Random(seed)
        vertices, count = rng.randrange(50, 400), rng.randrange(200, 3000)
        # Some vertices get most of the edges, as in the real graph, and some have none out.
        names = [f"v{i}" for i in range(vertices)]
        edges = [(rng.choice(names[:vertices * 4 // 5]), names[int(vertices * rng.random() ** 3)])
                 for _ in range(count)]
        present = list(dict.fromkeys(name for edge in edges for name in edge))
        expected = reference(present, edges, 0.9)
        path = self.write("edges", "".join(f"{source}\t{destination}\n" for source, destination in edges))
        for pes in PE_COUNTS:
            with self.subTest(pes=pes, seed=seed):
                found, dependents, _, output = self.scores(pes, "--damping", "0.9", "--tolerance=1e-13",
                                                           "--iterations", "1000", path)
                self.assert_scores(found, expected, output)
                for name in present:
                    self.assertEqual(dependents[name], len({source for source, to in set(edges) if to == name}), name)

    def test_the_table_is_the_same_at_every_number_of_pes(self):
        rng = random.Random(7)
        path = self.write("edges", "".join(f"{rng.randrange(300)} {rng.randrange(300)}\n" for _ in range(2000)))
        tables = {pes: self.scores(pes, path) for pes in PE_COUNTS}
        steps = {re.search(r"the last of (\d+) steps", table[3]).group(1) for table in tables.values()}
        self.assertEqual(len(steps), 1, steps)
        for pes in PE_COUNTS:
            self.assertEqual(tables[pes][:3], tables[1][:3], pes)

    # What is shown

    def test_progress_table_and_times_are_shown(self):
        path = self.write("edges", "a b\nb c\nc a\nd a\n")
        job = self.run_job(3, "--top", "2", "--verbose", path)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stderr, "")
        self.assertRegex(job.stdout, r"graph +4 vertices, 4 edges")
        self.assertRegex(job.stdout, r"step +1 of at most 200 +residual \d\.\d+e-\d+ +[\d.]+ million edges/s")
        self.assertRegex(job.stdout, r"converged: the last of \d+ steps")
        self.assertEqual(len(re.findall(r"^ +\d+  [a-d] ", job.stdout, re.MULTILINE)), 2, job.stdout)
        for row in ("compute", "communication"):
            self.assertRegex(job.stdout, rf"(?m)^  {row} +\d+\.\d+ +\d+\.\d+ +\d+\.\d+$")
        self.assertEqual(len(re.findall(r"^ +[012] +\d+ +\d+ +\d+ +\d+( +\d+\.\d+){4}$", job.stdout, re.MULTILINE)), 3,
                         job.stdout)

    def test_it_says_when_the_limit_of_steps_was_reached(self):
        path = self.write("edges", "a b\nb c\nc a\nd a\n")
        job = self.run_job(2, "--iterations", "3", path)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn("not converged after 3 steps", job.stdout)
        self.assertIn("passed", job.stdout)

    def test_help_is_shown_once(self):
        job = self.run_job(4, "--help")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(job.stdout.count("usage:"), 1)
        for option in ("--damping", "--tolerance", "--iterations", "--top", "--graph", "--packages", "--recommends",
                       "--verbose", "--help"):
            self.assertIn(option, job.stdout)

    # Edge lists

    def test_comments_blanks_and_crlf_in_an_edge_list(self):
        plain = self.write("plain", "1 2\n2 3\n3 1\nx#y 1\n")
        odd = self.write("odd", "\ufeff# a comment\r\n\r\n \t1\t 2 \r\n2 3 # why\r\n   # another\r\n3 1 #\r\n"
                                "x#y 1\r\n1 2")
        self.assertEqual(self.scores(2, plain)[:3], self.scores(2, "--graph", odd)[:3])

    def test_a_bad_edge_list_is_told_with_its_line(self):
        cases = {
            "one field": (b"a b\nb c\nonly\nc a\n", r"one field:3: expected two names .* found 1 field: \"only\""),
            "three fields": (b"a b\n# c\na b 0.5\n", r"three fields:3: expected two names .* 3 fields: \"a b 0.5\""),
            "nul": (b"a b\nc\0 d\n", r"nul:2: byte 0x00 at column 2: this is not a text file"),
            "elf": (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0", r"elf:1: byte 0x7f at column 1: this is not a text file"),
            "gzip": (b"\x1f\x8b\x08\0\0\0\0\0\0\x03abc", r"gzip:1: byte 0x1f at column 1: .* run gunzip first"),
            "long": (b"a b\n" + b"x" * 3000000 + b" y\n", r"long:2: line is longer than 1048576 bytes"),
            "empty": (b"", r"empty: no edge in 0 lines"),
            "comments": (b"# a b\n\n   # c d\n", r"comments: no edge in 3 lines"),
        }
        for name, (content, pattern) in cases.items():
            with self.subTest(name):
                self.assert_error(self.run_job(3, self.write(name, content)), pattern)

    def test_a_long_line_within_the_limit_is_fine(self):
        path = self.write("edges", "a " + "b" * 900000 + "\nb a\n")
        self.assertEqual(set(self.scores(2, path)[2]), {"a", "b", "b" * 900000})

    def test_a_file_that_cannot_be_read(self):
        missing = os.path.join(self.folder, "missing")
        self.assert_error(self.run_job(4, missing), rf"{missing}: cannot be opened: No such file or directory")
        self.assert_error(self.run_job(4, self.folder), rf"{self.folder}: cannot be read: Is a directory")
        self.assert_error(self.run_job(4, "--packages", missing), rf"{missing}: cannot be opened")
        if os.getuid() != 0:
            secret = self.write("secret", "a b\n")
            os.chmod(secret, 0)
            self.assert_error(self.run_job(4, secret), rf"{secret}: cannot be opened: Permission denied")

    def test_an_endless_file_is_refused(self):
        self.assert_error(self.run_job(2, "/dev/zero"), r"/dev/zero:1: line is longer than")

    # Options

    def test_bad_options_are_told_once_with_what_was_expected(self):
        cases = [
            (["--damping", "1"], r"--damping: expected a number from 0 to below 1, found \"1\""),
            (["--damping", "0.5x"], r"--damping: expected .* found \"0.5x\""),
            (["--damping=nan"], r"--damping: expected .* found \"nan\""),
            (["--damping"], r"--damping: a value is missing after it"),
            (["--tolerance", "-1"], r"--tolerance: expected a number from 0 to 1, found \"-1\""),
            (["--iterations", "0"], r"--iterations: expected a whole number from 1 to 1000000, found \"0\""),
            (["--iterations", "1e3"], r"--iterations: expected .* found \"1e3\""),
            (["--iterations", "99999999999999999999"], r"--iterations: expected .*"),
            (["--top", "-3"], r"--top: expected a whole number from 0 .* found \"-3\""),
            (["--top="], r"--top: expected .* found \"\""),
            (["--verbose=yes"], r"--verbose: takes no value"),
            (["--frobnicate"], r"unknown option \"--frobnicate\""),
            (["a", "b"], r"graph file: a file was named before: \"a\""),
            (["--graph", ""], r"--graph: expected a file name"),
            (["a", "--recommends"], r"a graph file goes neither with --packages nor with --recommends"),
        ]
        for arguments, pattern in cases:
            with self.subTest(arguments):
                self.assert_error(self.run_job(3, *arguments), pattern, status=2)

    # Package lists

    def check_sample(self, pes, edges, output):
        found, dependents, _, text = output
        self.assert_scores(found, reference(SAMPLE_NAMES, edges), f"{pes} PEs: {text}")
        for name in SAMPLE_NAMES:
            self.assertEqual(dependents[name], sum(1 for edge in edges if edge[1] == name), name)

    def test_the_dependencies_of_a_package_list(self):
        path = self.write("status", SAMPLE_PACKAGES)
        for pes in PE_COUNTS:
            with self.subTest(pes=pes):
                output = self.scores(pes, "--packages", path)
                self.check_sample(pes, SAMPLE_EDGES, output)
                self.assertRegex(output[3], r"graph +8 packages, 11 dependencies\n +10 paragraphs read; 1 dependencies")

    def test_recommends_count_where_wanted(self):
        path = self.write("status", SAMPLE_PACKAGES)
        self.check_sample(2, SAMPLE_EDGES + [("app", "extra")], self.scores(2, "--packages", path, "--recommends"))

    def test_packages_without_any_dependency_have_equal_scores(self):
        path = self.write("status", "Package: a\n\n\nPackage: b\n\nPackage: c")
        self.assert_scores(self.scores(2, "--packages", path)[0], dict.fromkeys("abc", 1 / 3), path)

    def test_a_bad_package_list_is_told_with_its_line(self):
        good = "Package: a\nDepends: b\n\n"
        cases = {
            "no colon": (good + "Package: b\nnonsense\n",
                         r"no colon:5: expected \"Field: value\".* found \"nonsense\""),
            "continuation": (good + " text\n", r"continuation:4: a continuation line with no field before it"),
            "no name": (good + "Version: 1\nDepends: a\n\nPackage: c\n",
                        r"no name:4: the paragraph .* no Package field"),
            "empty name": (good + "Package:\n", r"empty name:4: the Package field is empty"),
            "two words": (good + "Package: b\nDepends: c, d e\n", r"two words:5: expected relations .* found \"d e\""),
            "open": (good + "Package: b\nDepends: c (>= 1\n", r"open:5: expected relations .* found \"c \(>= 1\""),
            "bar": (good + "Package: b\nDepends: c, | d\n", r"bar:5: expected relations .* found \"\""),
            "nul": (good + "Package: b\0\n", r"nul:4: contains a NUL byte"),
            "empty": ("", r"empty: no package in 0 lines"),
            "blank": ("\n\n\n", r"blank: no package in 3 lines"),
            "elf": (b"\x7fELF\x02\x01", r"elf:1: expected \"Field: value\".* found \"\\x7fELF\\x02\\x01\""),
        }
        for name, (content, pattern) in cases.items():
            with self.subTest(name):
                self.assert_error(self.run_job(3, "--packages", self.write(name, content)), pattern)

    # The machine's own lists

    def with_apt_cache(self, script):
        """An environment in which apt-cache is this script."""
        path = self.write("apt-cache", "#!/bin/sh\n" + script)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return {"PATH": self.folder + os.pathsep + os.environ["PATH"]}

    def test_apt_cache_is_asked_first(self):
        self.write("list", SAMPLE_PACKAGES.replace("Status: install ok installed\n", ""))
        env = self.with_apt_cache(f'[ "$*" = dumpavail ] && cat {self.folder}/list\n')
        output = self.scores(3, env=env)
        self.assertIn("source  apt-cache dumpavail\n", output[3])
        self.assertEqual(output[1]["base"], 3)

    def test_a_relation_in_the_machines_lists_that_makes_no_sense_is_left_out_with_a_warning(self):
        self.write("list", "Package: a\nDepends: ${shlibs:Depends}, b\n\nPackage: b\n")
        job = self.run_job(3, env=self.with_apt_cache(f"cat {self.folder}/list\n"))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"warning: 1 relations left out, the first: apt-cache dumpavail:2: expected ")
        self.assertIn("2 packages, 1 dependencies", job.stdout)

    @unittest.skipUnless(os.path.exists("/var/lib/dpkg/status"), "this machine has no dpkg status file")
    def test_the_dpkg_status_file_serves_where_apt_cache_has_nothing(self):
        for script in ("exit 0\n", "echo broken >&2; exit 100\n", "kill -9 $$\n"):
            with self.subTest(script):
                job = self.run_job(2, "--top", "3", env=self.with_apt_cache(script))
                self.assertEqual(job.returncode, 0, job.stderr)
                self.assertIn("source  /var/lib/dpkg/status\n", job.stdout)
                self.assertEqual(job.stderr, "")

    # The heap

    def test_a_graph_that_does_not_fit_in_the_heap(self):
        path = self.write("edges", "".join(f"{i} {(i * 7919) % 100000}\n" for i in range(100000)))
        job = self.run_job(2, path, env={"SHMEM_SYMMETRIC_SIZE": "256k"})
        self.assert_error(job, r"the symmetric heap has no room for \d+ more bytes a PE: set SHMEM_SYMMETRIC_SIZE")


class ScriptsTest(unittest.TestCase):
    """The command lines of the scripts that run the examples; nothing is built here."""

    def run_script(self, *command):
        return subprocess.run(["bash", os.path.join(ROOT, command[0]), *command[1:]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=False,
                              env={**os.environ, "SHOALRUN": SHOALRUN}, encoding="utf-8")

    def test_help_names_every_option(self):
        for script, options in (("scripts/demo.sh", ("-n PES", "--no-install", "--help")),
                                ("examples/tour.sh", ("-n PES", "--bin FOLDER", "SHOALRUN"))):
            result = self.run_script(script, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), script)
            for option in options:
                self.assertIn(option, result.stdout, script)

    def test_the_demo_knows_the_options_of_the_program(self):
        with open(os.path.join(ROOT, "scripts/demo.sh"), encoding="utf-8") as file:
            known = {word for word in re.findall(r"(?<![\w-])--?[a-z]+(?= [|]|\) )", file.read().split("value=no", 1)[1])}
        told = subprocess.run([PAGERANK, "--help"], stdout=subprocess.PIPE, timeout=DEADLINE, check=True, encoding="utf-8").stdout
        self.assertEqual(known, set(re.findall(r"(?<![\w-])--?[a-z]+(?=[ ,])", told.split("\n\n", 2)[2])))

    def test_bad_arguments_are_refused(self):
        for command, status, text in (
                (("scripts/demo.sh", "-n", "0"), 1, "demo.sh: -n 0: must be a whole number from 1 on"),
                (("scripts/demo.sh", "-n", "4x"), 1, "demo.sh: -n 4x: must be a whole number from 1 on"),
                (("scripts/demo.sh", "-n"), 1, "demo.sh: -n: a number of PEs is missing after it"),
                (("scripts/demo.sh", "--tpo", "3"), 1, "demo.sh: unknown option --tpo; scripts/demo.sh --help tells some, scripts/demo.sh -- --help all"),
                (("scripts/demo.sh", "--verbose", "--top"), 1, "demo.sh: --top: a value is missing after it"),
                (("examples/tour.sh", "-n", "0"), 2, "tour.sh: -n: expected a number of PEs from 1, found '0'"),
                (("examples/tour.sh", "--bin"), 2, "tour.sh: --bin: a folder is missing after it"),
                (("examples/tour.sh", "--bin", "/nowhere"), 2, "tour.sh: there is no built example in /nowhere"),
                (("examples/tour.sh", "fast"), 2, "tour.sh: unknown argument 'fast'; see tour.sh --help")):
            with self.subTest(command):
                result = self.run_script(*command)
                self.assertEqual((result.returncode, result.stdout, result.stderr.strip()), (status, "", text))

    def test_the_tour_runs_all_examples(self):
        bin_folder = os.path.dirname(PAGERANK)
        result = self.run_script("examples/tour.sh", "-n", "3", "--bin", bin_folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        for name in EXAMPLES:
            self.assertIn(f"== {name}, 3 PEs", result.stdout)
        self.assertTrue(result.stdout.endswith("all examples were right\n"))

    def test_the_tour_names_what_was_not_right(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, status in (("hello", 0), ("ring", 3)):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\nexit {status}\n")
                os.chmod(path, 0o755)
            result = self.run_script("examples/tour.sh", "-n", "1", "--bin", folder)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("tour.sh: not right: ring (status 3)", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:], verbosity=2)
