# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Policies by loads, simulated: reads a query, as a table and as CSV.

    python3 bench/lru_lab/table.py --csv policies.csv

A pool of 64M and 1.5 million rows (20 548 leaves in three levels), 20 000 queries a second. `cold`
are the first 200 000 queries from an empty pool on, `steady` the 300 000 after a million. A number
is reads a query by the least there can be: of the known distribution, or, where that changes, of
Belady's optimum, which knows the future and which nothing can reach.

    python3 bench/lru_lab/table.py --traces build/bench/traces/*/*.gz

What measure.py --record has recorded, the second half of each file: reads by those of the server.
The list is as long as the server's was. Youth is earned wherever the turnover sets the wait.
LRU, S3-FIFO, W-TinyLFU and Belady's have a list of constant length, that of the midpoint on average.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
_COMMON = ("rows=1500000", "frames=4000", "query_us=30", "read_us=70")
_TRACE = ("frames=4096", "free=255", "refill=50", "lengths=1", "warm=1e15")
_PHASES = {
    "cold": ("warm=0", "queries=200000"),
    "steady": ("warm=1000000", "queries=300000"),
}
_LOADS = {
    "pareto": "load=pareto",
    "zipf 0.8 scattered": "load=zipf exponent=0.8 scatter=1",
    "zipf 0.8 together": "load=zipf exponent=0.8",
    "zipf 0.99 scattered": "load=zipf exponent=0.99 scatter=1",
    "zipf 0.99 together": "load=zipf exponent=0.99",
    "uniform": "load=uniform",
    "pareto beside a scan": "scan_pages=8000",
    "rescan": "load=none scan_pages=6000 scan_every=1 scan_chunk=1 query_us=100",
    "moving hot spot": "move_s=20",
    "inserts and pareto": "create_every=20",
}
_POLICIES = {
    "optimum": "policy=belady",
    "LRU": "policy=lru",
    "37, 1000 ms": "time=1000",
    "37, 100 ms": "time=100",
    "37, 1 ms": "time=1",
    "37, 0": "time=0",
    "37, 0, first access is none": "time=0 first=1",
    "37, 1 ms, boundary anchored": "time=1 anchor=1",
    "37, 1 ms, youth is earned": "time=1 earn=1",
    "37, 1000 ms, 1024 free": "time=1000 free=1024 refill=0 frames=4416",
    "the same, boundary anchored": "time=1000 anchor=1 free=1024 refill=0 frames=4416",
    "the same, youth is earned": "time=1000 earn=1 free=1024 refill=0 frames=4416",
    "37, half a turnover": "turn=50",
    "37, a quarter": "turn=25",
    "20, a quarter": "pct=20 turn=25",
    "10, half a turnover": "pct=10 turn=50",
    "20, half a turnover": "pct=20 turn=50",
    "37, half, second chance (1 bit)": "turn=50 second=1",
    "37, half, second chance (2 bits)": "turn=50 second=2",
    "20, half, second chance (2 bits)": "pct=20 turn=50 second=2",
    "10, half, second chance (1 bit)": "pct=10 turn=50 second=1",
    "10, half, second chance (2 bits)": "pct=10 turn=50 second=2",
    "the same, ghosts 50 %": "pct=10 turn=50 second=2 ghosts=50",
    "10, half, promoted at the tail": "pct=10 turn=50 lazy=1",
    "S3-FIFO": "policy=s3fifo",
    "W-TinyLFU": "policy=tinylfu",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--traces", type=Path, nargs="*", help="recorded accesses")
    options = parser.parse_args()
    loads = {f"{path.parent.name}/{path.name}": path for path in options.traces or ()} or _LOADS
    phases = {"recorded": _TRACE} if options.traces else _PHASES
    with tempfile.TemporaryDirectory() as folder:
        lab = Path(folder) / "lru_lab"
        sources = map(str, _HERE.glob("lru_lab*.cc"))
        command = ["c++", "-O2", "-std=c++20", "-o", str(lab), *sources, "-lz"]
        subprocess.run(command, check=True)

        def simulate(case: tuple[str, str, str]) -> dict[str, Any]:
            phase, load, policy = case
            arguments = [*phases[phase], *_POLICIES[policy].split()]
            if options.traces:
                arguments.append(f"trace={loads[load]}")
                arguments += ["earn=1"] if "turn=" in _POLICIES[policy] else []
            else:
                arguments += [*_COMMON, *_LOADS[load].split()]
            done = subprocess.run(
                [str(lab), *arguments], stdout=subprocess.PIPE, check=True, text=True
            )
            said = json.loads(done.stdout)
            print(phase, load, policy, said["reads_query"], sep=", ", file=sys.stderr)
            return {"phase": phase, "load": load, "policy": policy, **said}

        cases = [
            (phase, load, policy)
            for phase in phases
            for load in loads
            for policy in _POLICIES
            # Free frames in the tens of per cent are no question of a recorded length.
            if not (options.traces and "free=" in _POLICIES[policy])
        ]
        with ThreadPoolExecutor(options.jobs) as pool:
            rows = list(pool.map(simulate, cases))
    if options.csv is not None:
        names = list(dict.fromkeys(name for row in rows for name in row))
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)
    for phase in phases:
        print(f"\n{phase}\n")
        print(table([row for row in rows if row["phase"] == phase]))


def table(rows: list[dict[str, Any]]) -> str:
    loads = list(dict.fromkeys(row["load"] for row in rows))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    by_case = {(row["load"], row["policy"]): row for row in rows}
    lines = ["| policy | " + " | ".join(loads) + " |", "|" + "---|" * (len(loads) + 1)]
    if "recorded_reads" in rows[0]:
        base = {load: by_case[load, policies[0]]["recorded_reads"] for load in loads}
        figure = "reads"
    else:
        optimum = policies.pop(0)
        base = {
            x: by_case[x, optimum].get("least") or by_case[x, optimum]["reads_query"] for x in loads
        }
        figure = "reads_query"
        least = " | ".join(f"{base[load]:.3f}" for load in loads)
        lines.append(f"| least reads a query | {least} |")
    for policy in policies:
        cells = [f"{by_case[load, policy][figure] / base[load]:.3f}" for load in loads]
        lines.append(f"| {policy} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
