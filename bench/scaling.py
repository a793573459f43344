#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job of 2 to 100,000 PEs needs: connections, memory, start-up, barrier, all-reduce.

A model (docs/scaling.md explains its terms) fed with constants that are measured here, in the same run, with pretended nodes and real
launchers on this machine. It is held against measurements at small sizes first; then it is extrapolated. Nothing is judged.
"""
import argparse
import contextlib
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

PES = (2, 16, 128, 1000, 10_000, 64_000, 100_000)
EXCHANGES = 6        # with the meeting's server: greeting, files, who cannot map them, addresses, machines, barrier
FEW_NODES = 8        # coll/over_nodes.cpp: kFewNodes
PAIR_BYTES = 4096    # team/slot.hpp: room for what leaders tell each other
TABLE_BYTES = 140    # a PE's tables, for each PE of the job: controls, node, heap, two teams of all, places, connections
GREETING_BYTES = 220  # version, machine, program, processors, options: once a node
FILE_BYTES = 30      # where the node's memory is: once a node
ADDRESS_BYTES = 9    # port: once a PE (with certificates 64 more)
MACHINE_BYTES = 60   # name and addresses: once a node
START_BYTES = 30     # a node's line in the answer to join
RUN_BYTES = 8        # before each run of equal parts
PACKET_BYTES = 66    # headers of a message
READ_PE_S = 0.3e-6   # assumed: what a PE does for each other one at init (reading, tables)


def log2(nodes):
    return max(0, math.ceil(math.log2(nodes)))


class Model:
    """All times in seconds. `cores`: those that all nodes share, as pretended ones do; None: each PE has its own."""

    def __init__(self, constants, per_node, cores=None):
        self.c = constants
        self.per_node = per_node
        self.cores = cores

    def steps(self, nodes, count, kind="round_s"):
        """`count` times each leader tells one and hears from one."""
        return count * max(self.c[kind], self.c["busy_s"] * nodes / self.cores if self.cores and nodes > self.cores else 0)

    def stream(self, nodes, size):
        """Each leader gets so many bytes."""
        return size / self.c["stream_bytes_s"] * (max(1.0, nodes / self.cores) if self.cores else 1.0)

    def shape(self, pes):
        here = min(self.per_node, pes)
        return math.ceil(pes / here), here

    def connections_of_leader(self, nodes):
        """Neighbours at 2^k places in both directions; where the nodes are no power of two, partners of the pairs besides."""
        distances = {sign * 2**k % nodes for k in range(log2(nodes)) for sign in (1, -1)} - {0}
        levels = nodes.bit_length() - 1
        extra = nodes - 2**levels

        def place(group):
            return 2 * group if group < extra else group + extra

        def partners(group):
            found = {place(group ^ 2**j) for j in range(levels)} | ({2 * group + 1} if group < extra else set())
            return {(partner - place(group)) % nodes for partner in found}

        most = max(len(distances | partners(group)) for group in range(2**levels)) if nodes > 1 else 0
        return max(most, nodes - 1 if nodes <= FEW_NODES else 0)  # up to FEW_NODES long reductions meet everyone

    def memory_of_pe(self, pes):
        nodes, _ = self.shape(pes)
        return self.c["base_kb"] * 1024 + TABLE_BYTES * pes + MACHINE_BYTES * nodes

    def memory_of_leader(self, pes):
        nodes, _ = self.shape(pes)
        return self.memory_of_pe(pes) + self.connections_of_leader(nodes) * self.c["connection_kb"] * 1024

    def memory_of_alltoall(self, pes):
        """Of a PE that has connections to all of other nodes."""
        _, here = self.shape(pes)
        return self.memory_of_pe(pes) + (pes - here) * self.c["connection_kb"] * 1024

    def start_bytes(self, pes, machines=None):
        """What the server sends to each node. `machines`: on how many the nodes are; those of one say the same."""
        nodes, _ = self.shape(pes)
        machines = machines or nodes
        return (machines * (GREETING_BYTES + MACHINE_BYTES + 2 * RUN_BYTES) + nodes * (START_BYTES + FILE_BYTES + 2 * RUN_BYTES)
                + pes * (ADDRESS_BYTES + RUN_BYTES))

    def start_messages(self, pes):
        """Of the server, to and from the nodes, up to the end of init."""
        nodes, _ = self.shape(pes)
        return 2 * nodes * (1 + EXCHANGES)

    def start_time(self, pes):
        nodes, here = self.shape(pes)
        all_nodes = self.start_bytes(pes)
        return (self.c["start_s"] + nodes * self.c["serve_s"] + nodes * all_nodes / self.c["stream_bytes_s"]
                + here * all_nodes / self.c["local_bytes_s"] + pes * READ_PE_S)

    def in_node(self, here):
        return here * self.c["neighbour_s"] if here > 1 else 0

    def barrier(self, pes):
        nodes, here = self.shape(pes)
        return self.in_node(here) + self.steps(nodes, log2(nodes))

    def all_reduce(self, pes, size):
        nodes, here = self.shape(pes)
        levels = nodes.bit_length() - 1
        extra = nodes > 2**levels
        steps = levels + 2 * extra
        if nodes == 1:
            return 2 * self.in_node(here)
        if size <= PAIR_BYTES // (levels + 1) // 64 * 64:
            return 2 * self.in_node(here) + self.steps(nodes, steps, "pair_s")
        moved = self.stream(nodes, 2 * size * (nodes - 1) / nodes)
        if nodes <= FEW_NODES:  # meet, fetch, put, meet
            return 2 * self.in_node(here) + self.steps(nodes, 2 * log2(nodes) + 4) + moved
        moved += self.stream(2 * (nodes - 2**levels), 2 * extra * size)
        rounds = 2 * levels * 3 + 2 * extra * 3 + log2(nodes)  # a word, a request, the answer; then all meet
        return 2 * self.in_node(here) + self.steps(nodes, rounds) + moved


class Machine:
    def __init__(self, build, repeats):
        self.run_command = os.path.join(build, "bin", "shoalrun")
        self.program = os.path.join(build, "bench", "growth")
        self.build = build
        self.repeats = repeats
        self.plain = False
        self.environment = dict(os.environ, SHMEM_SYMMETRIC_SIZE="16m")

    def growth(self, pes, nodes):
        runs = []
        for _ in range(self.repeats):
            done = subprocess.run([self.run_command, "-n", str(pes), "--fake-nodes", str(nodes), self.program, "nodes"], stdout=subprocess.PIPE,
                                  text=True, check=True, timeout=120, env=self.environment)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        return {key: statistics.median(run[key] for run in runs) for key in runs[0]}

    def start(self, nodes):
        """Of a job of so many launchers, with a PE each, in which nothing happens: seconds from start to end, and those that node 0's
        launcher computes."""
        times, busy = [], []
        with tempfile.TemporaryDirectory() as folder:
            secret = os.path.join(folder, "secret")
            with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                file.write(os.urandom(32).hex())
            for _ in range(self.repeats):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", 0))
                    port = probe.getsockname()[1]
                begin = time.monotonic()
                launchers = [subprocess.Popen([self.run_command, "--nnodes", str(nodes), "--node-rank", str(rank), "--rdzv", f"127.0.0.1:{port}",
                                               *self.credentials(secret), "-n", "1", self.program, "start"], env=self.environment)
                             for rank in range(nodes)]
                _, status, used = os.wait4(launchers[0].pid, 0)
                if status != 0 or any(launcher.wait(60) for launcher in launchers[1:]):
                    raise SystemExit("a launcher failed")
                launchers[0].returncode = 0
                times.append(time.monotonic() - begin)
                busy.append(used.ru_utime + used.ru_stime)
        return statistics.median(times), statistics.median(busy)

    def credentials(self, secret):
        return ["--no-tls"] if self.plain else ["--secret-file", secret]

    def wire_bytes(self, nodes):
        """What such a job sends, headers included, without encryption; None where namespaces can't be made."""
        done = subprocess.run(["unshare", "-n", sys.executable, __file__, self.build, "--count-wire", str(nodes)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False, timeout=120)
        return int(done.stdout) if done.returncode == 0 else None


def measure(machine):
    """The constants of the model."""
    two, crowd, neighbours = machine.growth(2, 2), machine.growth(8, 8), machine.growth(8, 1)
    cores = os.cpu_count()
    few, many = machine.start(1), machine.start(8)
    local = local_bytes_s()
    return {
        "round_s": two["barrier_us"] * 1e-6,
        "pair_s": two["reduce_8_us"] * 1e-6,
        "busy_s": crowd["barrier_us"] * 1e-6 / log2(8) / 8 * min(8, cores),
        "neighbour_s": neighbours["barrier_us"] * 1e-6 / 8 / max(1, 8 / cores),
        "stream_bytes_s": (1 << 20) / max(1e-6, (two["reduce_1m_us"] - 6 * two["barrier_us"]) * 1e-6),
        "base_kb": crowd["memory_kb"],
        "connection_kb": 128 + 40,
        "start_s": few[0],
        "launch_s": (many[0] - few[0]) / 7,
        "serve_s": max(0.0, (many[1] - few[1]) / 7),
        "local_bytes_s": local,
    }


def local_bytes_s():
    """Through a Unix socket, as from a launcher to its PEs."""
    ours, theirs = socket.socketpair()
    total, block = 256 << 20, bytes(1 << 20)
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        for _ in range(total // len(block)):
            theirs.sendall(block)
        os._exit(0)
    left = total
    while left:
        left -= len(ours.recv(1 << 20))
    os.waitpid(child, 0)
    return total / (time.monotonic() - begin)


def count_wire(machine, nodes):
    """In a namespace of its own: whatever its loopback carries is the job's."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    machine.plain, machine.repeats = True, 1
    with contextlib.redirect_stderr(None):
        machine.start(nodes)
    with open("/proc/net/dev", encoding="ascii") as file:
        print(next(line for line in file if line.strip().startswith("lo:")).split()[1])


def table(title, columns, rows):
    print(f"\n{title}")
    print("  ".join(f"{name:>13}" for name in columns))
    for row in rows:
        print("  ".join(f"{cell:>13}" if isinstance(cell, str) else f"{cell:>13.4g}" for cell in row), flush=True)


def compare(machine, model, sizes):
    rows = []
    for nodes in sizes:
        seen = machine.growth(nodes, nodes)
        rows.append([nodes, seen["connections"], model.connections_of_leader(nodes), seen["memory_kb"], model.memory_of_pe(nodes) / 1024,
                     seen["barrier_us"], model.barrier(nodes) * 1e6, seen["reduce_8_us"], model.all_reduce(nodes, 8) * 1e6,
                     seen["reduce_1m_us"], model.all_reduce(nodes, 1 << 20) * 1e6])
    table("Measured here | model, a PE a node (connections of a leader after collectives; memory after init, KiB; times in microseconds)",
          ["nodes", "connections", "model", "memory", "model", "barrier", "model", "reduce 8 B", "model", "reduce 1 MiB", "model"], rows)
    rows = []
    for nodes in sizes:
        seconds, busy = machine.start(nodes)
        wire = machine.wire_bytes(nodes)
        rows.append([nodes, seconds * 1e3, (model.c["start_s"] + (nodes - 1) * model.c["launch_s"]) * 1e3, busy * 1e3,
                     "-" if wire is None else f"{wire}", f"{model.start_bytes(nodes, 1) * (nodes - 1) + model.start_messages(nodes) * PACKET_BYTES:.0f}"])
    table("Start to end of a job of launchers with a PE each, all on this machine: milliseconds, those that node 0's launcher and PE compute; bytes on the wire, "
          "headers included (the model's: up to the end of init)", ["nodes", "measured", "model", "computes", "bytes", "model"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, build/release say")
    parser.add_argument("--per-node", type=int, default=64, help="PEs of a node (default: %(default)s)")
    parser.add_argument("--constants", metavar="JSON", help="take these in place of measured ones; what is missing is measured")
    parser.add_argument("--compare", default="2,3,4,8,11,16", help="nodes at which the model is held against measurements; '': none (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each measurement, of which the median counts (default: %(default)s)")
    parser.add_argument("--count-wire", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    machine = Machine(options.build, options.repeats)
    given = json.loads(options.constants) if options.constants else {}
    if options.count_wire:
        return count_wire(machine, options.count_wire)
    constants = dict(measure(machine), **given)
    print("constants: " + ", ".join(f"{name} {value:.4g}" for name, value in constants.items()))
    if options.compare:
        compare(machine, Model(constants, 1, os.cpu_count()), [int(nodes) for nodes in options.compare.split(",")])
    model = Model(constants, options.per_node)
    rows = []
    for pes in PES:
        nodes, _ = model.shape(pes)
        rows.append([f"{pes:,}", f"{nodes:,}", f"{model.connections_of_leader(nodes)}", f"{model.memory_of_pe(pes) / 2**20:.1f}",
                     f"{model.memory_of_leader(pes) / 2**20:.1f}", f"{model.memory_of_alltoall(pes) / 2**20:,.0f}", f"{model.start_messages(pes):,}", f"{model.start_bytes(pes) * nodes / 2**20:,.1f}",
                     f"{model.start_time(pes):.2f}", f"{model.barrier(pes) * 1e6:.1f}", f"{model.all_reduce(pes, 8) * 1e6:.1f}",
                     f"{model.all_reduce(pes, 4 << 20) * 1e3:.2f}"])
    table(f"Model, {options.per_node} PEs a node (connections: of a leader for collectives; memory: MiB of a PE, of a leader with these, and of a PE after an alltoall of all; start: messages "
          "of node 0's launcher, MiB it sends, seconds; then barrier and all-reduce)",
          ["PEs", "nodes", "connections", "PE MiB", "leader MiB", "alltoall MiB", "messages", "sent MiB", "start s", "barrier us", "reduce 8B us", "reduce 4M ms"], rows)


if __name__ == "__main__":
    main()
