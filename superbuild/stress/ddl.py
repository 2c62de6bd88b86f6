#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""DDL of every kind beside reads and writes of the same tablespaces, and kills.

A server of a preset runs with a tiny buffer pool and few open files. Writers
change rows in transactions that keep sums, readers scan, and DDL renames,
rebuilds, truncates, encrypts, exports, imports, exchanges, extends, clones and
drops what they use, while the tables of lru_stats.so are read, and it is
uninstalled and installed. Every so often all rows are checked; every so often the
server is killed with SIGKILL, recovers, and all rows are checked.

Each row holds a checksum of itself, each table a fixed number of rows whose
values sum up to 0. What must not happen: a wrong row, a wrong sum, a row too
many or too few, CHECK TABLE that finds something, a crash that was not asked
for, an error nobody expected, a report of a sanitizer.

A failure keeps the data directory, says where, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
import tsan_reports
from server import Failure, Server

TABLES = 6
ROWS = 3000
WRITERS = 6
READERS = 2

#: Errors of a statement that came at the wrong moment of a DDL, by number.
EXPECTED = {
    1146: "no such table",
    1205: "lock wait timeout",
    1213: "deadlock",
    1317: "interrupted",
    1412: "table definition has changed",
    1814: "tablespace discarded",
    3874: "a clone is running",
}
TABLE_EXISTS = 1050
#: Errors of a connection whose server was killed.
GONE = {2003, 2006, 2013, 2002}


