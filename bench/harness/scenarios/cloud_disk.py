# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Data larger than the buffer pool on a disk as most people rent it: few I/Os, slow syncs."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
import pymysql.cursors

from harness import shim, sysbench
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report import spread
from harness.report.blocks import Block, Table
from harness.report.verdict import COMPARED, INTERVALS
from harness.results import Results
from harness.scenario import Choice, Point
from harness.scenarios.io_bound import IoUpdate
from harness.server import Server

_OPS = "3000"
_CLIENTS = (16, 64)
#: Loads by name: the sysbench test, or a pure reader beside the updates.
_UPDATES, _SELECTS, _READER = "updates", "selects", "updates+reader"
_READER_FIGURES = (
    "reader_p99",
    "reader_max",
    "reader_io",
    "reader_io_statement_max",
    "reader_other_max",
)
_FLUSHER_MAX = "innodb_lru_flusher_free_wait_max_us"
_FLUSHER_FAILURES = "innodb_lru_flusher_free_wait_failures"

_ABOUT = (
    "The server's disk is held to so many reads and so many writes a second (cgroup), and each "
    "fsync takes some milliseconds more (a shim). Data and settings are those of io-update. "
    "updates+reader: one connection reads rows by primary key beside the updates, one after the "
    "other; reader_max and reader_p99 are how long its statements take. The performance schema is "
    "on for this load and times the I/O of that connection's thread in data files: reader_io is "
    "the mean of one such operation, reader_io_statement_max the longest time that one statement "
    "spent in them, reader_other_max the longest time that one statement spent otherwise."
)

#: Operations of the connection's own thread in data files, and picoseconds in them.
_OWN_IO = """
    SELECT io.COUNT_STAR, io.SUM_TIMER_WAIT
    FROM performance_schema.events_waits_summary_by_thread_by_event_name io
    JOIN performance_schema.threads USING (THREAD_ID)
    WHERE PROCESSLIST_ID = CONNECTION_ID()
      AND EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'
"""
_PICOSECONDS_A_MS = 1e9


