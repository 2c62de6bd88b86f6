# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""20 000 tables with a file each, and few files that may be open.

16 clients change and read rows of random tables, the server is killed, all rows are checked,
all tables are dropped.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pymysql
from scale_part import Part
from scale_server import memory, open_files, status, stop, value, values
from server import Failure

SCHEMAS = 8
CLIENTS = 16
OPEN_FILES = 300
ROWS = 3  #: of each table


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
