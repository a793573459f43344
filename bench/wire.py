#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What operations between two machines cost, over a veth pair between two network namespaces, beside the limits of the same wire.

Builds the namespaces, runs bench/nodes.cpp over each transport (which measures bare TCP and bare OpenSSL in the same run), ucx_perftest
and Open MPI's OpenSHMEM and MPI where they are installed, and what PEs that wait use of a processor; prints a table with the goals. What has
no choice of its own gets cubic for its congestion control. Needs root and iproute2. Nothing is judged.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds of one measurement
ADDRESSES = ("10.213.9.1", "10.213.9.2")
NETWORK = "10.213.9.0/24"
LINK = "shoal0"  # at both ends: UCX's users name it
# Goals that were set on a machine whose bare TCP had a round trip of 6.2 us, as multiples of that.
PUT_BY_UCX, GET_BY_UCX = 8.0 / 6.2, 7.7 / 6.2


class Wire:
    """Two namespaces and a cable; gone afterwards."""

    def __enter__(self):
        tag = "shoal%06x" % random.getrandbits(24)
        self.spaces = (tag + "a", tag + "b")
        for space in self.spaces:
            self.ip("netns", "add", space)
        self.ip("link", "add", LINK, "netns", self.spaces[0], "type", "veth", "peer", "name", LINK, "netns", self.spaces[1])
        for space, address in zip(self.spaces, ADDRESSES):
            self.ip("-n", space, "addr", "add", address + "/24", "dev", LINK)
            self.ip("-n", space, "link", "set", LINK, "up")
            self.ip("-n", space, "link", "set", "lo", "up")
        for space in self.spaces:
            self.ip("-n", space, "route", "change", NETWORK, "dev", LINK, "congctl", "cubic")
        return self

    def __exit__(self, *_):
        for space in self.spaces:
            self.ip("netns", "del", space)

    def ip(self, *arguments):
        subprocess.run(["ip", *arguments], check=True, timeout=30)

    def both(self, commands, environment):
        """Runs a command in each namespace. @return what both print"""
        processes = [subprocess.Popen(["ip", "netns", "exec", space, *command], stdout=subprocess.PIPE, text=True, env=environment)
                     for space, command in zip(self.spaces, commands)]
        outputs = [process.communicate(timeout=LIMIT)[0] for process in processes]
        if any(process.returncode for process in processes):
            sys.exit(f"failed: {' '.join(commands[0])}")
        return "".join(outputs)


def job(wire, build, transport, program, *arguments):
    """A job of two launchers with a PE each. What the PEs print."""
    with tempfile.TemporaryDirectory() as folder:
        secret = os.path.join(folder, "secret")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
            file.write(os.urandom(32).hex())
        # One kernel: without the option the PEs would find each other's memory.
        environment = dict(os.environ, SHOAL_TRANSPORT=transport, SHOAL_FAKE_NODES="2", SHMEM_SYMMETRIC_SIZE="64m",
                           SHOAL_INTERFACE=ADDRESSES[0].rsplit(".", 1)[0] + "." if transport != "ucx" else "", UCX_TLS="tcp")
        commands = [[os.path.join(build, "bin", "shoalrun"), "--nnodes", "2", "--node-rank", str(rank), "--rdzv", ADDRESSES[0], "--secret-file", secret, "-n", "1",
                     os.path.join(build, "bench", program), *arguments] for rank in range(2)]
        return wire.both(commands, environment)


def figures(text):
    """{name: value} of bench/nodes.cpp's lines."""
    return {m.group(1): float(m.group(2)) for m in re.finditer(r"^  (\S.*?) {2,}([\d.]+) (?:us|GB/s) +\(", text, re.M)}


def perftest_gb_s(wire):
    """1 MiB puts by ucx_perftest, GB/s; None where it is not installed."""
    if shutil.which("ucx_perftest") is None:
        return None
    test = ["ucx_perftest", "-t", "ucp_put_bw", "-s", str(1 << 20), "-n", "8000", "-f"]  # fewer end before they have arrived
    # "<iterations> <latencies: median, average, overall> <MB/s: average, overall> <messages/s: average, overall>"
    text = wire.both([["sh", "-c", f"sleep 1; {' '.join(test)} {ADDRESSES[1]}"], ["sh", "-c", " ".join(test) + " >/dev/null"]], dict(os.environ, UCX_TLS="tcp"))
    lines = re.findall(r"^(?:Final:)? +(\d+ .*)$", text, re.M)
    return float(lines[-1].split()[-3]) * (1 << 20) / 1e9 if lines else None


