# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A forgotten transaction, one DDL, a queue of readers: how long do the readers stand?"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pandas as pd
import pymysql

from harness import sampler, sysbench
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.server import Server
from harness.settings import Value, size_in_bytes

_READERS = 8
_BEFORE = 2  #: s of reading before the DDL
_AFTER = 3  #: s of load after the last moment at which the forgotten transaction can end
_DEFAULT, _OURS = "default", "ours"


class MetadataLock(Scenario):
    name = "mdl"
    report_tables = ("rates", "answers")
    title = "A forgotten transaction, one DDL, a queue of readers"
    variants: ClassVar[Mapping[str, str]] = {
        "hold": "seconds until the forgotten transaction is remembered, default 90",
        "timeout": "seconds of our lock_wait_timeout, default 60 as in config/production.cnf",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        quick = choice.quick
        self._hold = int(choice.variants.get("hold", 8 if quick else 90))
        self._timeout = int(choice.variants.get("timeout", 3 if quick else 60))
        self._load = sysbench.Load(
            "oltp_point_select", 1, 10_000, ("--mysql-ignore-errors=1205", "--skip_trx=on")
        )

    @property
    def about(self) -> str:  # type: ignore[override]
        return (
            f"{_READERS} clients read a table by primary key. A transaction has read from it and is "
            f"forgotten for {self._hold} s after an ALTER TABLE begins to wait for it. default: "
            "lock_wait_timeout is the server's own, a year in MySQL, a day in MariaDB, so everybody "
            "waits until the transaction ends, here after that time, in life whenever somebody finds "
            f"it. ours: {self._timeout} s, as config/production.cnf of Sluice has it. blocked is the longest "
            "time in which the readers finished nothing (Com_select, read ten times a second); ddl is "
            "how long the ALTER TABLE took or waited."
        )

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        dataset = Dataset("mdl", size_in_bytes("3G"), size_in_bytes("1500M"), seconds=5)
        seconds = _BEFORE + self._hold + _AFTER + 2
        # On, as it is by default: it knows who holds a lock.
        default: dict[str, Value] = {"performance_schema": "on"}
        ours = default | {"metadata_lock_wait_timeout": self._timeout}
        return [
            Point(dataset, {"settings": _DEFAULT}, seconds, default),
            Point(dataset, {"settings": _OURS}, seconds, ours),
        ]

    def prepare(self, server: Server, dataset: Dataset) -> None:
        sysbench.prepare(server, self._load)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        timeout = server.variables("lock_wait_timeout")["lock_wait_timeout"]
        into.figure("lock_wait_timeout", float(timeout), "s")
        seconds = _BEFORE + self._hold + _AFTER
        forgotten = server.connect(sysbench.DATABASE)
        ddl = _Ddl(server)
        counter = sampler.status_counter(server, "Com_select")
        with counter, sysbench.Running(server, self._load, _READERS, seconds) as readers:
            begin = time.monotonic()
            time.sleep(_BEFORE)
            with forgotten.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("SELECT COUNT(*) FROM sbtest1 WHERE id < 10")
            ddl.start()
            time.sleep(self._hold)
            forgotten.rollback()
            ddl.join()
            outcome = readers.outcome()
            end = time.monotonic()
        forgotten.close()
        if ddl.error is None:
            server.execute("ALTER TABLE sbtest1 DROP COLUMN note", database=sysbench.DATABASE)
        into.figure("ddl", ddl.seconds, "s")
        into.figure("ddl_succeeded", ddl.error is None, "")
        into.text("ddl", str(ddl.error) if ddl.error else "The ALTER TABLE succeeded.")
        counts = counter.frame()
        counts = counts[counts["time"].between(begin, end)]
        rates = sampler.rates(counts.assign(time=counts["time"] - begin))
        # A sample that a statement of our own is in is not progress of the readers.
        into.figure("blocked", sampler.longest_below(rates, limit=50), "s")
        into.figure("latency_max", outcome.latency_ms["max"], "ms")
        into.figure("throughput", outcome.per_second, "1/s")
        into.table("rates", rates.round({"time": 3, "rate": 1}))
        into.table("answers", pd.DataFrame({"ddl": [str(ddl.error) if ddl.error else "succeeded"]}))
        into.text("sysbench", outcome.output)

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        rates = results.table("rates")
        blocks: list[Block] = []
        for settings, part in rates.groupby("settings", sort=False):
            drawing = plots.time_series(part, results.servers, _BEFORE, "selects a second")
            caption = (
                f"lock_wait_timeout: {settings}. Line, the rounds' median; band, their range; "
                "dotted, the ALTER TABLE begins."
            )
            blocks.append(Plot(drawing, f"readers-{settings}", caption))
        keys = ["settings"]
        shown = [
            "blocked",
            "ddl",
            "ddl_succeeded",
            "lock_wait_timeout",
            "latency_max",
            "throughput",
        ]
        caption = "Median of the rounds, and their range in brackets."
        blocks.append(Table(spread.overview(frame, keys, shown, results.servers), caption))
        if results.base:
            ratios = spread.ratios(frame, keys, ["blocked"], results.servers, results.base)
            caption = f"Ratio to {results.base} in the same round: median, and range in brackets."
            blocks.append(Table(ratios, caption))
        answers = results.table("answers").drop(columns="round").drop_duplicates()
        blocks.append(Table(answers, "What the ALTER TABLE ended with."))
        return blocks


class _Ddl:
    """ALTER TABLE in a thread of its own."""

    def __init__(self, server: Server) -> None:
        self._connection = server.connect(sysbench.DATABASE)
        self._thread = threading.Thread(target=self._run)
        self.error: pymysql.err.MySQLError | None = None
        self.seconds = 0.0

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        began = time.monotonic()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute("ALTER TABLE sbtest1 ADD COLUMN note INT")
        except pymysql.err.MySQLError as error:
            self.error = error
        self.seconds = time.monotonic() - began
