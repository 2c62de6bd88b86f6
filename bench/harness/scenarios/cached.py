# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One client, all data in the buffer pool: what a statement costs, release by release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from harness import sysbench
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table
from harness.report.verdict import COMPARED, INTERVALS
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.server import Server
from harness.settings import size_in_bytes


class _Cached(Scenario):
    interleaved = True
    rounds = 18
    variants: ClassVar[Mapping[str, str]] = {"clients": "numbers, default 1"}
    scripts: ClassVar[Sequence[str]]
    counted: ClassVar[str] = "statements a second"  #: what throughput is

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        self._rows = 10_000 if choice.quick else 1_000_000
        self._seconds = choice.seconds or (1 if choice.quick else 3)
        self._clients = [int(word) for word in choice.variants.get("clients", "1").split(",")]

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        dataset = Dataset(
            name=f"cached-1x{self._rows}",
            disk_bytes=400 * self._rows,
            memory_bytes=size_in_bytes("1500M"),
            seconds=5 + self._rows / 40_000,
        )
        return [
            Point(
                dataset,
                {"test": script, "statements": statements, "clients": clients},
                self._seconds + 5,
            )
            for script in self.scripts
            for statements in ("prepared", "text")
            for clients in self._clients
        ]

    def _load(self, script: str, *options: str) -> sysbench.Load:
        return sysbench.Load(script, 1, self._rows, options)

    def prepare(self, server: Server, dataset: Dataset) -> None:
        sysbench.prepare(server, self._load(self.scripts[0]))

    def _load_of(self, point: Point) -> tuple[sysbench.Load, int]:
        mode = "auto" if point.parameters["statements"] == "prepared" else "disable"
        load = self._load(str(point.parameters["test"]), f"--db-ps-mode={mode}")
        return load, int(point.parameters["clients"])

    def warm_up(self, server: Server, point: Point) -> None:
        # Every page into the pool, then everything that warms up with use.
        server.rows("SELECT SUM(LENGTH(c)), SUM(k) FROM sbtest1", sysbench.DATABASE)
        sysbench.run(server, *self._load_of(point), self._seconds)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        load, clients = self._load_of(point)
        read_before = int(server.status("innodb_pages_read")["innodb_pages_read"])
        sysbench.run_measured(server, load, clients, self._seconds, "transaction", into)
        read = int(server.status("innodb_pages_read")["innodb_pages_read"]) - read_before
        into.figure("pages_read", read, "pages")

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        frame = frame.assign(case=frame["test"] + ", " + frame["statements"])
        keys = ["test", "statements", "clients"]
        rows = frame[frame["figure"] == "throughput"]
        blocks: list[Block] = []
        for clients, part in rows.groupby("clients", sort=False):
            drawing = plots.bars(part, "case", results.servers, self.counted)
            caption = f"Clients: {clients}. Bars, the rounds' median; whiskers, their range."
            blocks.append(Plot(drawing, f"throughput-{clients}", caption))
        shown = [
            "throughput",
            "processor_time",
            "latency_p50",
            "latency_p95",
            "latency_p99",
            "latency_max",
        ]
        shown.append("pages_read")
        caption = "Median of the rounds, and their range in brackets."
        blocks.append(Table(spread.overview(frame, keys, shown, results.servers), caption))
        if results.base:
            ratios = spread.ratios(
                frame, keys, list(COMPARED), results.servers, results.base, interval=True
            )
            caption = INTERVALS.format(base=results.base)
            blocks.append(Table(ratios, caption))
        return blocks


class CachedUpdate(_Cached):
    name = "cached-update"
    title = "Updates of cached data, one client"
    about = (
        "One client updates one row by its primary key, a column without an index and one with, in "
        "prepared statements and as text. All data is in the buffer pool: pages_read says how many "
        "pages had to be read all the same."
    )
    scripts = ("oltp_update_non_index", "oltp_update_index")


class CachedSelect(_Cached):
    name = "cached-select"
    title = "Point selects of cached data, one client"
    about = (
        "One client reads one row by its primary key, in prepared statements and as text. All data "
        "is in the buffer pool."
    )
    scripts = ("oltp_point_select",)


class CachedRead(_Cached):
    name = "cached-read"
    title = "Read-only transactions on cached data, one client"
    about = (
        "One client runs sysbench's oltp_read_only: transactions of 10 point selects and 4 ranges of "
        "100 rows, in prepared statements and as text. All data is in the buffer pool."
    )
    scripts = ("oltp_read_only",)
    counted = "transactions a second"


class CachedMixed(_Cached):
    name = "cached-mixed"
    title = "Reads and writes of cached data, one client"
    about = (
        "One client runs sysbench's oltp_read_write: transactions of 10 point selects, 4 ranges of "
        "100 rows, 2 updates, a delete and an insert, in prepared statements and as text. All data "
        "is in the buffer pool: pages_read says how many pages had to be read all the same."
    )
    scripts = ("oltp_read_write",)
    counted = "transactions a second"