def others_us(wire):
    """{name: microseconds} of Open MPI's float sum of 4 MiB; empty where it is not installed."""
    if shutil.which("oshcc") is None or shutil.which("mpirun") is None:
        return {}
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        agent = os.path.join(folder, "agent")  # in place of ssh
        with open(os.open(agent, os.O_CREAT | os.O_WRONLY, 0o700), "w", encoding="ascii") as file:
            file.write(f'#!/bin/sh\nshift\nexec ip netns exec {wire.spaces[1]} sh -c "$*"\n')
        common = ["ip", "netns", "exec", wire.spaces[0], "env", "UCX_TLS=tcp,self", f"UCX_NET_DEVICES={LINK}", "SHMEM_SYMMETRIC_SIZE=64m", "mpirun", "--allow-run-as-root", "--bind-to", "none",
                  "-x", "UCX_TLS", "-x", "UCX_NET_DEVICES", "-x", "SHMEM_SYMMETRIC_SIZE", "-n", "2", "--host", ",".join(a + ":1" for a in ADDRESSES), "--mca", "plm", "rsh",
                  "--mca", "plm_rsh_agent", agent, "--mca", "oob_tcp_if_include", NETWORK]
        by_tcp = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", NETWORK]
        for name, flags, more in (("OpenSHMEM by UCX", [], []), ("MPI by UCX", ["-DBY_MPI"], []), ("MPI by TCP", ["-DBY_MPI"], by_tcp)):
            program = os.path.join(folder, "others")
            subprocess.run(["oshcc", "-O3", *flags, os.path.join(os.path.dirname(os.path.abspath(__file__)), "others.c"), "-o", program], check=True, timeout=LIMIT)
            text = subprocess.run([*common, *more, program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=LIMIT, check=False).stdout
            times.update({name: value for value in figures(text).values()})
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, build/release say")
    parser.add_argument("--transports", default="tls,tcp,ucx", help="separated by commas (default: %(default)s)")
    options = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("ip") is None:
        sys.exit("network namespaces need root and iproute2")
    print(f"{'':6}{'':26}{'measured':>10}  {'limit':>8}  {'ratio':>6}  goal")

    def row(transport, what, value, limit, goal, met, unit):
        ratio, bound = (f"{value / limit:.2f}", f"{limit:.3f}") if limit else ("", "")
        print(f"{transport:6}{what:26}{value:>10.3f}  {bound:>8}  {ratio:>6}  {goal} {unit}: {'met' if met else 'missed'}", flush=True)

    with Wire() as wire:
        others = others_us(wire)
        for name, value in others.items():
            print(f"float sum reduce, 4 MiB, Open MPI's {name}: {value:.0f} us", flush=True)
        for transport in options.transports.split(","):
            got = figures(job(wire, options.build, transport, "nodes", ADDRESSES[1]))
            bare = "OpenSSL" if transport == "tls" else "TCP"
            trip, stream = got[f"raw {bare} round trip, 8 B"], got[f"raw {bare} stream"]
            for what in ("put 8 B and quiet", "get 8 B", "fetch_add"):
                most = 1.25 if transport != "ucx" else PUT_BY_UCX if what.startswith("put") else GET_BY_UCX
                row(transport, what, got[what], trip, f"at most {most:.2f} x limit", got[what] <= most * trip, "us")
            rate = 1 / got["put 8 B, many"]
            row(transport, "put 8 B, million a second", rate, None, "at least 5", rate >= 5, "")
            if transport == "ucx":
                stream = perftest_gb_s(wire) or stream
            row(transport, "put 1 MiB, many", got["put 1 MiB, many"], stream, "at least 0.95 x limit", got["put 1 MiB, many"] >= 0.95 * stream, "GB/s")
            half = trip / 2
            row(transport, "barrier_all", got["barrier_all"], half, "at most 1.3 x limit", got["barrier_all"] <= 1.3 * half, "us")
            both = got[f"raw {bare} exchange, 8 B"]
            print(f"{transport:6}  beside an exchange by {bare} in which both send at once: {got['barrier_all']:.2f} and {both:.2f} us, {got['barrier_all'] / both:.2f}")
            if "raw UCX exchange, 8 B" in got:
                for what, bare_us in (("put 8 B and quiet", got["raw UCX round trip, 8 B"]), ("fetch_add", got["raw UCX round trip, 8 B"]), ("barrier_all", got["raw UCX exchange, 8 B"])):
                    print(f"{transport:6}  {what} beside messages of UCX itself: {got[what]:.2f} and {bare_us:.2f} us, {got[what] / bare_us:.2f}")
            reduce_us, both = got["float sum reduce, 4 MiB"], got[f"raw {bare} exchange, 4 MiB"]
            if others:
                least = min(others.values())
                row(transport, "float sum reduce, 4 MiB", reduce_us, least, "at most 0.7 x the others' best", reduce_us <= 0.7 * least, "us")
            print(f"{transport:6}  beside 4 MiB each way at once by {bare}, the least that it moves: {reduce_us:.0f} and {both:.0f} us, {reduce_us / both:.2f}")
            idle = re.search(r"([\d.]+) ?%", job(wire, options.build, transport, "meeting", "idle", "3"))
            if idle:
                row(transport, "a waiting PE, % of a core", float(idle.group(1)), None, "under 2", float(idle.group(1)) < 2, "%")


if __name__ == "__main__":
    main()