class CloudDisk(IoUpdate):
    name = "cloud-disk"
    title = "A rented disk: 3000 operations a second, slow syncs"
    about = _ABOUT
    variants: ClassVar[Mapping[str, str]] = {
        "clients": "numbers, default 16,64",
        "disk": f"reads, and writes, a second; default {_OPS}",
        "sync": "milliseconds that an fsync takes more, numbers, default 0,10",
        "loads": f"of {_UPDATES}, {_SELECTS}, {_READER}; default all",
        "pool_size": "of the buffer pool, default 256M",
        "instances": "of the buffer pool",
        "data_size": "of the table, default eight times the pool",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        self._seconds = choice.seconds or (1 if choice.quick else 5)
        self._disk_ops = int(choice.variants.get("disk", _OPS))
        self._clients = self._numbers("clients", (8,) if choice.quick else _CLIENTS)
        self._syncs = self._numbers("sync", (0, 10))
        known = (_UPDATES, _SELECTS, _READER)
        self._loads = choice.variants.get("loads", ",".join(known)).split(",")
        for load in self._loads:
            if load not in known:
                raise BenchError(f"cloud-disk has no load {load!r}; known: {', '.join(known)}")

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        settings = self._settings() | {"flush_method": "O_DIRECT"}
        timed = settings | {"performance_schema": "on"}
        return [
            Point(
                self._dataset(1),
                {"load": load, "clients": clients, "sync": sync},
                self._seconds + 2,
                timed if load == _READER else settings,
                disk_ops=self._disk_ops,
                environment=self._slow_sync(sync),
            )
            for sync in self._syncs
            for load in self._loads
            for clients in self._clients
        ]

    def _slow_sync(self, milliseconds: int) -> Mapping[str, str]:
        if milliseconds == 0 or self.choice.work is None:
            return {}
        library = shim.build("slow_sync", self.choice.work)
        return {"LD_PRELOAD": str(library), "SLOW_SYNC_MS": str(milliseconds)}

    def _load_of(self, point: Point) -> sysbench.Load:
        selects = point.parameters["load"] == _SELECTS
        load = self._load(1)
        return sysbench.Load(
            "oltp_point_select" if selects else load.script, 1, load.rows, load.options
        )

    def warm_up(self, server: Server, point: Point) -> None:
        load = self._load_of(point)
        self._fill_pool(server, load)
        sysbench.run(server, load, int(point.parameters["clients"]), self._seconds)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        load, clients = self._load_of(point), int(point.parameters["clients"])
        if point.parameters["load"] == _READER:
            with _Reader(server, load.rows) as reader:
                self._measure_load(server, load, clients, into)
            reader.figures(into)
        else:
            self._measure_load(server, load, clients, into)
        flusher = server.status("innodb_lru_flusher%")
        if _FLUSHER_MAX in flusher:
            into.figure("free_wait_max", int(flusher[_FLUSHER_MAX]) / 1000, "ms since the start")
            into.figure("free_wait_failures", int(flusher[_FLUSHER_FAILURES]), "since the start")

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        keys = ["sync", "load", "clients"]
        shown = ["throughput", "processor_time", "latency_p50", "latency_p99", "latency_max"]
        shown += [*_READER_FIGURES, "free_wait_max", "free_wait_failures"]
        shown += ["pages_read", "pages_written", "syncs"]
        caption = "Median of the rounds, and their range in brackets."
        blocks: list[Block] = [Table(spread.overview(frame, keys, shown, results.servers), caption)]
        if results.base:
            ratios = spread.ratios(
                frame,
                keys,
                [*COMPARED, "reader_p99", "reader_max"],
                results.servers,
                results.base,
                interval=True,
            )
            blocks.insert(0, Table(ratios, INTERVALS.format(base=results.base)))
        return blocks


class _Reader:
    """One connection that reads rows one after the other, and how long each took."""

    def __init__(self, server: Server, rows: int) -> None:
        self._connection = server.connect(sysbench.DATABASE)
        self._rows = rows
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._error: Exception | None = None
        #: Of each statement: milliseconds, its I/O operations, milliseconds in these.
        self._statements: list[tuple[float, int, float]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._connection.close()
        if self._error is not None:
            raise BenchError(f"the reader failed: {self._error}") from self._error

    def figures(self, into: Measurement) -> None:
        if not any(operations for _, operations, _ in self._statements):
            raise BenchError("the reader read no page from the disk: nothing to measure")
        milliseconds, operations, in_io = np.array(self._statements).T
        into.figure("reader_statements", len(milliseconds), "statements")
        into.figure("reader_p99", float(np.percentile(milliseconds, 99)), "ms")
        into.figure("reader_max", milliseconds.max(), "ms")
        into.figure("reader_io", in_io.sum() / operations.sum(), "ms an operation")
        into.figure("reader_io_statement_max", in_io.max(), "ms")
        into.figure("reader_other_max", (milliseconds - in_io).max(), "ms")

    def _read(self) -> None:
        keys = np.random.default_rng(5)
        try:
            with self._connection.cursor() as cursor:
                before = self._own_io(cursor)
                while not self._stop.is_set():
                    key = int(keys.integers(1, self._rows + 1))
                    started = time.perf_counter()
                    cursor.execute("SELECT c FROM sbtest1 WHERE id = %s", (key,))
                    cursor.fetchall()
                    took = 1000 * (time.perf_counter() - started)
                    after = self._own_io(cursor)
                    self._statements.append((took, after[0] - before[0], after[1] - before[1]))
                    before = after
        except Exception as error:  # noqa: BLE001 - the thread that asked for it raises it
            self._error = error

    @staticmethod
    def _own_io(cursor: pymysql.cursors.Cursor) -> tuple[int, float]:
        cursor.execute(_OWN_IO)
        operations, picoseconds = cursor.fetchone()
        return int(operations), int(picoseconds) / _PICOSECONDS_A_MS
