#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation agrees with the sources: links lead somewhere, the options page lists the options, pages are indexed."""
import glob
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = sorted(glob.glob(os.path.join(ROOT, "*.md")) + glob.glob(os.path.join(ROOT, "docs", "*.md")))


def read(page):
    with open(page, encoding="utf-8") as file:
        return file.read()


class Docs(unittest.TestCase):
    def test_links_lead_to_files_that_exist(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", read(page)):
                if not re.match(r"[a-z]+:", target):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(page), target)), f"{page}: {target}")

    def test_paths_in_backquotes_exist(self):
        for page in PAGES:
            for target in re.findall(r"`((?:src|include|tools|tests|scripts|examples|docs|bench|cmake)/[\w./-]+)`", read(page)):
                self.assertTrue(os.path.exists(os.path.join(ROOT, target)), f"{page}: {target}")

    def test_every_page_is_in_the_index(self):
        index = read(os.path.join(ROOT, "docs", "README.md"))
        for page in glob.glob(os.path.join(ROOT, "docs", "*.md")):
            name = os.path.basename(page)
            if name != "README.md":
                self.assertIn(f"]({name})", index)

    def test_options_page_is_what_options_def_says(self):
        command = [sys.executable, os.path.join(ROOT, "scripts", "options_table.py"), "--check"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    del sys.argv[1:]  # the build folder
    unittest.main(verbosity=2)