class Stress:
    """Sessions on one server, what they have done, and the first failure."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.seed = seed
        self.done: collections.Counter[str] = collections.Counter()
        self.failure: Exception | None = None
        self._pause = threading.Event()
        self._over = threading.Event()
        self._killed = threading.Event()
        self._kills = 0
        self._active = 0
        self._changed = threading.Condition()

    # The sessions

    def session(self, name: str, step: Callable[[pymysql.Connection, random.Random], str]) -> None:
        """Repeats a step until all is over, through restarts and pauses."""
        dice = random.Random(f"{self.seed} {name}")
        connection: pymysql.Connection | None = None
        kills = 0  #: that there had been when it connected
        while not self._over.is_set():
            with self._changed:
                while self._pause.is_set() and not self._over.is_set():
                    self._changed.wait(0.5)
                self._active += 1
            try:
                if connection is None:
                    kills = self._kills
                    connection = self.server.connect()
                    with connection.cursor() as cursor:
                        cursor.execute("SET SESSION lock_wait_timeout = 20")
                self.done[step(connection, dice)] += 1
            except pymysql.Error as error:
                number = error.args[0] if error.args else 0
                if number in GONE or not connection or not connection.open:
                    connection = None
                    expected = self._killed.is_set() or self._kills > kills
                    if not expected and not self._over.is_set():
                        self.fail(Failure(f"{name}: the server is gone: {error}"))
                elif number in EXPECTED:
                    self.done[f"({EXPECTED[number]})"] += 1
                    with contextlib.suppress(pymysql.Error):
                        connection.rollback()
                        with connection.cursor() as cursor:
                            cursor.execute("UNLOCK TABLES")
                else:
                    self.fail(Failure(f"{name}: unexpected error {error}"))
            except Exception as error:  # noqa: BLE001 - whatever it is, it ends the run
                self.fail(error)
            finally:
                with self._changed:
                    self._active -= 1
                    self._changed.notify_all()
        if connection is not None and connection.open:
            with contextlib.suppress(pymysql.Error):
                connection.close()

    def fail(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = error
        self._over.set()

    @contextlib.contextmanager
    def quiet(self, *, killed: bool = False) -> Iterator[None]:
        """No session is inside of a step."""
        self._pause.set()
        if killed:
            self._killed.set()
            self._kills += 1
            self.server.kill()
        with self._changed:
            while self._active:
                self._changed.wait(1)
        yield
        self._killed.clear()
        self._pause.clear()
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        self._over.set()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    # What they do

    def prepare(self) -> None:
        with self.server.connect(database=None) as connection, connection.cursor() as cursor:
            for schema in ("stress", "stress2"):
                cursor.execute(f"CREATE DATABASE {schema}")
            cursor.execute("INSTALL PLUGIN clone SONAME 'mysql_clone.so'")
            cursor.execute("SET SESSION cte_max_recursion_depth = 1000000")
            for number in range(TABLES):
                compressed = " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8" if number == 0 else ""
                cursor.execute(
                    f"CREATE TABLE stress.t{number} {COLUMNS} STATS_PERSISTENT=0{compressed}"
                )
                cursor.execute(
                    f"INSERT INTO stress.t{number} (id, v, pad, h) "
                    "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n "
                    f"WHERE id < {ROWS}) SELECT id, 0, REPEAT('a', 700), {CHECKSUM} FROM "
                    "(SELECT id, 0 AS v, REPEAT('a', 700) AS pad FROM n) AS rows_"
                )

    @staticmethod
    def write(connection: pymysql.Connection, dice: random.Random) -> str:
        table = f"t{dice.randrange(TABLES)}"
        connection.begin()
        with connection.cursor() as cursor:
            for change in (1, -1) * dice.randint(1, 5):
                cursor.execute(
                    f"UPDATE {table} SET v = v + %s, pad = REPEAT(%s, %s), h = {CHECKSUM} WHERE id = %s",
                    (
                        change,
                        chr(97 + dice.randrange(26)),
                        dice.randint(1, 900),
                        dice.randint(1, ROWS),
                    ),
                )
                if cursor.rowcount != 1:
                    raise Failure(f"a row of {table} is missing")
        connection.commit()
        return "write"

    @staticmethod
    def read(connection: pymysql.Connection, dice: random.Random) -> str:
        table = f"t{dice.randrange(TABLES)}"
        check(connection, table)
        return "scan"

    def verify(self, *, thorough: bool) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            # A rename to the other schema may have been the last thing.
            cursor.execute(
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'stress2' "
                "AND TABLE_NAME REGEXP '^t[0-9]$'"
            )
            for (table,) in cursor.fetchall():
                cursor.execute(f"RENAME TABLE stress2.{table} TO stress.{table}")
            for number in range(TABLES):
                check(connection, f"t{number}")
                if thorough:
                    cursor.execute(f"CHECK TABLE t{number}")
                    for row in cursor.fetchall():
                        if row[2] != "status" or row[3] != "OK":
                            raise Failure(f"CHECK TABLE: {row}")


COLUMNS = (
    "(id INT PRIMARY KEY, v INT NOT NULL, pad VARCHAR(1000) NOT NULL, h BIGINT NOT NULL) "
    "ENGINE=InnoDB"
)
CHECKSUM = "CRC32(CONCAT(id, ':', v, ':', pad))"


def check(connection: pymysql.Connection, table: str, rows: int = ROWS) -> None:
    """Raises Failure unless each row of a table is as it must be."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*), SUM(v), COALESCE(SUM(h <> {CHECKSUM}), 0) FROM {table}")
        found, total, wrong = cursor.fetchone()
    if found != rows or total != 0 or wrong != 0:
        raise Failure(
            f"{table}: {found} rows of {rows}, sum {total}, {wrong} with a wrong checksum"
        )


