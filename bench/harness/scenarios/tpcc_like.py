# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A load like TPC-C, on data larger than the buffer pool or inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from harness import innodb_counters as counters
from harness import places, sysbench
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report import spread
from harness.report.blocks import Block, Table
from harness.report.verdict import COMPARED, INTERVALS
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.server import Server
from harness.settings import Value, size_in_bytes

_SCRIPT = places.SYSBENCH_SCRIPTS / "tpcc_like.lua"
_BYTES = 110 * 2**20  #: of a warehouse: 93 MiB once filled, measured, and what a run adds
_CLIENTS = (16,)
_WARM_UP = 20  #: seconds, so that the pool has what the load uses

#: What must hold whatever ran and was rolled back (TPC-C, 3.3.2). Each gives no row.
CONSISTENT = (
    (
        "SELECT w_id FROM warehouse JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) d"
        " ON d_w_id = w_id WHERE w_ytd <> ytd"
    ),
    (
        "SELECT d_id FROM district JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders"
        " GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id WHERE d_next_o_id - 1 <> last"
    ),
    (
        "SELECT o.w FROM (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS wanted FROM orders"
        " GROUP BY o_w_id, o_d_id) o JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line"
        " GROUP BY ol_w_id, ol_d_id) l ON ol_w_id = w AND ol_d_id = d WHERE wanted <> found"
    ),
    (
        "SELECT o_id FROM orders LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id"
        " AND no_o_id = o_id WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL) LIMIT 1"
    ),
)


class TpccLike(Scenario):
    name = "tpcc-like"
    title = "A load like TPC-C"
    about = (
        "The nine tables of TPC-C, its five transactions in their shares, its skewed choice of items "
        "and customers; no think time, no foreign keys, statements as text. A transaction is one "
        "of any kind. Its results cannot be compared with TPC-C's. Made by "
        "bench/sysbench/tpcc_like.lua. pages_read is per transaction."
    )
    interleaved = True
    rounds = 18
    variants: ClassVar[Mapping[str, str]] = {
        "clients": "numbers, default 16",
        "warehouses": "default 20, about 2 GB",
        "pool_size": "of the buffer pool, default 256M; larger than the data: all of it is cached",
        "disk": "reads, and writes, a second that the disk is held to (root); default: as it is",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        self._warehouses = int(choice.variants.get("warehouses", 1 if choice.quick else 20))
        if self._warehouses < 1:
            raise BenchError(f"tpcc-like: {self._warehouses} warehouses are too few")
        self._pool = choice.variants.get("pool_size", "64M" if choice.quick else "256M")
        self._seconds = choice.seconds or (2 if choice.quick else 5)
        clients = choice.variants.get("clients")
        self._clients = [int(word) for word in clients.split(",")] if clients else _CLIENTS
        self._disk_ops = int(choice.variants["disk"]) if "disk" in choice.variants else None
        small = ("--items=2000", "--customers=200") if choice.quick else ()
        self._load = sysbench.Load(
            str(_SCRIPT),
            options=(f"--warehouses={self._warehouses}", "--db-ps-mode=disable", *small),
        )

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        pages = size_in_bytes(self._pool) // 16384
        settings: dict[str, Value] = {
            "buffer_pool_size": self._pool,
            "buffer_pool_instances": 1,
            "lru_scan_depth": max(100, pages // 8),
            "io_capacity": max(100, pages // 8),
        }
        dataset = Dataset(
            name=f"tpcc-like-{self._warehouses}{'-quick' if self.choice.quick else ''}",
            disk_bytes=2 * self._warehouses * _BYTES + size_in_bytes("1G"),
            memory_bytes=size_in_bytes(self._pool) + size_in_bytes("512M"),
            seconds=15 + 3 * self._warehouses,
        )
        return [
            Point(
                dataset,
                {"warehouses": self._warehouses, "pool": self._pool, "clients": clients},
                self._seconds + 2,
                settings,
                disk_ops=self._disk_ops,
            )
            for clients in self._clients
        ]

    def prepare(self, server: Server, dataset: Dataset) -> None:
        server.execute(f"CREATE DATABASE {sysbench.DATABASE}")
        sysbench.call(server, self._load, "create")
        sysbench.call(server, self._load, "fill", threads=min(2, self._warehouses))
        self._check(server)

    def _check(self, server: Server) -> None:
        for query in CONSISTENT:
            if server.rows(query, sysbench.DATABASE):
                raise AssertionError(f"{server.name}: the data is not consistent: {query}")

    def warm_up(self, server: Server, point: Point) -> None:
        seconds = self._seconds if self.choice.quick else _WARM_UP
        sysbench.run(server, self._load, int(point.parameters["clients"]), seconds)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        before = server.status("innodb%")
        clients = int(point.parameters["clients"])
        outcome = sysbench.run_measured(
            server, self._load, clients, self._seconds, "transaction", into
        )
        after = server.status("innodb%")
        for figure, name in (
            ("pages_read", counters.PAGES_READ),
            ("pages_written", counters.PAGES_WRITTEN),
        ):
            grown = int(after[name]) - int(before[name])
            into.figure(figure, grown / outcome.transactions, "1/transaction")
        if self.choice.quick:  # it reads all there is
            self._check(server)

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        keys = ["warehouses", "pool", "clients"]
        shown = ["throughput", "processor_time", "latency_p50", "latency_p99", "latency_max"]
        shown += ["pages_read", "pages_written"]
        caption = "Median of the rounds, and their range in brackets."
        blocks: list[Block] = [Table(spread.overview(frame, keys, shown, results.servers), caption)]
        if results.base:
            compared = [*COMPARED, "pages_read"]
            ratios = spread.ratios(
                frame, keys, compared, results.servers, results.base, interval=True
            )
            blocks.insert(0, Table(ratios, INTERVALS.format(base=results.base)))
        return blocks
