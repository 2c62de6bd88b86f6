# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The binary logs of a server: filled, counted, removed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql

from harness.errors import BenchError
from harness.sampler import Sampler
from harness.server import Server
from harness.sysbench import DATABASE

_ROW = 2**20  #: bytes of a row that fills a log
_TWO_DAYS = 2 * 86_400


class BinaryLogs:
    """What is in home/binlog: binlog.000001 ..., and binlog.index, which lists them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._directory = server.binlog_directory
        self._index = self._directory / "binlog.index"

    def reset(self) -> None:
        """Leaves a new first log alone. MySQL 8.4 renamed the statement."""
        try:
            self._server.execute("RESET BINARY LOGS AND GTIDS")
        except pymysql.err.ProgrammingError:
            self._server.execute("RESET MASTER")

    def fill_big(self, count: int, size: int) -> None:
        """So many logs of that size, of rows of 1 MiB that go nowhere but into the log.

        BLACKHOLE logs a row and stores none: neither InnoDB nor its log nor the
        parser has work to do, and a log grows as fast as the page cache takes it.
        """
        length = min(_ROW, size // 4)
        wanted = len(self.listed()) + count
        table = f"{DATABASE}.filler"
        self._server.execute(
            f"DROP TABLE IF EXISTS {table}",
            f"CREATE TABLE {table} (pad LONGBLOB NOT NULL) ENGINE=BLACKHOLE",
        )
        self._expect_blackhole(table)
        # Where a row does not fit into the cache it takes the way over a temporary file.
        room = {"binlog_cache_size": 2 * _ROW, "binlog_stmt_cache_size": 2 * _ROW}
        packet = {"max_allowed_packet": 4 * _ROW}
        with (
            self._unsynced(max_binlog_size=size, **room, **packet),
            self._server.connect() as connection,
        ):
            cursor = connection.cursor()
            cursor.execute("FLUSH BINARY LOGS")
            cursor.execute("SET SESSION binlog_format = 'ROW'")
            while len(self.listed()) <= wanted:
                cursor.execute(f"INSERT INTO {table} SELECT REPEAT('x', {length})")

    def _expect_blackhole(self, table: str) -> None:
        """Some servers give another engine for one that they lack, and say nothing."""
        engine = self._server.rows(f"SHOW TABLE STATUS FROM {DATABASE} LIKE 'filler'")[0]["Engine"]
        if engine != "BLACKHOLE":
            raise BenchError(f"{self._server.name} has no BLACKHOLE engine; {table} is {engine}")

    def fill_small(self, count: int) -> None:
        """So many logs with next to nothing in them: one rotation after the other."""
        with self._unsynced(), self._server.connect() as connection:
            cursor = connection.cursor()
            for _ in range(count):
                cursor.execute("FLUSH BINARY LOGS")

    @contextmanager
    def _unsynced(self, **more: int) -> Iterator[None]:
        """Global variables for the time of filling: no fsync, and those given."""
        wanted = {"sync_binlog": 0, **more}
        before = {name: self._server.variables(name)[name] for name in wanted}
        self._server.execute(*(f"SET GLOBAL {name} = {value}" for name, value in wanted.items()))
        yield
        self._server.execute(*(f"SET GLOBAL {name} = {value}" for name, value in before.items()))

    def current(self) -> str:
        """The name of the log that is written now. MySQL 8.4 renamed the statement."""
        try:
            return str(self._server.rows("SHOW BINARY LOG STATUS")[0]["File"])
        except pymysql.err.ProgrammingError:
            return str(self._server.rows("SHOW MASTER STATUS")[0]["File"])

    def listed(self) -> list[str]:
        """Names of the logs in the index file: those that the server counts as there."""
        while True:
            try:
                lines = self._index.read_text().splitlines()
            except FileNotFoundError:
                # The server replaces it by a new one: for a moment there is none.
                time.sleep(0.001)
            else:
                return [Path(line).name for line in lines if line]

    def age(self, names: list[str]) -> None:
        """Make files look two days old, which is what expiry goes by."""
        past = time.time() - _TWO_DAYS
        for name in names:
            os.utime(self._directory / name, (past, past))

    def occupied(self, names: list[str]) -> int:
        """Bytes on disk of these logs."""
        return sum((self._directory / name).stat().st_blocks * 512 for name in names)

    def watch(self, old: list[str]) -> Sampler:
        """time; old_listed: old logs in the index; files, bytes: that wait to be removed.

        Those are the files that no index lists, whatever they are called now and
        in whatever directory below the logs' own they are.
        """
        known = set(old)

        def read() -> tuple[float, float, float]:
            listed = set(self.listed())
            files, occupied = self._unlisted(listed)
            return float(len(known & listed)), float(files), float(occupied)

        return Sampler(read, ["old_listed", "files", "bytes"], interval=0.2)

    def wait_until_removed(self, old: list[str], timeout: float = 900) -> None:
        """Until the index lists none of the old logs, and no file is there that it does not list."""
        end = time.monotonic() + timeout
        while True:
            listed = set(self.listed())
            if not listed & set(old) and not self._unlisted(listed)[0]:
                return
            if time.monotonic() > end:
                left = len(listed & set(old))
                raise BenchError(
                    f"{left} old binary logs are listed {timeout:.0f} s after the purge"
                )
            time.sleep(0.1)

    def _unlisted(self, listed: set[str]) -> tuple[int, int]:
        """Files that are neither an index nor in it, and the bytes they occupy."""
        files = occupied = 0
        for directory, _, names in os.walk(self._directory):
            for name in names:
                if name in listed or name.startswith("binlog.index") or ".~rec~" in name:
                    continue
                try:
                    occupied += os.stat(os.path.join(directory, name)).st_blocks * 512
                    files += 1
                except FileNotFoundError:
                    continue  # removed while we looked
        return files, occupied
