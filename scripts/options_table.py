#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/options.md from src/base/options.def, between the two marks there.

    options_table.py --write | --check
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "options.md")
MARKS = re.compile(r"(<!-- table: [^\n]*-->\n).*?(<!-- end of table -->)", re.S)
STRING = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(rf"^SHOAL_OPTION\(\w+, (\w+), {STRING}, {STRING}, {STRING}, {STRING}\)$", re.M)


def table():
    with open(os.path.join(ROOT, "src", "base", "options.def"), encoding="utf-8") as file:
        text = file.read()
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^SHOAL_OPTION\(", text, re.M)):
        sys.exit("options_table.py: a line of options.def is not understood")
    lines = ["| variable | type | default | what it does |", "|---|---|---|---|"]
    for kind, name, older, default, text in rows:
        also = f" (or `{older}`)" if older else ""
        lines.append(f"| `{name}`{also} | {kind} | {f'`{default}`' if default else 'not set'} | {text.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def main():
    with open(PAGE, encoding="utf-8") as file:
        before = file.read()
    after, found = MARKS.subn(lambda m: m.group(1) + table() + m.group(2), before)
    if found != 1:
        sys.exit(f"options_table.py: the marks are missing in {PAGE}")
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(after)
    elif sys.argv[1:] != ["--check"]:
        sys.exit(__doc__)
    elif after != before:
        sys.exit("docs/options.md is out of date: run scripts/options_table.py --write")


if __name__ == "__main__":
    main()
