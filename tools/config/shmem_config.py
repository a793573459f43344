#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shmem-config: where Shoal is, how to build with it, and what is wrong with it on this machine.

Stands alone: it imports nothing of the package, since that may be what is broken.
"""
from __future__ import annotations

import argparse
import ctypes.util
import hashlib
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import sysconfig

VERSION = "0.1.0"
OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
LAUNCHERS = {"OMPI_COMM_WORLD_SIZE": "Open MPI's mpirun", "PMI_SIZE": "a PMI launcher", "PMIX_RANK": "a PMIx launcher", "SLURM_PROCID": "srun",
             "MV2_COMM_WORLD_SIZE": "MVAPICH's launcher"}
STORE_PORT = 8666

PROBE = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
lib.shmem_malloc.restype = lib.shmem_ptr.restype = ctypes.c_void_p
lib.shmem_malloc.argtypes, lib.shmem_ptr.argtypes = [ctypes.c_size_t], [ctypes.c_void_p, ctypes.c_int]
lib.shmem_init()
word = lib.shmem_malloc(64)
print("mapped" if lib.shmem_ptr(word, 1 - lib.shmem_my_pe()) else "apart", flush=True)
lib.shmem_finalize()
"""


def root():
    """The installation that this file is part of: PREFIX of PREFIX/bin/shmem-config, or the package of a wheel."""
    here = os.path.dirname(os.path.realpath(__file__))
    for folder in (os.path.dirname(here), here):
        if os.path.exists(os.path.join(folder, "bin", "shoalrun")):
            return folder
    return os.path.dirname(here)


def library_folder():
    """Where libshoal.so.0 is."""
    for name in ("lib", "lib64", f"lib/{sysconfig.get_config_var('MULTIARCH')}", "src"):
        if os.path.exists(os.path.join(root(), name, "libshoal.so.0")):
            return os.path.join(root(), name)
    return os.path.join(root(), "lib")


def run(*command, timeout=30, **env):
    """(status, stdout, stderr); status 127 where there is no such program, 124 after the timeout."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **env}, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr
    except OSError as error:
        return 127, "", str(error)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer within {timeout} s"


def read(path, default=""):
    """A small file's text."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return default


def size_of(text):
    """Bytes of a size as Shoal's options have it ("512m", "1.5g"), or None."""
    match = re.fullmatch(r"([0-9.]+)([kmgt]?)b?", text.strip().lower())
    return int(float(match.group(1)) * 1024 ** " kmgt".index(match.group(2) or " ")) if match else None


def group_limit(mount="/sys/fs/cgroup", membership="/proc/self/cgroup"):
    """The least memory that a control group of this process, or one above it, may have; None without a limit."""
    limits = []
    for line in read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (os.path.join(mount, "memory"), "memory.limit_in_bytes") if controllers else (mount, "memory.max")
        parts = [part for part in path.split("/") if part not in ("", "..")]
        limits += [read(os.path.join(top, *parts[:depth], name)) for depth in range(len(parts) + 1)]
    return min((int(limit) for limit in limits if limit.isdigit()), default=None)


class Report:
    """What was found: [(check, severity, what, what to do)]."""

    def __init__(self):
        self.rows = []

    def add(self, check, severity, text, remedy=""):
        """One finding."""
        self.rows.append((check, severity, text, remedy))

    def status(self):
        """Exit status: 2 with an error, 1 with a warning, else 0."""
        severities = {row[1] for row in self.rows}
        return 2 if ERROR in severities else 1 if WARNING in severities else 0

    def text(self):
        """For people."""
        lines = []
        for check, severity, text, remedy in self.rows:
            lines.append(f"{severity.upper():8}{check}: {text}")
            if remedy:
                lines.append(f"        -> {remedy}")
        worst = {0: "nothing is wrong", 1: "there are warnings", 2: "there are errors"}[self.status()]
        return "\n".join([*lines, f"{len(self.rows)} checks: {worst}"])

    def json(self):
        """For programs."""
        rows = [{"check": c, "severity": s, "text": t, "remedy": r} for c, s, t, r in self.rows]
        return json.dumps({"version": VERSION, "root": root(), "status": self.status(), "checks": rows}, indent=2)


