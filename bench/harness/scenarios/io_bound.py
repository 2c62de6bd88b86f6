# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Data many times the buffer pool: updates and point selects by primary key."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import pandas as pd

from harness import fio, sysbench
from harness import innodb_counters as counters
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table, Text
from harness.report.verdict import COMPARED, INTERVALS
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.server import Server
from harness.settings import Value, size_in_bytes

_CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)
_TABLES = (1, 8)
_METHODS = ("O_DIRECT", "buffered")
_ROW_BYTES = 220  #: of a row of sysbench's table on disk, without its secondary index
_FIO_BYTES = 4 * 2**30  #: at most, of the file that fio makes
_FILLING_ATTEMPTS = 60  #: of two seconds each
_FREE_PART = 8  #: the LRU keeps lru_scan_depth pages free: this part of the pool
_DEPTH = 64  #: I/Os under way in the fio measurement

#: Values of the parameter "what".
_LOAD, _COUNTED, _DISK = "load", "counted", "disk"

_ABOUT = (
    "The data is eight times the buffer pool if nothing else was chosen, lru_scan_depth times the "
    "pool's instances and "
    "io_capacity are an eighth of its pages. Rows are chosen evenly, so almost every "
    "statement reads a page. Pages read and written are Innodb_pages_read and Innodb_pages_written, "
    "syncs are Innodb_data_fsyncs, of data files and logs. "
    "The dashed line is what fio does with random pages of 16 KiB in the same directory, O_DIRECT, "
    "64 at a time{mix}: the line to reach. Counted separately, with instruments on, so that they do "
    "not disturb the throughput: acquisitions of InnoDB's mutexes "
    "(performance_schema.events_waits_summary_global_by_event_name, background threads included) "
    "per page read or written, and searches of user threads in the LRU "
    "(INNODB_METRICS: buffer_LRU_search_num_scan, buffer_LRU_search_scanned, "
    "buffer_LRU_single_flush_num_scan)."
)


