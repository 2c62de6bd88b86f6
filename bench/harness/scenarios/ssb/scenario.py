# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Star Schema Benchmark: 13 queries in one connection, cold and three times warm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar

import pandas as pd

from harness import places
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report.blocks import Block
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.scenarios.ssb import report
from harness.server import Server
from ssb import compare, queries
from ssb.counters import Counters
from ssb.generate import Data, ensure
from ssb.load import DATABASE, LoadError, load
from ssb.run import Runner
from ssb.scale import Scale

#: Runs in their order. The server was started just before the first, and O_DIRECT keeps
#: the data files out of the operating system's cache: nothing of them is in memory.
RUNS = ("cold", "warm 1", "warm 2", "warm 3")

#: Points: all of them, or those that VARIANT= names.
_CHOICES = {"pool": ("eighth", "whole"), "old_blocks_time": ("1000", "0")}

_MIB = 1 << 20
# Bytes of tables and keys: what information_schema said of MySQL 9.7.2 after loads at SF 0.01,
# 0.1 and 1, within one per cent. One figure for all servers, so that all get the same pool;
# what each really takes is measured too ("data").
_DATA_AT_1 = 1_322_000_000
_DATA_AT_0 = 5_000_000
# Pools are resized in chunks of 128M and started in multiples of it; in chunks of this
# size an eighth is an eighth. Servers without chunks take any size.
_CHUNK = 2 * _MIB


class StarSchemaBenchmark(Scenario):
    name = "ssb"
    report_tables = ("queries", "counters", "plans", "results")
    title = "Star Schema Benchmark"
    about = (
        "The 13 queries of the Star Schema Benchmark (O'Neil, revision 3), one after the other in "
        "one connection: once right after the start of the server (cold) and three times more "
        "(warm). pool=eighth: a buffer pool of an eighth of the data; pool=whole: twice the data. "
        "Figures are seconds on the client's clock from sending a query to its last row; a run's "
        "total leaves out what is done between its queries. bench/ssb/README.md says how the data "
        "is made and what follows the paper."
    )
    variants: ClassVar[Mapping[str, str]] = {
        "scale": "factor, 0.01 or more; default 1, with QUICK=1 0.1",
        "pool": "eighth or whole",
        "old_blocks_time": "1000 or 0",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        try:
            self._scale = Scale.parse(choice.variants.get("scale", "0.1" if choice.quick else "1"))
        except ValueError as error:
            raise BenchError(f"ssb: {error}") from error
        data = int(_DATA_AT_1 * self._scale.factor) + _DATA_AT_0
        self._pools = {
            "eighth": max(data // 8 // _CHUNK, 4) * _CHUNK,
            "whole": -(-2 * data // (128 * _MIB)) * 128 * _MIB,
        }
        self._dataset = Dataset(
            name=f"ssb-{self._scale}",
            # The sort of the six keys takes temporary files.
            disk_bytes=2 * data + (1 << 30),
            memory_bytes=self._pools["whole"] + (1 << 30),
            seconds=10 + 100 * float(self._scale.factor),
            settings=self._pool("whole"),
        )

    def points(self) -> Sequence[Point]:
        points = []
        for pool in self._chosen("pool"):
            guess = {"eighth": 1500, "whole": 130}[pool]
            for old_blocks_time in self._chosen("old_blocks_time"):
                points.append(
                    Point(
                        dataset=self._dataset,
                        parameters={
                            "scale": str(self._scale),
                            "pool": pool,
                            "old_blocks_time": int(old_blocks_time),
                        },
                        seconds=20 + guess * float(self._scale.factor),
                        settings={**self._pool(pool), "old_blocks_time": int(old_blocks_time)},
                        fresh=True,
                    )
                )
        return points

    def prepare(self, server: Server, dataset: Dataset) -> None:
        with server.connect(local_infile=True) as connection:
            try:
                load(connection, self._data())
            except LoadError as error:
                raise BenchError(f"{server.name}: {error}") from error

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        with server.connect() as watcher, server.connect(DATABASE) as connection:
            connection.set_character_set("latin1")
            counters = Counters(watcher)
            runner = Runner(connection, counters)
            for run in RUNS:
                into.figure(run, runner.run(run, queries.QUERIES), "s")
            # After all the rest, so that they change nothing for the 13.
            runner.run("forced", queries.FORCED_JOINS)
        pool = int(server.variables("innodb_buffer_pool_size")["innodb_buffer_pool_size"])
        into.figure("buffer pool", pool, "bytes")
        into.figure("data", _data_bytes(server), "bytes")
        into.table("queries", pd.DataFrame([asdict(timing) for timing in runner.timings]))
        into.table("counters", runner.counters())
        into.table("plans", runner.plans())
        into.table("results", compare.to_frame(runner.answers))
        wrong = [*self._against_expected(server, runner), *_unsteady(server, runner)]
        into.table("wrong", pd.DataFrame(wrong, columns=["query", "what"]))
        for table in sorted(counters.too_long):
            print(f"bench: {server.name}: {table} has a row a page or more; it is not saved")

    def report(self, results: Results) -> Sequence[Block]:
        return report.blocks(results)

    def _chosen(self, name: str) -> list[str]:
        """What VARIANT= says of a parameter, or all there is."""
        known = _CHOICES[name]
        chosen = self.choice.variants.get(name, ",".join(known)).split(",")
        for value in chosen:
            if value not in known:
                raise BenchError(f"ssb: {name} is one of {', '.join(known)}, not {value!r}")
        return chosen

    def _pool(self, name: str) -> dict[str, str | int]:
        size = self._pools[name]
        settings: dict[str, str | int] = {
            "buffer_pool_size": size,
            "buffer_pool_instances": 1,  # what every server makes of a pool below 1G anyway
        }
        if name == "eighth":
            settings["buffer_pool_chunk_size"] = _CHUNK
        return settings

    def _data(self) -> Data:
        try:
            return ensure(self._scale, (self.choice.work or places.WORK) / f"ssb-{self._scale}")
        except RuntimeError as error:
            raise BenchError(str(error)) from error

    def _against_expected(self, server: Server, runner: Runner) -> list[tuple[str, str]]:
        expected = self._data().expected
        right = {query: expected[queries.answers_as(query)] for query in runner.answers}
        found = compare.differences(right, runner.answers, right)
        return [(one.query, one.describe("DuckDB", server.name)) for one in found]


def _data_bytes(server: Server) -> int:
    """Pages of tables and keys in use, without those that files keep in reserve."""
    (row,) = server.rows(
        "SELECT SUM(data_length + index_length) AS bytes FROM information_schema.tables "
        f"WHERE table_schema = '{DATABASE}'"
    )
    return int(row["bytes"])


def _unsteady(server: Server, runner: Runner) -> list[tuple[str, str]]:
    first, later = f"{server.name} at first", f"{server.name} later"
    return [(one.query, one.describe(first, later)) for one in runner.unsteady]
