# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Purges binary logs at a given moment of a load, from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self

import pymysql

from harness.scenarios.binlog_purge.logs import BinaryLogs
from harness.server import Server


class Purge:
    """with Purge(..., after=15): the load; then moment and statement_seconds are known.

    how: "manual", PURGE BINARY LOGS TO the log that is written then; "auto", the
    expiry is set to one day, and old logs go with the next rotation; "none".
    """

    def __init__(
        self, server: Server, logs: BinaryLogs, old: list[str], how: str, after: float
    ) -> None:
        self.moment: float | None = None  #: CLOCK_MONOTONIC seconds at its beginning
        self.statement_seconds: float | None = None  #: of PURGE BINARY LOGS
        self._logs = logs
        self._old = old
        self._connection = server.connect()
        self._error: Exception | None = None
        self._expire = next(
            (
                f"SET GLOBAL {name} = {value}"
                for name, value in (("binlog_expire_logs_seconds", 86_400), ("expire_logs_days", 1))
                if server.variables(name)
            ),
            "",
        )
        step = {"manual": self._manual, "auto": self._auto, "none": lambda: None}[how]
        self._timer = threading.Timer(after, self._run, (step,))

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()
        self._connection.close()
        if self._error is not None and kind is None:
            raise self._error

    def _run(self, step: Callable[[], None]) -> None:
        try:
            step()
        except pymysql.err.MySQLError as error:
            self._error = error

    def _manual(self) -> None:
        current = self._logs.current()
        with self._connection.cursor() as cursor:
            self.moment = time.monotonic()
            cursor.execute(f"PURGE BINARY LOGS TO '{current}'")
            self.statement_seconds = time.monotonic() - self.moment

    def _auto(self) -> None:
        self._logs.age(self._old)
        with self._connection.cursor() as cursor:
            self.moment = time.monotonic()
            cursor.execute(self._expire)
