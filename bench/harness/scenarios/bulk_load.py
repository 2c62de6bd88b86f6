# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One client fills a table: extended inserts, and one row an insert."""

from __future__ import annotations

import time
from collections.abc import Sequence

from harness import places, sysbench
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.server import Server
from harness.settings import size_in_bytes

_TABLE = (
    "CREATE TABLE load1 (id INT NOT NULL, k INT NOT NULL, c CHAR(120) NOT NULL,"
    " pad CHAR(60) NOT NULL, PRIMARY KEY (id), KEY k_1 (k)) ENGINE=InnoDB"
)
_EXTENDED = 1000  #: rows of an extended insert


class BulkLoad(Scenario):
    name = "bulk-load"
    title = "Bulk load, one client"
    about = (
        "One client fills an empty table with a primary key and a secondary one, in the order of "
        f"the primary key: {_EXTENDED} rows an INSERT (extended) or one. A statement is a transaction. "
        "Everything fits into the buffer pool. Made by bench/sysbench/bulk_load.lua."
    )

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        # Statements, so that every server does the same work.
        self._statements = (
            {_EXTENDED: 20, 1: 2000} if choice.quick else {_EXTENDED: 1000, 1: 100_000}
        )

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        dataset = Dataset("bulk-load", size_in_bytes("3G"), size_in_bytes("1500M"), seconds=1)
        return [Point(dataset, {"rows_an_insert": rows}, 30) for rows in self._statements]

    def prepare(self, server: Server, dataset: Dataset) -> None:
        server.execute(f"CREATE DATABASE {sysbench.DATABASE}")

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        rows = int(point.parameters["rows_an_insert"])
        statements = self._statements[rows]
        server.execute("DROP TABLE IF EXISTS load1", _TABLE, database=sysbench.DATABASE)
        script = str(places.SYSBENCH_SCRIPTS / "bulk_load.lua")
        load = sysbench.Load(script, options=(f"--rows_per_insert={rows}", "--db-ps-mode=disable"))
        began = time.monotonic()
        outcome = sysbench.run_events(server, load, statements)
        into.figure("elapsed", time.monotonic() - began, "s")
        into.figure("rows", outcome.per_second * rows, "1/s")
        found = server.rows("SELECT COUNT(*) AS n FROM load1", sysbench.DATABASE)[0]["n"]
        if found != rows * statements:
            raise AssertionError(f"{found} rows are in the table, {rows * statements} were loaded")
        server.execute("DROP TABLE load1", database=sysbench.DATABASE)
        for name, value in outcome.latency_ms.items():
            into.figure(f"latency_{name}", value, "ms")
        into.text("sysbench", outcome.output)

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        keys = ["rows_an_insert"]
        blocks: list[Block] = []
        for rows, part in frame[frame["figure"] == "rows"].groupby(keys[0], sort=False):
            drawing = plots.bars(part, keys[0], results.servers, "rows a second")
            caption = f"Rows an insert: {rows}. Bars, the rounds' median; whiskers, their range."
            blocks.append(Plot(drawing, f"rows-{rows}", caption))
        shown = ["rows", "elapsed", "latency_p50", "latency_p99", "latency_max"]
        caption = "Median of the rounds, and their range in brackets. A latency is a statement's."
        blocks.append(Table(spread.overview(frame, keys, shown, results.servers), caption))
        if results.base:
            ratios = spread.ratios(frame, keys, ["rows"], results.servers, results.base)
            caption = f"Ratio to {results.base} in the same round: median, and range in brackets."
            blocks.append(Table(ratios, caption))
        return blocks
