# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the library lru_stats.so costs: one server under one load, with it and without it in turn.

    make release
    make bench-lru-cost ROUNDS=12

The plugins are installed and uninstalled beside the load. So both halves of a round have the same
process, the same memory and the same pool, and are seconds apart: what the machine does to one half
it does to the other as well. Each half settles before it is measured, as the library starts with as
many pages as it may follow and finds its rate in the first seconds. Every other round begins with
the other half.

Figures of a round, each with the library by without:

    throughput   statements a second
    cpu          processor time of the server's process for a statement; unlike throughput, it does
                 not contain the time that other processes took from this machine

With PERF=1 (Debian's package linux-perf) both halves are sampled while they are measured. Then the
output has the share of the server's processor time that was spent in the library, in its thread and
in the hooks that feed it:

    share        with the library, in percent
    share_idle   the same without it: hooks that always count, or test that there is nothing to do

These samples contain neither what the library makes other code lose, in caches for example, nor
what a noisy machine does between two halves.

Loads (CASES):

    cached-select          point selects with all data in the pool
    io-select, io-update   data of eight times the pool

The output has the median, and its interval (95 %, by the sign test; it takes six rounds).
The CSV has all rounds, and the rate at which the library sampled.

Takes loads * rounds * 2 * (SETTLE + SECONDS) and a minute for each load: 20 minutes by default.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from harness import intervals, perf, places, settings, sysbench
from harness.errors import BenchError
from harness.server import Server
from harness.settings import Value, size_in_bytes
from tools import tool

_FOREVER = 86400  #: seconds a load is told to run; it is killed when all is measured
_PLUGINS = (
    "INNODB_LRU_STATS",
    "INNODB_LRU_STATS_SINCE_RESET",
    "INNODB_LRU_INDEX_STATS",
    "INNODB_LRU_AGE_HISTOGRAM",
    "INNODB_LRU_WHATIF",
)
#: Functions of the server that are there for the library, and callees of theirs.
_OURS = ("lru_stats::", "buf_lru_hook", "buf_lru_trace", "buf_lru_index")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Case:
    """A load, and how large the pool is beside the data."""

    script: str
    pool_by_data: float


_CASES = {
    "cached-select": Case("oltp_point_select", 1.5),
    "io-select": Case("oltp_point_select", 1 / 8),
    "io-update": Case("oltp_update_non_index", 1 / 8),
}


@dataclass(frozen=True)
class Count:
    statements: int
    cpu: float  #: seconds
    at: float


class Cost:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._common = settings.load(places.SETTINGS, quick=True)
        # Without the library from the start: it is installed by statements.
        self._definition = tool.server("sluice-plain")
        home = options.data_dir / self._definition.name
        self._server = Server(self._definition, home, self._common)
        self._bytes = size_in_bytes(options.table)
        self._samples = home / "perf.data"
        self.rows: list[dict[str, Any]] = []  #: what is measured so far

    def run(self) -> None:
        load = tool.load_of("oltp_point_select", self._bytes)
        tool.fill(self._server, load, lambda _: self._start(size_in_bytes("256M")))
        for name in self._options.cases:
            case = _CASES[name]
            self._start(round(self._bytes * case.pool_by_data))
            try:
                self._warm_up()
                load = tool.load_of(case.script, self._bytes)
                with sysbench.Running(self._server, load, self._options.clients, _FOREVER):
                    time.sleep(self._options.settle)
                    for number in range(self._options.rounds):
                        self.rows.append(self._round(name, number))
                        _say(_line(self.rows[-1]))
            finally:
                self._server.stop()

    def _start(self, pool: int) -> None:
        changed: dict[str, Value] = {
            "buffer_pool_size": pool,
            "buffer_pool_instances": 1,
            "adaptive_hash_index": "off",
        }
        self._server.start(changed)

    def _warm_up(self) -> None:
        """Until the pool is full or all data is in it. Beside updates it would take for ever: a
        scan has to go back to the rows that were there when it began."""
        self._server.execute(f"SELECT SUM(LENGTH(c)) FROM {sysbench.DATABASE}.sbtest1")

    def _round(self, name: str, number: int) -> dict[str, Any]:
        halves = {}
        for loaded in (False, True) if number % 2 == 0 else (True, False):
            self._switch(loaded)
            time.sleep(self._options.settle)
            before = self._count()
            self._measure()
            after = self._count()
            statements = after.statements - before.statements
            if statements == 0:
                raise BenchError(f"{name}: the load does nothing")
            half = {
                "per_second": statements / (after.at - before.at),
                "cpu_us": 1e6 * (after.cpu - before.cpu) / statements,
            }
            if self._options.perf:
                half["share"] = share_of_samples(perf.samples(self._samples))
            if loaded:
                (row,) = self._server.rows(
                    "SELECT SAMPLING_RATE AS rate FROM INFORMATION_SCHEMA.INNODB_LRU_WHATIF"
                    " WHERE IS_RUNNING = 'YES'"
                )
                half["sampling_rate"] = float(row["rate"])
            halves[loaded] = half
        without, with_ = halves[False], halves[True]
        result = {
            "load": name,
            "round": number + 1,
            "per_second_without": without["per_second"],
            "per_second_with": with_["per_second"],
            "throughput": with_["per_second"] / without["per_second"],
            "cpu_us_without": without["cpu_us"],
            "cpu_us_with": with_["cpu_us"],
            "cpu": with_["cpu_us"] / without["cpu_us"],
            "sampling_rate": with_["sampling_rate"],
        }
        if self._options.perf:
            result |= {"share": with_["share"], "share_idle": without["share"]}
        return result

    def _measure(self) -> None:
        """Lets a half go by, while perf looks if it is asked for."""
        if self._options.perf:
            perf.record(self._server.pid, self._samples, self._options.seconds, per_second=999)
        else:
            time.sleep(self._options.seconds)

    def _switch(self, loaded: bool) -> None:
        rows = self._server.rows(
            "SELECT PLUGIN_NAME AS name FROM INFORMATION_SCHEMA.PLUGINS"
            " WHERE PLUGIN_LIBRARY = 'lru_stats.so'"
        )
        there = {row["name"] for row in rows}
        for plugin in _PLUGINS:
            if loaded and plugin not in there:
                self._server.execute(f"INSTALL PLUGIN {plugin} SONAME 'lru_stats.so'")
            elif not loaded and plugin in there:
                self._server.execute(f"UNINSTALL PLUGIN {plugin}")

    def _count(self) -> Count:
        status = self._server.status("Com_stmt_execute")
        fields = Path(f"/proc/{self._server.pid}/stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])  # utime, stime
        return Count(int(status["com_stmt_execute"]), ticks / _TICKS, time.monotonic())


def share_of_samples(samples: Sequence[Sequence[str]]) -> float:
    """Percent of the samples that have a function of ours in their stack."""
    if not samples:
        raise BenchError("perf has no samples: may it look at processes here?")
    ours = sum(any(name in function for function in s for name in _OURS) for s in samples)
    return 100 * ours / len(samples)


def _line(row: dict[str, Any]) -> str:
    share = f", share {row['share']:.2f} %" if "share" in row else ""
    return (
        f"{row['load']:14} round {row['round']:2}: {row['per_second_without']:9.0f}/s without,"
        f" {row['per_second_with']:9.0f}/s with, throughput {row['throughput']:.4f},"
        f" cpu {row['cpu']:.4f}, rate {row['sampling_rate']:.4f}{share}"
    )


def summary(frame: pd.DataFrame) -> str:
    lines = [
        "",
        "with the library by without, median of all rounds [interval] (smallest - largest)",
    ]
    for name, rounds in frame.groupby("load", sort=False):
        for figure in ("throughput", "cpu"):
            found = intervals.ratio(list(rounds[figure]))
            lines.append(
                f"{name:14} {figure:10} {found}"
                f" ({found.lowest:.3f} - {found.highest:.3f}), {found.rounds} rounds,"
                f" rate {rounds['sampling_rate'].median():.4f}"
            )
        for figure in ("share", "share_idle"):
            if figure in rounds:
                lines.append(
                    f"{name:14} {figure:10} {rounds[figure].median():.3f} %"
                    f" ({rounds[figure].min():.2f} - {rounds[figure].max():.2f})"
                )
    return "\n".join(lines)


def _say(text: str) -> None:
    print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = tool.parser("bench-lru-cost", __doc__)
    add = parser.add_argument
    add("--cases", type=tool.some_of(_CASES), default=" ".join(_CASES), help="loads")
    add("--rounds", type=tool.count, default=12, help="of each load")
    add("--settle", type=tool.seconds, default=6, help="seconds after each change")
    add("--seconds", type=tool.seconds, default=6, help="seconds that are measured then")
    add("--clients", type=tool.count, default=16, help="threads of sysbench")
    add("--perf", action="store_true", help="the library's share of processor time, too")
    add("--table", type=tool.size, default="512M", help="size of the data")
    add("--data-dir", type=Path, default=places.DATA / "lru-stats-cost", help="kept between runs")
    add("--csv", type=Path, help="default: results-<time>.csv in the data directory")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return tool.run("bench-lru-cost", _parser().parse_args(arguments), Cost, summary)


if __name__ == "__main__":
    sys.exit(main())
