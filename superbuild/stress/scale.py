#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Large numbers: 1 TB of binary logs, 20 000 tables, 10 000 connections.

logs: binary logs are made and, while the server is stopped, made longer by a hole to 1 GB
each; a hole takes no space. The newest keeps its length, as a start reads it to its end; of
the others the server reads the first events only. Then they are purged while a client
commits, which rotates the log again and again: with upstream's purge, with ours, and with
kill -9 and with a shutdown in the middle. After each: the index names the files that are
there, gtid_executed, gtid_purged and all rows are right.

tables: tables with a file each, and few files that may be open. 16 clients change and read rows
of random tables, the server is killed, all rows are checked, all tables are dropped.

connections: all wait for one table, as an ALTER TABLE or a transaction is in the way. Each must
get error 1205 that names who it is, in time. Twice, to see whether memory comes back.

Each part ends with a table. The status is 1 if something was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import resource
import selectors
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pymysql
from pymysql.constants import COMMAND
from server import Failure, Server

GIGABYTE = 1 << 30
GONE = {2003, 2006, 2013, 2002}
LOCK_WAIT_TIMEOUT = 1205
#: Seconds: of commits before a purge, and of the purge at its usual pace.
BEFORE = 5
PACE = 15
#: Descriptors that are neither a table nor a connection.
SPARE_FILES = 1000
SCHEMAS = 8
CLIENTS = 16
OPEN_FILES = 300
ROWS = 3  #: of each table
#: An answer later than this after its timeout is a failure, in seconds.
LATE = 300
#: And so is one that takes so many times as long with details as without, and some seconds more.
SLOWER = 3
SLOWER_SECONDS = 5

Row = dict[str, str]


class Plain(Server):
    """Without TLS, which costs a client more than all the rest of a connection."""

    connection_options: ClassVar[dict[str, Any]] = {"ssl_disabled": True}


def values(server: Server, statement: str) -> list[tuple[object, ...]]:
    with server.connect(None) as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def value(server: Server, statement: str) -> str:
    return re.sub(r"\s", "", str(values(server, statement)[0][-1]))


def status(server: Server, name: str) -> int:
    """A status variable; 0 if this server has none of the name."""
    found = values(server, f"SHOW GLOBAL STATUS LIKE '{name}'")
    return int(str(found[0][1])) if found else 0


def memory(server: Server) -> int:
    """Megabytes that the server has in memory."""
    text = Path(f"/proc/{server.process_id}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", text)[0]) >> 10


def processor_seconds(server: Server) -> float:
    fields = Path(f"/proc/{server.process_id}/stat").read_text(encoding="ascii").split(") ")[1]
    return sum(int(ticks) for ticks in fields.split()[11:13]) / os.sysconf("SC_CLK_TCK")


