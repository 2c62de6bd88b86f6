# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs sysbench and reads what it says."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pandas as pd

from harness.errors import BenchError
from harness.measurement import Measurement
from harness.server import Server

DATABASE = "sbtest"
_TRIES = 5

_SECOND = re.compile(
    r"\[ (?P<second>\d+)s \] thds: \d+ tps: (?P<tps>[\d.]+) qps: [\d.]+ .*"
    r"lat \(ms,\d+%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+)"
)
_BUCKET = re.compile(r"^\s*([\d.]+) \|\**\s*(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Load:
    """A sysbench test and its tables."""

    script: str  #: oltp_update_non_index, or the path of a Lua file
    tables: int = 0  #: 0: a script that makes its own and has no such option
    rows: int = 0  #: of each table
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run of sysbench measured."""

    transactions: float  #: events, which are single statements in the oltp tests we use
    per_second: float  #: events a second over the whole run
    latency_ms: dict[str, float]  #: p50, p95, p99 from its histogram, and max
    seconds: pd.DataFrame  #: second, tps, p95_ms, errors: one row each second
    output: str


def command(server: Server, load: Load, *more: str) -> list[str]:
    tables = [f"--tables={load.tables}", f"--table-size={load.rows}"] if load.tables else []
    return [
        "sysbench",
        f"--mysql-socket={server.socket}",
        "--mysql-user=root",
        f"--mysql-db={DATABASE}",
        "--rand-type=uniform",
        *tables,
        *load.options,
        *more,
    ]


def prepare(server: Server, load: Load, threads: int = 2) -> None:
    """The tables of a load, filled by sysbench itself."""
    server.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    call(server, load, "prepare", min(threads, load.tables))


def call(server: Server, load: Load, what: str, threads: int = 1, more: Sequence[str] = ()) -> None:
    """A command of a load's script, whose output nobody reads."""
    options = (f"--threads={threads}", *more)
    with _Process(command(server, load, *options, load.script, what)) as process:
        process.output()


class Running:
    """A load that runs; killed at the end of `with` if it was not waited for."""

    def __init__(self, server: Server, load: Load, clients: int, seconds: int) -> None:
        timing = (f"--threads={clients}", f"--time={seconds}", "--events=0")
        telling = ("--report-interval=1", "--percentile=95", "--histogram")
        self._process = _Process(command(server, load, *timing, *telling, load.script, "run"))

    def __enter__(self) -> Self:
        self._process.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._process.__exit__(*error)

    def outcome(self) -> Outcome:
        """Waits for the end."""
        return parse(self._process.output())


def run(server: Server, load: Load, clients: int, seconds: int) -> Outcome:
    return _run(server, load, clients, seconds)[0]


def _run(server: Server, load: Load, clients: int, seconds: int) -> tuple[Outcome, float, int]:
    """Again if nothing got done: a client that a busy machine leaves aside for so long makes none.

    With the server's processor seconds of the last run, and the number of runs before it.
    """
    for empty in range(_TRIES):
        processor = server.processor_seconds()
        with Running(server, load, clients, seconds) as running:
            outcome = running.outcome()
        if outcome.transactions > 0:
            return outcome, server.processor_seconds() - processor, empty
    raise BenchError(f"{server.name}: no transaction in {_TRIES} runs of {seconds} s")


def run_measured(
    server: Server, load: Load, clients: int, seconds: int, unit: str, into: Measurement
) -> Outcome:
    """As run(), with what is compared: throughput, latency, the server's processor time a unit.

    That of the last run: what came to nothing before it is counted, so that the report can say so.
    """
    outcome, processor, empty = _run(server, load, clients, seconds)
    if empty:
        into.figure("empty_runs", empty, "runs")
    into.figure("throughput", outcome.per_second, "1/s")
    into.figure("processor_time", processor / outcome.transactions * 1e6, f"us/{unit}")
    for name, value in outcome.latency_ms.items():
        into.figure(f"latency_{name}", value, "ms")
    into.text("sysbench", outcome.output)
    return outcome


def run_events(server: Server, load: Load, events: int) -> Outcome:
    """So many events by one client, however long it takes."""
    more = ("--threads=1", f"--events={events}", "--time=0", "--percentile=95", "--histogram")
    with _Process(command(server, load, *more, load.script, "run")) as process:
        return parse(process.output())


def parse(output: str) -> Outcome:
    """sysbench's report, as version 1.0 prints it."""
    total = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", output)
    slowest = re.search(r"^\s+max:\s+([\d.]+)$", output, re.MULTILINE)
    if not total or not slowest:
        raise BenchError(f"sysbench ended without its summary:\n{_tail(output)}")
    latency = percentiles(output, (50, 95, 99)) | {"max": float(slowest[1])}
    rows = [
        (int(line["second"]), float(line["tps"]), float(line["latency"]), float(line["errors"]))
        for line in _SECOND.finditer(output)
    ]
    seconds = pd.DataFrame(rows, columns=["second", "tps", "p95_ms", "errors"])
    return Outcome(float(total[1]), float(total[2]), latency, seconds, output)


def percentiles(output: str, wanted: Sequence[int]) -> dict[str, float]:
    """Milliseconds below which so many percent of the events were, from the histogram.

    sysbench's buckets are log-spaced, 1024 from 0.001 ms to 100 s: about 2 % wide.
    """
    start = output.find("Latency histogram")
    buckets = [(float(v), int(c)) for v, c in _BUCKET.findall(output[start:])] if start >= 0 else []
    count = sum(events for _, events in buckets)
    result = {}
    for percent in wanted:
        seen = 0
        for value, events in buckets:
            seen += events
            if seen >= count * percent / 100:
                result[f"p{percent}"] = value
                break
    return result


class _Process:
    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def output(self) -> str:
        output, _ = self._process.communicate()
        if self._process.returncode:
            what = " ".join(self._arguments)
            raise BenchError(f"sysbench failed: {what}\n{_tail(output)}")
        return output


def _tail(output: str) -> str:
    return "\n".join(f"  {line}" for line in output.splitlines()[-12:])
