# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Binary logs are purged under a load of commits: how long do the commits stand still?"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pandas as pd

from harness import sampler, shim, sysbench
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table, Text
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario, ScenarioSkipped
from harness.scenarios.binlog_purge.logs import BinaryLogs
from harness.scenarios.binlog_purge.purge import Purge
from harness.server import Server
from harness.settings import size_in_bytes

_GIB = 2**30
_CLIENTS = 16

#: What VARIANT= may choose; the first is the default.
_CHOICES = {
    "purge": ("manual", "auto", "none"),
    "unlink": ("fast", "slow"),
    "files": ("big", "small"),
    "gtid": ("off", "on"),
    "sync": ("1", "0"),
}
#: Points of a run without VARIANT=: the base line, the complaint, and what makes it up.
_DEFAULT: tuple[dict[str, str], ...] = (
    {"purge": "none"},
    {"purge": "manual"},
    {"purge": "manual", "unlink": "slow"},
    {"purge": "auto", "unlink": "slow"},
    {"purge": "manual", "files": "small"},
)


class BinlogPurge(Scenario):
    name = "binlog-purge"
    report_tables = ("rates",)
    title = "Purging binary logs under a load of commits"
    about = (
        "16 clients of sysbench update rows by primary key, one statement a transaction; the data "
        "is in the buffer pool, sync is sync_binlog. Old binary logs lie there: a few big ones or "
        "many small ones. Then max_binlog_size is 4M, and after some seconds of steady load the "
        "old logs are purged: by PURGE BINARY LOGS TO the current one (manual), or by their expiry "
        "at the next rotation (auto: their modification time is set two days back, the expiry to "
        "a day). unlink=slow: a call in which the server gives space back takes a time in "
        "proportion to the space, on top of what it really takes, as on a file system that is slow "
        "to unlink (shim/slow_unlink.c; slept says what that came to). Seconds are those that "
        "sysbench reports. Windows of a second that end anywhere, and stalls, come from Com_update, "
        "read ten times a second: a stall is the longest time with less than a tenth of the median "
        "rate before the purge. removal_done is from the purge's beginning until no file of a "
        "purged log is left, under whatever name."
    )

    variants: ClassVar[Mapping[str, str]] = {
        "purge": "manual, auto or none",
        "unlink": "fast or slow",
        "files": "big or small",
        "gtid": "off or on",
        "sync": "1 or 0: sync_binlog",
        "size": "of a big file, default 1G",
        "bigs": "how many big files, default 5",
        "smalls": "how many small files, default 5000",
        "cost": "seconds that slow unlink takes for a GiB, default 1",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        quick = choice.quick
        self._size = size_in_bytes(choice.variants.get("size", "64M" if quick else "1G"))
        self._count = {
            "big": int(choice.variants.get("bigs", 5)),
            "small": int(choice.variants.get("smalls", 100 if quick else 5000)),
        }
        # A quick run's files are smaller; a higher price keeps a stall of a second.
        self._cost = float(choice.variants.get("cost", 4 if quick else 1))
        self._seconds = choice.seconds or (12 if quick else 60)
        self._steady = max(2, min(15, self._seconds // 3))
        self._load = sysbench.Load(
            "oltp_update_non_index", tables=1 if quick else 4, rows=10_000 if quick else 100_000
        )
        self._dataset = Dataset(
            name=f"binlog-purge-{self._load.tables}x{self._load.rows}",
            # Old logs, those of the load (up to 20 MB/s), tables.
            disk_bytes=self._size * self._count["big"]
            + 20_000_000 * self._seconds
            + 100_000_000 * self._load.tables,
            memory_bytes=int(1.5 * _GIB),
            seconds=15,
        )

    def needs(self) -> Sequence[str]:
        return ("sysbench",)

    def points(self) -> Sequence[Point]:
        points: list[Point] = []
        for combination in self._combinations():
            parameters = {name: combination.get(name, known[0]) for name, known in _CHOICES.items()}
            if parameters["purge"] == "none":
                # Nothing is removed, so what lies there does not matter.
                parameters |= {"unlink": "fast", "files": "big"}
            point = Point(
                dataset=self._dataset,
                parameters=parameters,
                seconds=self._seconds + 12 + self._guess_filling(parameters),
                settings={
                    "binary_log": "on",
                    "gtid": parameters["gtid"],
                    "sync_binlog": int(parameters["sync"]),
                },
                fresh=True,
            )
            if point not in points:
                points.append(point)
        return points

    def _combinations(self) -> list[dict[str, str]]:
        chosen = {
            name: self.choice.variants[name].split(",")
            for name in _CHOICES
            if name in self.choice.variants
        }
        for name, values in chosen.items():
            for value in values:
                if value not in _CHOICES[name]:
                    known = ", ".join(_CHOICES[name])
                    raise BenchError(f"binlog-purge: {name} cannot be {value!r}; known: {known}")
        if not chosen:
            return list(_DEFAULT)
        products = itertools.product(*chosen.values())
        return [dict(zip(chosen, values, strict=True)) for values in products]

    def _guess_filling(self, parameters: Mapping[str, str]) -> float:
        if parameters["purge"] == "none":
            return 0
        if parameters["files"] == "big":
            return 6 * self._count["big"] * self._size / _GIB
        return 0.01 * self._count["small"]

    def check(self, server: Server, point: Point) -> None:
        reason = server.definition.lacking("gtid", point.parameters["gtid"])
        if reason is not None:
            raise ScenarioSkipped(reason)

    def environment(self, server: Server, point: Point) -> Mapping[str, str]:
        if point.parameters["unlink"] == "fast":
            return {}
        assert self.choice.work is not None, "the shim is compiled below the work directory"
        return {
            "LD_PRELOAD": str(shim.build("slow_unlink", self.choice.work)),
            "SLOW_UNLINK_UNDER": str(server.binlog_directory.resolve()),
            "SLOW_UNLINK_SECONDS_PER_GIB": str(self._cost),
            "SLOW_UNLINK_LOG": str(_sleep_log(server)),
        }

    def prepare(self, server: Server, dataset: Dataset) -> None:
        sysbench.prepare(server, self._load)

    # One measurement

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        how = str(point.parameters["purge"])
        logs = BinaryLogs(server)
        old = self._fill(logs, how, str(point.parameters["files"]), into)
        # What removing the logs of the measurement before cost is not this one's.
        _sleep_log(server).unlink(missing_ok=True)
        server.execute("SET GLOBAL max_binlog_size = 4194304", "FLUSH BINARY LOGS")
        sysbench.run(server, self._load, _CLIENTS, 3)  # warm up

        counter = sampler.status_counter(server, "Com_update")
        watch = logs.watch(old)
        with counter, watch:
            begin = time.monotonic()
            with (
                Purge(server, logs, old, how, self._steady) as purge,
                sysbench.Running(server, self._load, _CLIENTS, self._seconds) as running,
            ):
                outcome = running.outcome()
            end = time.monotonic()
            at_end = server.status("binlog_purge%")
            if how != "none":
                logs.wait_until_removed(old)
        moment = (purge.moment or begin + self._steady) - begin
        if moment > self._seconds:
            raise BenchError("the load was over before the purge began")

        self._seconds_of_load(outcome, moment, into)
        self._tenths(counter.frame(), begin, end, moment, into)
        for name, value in outcome.latency_ms.items():
            into.figure(f"latency_{name}", value, "ms")
        into.figure("purge_at", moment, "s")
        if purge.statement_seconds is not None:
            into.figure("purge_statement", purge.statement_seconds, "s")
        directory = watch.frame()
        directory["time"] = (directory["time"] - begin).round(3)
        into.table("directory", directory)
        if how != "none":
            _removal(directory, moment, into)
        into.figure("files_listed", len(server.rows("SHOW BINARY LOGS")), "files")
        into.figure(
            "files_on_disk", len(list(server.binlog_directory.glob("binlog.[0-9]*"))), "files"
        )
        slept = _slept(_sleep_log(server), begin)
        into.figure("slept", slept["seconds"].sum(), "s")
        into.table("slept", slept)
        _purge_status(at_end, server.status("binlog_purge%"), into)
        into.status("status", server.status("binlog%"))
        into.status("variables", server.variables("%binlog%"))
        into.text("sysbench", outcome.output)

    def _fill(self, logs: BinaryLogs, how: str, files: str, into: Measurement) -> list[str]:
        """Old logs as the point asks; their names."""
        logs.reset()
        if how == "none":
            return []
        began = time.monotonic()
        if files == "big":
            logs.fill_big(self._count["big"], self._size)
        else:
            logs.fill_small(self._count["small"])
        old = logs.listed()[:-1]
        into.figure("filling", time.monotonic() - began, "s")
        into.figure("old_files", len(old), "files")
        into.figure("old_bytes", logs.occupied(old), "bytes")
        return old

    def _seconds_of_load(self, outcome: sysbench.Outcome, moment: float, into: Measurement) -> None:
        """Figures by sysbench's seconds. The first is left out, and the last, cut short."""
        seconds = outcome.seconds[outcome.seconds["second"].between(2, self._seconds - 1)]
        before = seconds[seconds["second"] <= moment]["tps"]
        after = seconds[seconds["second"] > moment]["tps"]
        into.figure("throughput", outcome.per_second, "1/s")
        into.figure("median_second", seconds["tps"].median(), "1/s")
        into.figure("median_second_before", before.median(), "1/s")
        into.figure("worst_second", after.min(), "1/s")
        into.figure("worst_to_median", after.min() / before.median(), "ratio")
        into.table("seconds", outcome.seconds)

    def _tenths(
        self, counts: pd.DataFrame, begin: float, end: float, moment: float, into: Measurement
    ) -> None:
        """Figures from the sampled counter, times from the load's beginning."""
        counts = counts[counts["time"].between(begin, end)]
        counts = counts.assign(time=counts["time"] - begin)
        rates = sampler.rates(counts)
        windows = sampler.window_rates(counts)
        typical = rates[rates["time"].between(1, moment)]["rate"].median()
        tail = rates["time"].between(moment, self._seconds - 0.5)
        inside = windows["time"].between(moment, self._seconds - 0.5)
        into.figure("worst_window", windows[inside]["rate"].min(), "1/s")
        into.figure("longest_stall", sampler.longest_below(rates[tail], typical / 10), "s")
        into.table("rates", rates.round({"time": 3, "rate": 1}))

    # The report

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        keys = list(_CHOICES)
        columns = spread.varying(frame, keys)
        blocks: list[Block] = []
        rates = results.table("rates")
        for number, (values, part) in enumerate(rates.groupby(keys, sort=False), start=1):
            chosen = dict(zip(keys, values, strict=True))
            moment = spread.only(frame, chosen, "purge_at")["value"].median()
            figure = plots.time_series(part, results.servers, moment, "updates a second")
            label = ", ".join(f"{name}={value}" for name, value in chosen.items())
            caption = (
                f"{label}. Updates a second, by tenths of a second: line, the rounds' median; band, "
                "their range; dotted, the purge's beginning."
            )
            blocks.append(Plot(figure, f"purge-{number}", caption))
        blocks.append(
            Table(
                spread.overview(frame, columns, _SHOWN, results.servers),
                "Median of the rounds, and their range in brackets.",
            )
        )
        if results.base:
            blocks.append(
                Table(
                    spread.ratios(frame, columns, _COMPARED, results.servers, results.base),
                    f"Ratio to {results.base} in the same round: median, and range in brackets.",
                )
            )
        status = results.table("purge_status")
        if not status.empty:
            blocks.append(
                Table(status, "Status variables on purging, at the load's end and after removal.")
            )
        else:
            blocks.append(Text("No server has status variables called Binlog_purge..."))
        return blocks


_COMPARED = [
    "throughput",
    "worst_second",
    "worst_window",
    "longest_stall",
    "latency_p99",
    "latency_max",
    "purge_statement",
]
_SHOWN = [
    *_COMPARED,
    "median_second_before",
    "worst_to_median",
    "removal_done",
    "slept",
    "old_files",
    "old_bytes",
    "files_listed",
    "files_on_disk",
]


def _sleep_log(server: Server) -> Path:
    return server.home / "slow_unlink.log"


def _slept(log: Path, begin: float) -> pd.DataFrame:
    """What the shim slept: time (s from the load's beginning), call, bytes, seconds, name."""
    rows = []
    for line in log.read_text().splitlines() if log.exists() else []:
        moment, call, given_back, seconds, path = line.split(" ", 4)
        name = Path(path).name
        rows.append((round(float(moment) - begin, 3), call, given_back, float(seconds), name))
    return pd.DataFrame(rows, columns=["time", "call", "bytes", "seconds", "name"])


def _removal(directory: pd.DataFrame, moment: float, into: Measurement) -> None:
    """From the purge's beginning: when no old log is listed, and when none is on disk."""
    after = directory[directory["time"] >= moment]
    unlisted = after[after["old_listed"] == 0]
    into.figure("unlisted_after", unlisted["time"].iloc[0] - moment, "s")
    gone = unlisted[unlisted["files"] == 0]
    into.figure("removal_done", gone["time"].iloc[0] - moment, "s")


def _purge_status(at_end: Mapping[str, str], removed: Mapping[str, str], into: Measurement) -> None:
    """Whatever the server has to say on purging: it depends on the server."""
    names = sorted(at_end.keys() | removed.keys())
    rows = [(name, at_end.get(name, ""), removed.get(name, "")) for name in names]
    into.table("purge_status", pd.DataFrame(rows, columns=["name", "load_end", "removed"]))
