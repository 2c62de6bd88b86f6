# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""1 TB of binary logs.

Binary logs are made and, while the server is stopped, made longer by a hole to 1 GB
each; a hole takes no space. The newest keeps its length, as a start reads it to its end; of
the others the server reads the first events only. Then they are purged while a client
commits, which rotates the log again and again: with upstream's purge, with ours, and with
kill -9 and with a shutdown in the middle. After each: the index names the files that are
there, gtid_executed, gtid_purged and all rows are right.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time

import pymysql
from scale_beside import Beside
from scale_part import Part, Row
from scale_server import memory, status, stop, value, values, wait
from server import Failure

GIGABYTE = 1 << 30
#: Seconds: of commits before a purge, and of the purge at its usual pace.
BEFORE = 5
PACE = 15


class Logs(Part):
    name = "logs"
    options = (
        "--log-bin=binlog",
        "--server-id=1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--max-binlog-size=65536",
        "--binlog-expire-logs-auto-purge=OFF",
        "--innodb-buffer-pool-size=16M",
        "--performance-schema=OFF",
        "--loose-mysqlx=OFF",
    )
    number = 0  #: of rows

    def parts(self) -> None:
        self.server.start()
        values(self.server, "CREATE DATABASE stress")
        values(self.server, "CREATE TABLE stress.t (id INT PRIMARY KEY, pad TEXT)")
        is_ours = bool(values(self.server, "SHOW VARIABLES LIKE 'binlog_purge_background'"))
        stop(self.server)
        for background in ("OFF", "ON") if is_ours else ("",):
            for end in ("", "kill -9", "shutdown") if background == "ON" else ("", "kill -9"):
                self.say(f"background {background}, {end or 'to its end'}")
                self.rows.append(self.case(background, end))

    def insert(self, cursor: pymysql.cursors.Cursor) -> None:
        cursor.execute(f"INSERT INTO t VALUES ({self.number + 1}, REPEAT('x', 6000))")
        self.number += 1

    def make(self) -> float:
        began = time.monotonic()
        with self.server.connect() as connection, connection.cursor() as cursor:
            for _ in range(self.arguments.logs):
                self.number += 1
                cursor.execute(f"INSERT INTO t VALUES ({self.number}, '')")
                cursor.execute("FLUSH BINARY LOGS")
        return time.monotonic() - began

    def files(self) -> set[str]:
        names = {path.name for path in self.server.data.iterdir()}
        return {name for name in names if re.match(r"binlog\.[\d~]|#purged_|.*_crash_safe", name)}

    def purge_before(self) -> None:
        """The logs of the case before."""
        newest = max(self.index())
        values(self.server, f"PURGE BINARY LOGS TO '{newest}'")
        wait("purged logs go", lambda: self.files() == {newest}, 300)

    def lengthen(self) -> None:
        logs = sorted(self.files())[:-1]
        blocks = 0
        for log in logs:
            os.truncate(self.server.data / log, GIGABYTE)
            blocks += os.stat(self.server.data / log).st_blocks
        if blocks * 512 > len(logs) << 16:
            raise Failure(f"holes take space: {blocks * 512} bytes; the disk may fill up")

    def case(self, background: str, end: str) -> Row:
        server = self.server
        server.start()
        self.purge_before()
        made = self.make()
        stop(server)
        self.lengthen()
        row = {"`binlog_purge_background`": background or "(stock)", "ended by": end or "nothing"}
        row["logs made in"] = f"{made:.0f} s"
        row["start"] = f"{server.start():.1f} s"
        if background:
            values(server, f"SET GLOBAL binlog_purge_background = {background}")
            values(server, f"SET GLOBAL binlog_purge_chunk_interval = {0 if end else 'DEFAULT'}")
        began = time.monotonic()
        listed = values(server, "SHOW BINARY LOGS")
        row["`SHOW BINARY LOGS`"] = f"{time.monotonic() - began:.2f} s"
        row["GB"] = str(sum(int(str(log[1])) for log in listed) >> 30)
        began = time.monotonic()
        beside = Beside(server, self.insert)
        try:
            self.purge(row, beside, began, end)
        finally:
            beside.end(killed=end != "")
        self.check_all(row, end)
        stop(server)
        return row

    def purge(self, row: Row, beside: Beside, began: float, end: str) -> None:
        server = self.server
        time.sleep(BEFORE)
        row["slowest commit before"] = beside.slowest(began)
        logs = [str(log[0]) for log in values(server, "SHOW BINARY LOGS")]
        events = values(server, f"SHOW BINLOG EVENTS IN '{logs[-1]}' LIMIT 2")
        self.purged = re.sub(r"\s", "", str(events[1][5]))
        row["memory before"] = f"{memory(server)} MB"
        if end == "" or row["`binlog_purge_background`"] == "ON":
            self.statement(row, beside, logs)
            if end == "":
                self.to_its_end(row, beside, set(logs[:-1]))
                return
            self.until_half(set(logs[:-1]))
        else:  # The statement itself is stopped in the middle.
            thread = threading.Thread(target=self.statement, args=({}, beside, logs))
            thread.start()
            self.until_half(set(logs[:-1]))
            server.kill()
            thread.join()
            row |= {"statement": "killed", "slowest commit beside it": "", "GB pending": ""}
        began = time.monotonic()
        if end == "shutdown":
            stop(server)
        elif server.running:
            server.kill()
        row["gone after"] = (
            f"{len(self.files() & set(logs[:-1]))} files left, stopped {self.since(began)}"
        )
        row["slowest commit until then"] = ""
        row["GB a minute at the usual pace"] = ""
        beside.end(killed=True)
        row["gone after"] += f", start {server.start():.1f} s"
        if row["`binlog_purge_background`"] == "ON":
            values(server, "SET GLOBAL binlog_purge_chunk_interval = 0")
        began = time.monotonic()
        wait("purged logs go", lambda: not self.files() & set(logs[:-1]) - self.index(), 600)
        row["gone after"] += f", the rest {self.since(began)}"
        row["memory after"] = f"{memory(server)} MB"

    def since(self, began: float) -> str:
        return f"{time.monotonic() - began:.1f} s"

    def until_half(self, logs: set[str]) -> None:
        """Until half of the files are gone."""
        wait("a purge", lambda: len(self.files() & logs) < len(logs) / 2, 600, 0.002)

    def statement(self, row: Row, beside: Beside, logs: list[str]) -> None:
        with contextlib.suppress(pymysql.OperationalError) if not row else contextlib.nullcontext():
            began = time.monotonic()
            values(self.server, f"PURGE BINARY LOGS TO '{logs[-1]}'")
            ended = time.monotonic()
            pending = status(self.server, "Binlog_purge_bytes_pending")
            row["statement"] = f"{(ended - began) * 1000:.0f} ms"
            time.sleep(0.5)  # for a commit that began within
            row["slowest commit beside it"] = beside.slowest(began, ended)
            row["GB pending"] = f"{pending / GIGABYTE:.0f}"

    def to_its_end(self, row: Row, beside: Beside, logs: set[str]) -> None:
        server = self.server
        began = time.monotonic()
        row["gone after"] = row["slowest commit until then"] = ""
        row["GB a minute at the usual pace"] = ""
        left = status(server, "Binlog_purge_bytes_pending")
        if left > 0:
            time.sleep(PACE)
            removed = left - status(server, "Binlog_purge_bytes_pending")
            rate = removed / (time.monotonic() - began)
            row["GB a minute at the usual pace"] = f"{rate * 60 / GIGABYTE:.0f}"
            values(server, "SET GLOBAL binlog_purge_chunk_interval = 0")
        names = logs | {f"#purged_{log}" for log in logs}
        wait("purged logs go", lambda: not self.files() & names, 1800)
        row["gone after"] = self.since(began)
        row["slowest commit until then"] = beside.slowest(began)
        row["memory after"] = f"{memory(server)} MB"
        row["rotations that waited"] = str(status(server, "Binlog_purge_commit_waits"))
        longest = status(server, "Binlog_purge_commit_wait_max_us") / 1000
        row["longest wait"] = f"{longest:.1f} ms"

    def index(self) -> set[str]:
        return {str(log[0]) for log in values(self.server, "SHOW BINARY LOGS")}

    def check_all(self, row: Row, end: str) -> None:
        server = self.server
        row.setdefault("rotations that waited", "")
        row.setdefault("longest wait", "")
        if end == "":
            wait(
                "the list goes",
                lambda: status(server, "Binlog_purge_files_pending") == 0,
                60,
            )
        # What upstream's purge has left in the index when it was killed.
        purged = value(server, "SELECT @@GLOBAL.gtid_purged")
        if end == "" and purged != self.purged:
            raise Failure(f"gtid_purged is {purged}, and not {self.purged}")
        if self.index() != self.files():
            with contextlib.suppress(Failure):
                wait("files", lambda: self.index() == self.files(), 60)
        listed, files = self.index(), self.files()
        if listed != files:
            raise Failure(
                f"left: {sorted(files - listed)[:5]}, missing: {sorted(listed - files)[:5]}"
            )
        first = min(listed)
        events = values(server, f"SHOW BINLOG EVENTS IN '{first}' LIMIT 2")
        if re.sub(r"\s", "", str(events[1][5])) != purged:
            raise Failure(f"gtid_purged is {purged}, and not {events[1][5]}")
        count, last = (
            int(str(n)) for n in values(server, "SELECT COUNT(*), MAX(id) FROM stress.t")[0]
        )
        # The one that was on its way when the server was killed may be there.
        if count != last or last - self.number not in ((0, 1) if end else (0,)):
            raise Failure(f"{count} rows up to {last}, and not {self.number}")
        self.number = last
        executed = value(server, "SELECT @@GLOBAL.gtid_executed")
        if not executed.endswith(f":1-{last + 2}"):  # CREATE DATABASE, CREATE TABLE
            raise Failure(f"gtid_executed is {executed}, and not 1-{last + 2}")