def open_files(server: Server) -> list[str]:
    names = []
    for link in Path(f"/proc/{server.process_id}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            names.append(os.readlink(link))
    return names


def wait(what: str, condition: Callable[[], bool], seconds: float, every: float = 0.1) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            raise Failure(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)
    return time.monotonic() - began


def stop(server: Server) -> float:
    began = time.monotonic()
    if (code := server.stop()) != 0:
        raise Failure(f"the server ended with status {code}:\n{server.last_words()}")
    return time.monotonic() - began


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


class Part:
    """A server of its own, and what is done to it."""

    name = ""
    options: tuple[str, ...] = ()

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.rows: list[Row] = []
        self.failed = 0
        self.home = Path(tempfile.mkdtemp(prefix=f"sluice-scale-{self.name}-"))
        #: The server reads them at each start.
        self.server_options = [*self.options, "--innodb-redo-log-capacity=128M"]
        self.server = Plain(arguments.preset, self.home, self.server_options)

    def run(self) -> None:
        try:
            self.server.initialize()
            self.parts()
            if self.server.running:
                stop(self.server)
            if found := self.server.complaints():
                raise Failure("\n".join(found[:20]))
        except (Failure, pymysql.Error, OSError) as error:
            self.fail(str(error))
            print(self.server.last_words())
        finally:
            if self.server.running:
                self.server.kill()
            shutil.rmtree(self.home, ignore_errors=True)

    def parts(self) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {self.name}: {text}", flush=True)

    def fail(self, text: str) -> None:
        self.failed += 1
        self.say(f"FAILED: {text}")

    def table(self) -> None:
        if self.rows:
            print(f"\n| {' | '.join(self.rows[0])} |\n{'|---' * len(self.rows[0])}|")
            for row in self.rows:
                print(f"| {' | '.join(row.get(column, '') for column in self.rows[0])} |")


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
            values(server, f"SET GLOBAL binlog_purge_hurry = {'ON' if end else 'OFF'}")
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
            values(server, "SET GLOBAL binlog_purge_hurry = ON")
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
            rate = left - status(server, "Binlog_purge_bytes_pending")
            rate /= time.monotonic() - began
            row["GB a minute at the usual pace"] = f"{rate * 60 / GIGABYTE:.0f}"
            values(server, "SET GLOBAL binlog_purge_hurry = ON")
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


class Tables(Part):
    name = "tables"
    options = (
        "--skip-log-bin",
        "--performance-schema=OFF",
        "--loose-mysqlx=OFF",
        "--table-open-cache=400",
        "--table-definition-cache=400",
        "--innodb-buffer-pool-dump-at-shutdown=OFF",
        "--innodb-buffer-pool-load-at-startup=OFF",
        "--loose-innodb-page-io-fast-path=ON",
        f"--innodb-open-files={OPEN_FILES}",
    )
    #: No file is synced while tables are made.
    making = (
        "--innodb-flush-method=nosync",
        "--innodb-doublewrite=OFF",
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=256M",
    )
    loaded = ("--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=16M")

    def name_of(self, table: int) -> str:
        return f"scale{table % SCHEMAS}.t{table}"

    def parts(self) -> None:
        server = self.server
        count = self.arguments.tables
        self.sums = [0] * count
        self.most = 0
        room = shutil.disk_usage(self.home).free >> 20
        if room < count // 4 + 2000:
            raise Failure(f"{count} tables take {count // 4 + 2000} MB, {room} MB are free")

        self.server_options += self.making
        server.start()
        began = time.monotonic()
        for schema in range(SCHEMAS):
            values(server, f"CREATE DATABASE scale{schema}")
        values(server, "CREATE DATABASE stress")
        self.each(self.create)
        self.row("create", began, f"{count} tables")
        self.row("stop", took=stop(server))

        del self.server_options[-len(self.making) :]
        self.server_options += self.loaded
        self.row("start", took=server.start())
        began = time.monotonic()
        done = self.load()
        hits = status(server, "Innodb_page_io_fast_path_reads") + status(
            server, "Innodb_page_io_fast_path_writes"
        )
        missed = status(server, "Innodb_page_io_fast_path_missed")
        self.row(
            f"{CLIENTS} clients",
            began,
            f"{done} statements; page I/O without the mutex {hits}, with it {missed}",
        )
        if self.most > OPEN_FILES:
            self.fail(f"{self.most} files of tables were open, and not {OPEN_FILES}")
        server.kill()
        self.row("start after kill -9", took=server.start())
        began = time.monotonic()
        with self.watched():
            self.each(self.check)
        self.row("all rows checked", began)
        began = time.monotonic()
        with ThreadPoolExecutor(2) as pool, self.watched():
            schemas = [f"DROP DATABASE scale{schema}" for schema in range(SCHEMAS)]
            list(pool.map(lambda drop: values(server, drop), schemas))
        self.row("drop", began)
        left = [*server.data.glob("scale*"), *server.data.glob("scale*/*")]
        known = value(
            server,
            "SELECT COUNT(*) FROM information_schema.innodb_tablespaces WHERE name LIKE 'scale%'",
        )
        if left or known != "0":
            raise Failure(f"left: {left[:5]}, {known} tablespaces")
        self.row("stop", took=stop(server))
        self.row("start without them", took=server.start())

    def row(self, step: str, began: float = 0, remark: str = "", took: float | None = None) -> None:
        took = time.monotonic() - began if took is None else took
        running = self.server.running
        self.rows.append(
            {
                "step": step,
                "took": f"{took:.1f} s",
                "memory": f"{memory(self.server)} MB" if running else "",
                "files of tables open at most": str(self.most or ""),
                "": remark,
            }
        )
        self.say(str(self.rows[-1]))
        self.most = 0

    def each(self, step: Callable[[pymysql.cursors.Cursor, int], None]) -> None:
        """The step for each table, by some sessions."""
        sessions = 8

        def run(number: int) -> None:
            with self.server.connect(None) as connection, connection.cursor() as cursor:
                for table in range(number, self.arguments.tables, sessions):
                    step(cursor, table)

        with ThreadPoolExecutor(sessions) as pool:
            list(pool.map(run, range(sessions)))

    def create(self, cursor: pymysql.cursors.Cursor, table: int) -> None:
        name = self.name_of(table)
        cursor.execute(
            f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT NOT NULL, h INT UNSIGNED NOT NULL,"
            " pad VARCHAR(100) NOT NULL)"
        )
        rows = ", ".join(f"({row}, 0, CRC32('{row}:0:'), '')" for row in range(ROWS))
        cursor.execute(f"INSERT INTO {name} VALUES {rows}")
        if table % 2000 == 1999:
            self.say(f"table {table + 1}")

    def check(self, cursor: pymysql.cursors.Cursor, table: int) -> None:
        name = self.name_of(table)
        cursor.execute(
            f"SELECT COUNT(*), SUM(v), SUM(h <> CRC32(CONCAT(id, ':', v, ':', pad))) FROM {name}"
        )
        found = tuple(int(n) for n in cursor.fetchone())
        if found != (ROWS, self.sums[table], 0):
            raise Failure(f"{name}: {found}, and not {(ROWS, self.sums[table], 0)}")

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Counts open files of tables."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                files = [name for name in open_files(self.server) if ".ibd" in name]
                self.most = max(self.most, sum("/scale" in name for name in files))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def load(self) -> int:
        end = time.monotonic() + self.arguments.seconds

        def client(number: int) -> int:
            dice = random.Random(number)
            done = 0
            with self.server.connect(None) as connection, connection.cursor() as cursor:
                while time.monotonic() < end:
                    # Each client changes tables of its own, and reads all.
                    table = dice.randrange(number, self.arguments.tables, CLIENTS)
                    cursor.execute(
                        f"UPDATE {self.name_of(table)} SET v = v + 1, pad = REPEAT('y', MOD(v, 100)),"
                        " h = CRC32(CONCAT(id, ':', v, ':', pad)) WHERE id = %s",
                        (dice.randrange(ROWS),),
                    )
                    self.sums[table] += 1
                    name = self.name_of(dice.randrange(self.arguments.tables))
                    cursor.execute(
                        f"SELECT SUM(h <> CRC32(CONCAT(id, ':', v, ':', pad))) FROM {name}"
                    )
                    if int(cursor.fetchone()[0]) != 0:
                        raise Failure(f"{name}: a row is wrong")
                    done += 2
            return done

        with self.watched(), ThreadPoolExecutor(CLIENTS) as pool:
            return sum(pool.map(client, range(CLIENTS)))


class Connections(Part):
    name = "connections"
    options = (
        "--skip-log-bin",
        "--performance-schema=ON",
        "--loose-mysqlx=OFF",
        "--innodb-buffer-pool-size=16M",
        "--table-open-cache=400",
        "--table-definition-cache=400",
        "--thread-cache-size=0",
        "--back-log=4096",
    )

    def __init__(self, arguments: argparse.Namespace) -> None:
        super().__init__(arguments)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.count = min(arguments.connections, files - 2 * SPARE_FILES)
        if self.count < arguments.connections:
            self.say(f"{self.count} connections: no more than {files} files may be open")
        self.server_options += [
            f"--max-connections={self.count + 100}",
            f"--open-files-limit={self.count + 2 * SPARE_FILES}",
        ]
        self.sessions: list[pymysql.Connection] = []
        self.slowest: dict[str, float] = {}  #: without details

    def parts(self) -> None:
        server = self.server
        server.start()
        if int(value(server, "SELECT @@max_connections")) < self.count:
            raise Failure("the server takes fewer connections")
        self.is_ours = bool(values(server, "SHOW VARIABLES LIKE 'lock_wait_timeout_details'"))
        values(server, "CREATE DATABASE stress")
        for table in ("t", "other"):
            values(server, f"CREATE TABLE stress.{table} (a INT PRIMARY KEY)")
            values(server, f"INSERT INTO stress.{table} VALUES (1)")
        start = memory(server)
        values(server, f"SET GLOBAL lock_wait_timeout = {self.arguments.timeout}")
        closed = []
        for again in range(2):
            began = time.monotonic()
            with ThreadPoolExecutor(8) as pool:
                self.sessions = list(pool.map(lambda _: server.connect(), range(self.count)))
            self.say(f"{self.count} connected in {time.monotonic() - began:.0f} s")
            connected = memory(server)
            for details in ("OFF", "ON") if self.is_ours and not again else ("ON",):
                if self.is_ours:
                    values(server, f"SET GLOBAL lock_wait_timeout_details = {details}")
                for who in (self.behind_alter, self.behind_transaction, self.many_hold):
                    began = processor_seconds(server)
                    self.rows.append({"round": str(again + 1), "details": details} | who(details))
                    seconds = processor_seconds(server) - began
                    self.rows[-1]["processor seconds"] = f"{seconds:.1f}"
                    self.rows[-1]["memory"] = f"{memory(server)} MB"
                    self.say(str(self.rows[-1]))
            for session in self.sessions:
                session.close()
            took = wait(
                "connections end", lambda: status(server, "Threads_connected") <= 1, 300, 0.5
            )
            closed.append(memory(server))
            self.say(
                f"memory: {start} MB at the start, {connected} with {self.count} connections,"
                f" {closed[-1]} {took:.0f} s after they were closed"
            )
        # What the performance schema and malloc() keep is used again.
        if closed[1] > closed[0] * 1.1 + 20:
            self.fail(f"memory does not come back: {closed} MB")

    def ask(self, statement: str) -> list[tuple[float, str]]:
        """What each session is answered to a statement, and after how many seconds."""
        sent = []
        answers = []
        with selectors.DefaultSelector() as selector:
            for number, session in enumerate(self.sessions):
                session._execute_command(COMMAND.COM_QUERY, statement)
                sent.append(time.monotonic())
                selector.register(session._sock, selectors.EVENT_READ, number)
            self.sent_in = sent[-1] - sent[0]
            end = sent[-1] + self.arguments.timeout + 2 * LATE
            while selector.get_map():
                ready = selector.select(1)
                now = time.monotonic()
                if now > end:
                    raise Failure(f"{len(selector.get_map())} sessions get no answer")
                for key, _ in ready:
                    selector.unregister(key.fileobj)
                    try:
                        self.sessions[key.data]._read_query_result()
                        answer = ""
                    except pymysql.Error as error:
                        if error.args[0] != LOCK_WAIT_TIMEOUT:
                            raise
                        answer = str(error.args[1])
                    answers.append((now - sent[key.data], answer))
        return answers

    def judged(self, answers: list[tuple[float, str]], blocker: str, details: str) -> Row:
        kind = re.sub(r" \d+", "", blocker)
        named = sum(blocker in answer for _, answer in answers)
        kinds = Counter(re.sub(r"connection \d+", "connection N", answer) for _, answer in answers)
        late = [took - self.arguments.timeout for took, _ in answers]
        if min(late) < -0.1 or max(late) > LATE:
            self.fail(f"answers came {min(late):.1f} to {max(late):.1f} s after the timeout")
        if details == "OFF":
            self.slowest[kind] = max(late)
        elif max(late) > SLOWER * self.slowest.get(kind, LATE) + SLOWER_SECONDS:
            self.fail(f"{max(late):.1f} s late, {self.slowest[kind]:.1f} s without details")
        if "" in kinds:
            self.fail(f"{kinds['']} got no error")
        if self.is_ours and named != (len(answers) if details == "ON" else 0):
            self.fail(f"{named} of {len(answers)} name {blocker}: {kinds.most_common(5)}")
        return {
            "sent in": f"{self.sent_in:.1f} s",
            "error 1205": str(len(answers) - kinds[""]),
            "named": str(named),
            "late: median": f"{statistics.median(late):.1f} s",
            "slowest": f"{max(late):.1f} s",
        }

    @contextlib.contextmanager
    def holder(self) -> Iterator[pymysql.Connection]:
        with self.server.connect() as connection:
            connection.begin()
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM t")
            yield connection
            connection.rollback()

    def queue(self, statement: str, blocker: str, details: str) -> Row:
        """All sessions ask at once; others must be served meanwhile."""
        most = 0

        def count(cursor: pymysql.cursors.Cursor) -> None:
            nonlocal most
            if most >= self.count:  # that adds up the status of each session: no more of it
                return
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Threads_running'")
            most = max(most, int(cursor.fetchone()[1]))

        began = time.monotonic()
        counter = Beside(self.server, count, 0.5)
        beside = Beside(self.server, lambda cursor: cursor.execute("SELECT * FROM other"), 0.1)
        try:
            row = self.judged(self.ask(statement), blocker, details)
            slowest = beside.slowest(began)
        finally:
            beside.end()
            counter.end()
        if most < self.count:
            self.fail(f"only {most} of {self.count} waited at the same time; raise TIMEOUT=")
        return {"all": f"`{statement}`", **row, "slowest on another table": slowest}

    def behind_alter(self, details: str) -> Row:
        ended: list[str] = []

        def alter(session: pymysql.Connection) -> None:
            with session.cursor() as cursor:
                cursor.execute("SET lock_wait_timeout = 86400")
                try:
                    cursor.execute("ALTER TABLE t ENGINE = InnoDB")
                    ended.append("")
                except pymysql.Error as error:
                    ended.append(str(error))

        with self.server.connect() as session:
            number = session.thread_id()
            with self.holder():
                thread = threading.Thread(target=alter, args=(session,))
                thread.start()
                wait("ALTER TABLE waits", lambda: self.is_waiting(number), 60)
                row = self.queue("SELECT * FROM t", f"behind connection {number})", details)
                if not self.is_waiting(number):
                    self.fail("the ALTER TABLE does not wait any more")
            thread.join(timeout=300)
        if ended != [""]:
            self.fail(f"the ALTER TABLE has ended with {ended}")
        return {"in the way": "a waiting `ALTER TABLE`"} | row

    def is_waiting(self, number: int) -> bool:
        state = values(
            self.server,
            f"SELECT processlist_state FROM performance_schema.threads"
            f" WHERE processlist_id = {number}",
        )
        return state == [("Waiting for table metadata lock",)]

    def behind_transaction(self, details: str) -> Row:
        with self.holder() as session:
            number = session.thread_id()
            row = self.queue("LOCK TABLES t WRITE", f"held by connection {number})", details)
        return {"in the way": "a transaction"} | row

    def many_hold(self, details: str) -> Row:
        """All hold the lock, and one waits."""
        for statement in ("BEGIN", "SELECT * FROM t"):
            for session in self.sessions:
                session._execute_command(COMMAND.COM_QUERY, statement)
            for session in self.sessions:
                session._read_query_result()
        sessions = self.sessions
        timeout, self.arguments.timeout = self.arguments.timeout, 2
        try:
            with self.server.connect() as session:
                session.query("SET lock_wait_timeout = 2")
                self.sessions = [session]
                row = self.judged(
                    self.ask("ALTER TABLE t ENGINE = InnoDB"), "held by connection", details
                )
        finally:
            self.sessions = sessions
            self.arguments.timeout = timeout
        for session in self.sessions:
            session._execute_command(COMMAND.COM_QUERY, "ROLLBACK")
        for session in self.sessions:
            session._read_query_result()
        return {
            "in the way": f"{self.count} transactions",
            "all": "one `ALTER TABLE`",
            **row,
            "slowest on another table": "",
        }


PARTS: list[type[Part]] = [Logs, Tables, Connections]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ",".join(part.name for part in PARTS)
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--only", default=names, help=f"some of {names}")
    parser.add_argument("--logs", type=int, default=1000, help="of 1 GB each")
    parser.add_argument("--tables", type=int, default=20_000)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=60, help="of load on the tables")
    parser.add_argument("--timeout", type=int, default=30, help="lock_wait_timeout of connections")
    arguments = parser.parse_args()
    if unknown := set(arguments.only.split(",")) - set(names.split(",")):
        parser.error(f"there is no part {', '.join(unknown)}; there are {names}")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    done = []
    for part in PARTS:
        if part.name in arguments.only.split(","):
            done.append(part(arguments))
            done[-1].run()
    for each in done:
        each.table()
    return 1 if any(part.failed for part in done) else 0


if __name__ == "__main__":
    sys.exit(main())
