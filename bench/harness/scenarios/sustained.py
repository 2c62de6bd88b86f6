# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Minutes of updates on a redo log that fills: checkpoints, adaptive flushing and the LRU meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table
from harness.results import Results
from harness.scenario import Choice, Point
from harness.scenarios.io_bound import IoUpdate
from harness.server import Server

_CLIENTS = (64,)
_REDO = "128M"
_SECONDS = 300
#: Seconds at the load's beginning that are no part of the worst second: clients connect.
_BEGINNING = 2

_ABOUT = (
    "Clients update rows by primary key, for minutes. The data is eight times the buffer pool, and "
    "the redo log so small that it is used up again and again. Seconds are sysbench's; the first "
    f"{_BEGINNING} are left out. worst_second is the slowest of them, slow_second the one that 1 % "
    "of them are slower than, seconds_at_zero how many saw no update. "
    "redo_turns: how often the redo log was written through."
)
_SHOWN = [
    "throughput",
    "processor_time",
    "latency_p50",
    "latency_p99",
    "latency_max",
    "worst_second",
]
_SHOWN += ["slow_second", "seconds_at_zero", "redo_turns", "pages_read", "pages_written", "syncs"]
_RATIOS = [
    "throughput",
    "processor_time",
    "latency_p50",
    "latency_p99",
    "worst_second",
    "slow_second",
]


class Sustained(IoUpdate):
    name = "sustained"
    title = "Minutes of updates on a small redo log"
    about = _ABOUT
    interleaved = False
    rounds = 3
    report_tables = ("seconds",)
    variants: ClassVar[Mapping[str, str]] = {
        "clients": "numbers, default 64",
        "redo": f"redo log capacity, default {_REDO}",
        "flush": "O_DIRECT or buffered, default O_DIRECT",
        "disk": "reads, and writes, a second that the disk is held to (root); default: as it is",
        "pool_size": "of the buffer pool, default 256M",
        "instances": "of the buffer pool",
        "data_size": "of the table, default eight times the pool",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        self._seconds = choice.seconds or (8 if choice.quick else _SECONDS)
        if self._seconds <= _BEGINNING + 1:
            raise BenchError(f"sustained: SECONDS={self._seconds} is too few for a worst second")
        self._clients = self._numbers("clients", (8,) if choice.quick else _CLIENTS)
        self._redo = choice.variants.get("redo", _REDO)
        self._method = choice.variants.get("flush", "O_DIRECT")

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        settings = self._settings() | {
            "flush_method": self._method,
            "redo_log_capacity": self._redo,
        }
        return [
            Point(
                self._dataset(1),
                {"redo": self._redo, "clients": clients},
                self._seconds + 15,
                settings,
                fresh=True,
                disk_ops=self._disk_ops,
            )
            for clients in self._clients
        ]

    def warm_up(self, server: Server, point: Point) -> None:
        self._fill_pool(server, self._load(1))

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        load = self._load(1)
        written = int(server.status("innodb_os_log_written")["innodb_os_log_written"])
        outcome = self._measure_load(server, load, int(point.parameters["clients"]), into)
        written = int(server.status("innodb_os_log_written")["innodb_os_log_written"]) - written
        capacity = int(server.variables("innodb_redo_log_capacity")["innodb_redo_log_capacity"])
        into.figure("redo_turns", written / capacity, "turns")
        seconds = outcome.seconds
        counted = seconds[seconds["second"] > _BEGINNING]["tps"]
        into.figure("worst_second", counted.min(), "1/s")
        into.figure("slow_second", counted.quantile(0.01, interpolation="lower"), "1/s")
        into.figure("seconds_at_zero", int((counted == 0).sum()), "seconds")
        into.table("seconds", seconds)

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        keys = ["redo", "clients"]
        blocks: list[Block] = []
        seconds = results.table("seconds")
        for clients, part in seconds.groupby("clients", sort=False):
            drawing = by_second(part, results.servers)
            caption = (
                f"{clients} clients, redo log of {self._redo}: updates in each second. Line, the "
                "rounds' median; band, their range."
            )
            blocks.append(Plot(drawing, f"seconds-{clients}", caption))
        blocks.append(
            Table(
                spread.overview(frame, keys, _SHOWN, results.servers),
                "Median of the rounds, and their range in brackets.",
            )
        )
        if results.base:
            caption = f"Ratio to {results.base} in the same round: median, and range in brackets."
            ratios = spread.ratios(frame, keys, _RATIOS, results.servers, results.base)
            blocks.append(Table(ratios, caption))
        return blocks


def by_second(seconds: pd.DataFrame, servers: Sequence[str]) -> Figure:
    """The table "seconds" of all rounds; a panel a server."""
    rows = seconds.rename(columns={"second": "time", "tps": "rate"})
    return plots.time_series(rows, servers, None, "updates a second", step=1)
