# SPDX-License-Identifier: Apache-2.0
"""shoal-perf compare: one portable program under Shoal, under Open MPI's OpenSHMEM, and its counterpart in MPI."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("SHOAL_PERF_BIN", "")  # where shoal-perf stands; it starts this program
QUICK_BYTES, FULL_BYTES = 1 << 20, 40_000_000
OPEN_MPI = ["--allow-run-as-root"]
# Open MPI 4.1's programs crash when they end unless UCX leaves malloc alone.
OPEN_SHMEM = ["--mca", "opal_common_ucx_opal_mem_hooks", "0"]
# Windows in shared memory are its fastest on one machine; the default may choose another way, which crashes in
# MPI_Compare_and_swap where processes may not read each other's memory.
MPI_WINDOWS = ["--mca", "osc", "sm,pt2pt"]
PACKAGES = "Debian: apt-get install openmpi-bin libopenmpi-dev"


def fail(text):
    print(f"shoal-perf compare: {text}", file=sys.stderr)
    sys.exit(1)


def beside(name):
    """A command of this installation, else one on PATH."""
    path = os.path.join(BIN, name)
    return path if BIN and os.access(path, os.X_OK) else shutil.which(name)


def outside(name):
    """A command of somebody else's: Shoal has commands of the same names, which must not be taken for it."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path) and "shoal" not in os.path.basename(os.path.realpath(path)):
            return path
    return None


class System:
    def __init__(self, name, compile_command, run_command, source, missing):
        self.name, self.compile_command, self.run_command = name, compile_command, run_command
        self.source, self.missing = source, missing
        self.program, self.problem, self.rows = None, missing, {}

    def build(self, folder, c_flags):
        if self.missing:
            return
        self.program = os.path.join(folder, self.name.replace(" ", "_"))
        command = [*self.compile_command, *c_flags, os.path.join(HERE, self.source), "-o", self.program]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.problem = f"its compiler failed: {' '.join(command)}\n{result.stderr.strip()}"
        else:
            self.problem = None

    def run(self, npes, most, deadline):
        """One run: its medians join those of the runs before. False if it failed."""
        command = [*self.run_command, "-n", str(npes), self.program, str(most)]
        env = {name: value for name, value in os.environ.items() if name not in ("SHOAL_PERF_BIN",)}
        # Enough for buffers, work arrays and table; each library goes by its own name for it.
        heap = str(6 * most + (64 << 20))
        env.setdefault("SHMEM_SYMMETRIC_SIZE", heap)
        env.setdefault("SHMEM_SYMMETRIC_HEAP_SIZE", heap)
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=deadline, env=env, stdin=subprocess.DEVNULL, check=False)
        except subprocess.TimeoutExpired:
            self.problem = f"did not end within {deadline} s"
            return False
        rows = {}
        for line in result.stdout.splitlines():
            parts = line.rsplit(",", 2)
            if len(parts) == 3:
                try:
                    rows[parts[0], int(parts[1])] = float(parts[2])
                except ValueError:
                    continue
        if result.returncode != 0 or not rows:
            tail = "\n".join(result.stderr.strip().splitlines()[-8:])
            self.problem = f"exit status {result.returncode}\n{tail}"
            if "shm_open" in result.stderr or not os.access("/dev/shm", os.W_OK):
                self.problem += "\n(it needs a writable /dev/shm, which is not there)"
            return False
        for key, value in rows.items():
            self.rows.setdefault(key, []).append(value)
        return True

    def median(self, key):
        return statistics.median(self.rows[key]) if key in self.rows else None


def launcher_options(npes):
    """With a processor for each process it may keep polling; without, it refuses unless told so."""
    return OPEN_MPI + (["--oversubscribe"] if npes > len(os.sched_getaffinity(0)) else [])


