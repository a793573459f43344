#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What costs more as a job grows: PEs, team sizes, heap sizes, small allocations, on this machine.

Prints tables as it measures; --html draws the curves into one page that needs nothing else. Nothing is judged.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools", "perf"))
import charts  # noqa: E402
from report import STYLE  # noqa: E402

TIMES = {"init_us": "shmem_init, the slowest PE", "barrier_us": "shmem_barrier_all", "reduce_4k_us": "float sum reduce, 4 KiB",
         "reduce_1m_us": "float sum reduce, 1 MiB"}


class Runner:
    def __init__(self, build):
        self.run_command = os.path.join(build, "bin", "shoalrun")
        self.program = os.path.join(build, "bench", "growth")

    def lines(self, pes, *arguments, heap="16m"):
        done = subprocess.run([self.run_command, "-n", str(pes), self.program, *arguments], stdout=subprocess.PIPE, text=True,
                              check=True, timeout=600, env=dict(os.environ, SHMEM_SYMMETRIC_SIZE=heap))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def median(self, repeats, pes, *arguments, heap="16m"):
        """The first line of each of several runs, figure by figure."""
        runs = [self.lines(pes, *arguments, heap=heap)[0] for _ in range(repeats)]
        return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def table(title, columns, rows):
    print(f"\n{title}")
    print("  ".join(f"{name:>16}" for name in columns))
    for row in rows:
        print("  ".join(f"{row[name] if isinstance(row[name], str) else format(row[name], '.6g'):>16}" for name in columns), flush=True)


def memory_growth(rows):
    """Bytes of a PE's memory that one PE more costs, from the two largest jobs: in small ones pages that PEs share weigh more."""
    (_, small), (_, large) = sorted((row["pes"], row["memory_kb"]) for row in rows)[-2:]
    less, more = sorted(row["pes"] for row in rows)[-2:]
    return (large - small) * 1024 / (more - less)


def chart(title, rows, x, keys, log=True):
    curves = [{"colour": f"--c{i}", "dashed": False, "name": name, "points": {row[x]: row[key] * 1e3 for row in rows}}
              for i, (key, name) in enumerate(keys.items())]
    values = [value for curve in curves for value in curve["points"].values()]
    axis = charts.LogAxis(min(values), max(values)) if log else charts.LinearAxis(max(values))
    legend = " ".join(f'<span style="color:var({curve["colour"]})">&#9632; {curve["name"]}</span>' for curve in curves)
    text = charts.line_chart(title, [row[x] for row in rows], curves, axis, charts.time_text, charts.tick_time)
    return f'<div class="card"><h3>{title}</h3><p class="dim">{legend}</p>{text.replace(" B</text>", "</text>")}</div>'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder, build/release say")
    parser.add_argument("--pes", default="2,4,8,16,32,64", help="job sizes, separated by commas (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each job size, of which the median counts (default: %(default)s)")
    parser.add_argument("--allocations", type=int, default=1_000_000, help="small allocations (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--html", metavar="FILE", help="draw the curves there")
    options = parser.parse_args()
    runner = Runner(options.build)
    sizes = [int(size) for size in options.pes.split(",")]

    pes = [runner.median(options.repeats, n, "pes") for n in sizes]
    table("PEs of a job (microseconds; memory: KiB that a PE has to itself after init, page tables included)", list(pes[0]), pes)
    growth = ""
    if len(sizes) > 1:
        growth = f"one PE more costs each PE about {memory_growth(pes):.0f} bytes (the two largest jobs compared)"
        print(growth)

    teams = runner.lines(sizes[-1], "teams")
    table(f"Teams in a job of {sizes[-1]} PEs", list(teams[0]), teams)

    heaps = [dict(runner.median(options.repeats, 2, "pes", heap=f"{mib}m"), heap=mib) for mib in (16, 64, 1024, 16 * 1024, 100 * 1024)]
    table("Heap size in MiB (SHMEM_SYMMETRIC_SIZE), 2 PEs", ["heap", "init_us", "memory_kb", "barrier_us"], heaps)

    allocations = runner.lines(1, "allocations", str(options.allocations), heap="1g")
    for row in allocations:
        print("small allocations: " + ", ".join(f"{key} {value:.6g}" for key, value in row.items() if key != "pes"))

    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"pes": pes, "teams": teams, "heaps": heaps, "allocations": allocations}, file, indent=1)
    if options.html:
        memory = [dict(row, memory_us=row["memory_kb"]) for row in pes]  # drawn as a number, so that one chart serves
        page = [chart("By number of PEs", pes, "pes", TIMES), chart("Teams: making one and meeting in it", teams, "team", {"split_us": "split", "sync_us": "sync"}),
                chart("By heap size in MiB, 2 PEs", heaps, "heap", {"init_us": TIMES["init_us"], "barrier_us": TIMES["barrier_us"]}),
                chart("Small allocations: the time of one more", [r for r in allocations if "malloc_us" in r], "allocations", {"malloc_us": "shmem_malloc"})]
        rows = "".join(f"<tr><td>{row['pes']:.0f}</td><td>{row['memory_us']:.0f}</td></tr>" for row in memory)
        page.append(f'<div class="card"><h3>Memory of a PE</h3><p class="dim">{growth}</p>'
                    f"<table><tr><th>PEs</th><th>KiB</th></tr>{rows}</table></div>")
        with open(options.html, "w", encoding="utf-8") as file:
            file.write(f"<!doctype html><meta charset=utf-8><title>Growth</title><style>{STYLE}</style><main><h1>What grows with the job</h1>{''.join(page)}</main>")


if __name__ == "__main__":
    main()