class _IoBound(Scenario):
    variants: ClassVar[Mapping[str, str]] = {
        "clients": "numbers, default 1 to 128",
        "tables": "numbers, default 1,8",
        "flush": "O_DIRECT, buffered or both",
        "pool_size": "of the buffer pool, default 256M",
        "instances": "of the buffer pool, default one for each GiB, at most 8",
        "data_size": "of all tables, default eight times the pool",
        "disk": "reads, and writes, a second that the disk is held to (root); default: as it is",
        "counted": "no: without the points at which mutexes and searches are counted",
    }
    interleaved = True
    rounds = 18
    script: ClassVar[str]
    write_percent: ClassVar[int]  #: of the page I/Os that fio does

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        quick = choice.quick
        self._pool = choice.variants.get("pool_size", "16M" if quick else "256M")
        self._seconds = choice.seconds or (1 if quick else 3)
        self._disk_ops = int(choice.variants["disk"]) if "disk" in choice.variants else None
        self._clients = self._numbers("clients", (1, 8) if quick else _CLIENTS)
        self._tables = self._numbers("tables", _TABLES)
        self._methods = choice.variants.get("flush", ",".join(_METHODS)).split(",")
        pool = size_in_bytes(self._pool)
        default = max(1, min(8, pool // 2**30))
        self._instances = int(choice.variants.get("instances", default))
        self._data = size_in_bytes(choice.variants.get("data_size", 8 * pool))
        self._rows = self._data // _ROW_BYTES
        self._counted = choice.variants.get("counted", "yes") != "no"

    def _numbers(self, name: str, default: Sequence[int]) -> list[int]:
        text = self.choice.variants.get(name)
        return [int(word) for word in text.split(",")] if text else list(default)

    def needs(self) -> Sequence[str]:
        return ("sysbench", "fio")

    def _dataset(self, tables: int) -> Dataset:
        rows = self._rows // tables
        pool = size_in_bytes(self._pool)
        return Dataset(
            name=f"sbtest-{tables}x{rows}",
            # The tables, the file that fio makes.
            disk_bytes=int(1.3 * self._data) + self._fio_bytes(),
            memory_bytes=pool + size_in_bytes("512M"),
            seconds=10 + self._rows / 40_000,
        )

    def _fio_bytes(self) -> int:
        return min(4 * size_in_bytes(self._pool), _FIO_BYTES)

    def _load(self, tables: int) -> sysbench.Load:
        options = ("--create_secondary=off",)
        return sysbench.Load(self.script, tables, self._rows // tables, options)

    def _settings(self) -> dict[str, Value]:
        """The pool, and page writes a second in proportion to it, LRU and flush list alike."""
        pool = size_in_bytes(self._pool)
        writes = max(100 * self._instances, pool // fio.PAGE // _FREE_PART)
        return {
            "buffer_pool_size": self._pool,
            "buffer_pool_instances": self._instances,
            "lru_scan_depth": writes // self._instances,
            "io_capacity": writes,
        }

    def points(self) -> Sequence[Point]:
        points = []
        for tables, method in itertools.product(self._tables, self._methods):
            settings = self._settings() | {"flush_method": method}
            dataset = self._dataset(tables)
            seconds = self._seconds + 2
            for clients in self._clients:
                parameters: dict[str, Value] = {
                    "what": _LOAD,
                    "flush": method,
                    "tables": tables,
                    "clients": clients,
                }
                points.append(
                    Point(dataset, parameters, seconds, settings, disk_ops=self._disk_ops)
                )
            if self._counted:
                counted = settings | {"performance_schema": "on", "mutex_instruments": "on"}
                parameters = parameters | {"what": _COUNTED}
                points.append(Point(dataset, parameters, seconds, counted, compared=False))
        # Once a round and server, in the same directory, with the server idle. fio is not held to
        # a rate with the server, so beside one that is it would draw a line out of reach.
        if self._disk_ops is None:
            dataset = self._dataset(self._tables[0])
            parameters = {"what": _DISK, "flush": "O_DIRECT", "tables": 0, "clients": _DEPTH}
            points.append(
                Point(dataset, parameters, self._seconds + 5, points[0].settings, compared=False)
            )
        return points

    def prepare(self, server: Server, dataset: Dataset) -> None:
        tables = int(dataset.name.partition("-")[2].partition("x")[0])
        sysbench.prepare(server, self._load(tables))

    def warm_up(self, server: Server, point: Point) -> None:
        if point.parameters["what"] != _DISK:
            load = self._load(int(point.parameters["tables"]))
            self._fill_pool(server, load)
            sysbench.run(server, load, int(point.parameters["clients"]), self._seconds)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        what = point.parameters["what"]
        if what == _DISK:
            self._measure_disk(server, into)
            return
        load = self._load(int(point.parameters["tables"]))
        clients = int(point.parameters["clients"])
        if what == _COUNTED:
            self._measure_counted(server, load, clients, into)
        else:
            self._measure_load(server, load, clients, into)

    def _fill_pool(self, server: Server, load: sysbench.Load) -> None:
        """Reads, until a page that is read replaces another: a large pool is empty for seconds."""
        reads = replace(load, script="oltp_point_select")
        for _ in range(_FILLING_ATTEMPTS):
            pages = server.status("innodb_buffer_pool_pages%")
            free, total = (int(pages[f"innodb_buffer_pool_pages_{s}"]) for s in ("free", "total"))
            # A server may keep an eighth free.
            if free < total / 7:
                return
            sysbench.run(server, reads, 16, 2)
        raise BenchError(f"the pool does not fill: {free} of {total} pages are free still")

    def _measure_disk(self, server: Server, into: Measurement) -> None:
        disk = fio.measure(
            server.home, self._fio_bytes(), self._seconds, _DEPTH, self.write_percent
        )
        into.figure("disk_pages", disk.reads + disk.writes, "1/s")
        into.figure("disk_pages_read", disk.reads, "1/s")
        into.figure("disk_pages_written", disk.writes, "1/s")
        into.text("fio", disk.command)

    def _measure_load(
        self, server: Server, load: sysbench.Load, clients: int, into: Measurement
    ) -> sysbench.Outcome:
        before = server.status("innodb%")
        outcome = sysbench.run_measured(server, load, clients, self._seconds, "statement", into)
        after = server.status("innodb%")
        seconds = outcome.transactions / outcome.per_second
        read = int(after[counters.PAGES_READ]) - int(before[counters.PAGES_READ])
        written = int(after[counters.PAGES_WRITTEN]) - int(before[counters.PAGES_WRITTEN])
        into.figure("pages_read", read / seconds, "1/s")
        into.figure("pages_written", written / seconds, "1/s")
        into.figure("pages", (read + written) / seconds, "1/s")
        syncs = int(after[counters.SYNCS]) - int(before[counters.SYNCS])
        into.figure("syncs", syncs / seconds, "1/s")
        return outcome

    def _measure_counted(
        self, server: Server, load: sysbench.Load, clients: int, into: Measurement
    ) -> None:
        has_metrics = counters.enable_lru_metrics(server)
        metrics = counters.lru_metrics(server) if has_metrics else {}
        status = server.status("innodb_pages%")
        mutexes = counters.mutex_acquisitions(server)
        outcome = sysbench.run(server, load, clients, self._seconds)
        mutexes = counters.growth(mutexes, counters.mutex_acquisitions(server))
        after = server.status("innodb_pages%")
        pages = sum(
            int(after[name]) - int(status[name])
            for name in (counters.PAGES_READ, counters.PAGES_WRITTEN)
        )
        if pages:
            into.figure("mutexes_per_page", sum(mutexes.values()) / pages, "1/page")
            fil = sum(count for name, count in mutexes.items() if name.startswith("fil_system"))
            into.figure("fil_system_per_page", fil / pages, "1/page")
        into.table("mutexes", counters.frame(mutexes, "acquisitions").assign(pages=pages))
        if not has_metrics:
            return
        metrics = counters.growth(metrics, counters.lru_metrics(server))
        seconds = outcome.transactions / outcome.per_second
        for figure, name in _METRICS.items():
            if name in metrics:
                into.figure(figure, metrics[name] / seconds, "1/s")
        into.table("lru_metrics", counters.frame(metrics, "count"))

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        load = frame[frame["what"] == _LOAD]
        disk = spread.only(frame, {"what": _DISK}, "disk_pages")["value"]
        reference = {"disk (fio)": disk.median()} if not disk.empty else {}
        blocks: list[Block] = []
        for method, part in load.groupby("flush", sort=False):
            for figure, label, lines in (
                ("throughput", "statements a second", {}),
                ("pages", "pages read and written a second", reference),
                ("latency_p99", "p99 latency, ms", {}),
            ):
                rows = part[part["figure"] == figure]
                drawing = plots.lines(
                    rows,
                    "clients",
                    results.servers,
                    label,
                    panels="tables",
                    log_x=True,
                    log_y=figure == "latency_p99",
                    reference=lines,
                )
                caption = f"{method}: {label}. Line, the rounds' median; band, their range."
                blocks.append(Plot(drawing, f"{figure}-{method}", caption))
        if not disk.empty:
            text = spread.median_and_range(disk)
            blocks.append(Text(f"The disk, by fio: {text} pages a second, all rounds and servers."))
        keys = ["flush", "tables", "clients"]
        counted = frame[frame["what"] == _COUNTED]
        if not counted.empty:
            shown = ["mutexes_per_page", "fil_system_per_page", *_METRICS]
            table = spread.overview(counted, keys, shown, results.servers)
            blocks.append(Table(table, "Counted apart: median of the rounds, and their range."))
            blocks.append(_top_mutexes(results))
        if results.base:
            ratios = spread.ratios(
                load, keys, list(COMPARED), results.servers, results.base, interval=True
            )
            caption = INTERVALS.format(base=results.base)
            blocks.append(Table(ratios, caption))
        blocks.append(
            Table(
                spread.overview(load, keys, _SHOWN, results.servers),
                "Median of the rounds, and their range in brackets.",
            )
        )
        return blocks


_METRICS = {
    "user_lru_searches": counters.SEARCHES,
    "user_lru_pages_searched": counters.SEARCHED_PAGES,
    "user_single_flush_scans": counters.SINGLE_FLUSH_SCANS,
}
_SHOWN = [
    "throughput",
    "processor_time",
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "latency_max",
    "pages_read",
    "pages_written",
    "syncs",
]


def _top_mutexes(results: Results) -> Block:
    """The mutexes that are taken most for each page, all counted points together."""
    table = results.table("mutexes")
    if table.empty:
        return Text("No mutexes were counted.")
    sums = table.groupby(["server", "name"], sort=False)["acquisitions"].sum()
    measurements = table.drop_duplicates([*table.columns[: table.columns.get_loc("name")]])
    pages = measurements.groupby("server")["pages"].sum()
    per_page = (sums / pages).rename("per page").reset_index()
    top = per_page.sort_values("per page", ascending=False).groupby("server", sort=False).head(6)
    wide = [
        {
            "server": server,
            "acquisitions per page": ", ".join(
                f"{row.name_} {row.per_page:.2f}"
                for row in part.set_axis(["server", "name_", "per_page"], axis=1).itertuples()
            ),
        }
        for server, part in top.groupby("server", sort=False)
    ]
    return Table(pd.DataFrame(wide), "The mutexes taken most, in all counted runs together.")


class IoUpdate(_IoBound):
    name = "io-update"
    title = "Updates of data larger than the buffer pool"
    about = _ABOUT.format(mix=", half of them writes") + (
        " An update changes one row by its primary key and commits."
    )
    script = "oltp_update_non_index"
    write_percent = 50


class IoSelect(_IoBound):
    name = "io-select"
    title = "Point selects on data larger than the buffer pool"
    about = _ABOUT.format(mix=", reads only")
    script = "oltp_point_select"
    write_percent = 0