def check_files(report):
    """Whether the installation is whole."""
    wanted = {"library": os.path.join(library_folder(), "libshoal.so.0"), "header": os.path.join(root(), "include", "shmem.h"),
              "launcher": os.path.join(root(), "bin", "shoalrun")}
    missing = [path for path in wanted.values() if not os.path.exists(path)]
    if missing:
        report.add("files", ERROR, "missing: " + ", ".join(missing), "install again: bash scripts/build.sh, or pip install .")
        return
    try:
        ctypes.CDLL(wanted["library"])
        report.add("files", OK, f"library, headers and launcher are in {root()}")
    except OSError as error:
        report.add("files", ERROR, f"the library can't be loaded: {error}", "install what it needs (libssl3), or build it on this machine")


def copies():
    """Every libshoal.so.0 that a program might load: {real path: where it was found}."""
    found = {}
    places = [("this installation", library_folder())]
    places += [(f"LD_LIBRARY_PATH", folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    places += [("a system folder", folder) for folder in ("/usr/lib", "/usr/local/lib", "/usr/lib64", f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}")]
    for folder in os.environ.get("PATH", "").split(":"):
        if os.path.exists(os.path.join(folder, "shoalrun")):
            places.append(("beside a shoalrun on PATH", os.path.join(os.path.dirname(os.path.realpath(os.path.join(folder, "shoalrun"))), "..", "lib")))
    for folder in [*os.environ.get("PYTHONPATH", "").split(":"), *sys.path]:
        places.append(("a Python package", os.path.join(folder, "shoal", "lib")))
        places.append(("a Python package", os.path.join(folder, "..")))
    for why, folder in places:
        path = os.path.realpath(os.path.join(folder, "libshoal.so.0"))
        if os.path.isfile(path):
            found.setdefault(path, why)
    return found


def check_copies(report):
    """Several copies of the library are several libraries only if they differ."""
    found = copies()
    kinds = {}
    for path in found:
        with open(path, "rb") as file:
            kinds.setdefault(hashlib.sha256(file.read()).hexdigest(), []).append(path)
    if len(kinds) > 1:
        report.add("copies", WARNING, "different copies of the library: " + ", ".join(f"{path} ({why})" for path, why in found.items()),
                   "keep one: remove the others, or take them off PATH, LD_LIBRARY_PATH and PYTHONPATH; a job must use one")
    else:
        report.add("copies", OK, f"one library: {next(iter(found), 'none')}")


def check_names(report):
    """Other implementations' commands and headers that would be taken in place of ours."""
    others = [path for path in (shutil.which(name) for name in ("oshrun", "oshcc", "shmemrun")) if path and not os.path.realpath(path).startswith(root())]
    if others:
        report.add("other OpenSHMEM", NOTE, "commands of another implementation are on PATH: " + ", ".join(others),
                   "start programs built with Shoal by shoalrun, and build them by shoalcc; other launchers and compilers belong to their own library")
    else:
        report.add("other OpenSHMEM", OK, "no other implementation on PATH")


def check_launcher(report):
    """Whether shoalrun is ours, and whether a foreign launcher runs this."""
    first = shutil.which("shoalrun")
    own = os.path.join(root(), "bin", "shoalrun")
    if first is None:
        report.add("launcher", WARNING, "shoalrun is not on PATH", f"source {os.path.join(root(), 'set_env.sh')}, or call {own}")
    elif os.path.exists(own) and os.path.realpath(first) != os.path.realpath(own) and VERSION not in run(first, "--version")[1]:
        report.add("launcher", ERROR, f"{first} is of another version than this installation ({VERSION})", f"put {os.path.dirname(own)} first on PATH")
    else:
        report.add("launcher", OK, first)
    foreign = [f"{name} ({who})" for name, who in LAUNCHERS.items() if name in os.environ]
    if foreign and "SHOAL_PE" not in os.environ:
        report.add("environment", WARNING, "another launcher started this process: " + ", ".join(foreign),
                   "start programs by shoalrun -n N, or unset these variables to run a single PE")


def check_mapping(report):
    """Whether two PEs see each other's memory, by trying."""
    launcher = os.path.join(root(), "bin", "shoalrun")
    if not os.path.exists(launcher):
        return
    status, out, err = run(launcher, "-n", "2", "--timeout", "20", sys.executable, "-c", PROBE, os.path.join(library_folder(), "libshoal.so.0"),
                           SHMEM_SYMMETRIC_SIZE="16m", SHOAL_STATIC_DATA="0")
    if status != 0:
        report.add("two PEs", ERROR, f"a job of two PEs ended with status {status}: {err.strip() or out.strip()}", "see the message; docs/launching.md")
    elif out.split() == ["mapped", "mapped"]:
        report.add("two PEs", OK, "two PEs map each other's memory")
    else:
        report.add("two PEs", WARNING, "two PEs on this machine can't map each other's memory: what they exchange is copied through messages",
                   "run them in one container and user namespace, without a sandbox that forbids passing descriptors")


def check_memory(report):
    """Limits that a heap could meet."""
    size = size_of(os.environ.get("SHMEM_SYMMETRIC_SIZE", "1g")) or 1 << 30
    for name, limit in (("ulimit -v", resource.RLIMIT_AS), ("ulimit -d", resource.RLIMIT_DATA), ("ulimit -f", resource.RLIMIT_FSIZE)):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY and soft < 2 * size:
            report.add("limits", WARNING, f"{name} allows {soft} bytes, little beside a heap of {size} on each PE",
                       f"raise it ({name} unlimited), or set SHMEM_SYMMETRIC_SIZE lower")
            break
    else:
        report.add("limits", OK, "no limit of this process is in the way")
    group = group_limit()
    available = int(re.search(r"MemAvailable:\s+(\d+)", read("/proc/meminfo") or "MemAvailable: 0").group(1)) * 1024
    room = available if group is None else min(available, group)
    if room < size:
        report.add("memory", WARNING, f"{room >> 20} MB are available, less than one PE's heap may take ({size >> 20} MB)",
                   "set SHMEM_SYMMETRIC_SIZE lower; a heap takes only what is touched, but going beyond what there is kills PEs")
    else:
        report.add("memory", OK, f"{room >> 20} MB are available; a heap is {size >> 20} MB a PE, taken as it is touched")


def check_port(report):
    """Whether jobs over several machines could meet at the usual port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", STORE_PORT))
            report.add("port", OK, f"port {STORE_PORT} is free")
        except OSError as error:
            report.add("port", NOTE, f"port {STORE_PORT}, where jobs over several machines meet, can't be had: {error.strerror}",
                       "name another: shoalrun --rdzv HOST:PORT")


def check_certificates(report):
    """Files that the options name."""
    files = {name: os.environ[name] for name in ("SHOAL_TLS_CA", "SHOAL_TLS_CERT", "SHOAL_TLS_KEY", "SHOAL_JOB_SECRET_FILE") if os.environ.get(name)}
    for name, path in files.items():
        if not os.access(path, os.R_OK):
            report.add("certificates", ERROR, f"{name}={path} can't be read", "name a file that this user can read, or unset the variable")
        elif name in ("SHOAL_TLS_KEY", "SHOAL_JOB_SECRET_FILE") and os.stat(path).st_mode & 0o077:
            report.add("certificates", ERROR, f"{name}={path} is open to other users", f"chmod 600 {path}")
        elif name in ("SHOAL_TLS_CA", "SHOAL_TLS_CERT") and shutil.which("openssl"):
            status, out, err = run("openssl", "x509", "-noout", "-enddate", "-checkend", "604800", "-in", path)
            if status not in (0, 1) or "notAfter" not in out:
                report.add("certificates", ERROR, f"{name}={path} is no certificate: {err.strip().splitlines()[-1] if err.strip() else out.strip()}", "name a PEM file")
            elif status == 1:
                report.add("certificates", WARNING, f"{name}={path} has expired or will within a week ({out.split()[0]})", "renew it")
    named = {"SHOAL_TLS_CA", "SHOAL_TLS_CERT", "SHOAL_TLS_KEY"} & set(files)
    if 0 < len(named) < 3:
        missing = sorted({"SHOAL_TLS_CA", "SHOAL_TLS_CERT", "SHOAL_TLS_KEY"} - named)
        report.add("certificates", ERROR, "certificates are set up in part: without " + ", ".join(missing), "set all three, or none")
    if not any(row[0] == "certificates" for row in report.rows):
        report.add("certificates", OK, "in order" if files else "none named: jobs use a secret of their own")


def check_processor(report):
    """Instruction sets, and huge pages."""
    flags = set((re.search(r"^flags\s*:(.*)$", read("/proc/cpuinfo"), re.M) or [None, ""])[1].split())
    if os.uname().machine != "x86_64":
        report.add("processor", OK, f"{os.uname().machine}, {os.cpu_count()} processors")
    elif "avx2" not in flags:
        report.add("processor", NOTE, "no AVX2: reductions take the baseline instructions", "nothing to do; they are slower, not wrong")
    else:
        report.add("processor", OK, f"{'AVX-512' if 'avx512bw' in flags else 'AVX2'}, {os.cpu_count()} processors")
    folder = "/sys/kernel/mm/transparent_hugepage/"
    policy = re.search(r"\[(\w+)\]", read(folder + "shmem_enabled", "[unknown]"))
    if policy and policy.group(1) in ("never", "deny"):
        report.add("huge pages", NOTE, f"shared memory gets none ({folder}shmem_enabled is {policy.group(1)})",
                   f"for large heaps: echo advise > {folder}shmem_enabled, as root")
    else:
        report.add("huge pages", OK, f"shared memory: {policy.group(1) if policy else 'unknown'}")


def check_python(report):
    """The package and PyTorch, in the Python that comes first."""
    interpreter = sys.executable or shutil.which("python3")
    status, out, err = run(interpreter, "-c", "import shoal, os; print(shoal.__version__, os.path.dirname(shoal.__file__))")
    if status != 0:
        last = err.strip().splitlines()[-1] if err.strip() else ""
        severity = NOTE if "No module named 'shoal'" in last else WARNING
        advice = f"{interpreter} -m pip install numpy" if "No module named 'numpy'" in last else "source set_env.sh, or pip install ."
        report.add("Python package", severity, f"can't be imported by {interpreter}: {last}", advice)
    elif not out.startswith(VERSION + " "):
        report.add("Python package", ERROR, f"{out.strip()} is of another version than this installation ({VERSION})", "install both from one source")
    else:
        report.add("Python package", OK, out.strip())
    status, out, err = run(interpreter, "-c", "import torch, torch.distributed as d; print(torch.__version__, d.is_available())", timeout=120)
    if status != 0:
        report.add("PyTorch", NOTE, f"can't be imported by {interpreter}", "needed for shoal.torch only: pip install torch")
    else:
        version = tuple(int(part) for part in re.findall(r"\d+", out)[:2])
        if version < (1, 13) or "True" not in out:
            report.add("PyTorch", WARNING, f"{out.split()[0]} is too old for shoal.torch, or built without torch.distributed", "1.13 or later")
        else:
            report.add("PyTorch", OK, out.split()[0])


def diagnose():
    """All checks."""
    report = Report()
    for check in (check_files, check_copies, check_names, check_launcher, check_mapping, check_memory, check_port, check_certificates, check_processor,
                  check_python):
        try:
            check(report)
        except Exception as error:  # pylint: disable=broad-except  # a check that fails must not hide the others
            report.add(check.__name__[6:], WARNING, f"this check itself failed: {error}", "report it")
    return report


def main():
    """The command."""
    parser = argparse.ArgumentParser(prog="shmem-config", description="Where Shoal is, how to build with it, what is wrong with it on this machine.",
                                     epilog="Exit status: 0; with --diagnose and --check 1 for warnings, 2 for errors.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--version", action="store_true", help="the version")
    what.add_argument("--root", action="store_true", help="the folder it is installed in")
    what.add_argument("--include", action="store_true", help="the flag that finds the headers")
    what.add_argument("--lib", action="store_true", help="the folder of the library")
    what.add_argument("--ldflags", action="store_true", help="the flags that link the library")
    what.add_argument("--rpath", action="store_true", help="the flag by which programs find the library when they run")
    what.add_argument("--check", action="store_true", help="whether the installation is whole and a job of two PEs runs")
    what.add_argument("--diagnose", action="store_true", help="everything that is known to go wrong, with what to do about it")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    values = {"version": VERSION, "root": root(), "include": "-I" + os.path.join(root(), "include"), "lib": library_folder(),
              "ldflags": f"-L{library_folder()} -lshoal", "rpath": f"-Wl,-rpath,{library_folder()}"}
    for name, value in values.items():
        if getattr(options, name):
            print(json.dumps({name: value}) if options.json else value)
            return 0
    if options.check:
        report = Report()
        check_files(report)
        check_mapping(report)
    else:
        report = diagnose()
    print(report.json() if options.json else report.text())
    return report.status()


if __name__ == "__main__":
    sys.exit(main())
