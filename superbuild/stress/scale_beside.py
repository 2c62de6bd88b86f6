# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A session beside what is measured."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pymysql
from server import Failure, Server


class Beside:
    """A session that repeats a step, and how long each took."""

    def __init__(
        self, server: Server, step: Callable[[pymysql.cursors.Cursor], object], pause: float = 0
    ) -> None:
        self._server = server
        self._pause = pause
        self._step = step
        self._over = threading.Event()
        self._seconds: list[tuple[float, float]] = []
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self._server.connect() as connection, connection.cursor() as cursor:
                while not self._over.is_set():
                    began = time.monotonic()
                    self._step(cursor)
                    self._seconds.append((began, time.monotonic() - began))
                    self._over.wait(self._pause)
        except Exception as error:  # noqa: BLE001 - told by end()
            self._failure = error

    def slowest(self, since: float, until: float | None = None) -> str:
        end = until or time.monotonic()
        took = [took for began, took in self._seconds if since <= began + took and began <= end]
        return f"{max(took, default=0) * 1000:.0f} ms"

    def end(self, *, killed: bool = False) -> int:
        """How often the step was done."""
        self._over.set()
        self._thread.join(timeout=300)
        if self._thread.is_alive():
            raise Failure("a session beside does not end")
        is_expected = killed and isinstance(self._failure, pymysql.Error)
        if self._failure is not None and not is_expected:
            raise Failure(f"a session beside: {self._failure}")
        return len(self._seconds)
