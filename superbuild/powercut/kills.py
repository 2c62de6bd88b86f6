#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Kills servers under load, and looks at what they recover; see docs/design/power_cuts.md.

A kill is a power cut in which everything that was written is kept. So the ledger and
the checks are those of the power cuts (ledger.py, check.py). A server is killed some
times in a row: it recovers, is checked, and its clients go on where they were. Some kills
hit a server that is starting or shutting down.

    kills.py run     rounds into a table; goes on where it stopped
    kills.py table   what a table of rounds says, in Markdown
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import csv
import functools
import itertools
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import matrix
import pymysql
from check import Findings, check
from homes import BUILD, Homes, not_a_socket
from ledger import Promised
from load import Load, Setting, is_gone
from power_server import PowerServer, stress
from recovery import add_complaints, errors_of, reason, start, stop, undo_number_is_old
from rounds import good, processor_seconds

SWITCHES = {
    "flusher": "--loose-innodb-lru-flusher",
    "fast-path": "--loose-innodb-page-io-fast-path",
}
#: Purged logs are removed in the background, but where the name says otherwise.
ENTRIES = {
    " ".join(f"{name}={value}" for name, value in zip(SWITCHES, values, strict=True)): [
        *(f"{option}={value}" for option, value in zip(SWITCHES.values(), values, strict=True)),
        "--loose-binlog-purge-background=ON",
    ]
    for values in itertools.product(("ON", "OFF"), repeat=len(SWITCHES))
}
ENTRIES |= {
    f"{name} purge=OFF": [*ENTRIES[name][:-1], "--loose-binlog-purge-background=OFF"]
    for name in (next(iter(ENTRIES)), next(reversed(ENTRIES)))
}
WHEN = {"load": 8, "shutdown": 1, "start": 1}
#: A kill that comes too late for one of these says so.
TOO_LATE = {when: f"after {when}" for when in ("start", "shutdown")}
COLUMNS = [
    "entry",
    "preset",
    "series",
    "kill",
    "when",
    "load_seconds",
    "acknowledged",
    "promised",
    "lost",
    "recovery_seconds",
    "seconds",
    "result",
    "detail",
]