def systems(options):
    shoalcc, shoalrun = options.shoalcc or beside("shoalcc"), beside("shoalrun")
    if not shoalcc:
        fail("shoalcc is neither beside shoal-perf nor on PATH: install Shoal (cmake --install), or give --shoalcc")
    if not shoalrun:
        fail("shoalrun is neither beside shoal-perf nor on PATH")
    oshcc, oshrun, mpicc, mpirun = (outside(name) for name in ("oshcc", "oshrun", "mpicc", "mpirun"))
    return [
        System("Shoal", [shoalcc], [shoalrun], "portable.c", None),
        System("Open MPI OpenSHMEM", [oshcc], [oshrun, *launcher_options(options.n), *OPEN_SHMEM], "portable.c",
               None if oshcc and oshrun else f"oshcc and oshrun are not installed ({PACKAGES})"),
        System("MPI", [mpicc], [mpirun, *launcher_options(options.n), *MPI_WINDOWS], "portable_mpi.c",
               None if mpicc and mpirun else f"mpicc and mpirun are not installed ({PACKAGES})"),
    ]


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def three(value):
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def time_text(ns):
    if ns is None:
        return "-"
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= factor:
            return f"{three(ns / factor)} {unit}"
    return f"{three(ns)} ns"


def print_table(present, npes, runs):
    shoal = present[0]
    others = present[1:]
    print(f"{npes} PEs, medians of {runs} runs of each in turn; a ratio above 1 says how many times as long the other takes.\n")
    head = f"{'test':34} {'bytes':>9} {'Shoal':>10}"
    for other in others:
        head += f" {other.name:>19} {'ratio':>7}"
    print(head)
    for key in shoal.rows:
        test, size = key
        line = f"{test:34} {size if size else '':>9} {time_text(shoal.median(key)):>10}"
        for other in others:
            value = other.median(key)
            ratio = three(value / shoal.median(key)) if value is not None else "-"
            line += f" {time_text(value):>19} {ratio:>7}"
        print(line)


def main():
    parser = argparse.ArgumentParser(
        prog="shoal-perf compare", description="Compiles one portable program by Shoal's shoalcc and by Open MPI's oshcc, and its MPI "
        "counterpart by mpicc, runs them in turn and prints medians and ratios. What is not installed is left out, with the name of its packages.")
    parser.add_argument("-n", type=int, default=2, metavar="N", help="PEs (default 2)")
    parser.add_argument("--runs", type=int, default=5, metavar="R", help="runs of each (default 5)")
    parser.add_argument("--quick", action="store_true", help="sizes to 1 MiB instead of 40 MB")
    parser.add_argument("--cflags", default="-O2", metavar="'FLAGS'", help="for all compilers (default -O2)")
    parser.add_argument("--shoalcc", metavar="COMMAND", help="the compiler wrapper of the Shoal to measure (default: beside shoal-perf)")
    parser.add_argument("--deadline", type=float, default=600, metavar="S", help="seconds that one run may take (default 600)")
    parser.add_argument("--json", metavar="FILE", help="write every run's figures")
    words = sys.argv[1:]
    for at in [i for i, word in enumerate(words[:-1]) if word == "--cflags"]:
        words[at:at + 2] = [f"--cflags={words[at + 1]}", ""]  # a value that begins with "-", as flags do
    options = parser.parse_args([word for word in words if word])
    if options.n < 1 or options.runs < 1:
        parser.error("-n and --runs must be at least 1")
    found = systems(options)
    most = QUICK_BYTES if options.quick else FULL_BYTES
    with tempfile.TemporaryDirectory(prefix="shoal-perf-") as folder:
        for system in found:
            progress(f"compiling for {system.name}")
            system.build(folder, options.cflags.split())
        started = time.monotonic()
        for run in range(options.runs):
            for system in found:
                if system.problem is None and found[0].problem is None:
                    progress(f"run {run + 1} of {options.runs}: {system.name} ({time.monotonic() - started:.0f} s)")
                    system.run(options.n, most, options.deadline)
        progress("")
    for system in found:
        if system.problem is not None:
            print(f"left out: {system.name}: {system.problem}\n", file=sys.stderr)
    if found[0].problem is not None:
        sys.exit(1)
    present = [system for system in found if system.problem is None]
    print_table(present, options.n, options.runs)
    if options.json:
        figures = [{"system": system.name, "test": test, "bytes": size, "runs_ns": values}
                   for system in present for (test, size), values in system.rows.items()]
        try:
            file = open(options.json, "w", encoding="utf-8")
        except OSError as error:
            fail(f"cannot write {options.json}: {error.strerror}")
        with file:
            json.dump({"format": "shoal-perf compare 1", "pes": options.n, "figures": figures}, file, indent=1)


if __name__ == "__main__":
    main()
