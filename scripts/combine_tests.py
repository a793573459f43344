#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes one ctest folder of several build folders, so that one run and one summary cover all of them.

    combine_tests.py [--filtered] OUTPUT (NAME BUILD_FOLDER REGEX COMMAND_PREFIX)...

A test `unit.x` of the part NAME becomes `NAME/unit.x`; REGEX picks tests by name (searched, not matched whole);
COMMAND_PREFIX are words to put before each command, or "". A part without any match is an error, save with --filtered,
where one match in all of them will do.
"""
import json
import os
import re
import shlex
import subprocess
import sys

# Properties whose value names other tests or fixtures of the same part.
NAMES = {"DEPENDS", "FIXTURES_REQUIRED", "FIXTURES_SETUP", "FIXTURES_CLEANUP"}


# Seconds that the longest take, for ctest to begin with them: it knows none where it has not run before.
COSTS = {"multi.race": 20, "multi.soak": 20, "multi.lines": 15, "multi.chaos": 15, "multi.suite": 15, "multi.launcher": 10,
         "multi.stuck": 10, "multi.errors": 10, "multi.trace": 8, "unit.bootstrap_test": 15, "unit.transport_test": 10}


def cost(name, properties):
    """Tests that take several processors before all others: those fill what they leave."""
    several = int(properties.get("PROCESSORS", "1").split(".")[0]) > 1
    return str(100 * several + max((seconds for start, seconds in COSTS.items() if name.startswith(start)), default=0))


def bracket(text):
    """A CMake argument that is taken as it stands."""
    level = 1
    while "]" + "=" * level + "]" in text:
        level += 1
    return f"[{'=' * level}[{text}]{'=' * level}]"


def listed(part, name, value):
    values = value if isinstance(value, list) else [value]
    if name in NAMES:
        values = [f"{part}/{v}" for v in values]
    return ";".join("TRUE" if v is True else "FALSE" if v is False else str(v) for v in values)


def entries(part, folder, regex, prefix):
    shown = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, capture_output=True, text=True)
    for test in json.loads(shown.stdout)["tests"]:
        if not re.search(regex, test["name"]):
            continue
        if "command" not in test:
            sys.exit(f"combine_tests.py: {part}: test {test['name']} has no program; is {folder} built?")
        name = bracket(f"{part}/{test['name']}")
        yield f"add_test({name} {' '.join(bracket(word) for word in shlex.split(prefix) + test['command'])})\n"
        properties = {p["name"]: listed(part, p["name"], p["value"]) for p in test.get("properties", [])}
        properties["LABELS"] = part
        properties.setdefault("COST", cost(test["name"], properties))
        words = " ".join(f"{key} {bracket(value)}" for key, value in properties.items())
        yield f"set_tests_properties({name} PROPERTIES {words})\n"


def main():
    arguments = sys.argv[1:]
    filtered = arguments[:1] == ["--filtered"]
    output, *words = arguments[filtered:] or [""]
    if len(words) % 4 or not words:
        sys.exit(__doc__)
    any_test = False
    os.makedirs(output, exist_ok=True)
    with open(os.path.join(output, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
        for at in range(0, len(words), 4):
            tests = list(entries(*words[at:at + 4]))
            if not tests and not filtered:
                sys.exit(f"combine_tests.py: {words[at]}: no test matches {words[at + 2]!r}")
            print(f"{words[at]}: {len(tests) // 2} tests")
            file.writelines(tests)
            any_test = any_test or bool(tests)
    if not any_test:
        sys.exit(f"combine_tests.py: no test of any part matches {words[2]!r}")


if __name__ == "__main__":
    main()