class Kills:
    """The rounds so far, and those to come."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._folder = BUILD / arguments.run
        self._homes = Homes(self._folder, arguments.preset)
        self._setting = Setting()
        self._base = self._homes.base(matrix.Entry("kills", [], self._setting))
        self._until = time.monotonic() + arguments.minutes * 60 if arguments.minutes else 0.0
        self._lock = threading.Lock()
        self._file = self._folder / "rounds.csv"
        self.done: collections.Counter[str] = collections.Counter()
        self._series: collections.Counter[str] = collections.Counter()
        self.results: collections.Counter[str] = collections.Counter()
        for row in read(self._file):
            self.done[row["entry"]] += 1
            self._series[row["entry"]] = max(self._series[row["entry"]], int(row["series"]))
            self.results[row["result"]] += 1

    def close(self) -> None:
        self._homes.close()

    def worker(self) -> None:
        """Series of the settings that have the fewest rounds, until all have enough."""
        while not self._over():
            with self._lock:
                entry = min(self._entries(), key=lambda name: self.done[name])
                if self.done[entry] >= self._arguments.rounds:
                    return
                self._series[entry] += 1
                series = self._series[entry]
            self._run(entry, series)

    def _entries(self) -> list[str]:
        return self._arguments.matrix.split(",") if self._arguments.matrix else list(ENTRIES)

    def stop(self) -> None:
        """After the rounds that are running."""
        self._until = 1.0

    def _over(self) -> bool:
        return bool(self._until) and time.monotonic() > self._until

    def _run(self, entry: str, series: int) -> None:
        dice = random.Random(f"{self._arguments.seed} {entry} {series}")
        home = self._homes.home()
        folder = self._folder if self._arguments.disk else self._homes.memory
        files = folder / f"files-{home.name}"
        kept = False
        try:
            shutil.copytree(self._base, files, symlinks=True)
            server = PowerServer(
                self._arguments.preset, home, files, [*matrix.COMMON, *ENTRIES[entry]]
            )
            try:
                server.start_within(1800)
                begun = Promised()
                for number in itertools.count(1):
                    is_last = functools.partial(self._is_last, entry, number)
                    row, begun, stopped = self._round(server, dice, begun, is_last)
                    row |= {
                        "entry": entry,
                        "preset": self._arguments.preset,
                        "series": series,
                        "kill": number,
                    }
                    self._add(row)
                    kept = not good(str(row["result"]))
                    if kept or stopped:
                        break
            finally:
                server.end()
        finally:
            if kept:
                self._keep(f"{entry}-{series}", home, files)
            shutil.rmtree(files, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)

    def _is_last(self, entry: str, number: int) -> bool:
        """Of a series? To be asked after a recovery: no series ends without a look at the pages."""
        enough = self.done[entry] + 1 >= self._arguments.rounds
        return number >= self._arguments.series or enough or self._over()

    def _round(
        self,
        server: PowerServer,
        dice: random.Random,
        begun: Promised,
        is_last: Callable[[], bool],
    ) -> tuple[dict[str, object], Promised, bool]:
        """A load, a kill, a recovery; what clients have then; did the server stop for good?"""
        began = time.monotonic()
        marks: list[str] = []
        running = Load(server.connect, marks.append, self._setting, str(dice.random()), begun)
        seconds = dice.uniform(0.3, 2 * self._arguments.seconds)
        when = dice.choices(list(WHEN), list(WHEN.values()))[0]
        pause = dice.random() * 1.5
        running.start()
        running.wait_for(1)
        time.sleep(seconds)
        running.server_ends()
        if when == "shutdown":
            server.ask_to_stop()
            time.sleep(pause)
            when = when if server.running else TOO_LATE[when]
        ended = server.exit_status
        server.end()
        running.join()
        promised = Promised.read(marks, begun)
        if when == "start":
            if begin_and_kill(server, pause):
                when = TOO_LATE[when]
            if server.exit_status != -signal.SIGKILL:
                ended = server.exit_status
        row: dict[str, object] = {
            "when": when,
            "load_seconds": round(seconds, 1),
            "acknowledged": promised.commits - begun.commits,
            "promised": promised.commits,
        }
        found, recovery, stopped = look(server, promised, self._setting, is_last)
        if ended:
            found.add("crash", f"before the kill the server ended with status {ended}")
        for error in running.errors:
            is_known = undo_number_is_old(server, error)
            found.add("known: undo number" if is_known else "client", error)
        row |= {
            "lost": found.lost,
            "recovery_seconds": round(recovery, 1),
            "seconds": round(time.monotonic() - began, 1),
            "result": found.problems[0][0] if found.problems else "ok",
            "detail": found.detail[:1000],
        }
        # A defect that is known does not hide one that is not.
        for kind, _ in found.problems:
            if not kind.startswith("known"):
                row["result"] = kind
        return row, found.begun(promised), stopped

    def _add(self, row: dict[str, object]) -> None:
        with self._lock:
            new = not self._file.exists()
            with self._file.open("a", newline="") as opened:
                writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                writer.writerow(row)
            self.done[str(row["entry"])] += 1
            self.results[str(row["result"])] += 1
            if row["result"] != "ok" or row["detail"] or self._arguments.verbose:
                print(
                    f"{row['entry']} {row['series']}.{row['kill']}, {row['when']}, "
                    f"{row['promised']} acknowledged, {row['seconds']} s: "
                    f"{row['result']}: {row['detail']}",
                    flush=True,
                )

    def _keep(self, name: str, home: Path, files: Path) -> None:
        failure = self._folder / "failures" / name.replace(" ", "-")
        shutil.rmtree(failure, ignore_errors=True)
        failure.mkdir(parents=True)
        for log in home.glob("mysqld*.log"):
            shutil.copy2(log, failure)
        shutil.copytree(files, failure / "files", symlinks=True, ignore=not_a_socket)


def begin_and_kill(server: PowerServer, after: float) -> bool:
    """A start that does not come to its end; if it does, returns True."""
    timer = threading.Timer(after, server.end)
    timer.start()
    try:
        server.start()
        return True
    except stress.Failure:
        return False  # expected; a defect shows in the start that follows
    finally:
        timer.join()
        server.end()


def look(
    server: PowerServer, promised: Promised, setting: Setting, is_last: Callable[[], bool]
) -> tuple[Findings, float, bool]:
    """Starts and checks; the last time stops, and checks the pages."""
    found = Findings()
    before = server.complaints()
    if server.log.exists():  # a log for each start
        server.log.rename(server.home / f"mysqld.{time.time_ns()}.log")
    try:
        recovery = start(server, found)
    except stress.Failure as failure:
        found.add("no start", reason(errors_of(server)[-3:], failure))
        return found, 0.0, False
    try:
        with server.connect(None) as connection:
            check(connection, server.data, promised, setting, found)
    except pymysql.Error as error:
        found.add("crash" if is_gone(error) else "refused", str(error))
    if stopped := is_last():
        stop(server, found, all_pages=True)
    add_complaints(server, found, before)
    return found, recovery, stopped


def read(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def run(arguments: argparse.Namespace) -> int:
    if unknown := set(filter(None, arguments.matrix.split(","))) - set(ENTRIES):
        raise SystemExit(f"kills: no such settings: {', '.join(sorted(unknown))}")
    kills = Kills(arguments)
    before = kills.done.total()
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.workers) as pool:
            workers = [pool.submit(kills.worker) for _ in range(arguments.workers)]
            try:
                for worker in workers:
                    worker.result()
            except KeyboardInterrupt:
                kills.stop()
                print("kills: ends after the rounds that are running", flush=True)
    finally:
        kills.close()
    if rounds := kills.done.total() - before:
        print(f"{rounds} kills, {processor_seconds() / rounds:.2f} processor seconds each")
    print(", ".join(f"{count} {result}" for result, count in sorted(kills.results.items())))
    if not kills.results:
        print("kills: no server was killed")
        return 1
    return 1 if any(not good(result) for result in kills.results) else 0


def table(arguments: argparse.Namespace) -> int:
    """Rounds by settings."""
    rows = [row for run in arguments.run.split(",") for row in read(BUILD / run / "rounds.csv")]
    print(
        "| settings | kills | in load, start, shutdown | after start, shutdown "
        "| acknowledged | lost | found |"
    )
    print("|---|---|---|---|---|---|---|")
    for entry in ENTRIES:
        own = [row for row in rows if row["entry"] == entry]
        when = collections.Counter(row["when"] for row in own)
        results = collections.Counter(row["result"] for row in own if row["result"] != "ok")
        found = ", ".join(f"{n} {result}" for result, n in sorted(results.items())) or "nothing"
        print(
            f"| `{entry}` | {len(own)} | {when['load']}, {when['start']}, {when['shutdown']} "
            f"| {when[TOO_LATE['start']]}, {when[TOO_LATE['shutdown']]} "
            f"| {sum(int(row['acknowledged']) for row in own)} "
            f"| {sum(int(row['lost']) for row in own)} | {found} |"
        )
    print(f"\n{len(rows)} kills")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--run", default="kills", help="folder of the table; table: several")
    parser.add_argument("--matrix", default="", help="settings, separated by commas")
    parser.add_argument("--rounds", type=int, default=1000, help="kills of each settings")
    parser.add_argument("--series", type=int, default=20, help="kills of one server in a row")
    parser.add_argument("--seconds", type=float, default=0.7, help="of load, on average")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--disk", action="store_true", help="data on disk, not in memory")
    parser.add_argument("--verbose", action="store_true", help="a line for each round")
    arguments = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    return {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
