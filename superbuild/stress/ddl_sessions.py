# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The sessions of ddl.py, through pauses and kills, and those that write and read rows."""

from __future__ import annotations

import collections
import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator

import pymysql
from acknowledged import Acknowledged
from ddl_rows import CHECKSUM, COLUMNS, ROWS, TABLES, check
from server import Failure, Server, is_gone

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
#: Seconds after which a step hangs; under ThreadSanitizer one takes minutes.
HANGS = 900


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
        self._sessions: set[str] = set()
        self._active: set[str] = set()  #: that are in a step
        self._unheard: set[str] = set()  #: that have ended none since the last pause
        self._changed = threading.Condition()
        self._acknowledged = Acknowledged()

    # The sessions

    def session(self, name: str, step: Callable[[pymysql.Connection, random.Random], str]) -> None:
        """Repeats a step until all is over, through restarts and pauses."""
        dice = random.Random(f"{self.seed} {name}")
        with self._changed:
            self._sessions.add(name)
        connection: pymysql.Connection | None = None
        kills = 0  #: that there had been when it connected
        while not self._over.is_set():
            with self._changed:
                while self._pause.is_set() and not self._over.is_set():
                    self._changed.wait(0.5)
                self._active.add(name)
            try:
                if connection is None:
                    kills = self._kills
                    connection = self.server.connect()
                    with connection.cursor() as cursor:
                        cursor.execute("SET SESSION lock_wait_timeout = 20")
                self.done[step(connection, dice)] += 1
            except pymysql.Error as error:
                number = error.args[0] if error.args else 0
                if connection is None or is_gone(error, connection):
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
                    self._active.discard(name)
                    self._unheard.discard(name)
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
        # A kill frees a session that hangs, and hides it. Not before each: long steps are hit, too.
        if killed and self._kills % 2:
            self._wait_for(self._unheard)
        self._pause.set()
        if killed:
            self._killed.set()
            self._kills += 1
            self.server.kill()
        self._wait_for(self._active)
        yield
        self._killed.clear()
        self._pause.clear()
        with self._changed:
            self._unheard.update(self._sessions)
            self._changed.notify_all()

    def _wait_for(self, sessions: set[str]) -> None:
        """Until none is left in it."""
        limit = time.monotonic() + HANGS
        with self._changed:
            while sessions and not self.over:
                if time.monotonic() > limit:
                    raise Failure(f"sessions that hang: {', '.join(sorted(sessions))}")
                self._changed.wait(1)

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
            self._acknowledged.prepare(cursor)
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

    def write(self, writer: int, connection: pymysql.Connection, dice: random.Random) -> str:
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
        self._acknowledged.commit(connection, f"writer {writer}")
        return "write"

    @staticmethod
    def read(connection: pymysql.Connection, dice: random.Random) -> str:
        table = f"t{dice.randrange(TABLES)}"
        check(connection, table)
        return "scan"

    def verify(self, *, thorough: bool) -> None:
        with self.server.connect() as connection, connection.cursor() as cursor:
            self._acknowledged.check(connection)
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
