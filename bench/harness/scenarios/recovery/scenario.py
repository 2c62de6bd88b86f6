# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""kill -9 with much active redo: how long until the server answers, and is everything there?"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import ClassVar

from harness.measurement import Measurement
from harness.report import plots, spread
from harness.report.blocks import Block, Plot, Table
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.scenarios.recovery.ledger import Ledger
from harness.server import Server
from harness.settings import size_in_bytes

_CLIENTS = 8
_LSN = re.compile(r"^Log sequence number\s+(\d+)", re.MULTILINE)
_CHECKPOINT = re.compile(r"^Last checkpoint at\s+(\d+)", re.MULTILINE)


class Recovery(Scenario):
    name = "recovery"
    title = "Recovery after kill -9"
    about = (
        f"{_CLIENTS} clients rewrite rows, 200 in a transaction, and note its number in a ledger. "
        "The server flushes as little as it may (io_capacity 100, dirty pages 99 %), so that the "
        "redo since the last checkpoint grows (active_redo: log sequence number less last "
        "checkpoint, SHOW ENGINE INNODB STATUS). At the wanted amount, or when it stops growing, the "
        "process is killed with SIGKILL and started again with the same options. ready is from the "
        "start to the first answer. Then every transaction whose COMMIT was answered must be there, "
        "whole: lost counts what is not as it should be."
    )
    rounds = 3
    variants: ClassVar[Mapping[str, str]] = {
        "redo": "wanted active redo, default 3G; the log's capacity is half as much again",
    }

    def __init__(self, choice: Choice) -> None:
        super().__init__(choice)
        quick = choice.quick
        self._wanted = size_in_bytes(choice.variants.get("redo", "64M" if quick else "3G"))
        self._pool = "256M" if quick else "2G"
        self._rows = 10_000 if quick else 200_000  # of each client, about 500 bytes
        self._patience = choice.seconds or (30 if quick else 300)
        capacity = self._wanted * 3 // 2
        self._settings = {
            "buffer_pool_size": self._pool,
            "buffer_pool_instances": 1 if quick else 2,
            "redo_log_capacity": capacity,
            "io_capacity": 100,
            "dirty_pages_pct": 99,
            "adaptive_flushing": "off",
        }

    def points(self) -> Sequence[Point]:
        data = 700 * self._rows * _CLIENTS
        dataset = Dataset(
            name=f"recovery-{_CLIENTS}x{self._rows}-{self._wanted}",
            # With its redo log, which has a size of its own. Undo grows while nothing is purged.
            disk_bytes=self._wanted * 3 // 2 + 3 * data,
            memory_bytes=size_in_bytes(self._pool) + size_in_bytes("512M"),
            seconds=10 + _CLIENTS * self._rows / 30_000,
            settings=self._settings,
        )
        seconds = 20 + self._wanted / 20e6
        return [Point(dataset, {"wanted": self._wanted}, seconds, self._settings, fresh=True)]

    def prepare(self, server: Server, dataset: Dataset) -> None:
        Ledger.create(server, _CLIENTS, self._rows)

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        ledger = Ledger(server, _CLIENTS, self._rows)
        ledger.reset()
        ledger.start()
        began = time.monotonic()
        active = largest = 0
        grown = began
        while active < self._wanted and time.monotonic() - began < self._patience:
            time.sleep(0.2)
            active = _active_redo(server)
            if active > largest:
                largest, grown = active, time.monotonic()
            if time.monotonic() - grown > 15:
                break  # the server keeps it there
        loaded = time.monotonic() - began
        server.kill()
        ledger.wait()
        ready = server.restart(timeout=7200)
        wrong = ledger.check()
        into.figure("active_redo", active, "bytes")
        into.figure("loaded", loaded, "s")
        into.figure("committed", ledger.committed, "transactions")
        into.figure("ready", ready, "s")
        into.figure("ready_per_gib", ready / (active / 2**30), "s/GiB")
        into.figure("lost", len(wrong), "")
        into.text("check", "\n".join(wrong) or "Every committed transaction is there, whole.")

    def report(self, results: Results) -> Sequence[Block]:
        frame = results.figures()
        blocks: list[Block] = []
        rows = frame[frame["figure"] == "ready"].assign(case="ready")
        drawing = plots.bars(rows, "case", results.servers, "seconds to the first answer")
        blocks.append(
            Plot(
                drawing,
                "ready",
                "Bars, the rounds' median; whiskers, their range. Read it with "
                "active_redo below: servers differ in how much they let grow.",
            )
        )
        shown = ["active_redo", "ready", "ready_per_gib", "committed", "lost", "loaded"]
        caption = "Median of the rounds, and their range in brackets."
        blocks.append(Table(spread.overview(frame, [], shown, results.servers), caption))
        if results.base:
            figures = ["ready", "ready_per_gib"]
            ratios = spread.ratios(frame, [], figures, results.servers, results.base)
            caption = f"Ratio to {results.base} in the same round: median, and range in brackets."
            blocks.append(Table(ratios, caption))
        return blocks


def _active_redo(server: Server) -> int:
    """Bytes between the log's end and the last checkpoint."""
    text = str(server.rows("SHOW ENGINE INNODB STATUS")[0]["Status"])
    end, checkpoint = _LSN.search(text), _CHECKPOINT.search(text)
    if not end or not checkpoint:
        raise AssertionError("SHOW ENGINE INNODB STATUS names no log sequence number or checkpoint")
    return int(end[1]) - int(checkpoint[1])
