#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows is what happens: its programs compile, and its console sessions give the output printed.

In README*.md and docs/*.md, a ```c or ```cpp block whose first line is a comment with a file name is a program. The
```console blocks after it are typed line by line ("$ command") in a folder with that file's programs; what is printed
must match, the lines in any order, as PEs print in any order. A line of three dots stands for any further lines.
"""
import glob
import os
import re
import tempfile
import unittest

from support import SOURCE, Installation, main

PAGES = sorted(glob.glob(os.path.join(SOURCE, "README*.md")) + glob.glob(os.path.join(SOURCE, "docs", "*.md")))


def blocks(page):
    with open(page, encoding="utf-8") as file:
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", file.read(), re.M | re.S):
            yield found.group(1), found.group(2)


def session(text):
    """[(command, lines expected after it)]"""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            steps[-1][1].append(line)
    return steps


class Readme(Installation):
    def play(self, page):
        programs = sessions = 0
        with tempfile.TemporaryDirectory(dir=self.scratch) as folder:
            for language, text in blocks(page):
                named = re.match(r"(?://|/\*) (\w+\.(?:c|cpp))\b", text)
                if language in ("c", "cpp") and named:
                    with open(os.path.join(folder, named.group(1)), "w", encoding="utf-8") as file:
                        file.write(text)
                    programs += 1
                    wrapper = "shoalcc" if language == "c" else "shoalc++"
                    standard = "-std=c11" if language == "c" else "-std=c++20"
                    self.run_ok([wrapper, standard, "-Wall", "-Wextra", "-Werror", "-c", named.group(1), "-o", "check.o"], cwd=folder)
                elif language == "console":
                    sessions += 1
                    for command, expected in session(text):
                        with self.subTest(page=os.path.basename(page), command=command):
                            result = self.run_any(command, cwd=folder)
                            got = sorted((result.stdout + result.stderr).splitlines())
                            if "..." in expected:
                                for line in set(expected) - {"..."}:
                                    self.assertIn(line, got)
                            else:
                                self.assertEqual(got, sorted(expected))
        return programs, sessions

    def test_readme_in_english(self):
        programs, sessions = self.play(os.path.join(SOURCE, "README.md"))
        self.assertGreaterEqual(min(programs, sessions), 4)

    def test_readme_in_chinese_shows_the_same_programs(self):
        def skeleton(page):
            # Comments are translated; the rest is the same, and so need not run twice.
            code = [text for language, text in blocks(os.path.join(SOURCE, page)) if language in ("c", "cpp", "console")]
            return [re.sub(r" *//.*", "", text) for text in code]

        self.assertGreater(len(skeleton("README.md")), 8)
        self.assertEqual(skeleton("README.md"), skeleton("README.zh-CN.md"))

    def test_pages_of_the_documentation(self):
        for page in PAGES:
            if not os.path.basename(page).startswith("README"):
                self.play(page)


if __name__ == "__main__":
    main()