class Ddl:
    """DDL of one session: on the common tables, and on some of its own."""

    def __init__(self, server: Server, number: int) -> None:
        self._server = server
        self._number = number
        self._kinds = [
            self.rename,
            self.rebuild,
            self.copy,
            self.index,
            self.column,
            self.scratch,
            self.import_,
            self.exchange,
            self.general,
            self.grow,
        ]
        if server.can_encrypt:
            self._kinds += [self.encrypt, self.encrypt]
        # One session each, as they work on the server as a whole.
        if number == 0:
            self._kinds.append(self.undo)
        if number == 1:
            self._kinds.append(self.clone)
        if number == 2 and server.can_encrypt:
            self._kinds.append(self.rotate)

    def __call__(self, connection: pymysql.Connection, dice: random.Random) -> str:
        kind = dice.choice(self._kinds)
        with connection.cursor() as cursor:
            kind(connection, cursor, dice)
        return kind.__name__.strip("_")

    def _own(self, name: str) -> str:
        return f"{name}_{self._number}"

    @staticmethod
    def rename(connection, cursor, dice) -> None:
        table = f"t{dice.randrange(TABLES)}"
        try:
            cursor.execute(f"RENAME TABLE stress.{table} TO stress2.{table}")
        except pymysql.Error as error:
            # The server looks for the new name first: another session has it there.
            if error.args[0] == TABLE_EXISTS:
                return
            raise
        while True:
            try:
                check(connection, f"stress2.{table}")
                cursor.execute(f"RENAME TABLE stress2.{table} TO stress.{table}")
                return
            except pymysql.Error as error:
                if error.args[0] not in EXPECTED:
                    raise

    @staticmethod
    def rebuild(connection, cursor, dice) -> None:
        cursor.execute(f"ALTER TABLE t{dice.randrange(TABLES)} ENGINE=InnoDB, ALGORITHM=INPLACE")

    @staticmethod
    def copy(connection, cursor, dice) -> None:
        cursor.execute(f"ALTER TABLE t{dice.randrange(TABLES)} ENGINE=InnoDB, ALGORITHM=COPY")

    def index(self, connection, cursor, dice) -> None:
        table, index = f"t{dice.randrange(TABLES)}", self._own("i")
        self._until_done(cursor, f"ALTER TABLE {table} DROP INDEX {index}")
        cursor.execute(f"ALTER TABLE {table} ADD INDEX {index} (v, h), ALGORITHM=INPLACE")
        self._until_done(cursor, f"ALTER TABLE {table} DROP INDEX {index}")

    def column(self, connection, cursor, dice) -> None:
        table, column = f"t{1 + dice.randrange(TABLES - 1)}", self._own("c")
        self._until_done(cursor, f"ALTER TABLE {table} DROP COLUMN {column}")
        cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column} INT DEFAULT 7")
        self._until_done(cursor, f"ALTER TABLE {table} DROP COLUMN {column}")

    @staticmethod
    def _until_done(cursor, statement: str) -> None:
        """Takes back what was done, however long it has to wait for locks or a rename."""
        while True:
            try:
                cursor.execute(statement)
                return
            except pymysql.Error as error:
                # 1091: there is nothing to take back.
                if error.args[0] == 1091:
                    return
                if error.args[0] not in (1205, 1146, 1213):
                    raise

    def scratch(self, connection, cursor, dice) -> None:
        """Create, fill, truncate, fill, drop."""
        own = self._own("scratch")
        cursor.execute(f"DROP TABLE IF EXISTS {own}")
        cursor.execute(f"CREATE TABLE {own} {COLUMNS}")
        for _ in range(2):
            cursor.execute(f"INSERT INTO {own} SELECT id, v, pad, h FROM t1")
            check(connection, own)
            cursor.execute(f"TRUNCATE TABLE {own}")
        cursor.execute(f"DROP TABLE {own}")

    def import_(self, connection, cursor, dice) -> None:
        """Export, discard, import."""
        source, target = self._own("source"), self._own("target")
        folder = self._server.data / "stress"
        cursor.execute(f"DROP TABLE IF EXISTS {source}, {target}")
        # A kill may have left what the server does not know.
        for file in folder.glob(f"{target}.*"):
            file.unlink()
        for table in (source, target):
            cursor.execute(f"CREATE TABLE {table} {COLUMNS}")
        cursor.execute(f"INSERT INTO {source} SELECT id, v, pad, h FROM t2")
        cursor.execute(f"FLUSH TABLES {source} FOR EXPORT")
        copies = [self._server.home / f"{source}{end}" for end in (".ibd", ".cfg")]
        for copy in copies:
            shutil.copy(folder / copy.name, copy)
        cursor.execute("UNLOCK TABLES")
        cursor.execute(f"ALTER TABLE {target} DISCARD TABLESPACE")
        for copy in copies:
            shutil.move(copy, folder / f"{target}{copy.suffix}")
        cursor.execute(f"ALTER TABLE {target} IMPORT TABLESPACE")
        check(connection, target)
        cursor.execute(f"UPDATE {target} SET pad = CONCAT(LEFT(pad, 99), 'i'), h = {CHECKSUM}")
        check(connection, target)
        cursor.execute(f"DROP TABLE {source}, {target}")

    def exchange(self, connection, cursor, dice) -> None:
        """Partition exchange, there and back."""
        parts, whole = self._own("parts"), self._own("whole")
        cursor.execute(f"DROP TABLE IF EXISTS {parts}, {whole}")
        cursor.execute(
            f"CREATE TABLE {parts} {COLUMNS} PARTITION BY RANGE (id) "
            f"(PARTITION p0 VALUES LESS THAN ({ROWS + 1}), PARTITION p1 VALUES LESS THAN MAXVALUE)"
        )
        cursor.execute(f"CREATE TABLE {whole} {COLUMNS}")
        cursor.execute(f"INSERT INTO {parts} SELECT id, v, pad, h FROM t3")
        cursor.execute(f"ALTER TABLE {parts} EXCHANGE PARTITION p0 WITH TABLE {whole}")
        check(connection, whole)
        cursor.execute(f"UPDATE {whole} SET pad = CONCAT(LEFT(pad, 99), 'x'), h = {CHECKSUM}")
        cursor.execute(f"ALTER TABLE {parts} EXCHANGE PARTITION p0 WITH TABLE {whole}")
        check(connection, parts)
        cursor.execute(f"ALTER TABLE {parts} TRUNCATE PARTITION p0")
        cursor.execute(f"DROP TABLE {parts}, {whole}")

    def general(self, connection, cursor, dice) -> None:
        """A general tablespace with two tables."""
        space, first, second = self._own("space"), self._own("g1"), self._own("g2")
        cursor.execute(f"DROP TABLE IF EXISTS {first}, {second}")
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (space,)
        )
        if cursor.fetchone()[0]:
            cursor.execute(f"DROP TABLESPACE {space}")
        cursor.execute(f"CREATE TABLESPACE {space} ADD DATAFILE '{space}.ibd'")
        for table in (first, second):
            cursor.execute(f"CREATE TABLE {table} {COLUMNS} TABLESPACE = {space}")
            cursor.execute(f"INSERT INTO {table} SELECT id, v, pad, h FROM t4")
            check(connection, table)
        cursor.execute(f"ALTER TABLE {first} TABLESPACE = innodb_file_per_table")
        check(connection, first)
        cursor.execute(f"DROP TABLE {first}, {second}")
        cursor.execute(f"DROP TABLESPACE {space}")

    def grow(self, connection, cursor, dice) -> None:
        """Extends a tablespace again and again, beside a temporary table that does."""
        own = self._own("grow")
        cursor.execute(f"DROP TABLE IF EXISTS {own}")
        cursor.execute(f"CREATE TABLE {own} (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        cursor.execute("DROP TEMPORARY TABLE IF EXISTS temporary_")
        cursor.execute(f"CREATE TEMPORARY TABLE temporary_ {COLUMNS}")
        for _ in range(6):
            cursor.execute(
                f"INSERT INTO {own} (b) VALUES (REPEAT('b', %s))", (dice.randint(1, 900_000),)
            )
        cursor.execute("INSERT INTO temporary_ SELECT id, v, pad, h FROM t5")
        check(connection, "temporary_")
        cursor.execute(f"SELECT COUNT(*) FROM {own} WHERE b <> REPEAT('b', LENGTH(b))")
        if cursor.fetchone()[0]:
            raise Failure(f"{own}: a BLOB is not what was written")
        cursor.execute("DROP TEMPORARY TABLE temporary_")
        cursor.execute(f"DROP TABLE {own}")

    @staticmethod
    def encrypt(connection, cursor, dice) -> None:
        table, yes = f"t{1 + dice.randrange(TABLES - 1)}", dice.choice("YN")
        cursor.execute(f"ALTER TABLE {table} ENCRYPTION = '{yes}'")

    @staticmethod
    def rotate(connection, cursor, dice) -> None:
        cursor.execute("ALTER INSTANCE ROTATE INNODB MASTER KEY")

    def undo(self, connection, cursor, dice) -> None:
        """An undo tablespace is used, emptied, truncated and dropped."""
        name = "stress_undo"
        cursor.execute(
            "SELECT STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (name,)
        )
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE UNDO TABLESPACE {name} ADD DATAFILE '{name}.ibu'")
        time.sleep(2)  # transactions use it
        cursor.execute(f"ALTER UNDO TABLESPACE {name} SET INACTIVE")
        for _ in range(600):
            cursor.execute(
                "SELECT STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (name,)
            )
            if cursor.fetchone() == ("empty",):
                cursor.execute(f"DROP UNDO TABLESPACE {name}")
                return
            time.sleep(0.1)

    def clone(self, connection, cursor, dice) -> None:
        target = self._server.home / "clone"
        shutil.rmtree(target, ignore_errors=True)
        cursor.execute(f"SET GLOBAL clone_block_ddl = {dice.choice(('ON', 'OFF'))}")
        try:
            cursor.execute(f"CLONE LOCAL DATA DIRECTORY = '{target}'")
        except pymysql.Error as error:
            # 3633: a concurrent DDL that a clone does not go with. 1025: a table was renamed to
            # a schema that has no folder in the clone yet.
            if error.args[0] not in (1025, 3633):
                raise
        shutil.rmtree(target, ignore_errors=True)


class Observer:
    """Reads the tables of lru_stats.so; the first session also changes what it does."""

    PLUGINS = ("STATS", "STATS_SINCE_RESET", "INDEX_STATS", "AGE_HISTOGRAM", "WHATIF")
    CHANGES = (
        "lru_stats_reset = ON",
        "lru_whatif_enabled = OFF",
        "lru_whatif_enabled = ON",
        "lru_index_stats_enabled = OFF",
        "lru_index_stats_enabled = ON",
        "lru_age_histogram_enabled = OFF",
        "lru_age_histogram_enabled = ON",
        "lru_whatif_memory = 1048576",
        "lru_whatif_memory = DEFAULT",
        "lru_whatif_old_blocks_times = '10,100'",
        "old_blocks_time = 0",
        "old_blocks_time = DEFAULT",
    )
    #: It is there already, or is not at the moment.
    SWITCHED = (1125, 1305, 1109, 1193)
    #: One step in so many takes a table away and brings it back. Rare, as upstream's debug builds
    #: can deadlock there: INSTALL PLUGIN holds LOCK_plugin and wants the table cache's lock, who
    #: closes a table share holds that and wants LOCK_plugin for a built-in engine.
    SWITCH_EVERY = 500

    def __init__(self, number: int) -> None:
        self._first = number == 0

    def __call__(self, connection: pymysql.Connection, dice: random.Random) -> str:
        what = dice.randrange(self.SWITCH_EVERY) if self._first else self.SWITCH_EVERY
        plugin = f"INNODB_LRU_{dice.choice(self.PLUGINS)}"
        with connection.cursor() as cursor:
            try:
                if what == 0:
                    cursor.execute(f"UNINSTALL PLUGIN {plugin}")
                    time.sleep(0.5)
                    cursor.execute(f"INSTALL PLUGIN {plugin} SONAME 'lru_stats.so'")
                    return "install"
                if what < self.SWITCH_EVERY // 5:
                    cursor.execute(f"SET GLOBAL innodb_{dice.choice(self.CHANGES)}")
                    return "set"
                cursor.execute(f"SELECT * FROM information_schema.{plugin}")
                cursor.fetchall()
            except pymysql.Error as error:
                if error.args[0] not in self.SWITCHED:
                    raise
        time.sleep(0.05)
        return "observe"


def run(options: argparse.Namespace, home: Path) -> None:
    server = Server(
        options.preset,
        home,
        [
            "--innodb-buffer-pool-size=16M",
            "--innodb-redo-log-capacity=256M",
            f"--innodb-open-files={options.open_files}",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-io-capacity=4000",
            "--innodb-rollback-segments=4",
            "--innodb-purge-rseg-truncate-frequency=1",
            "--skip-log-bin",
            "--loose-mysqlx=OFF",
            "--max-connections=100",
            "--plugin-load-add=lru_stats.so",
            f"--innodb-page-io-fast-path={options.fast_path}",
            *options.mysqld,
        ],
    )
    print(
        f"stress: {options.preset}, {options.minutes} minutes, seed {options.seed}, "
        f"encryption {'on' if server.can_encrypt else 'not available'}, in {home}",
        flush=True,
    )
    server.initialize()
    server.start()
    stress = Stress(server, options.seed)
    stress.prepare()
    threads = [
        threading.Thread(target=stress.session, args=(f"{kind} {number}", step))
        for kind, count, make in (
            ("writer", WRITERS, lambda _: stress.write),
            ("reader", READERS, lambda _: stress.read),
            ("ddl", 4, lambda number: Ddl(server, number)),
            ("observer", 2, Observer),
        )
        for number in range(count)
        for step in [make(number)]
    ]
    for thread in threads:
        thread.start()

    end = time.monotonic() + 60 * options.minutes
    kills = checks = 0
    counters = collections.Counter()
    try:
        while time.monotonic() < end and not stress.over:
            until = min(end, time.monotonic() + options.every)
            while time.monotonic() < until and not stress.over:
                time.sleep(0.2)
                if not server.running:
                    stress.fail(Failure(f"the server has died:\n{server.last_words()}"))
            if stress.over:
                break
            counters.update(fast_path_counters(server))
            if options.kill:
                with stress.quiet(killed=True):
                    seconds = server.start()
                    stress.verify(thorough=True)
                kills += 1
                what = f"killed, up again after {seconds:.1f} s, "
            else:
                with stress.quiet():
                    stress.verify(thorough=True)
                what = ""
            checks += 1
            left = max(0, end - time.monotonic()) / 60
            print(f"stress: {what}rows are right; {left:.1f} minutes left", flush=True)
    except Exception as error:  # noqa: BLE001 - whatever it is, it ends the run
        stress.fail(error)
    except KeyboardInterrupt:
        stress.fail(Failure("interrupted"))
    stress.end()
    for thread in threads:
        # Under ThreadSanitizer, with all others at the end, a step takes minutes.
        thread.join(timeout=900)
        if thread.is_alive():
            stress.fail(Failure("a session does not end: the server may hang"))

    if stress.failure is None:
        counters.update(fast_path_counters(server))
        stress.verify(thorough=True)
        if (status := server.stop()) != 0:
            stress.failure = Failure(f"the shutdown ended with {status}:\n{server.last_words()}")
    elif server.running:
        server.kill()
    for kind, number in sorted(stress.done.items()):
        print(f"{number:10d} {kind}")
    for name, value in sorted(counters.items()):
        print(f"{value:10d} {name}")
    print(f"stress: {checks} checks of all rows, {kills} kills")
    if stress.failure is None and (complaints := server.complaints()):
        stress.failure = Failure("in its log:\n" + "\n".join(complaints[:20]))
    # Before it raises: what was seen until then may say why.
    if options.preset == "tsan":
        ours = tsan_reports.main(str(server.binary), [str(server.log)])
        if ours and stress.failure is None:
            stress.failure = Failure("ThreadSanitizer complains of our files")
    if stress.failure is not None:
        raise stress.failure


def fast_path_counters(server: Server) -> dict[str, int]:
    """The counters since the last start."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_page_io_fast_path%'")
        return {name: int(value) for name, value in cursor.fetchall()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="debug", help="the build (debug)")
    parser.add_argument("--minutes", type=float, default=30, help="how long (30)")
    parser.add_argument("--every", type=float, default=60, help="seconds between checks (60)")
    parser.add_argument("--kill", action="store_true", help="kill the server before each check")
    parser.add_argument("--fast-path", default="ON", choices=["ON", "OFF"])
    parser.add_argument("--open-files", type=int, default=20, help="innodb_open_files (20)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--mysqld", action="append", default=[], help="one more option of mysqld")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="stress.", dir=os.environ.get("BENCH_WORK", "/tmp")))
    try:
        run(options, home)
    except Failure as failure:
        print(
            f"stress: FAILED: {failure}\nstress: what is left of it is in {home}", file=sys.stderr
        )
        return 1
    shutil.rmtree(home)
    print("stress: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
