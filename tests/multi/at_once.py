# SPDX-License-Identifier: Apache-2.0
"""unittest.main for tests that mostly wait: several of them at a time, each in one of a few processes.

Processes, not threads: what a test does between fork and exec must not meet another thread's locks.
"""
import concurrent.futures
import io
import multiprocessing
import sys
import unittest

AT_ONCE = 4


def run_one(name):
    stream = io.StringIO()
    result = unittest.TextTestRunner(stream=stream, verbosity=2).run(unittest.defaultTestLoader.loadTestsFromName(name, sys.modules["__main__"]))
    return stream.getvalue(), result.testsRun, result.wasSuccessful()


def names_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_in(test)
        else:
            yield f"{type(test).__name__}.{test._testMethodName}"


def main():
    names = sys.argv[1:] or list(names_in(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    ran, bad = 0, []
    with concurrent.futures.ProcessPoolExecutor(AT_ONCE, multiprocessing.get_context("fork")) as pool:
        for name, (text, tests, passed) in zip(names, pool.map(run_one, names)):  # raises where one of the processes dies
            sys.stderr.write(text)
            ran += tests
            bad += [] if passed else [name]
    print(f"{ran} tests ran, {AT_ONCE} at a time; not passed: {', '.join(bad) or 'none'}", file=sys.stderr)
    sys.exit(1 if bad or not ran else 0)
