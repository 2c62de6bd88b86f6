#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A disk that fills, and one that fails, under a load that replaces pages all the time.

A server with the smallest buffer pool works in a small file system (tmpfs, so
this needs root). Writers change rows of a table that is larger than the pool,
others fill tables until there is no space. Updates must go on then, or fail with
"table is full" where the undo log cannot grow; nothing may hang. Space is made, and
inserts must work again. In every second round the server is killed while the disk is
full.

Then all writes to data files fail (fail_writes.c). InnoDB ends the server when it
cannot write a page; it must not hang. The disk is mended, the server recovers.

After each step all rows are checked.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pymysql
from server import Failure, Server

MEGABYTES = 320  #: of the small file system
ROWS = 20_000
WRITERS = 4
FILLERS = 3
#: Bytes given back when a server is killed on a full disk: a start makes files.
BALLAST = 48 << 20

#: The table is full, the disk is full.
NO_SPACE = {1114, 1021}
#: Lock wait timeout, deadlock: another session has won.
LOST = {1205, 1213}
GONE = {2003, 2006, 2013, 2002}
CHECKSUM = "CRC32(CONCAT(id, ':', v, ':', pad))"


class Load:
    """Sessions that repeat a step until they are told to end."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failure: Exception | None = None
        self.done = 0  #: changes of rows, by all sessions; only ever grows
        self.refused = 0  #: statements that found no space
        self._lock = threading.Lock()

    def start(self, step: Callable[[pymysql.Connection, int], None], sessions: int) -> None:
        for number in range(sessions):
            thread = threading.Thread(target=self._session, args=(step, number))
            thread.start()
            self._threads.append(thread)

    def _session(self, step: Callable[[pymysql.Connection, int], None], number: int) -> None:
        try:
            connection = self._server.connect()
        except pymysql.Error as error:
            self._failure = error
            return
        while not self._over.is_set():
            try:
                step(connection, number)
                with self._lock:
                    self.done += 1
            except pymysql.Error as error:
                if error.args[0] in GONE or not connection.open:
                    return
                if error.args[0] not in NO_SPACE | LOST:
                    self._failure = error
                    return
                with self._lock:
                    self.refused += error.args[0] in NO_SPACE
                with contextlib.suppress(pymysql.Error):
                    connection.rollback()
                time.sleep(0.01)

    def wait(self, what: str, condition: Callable[[], bool], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if self._failure is not None:
                raise Failure(f"while waiting until {what}: {self._failure}")
            if time.monotonic() > end:
                raise Failure(f"{what}: not within {seconds:.0f} s: the server may hang")
            time.sleep(0.1)

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=120)
            if thread.is_alive():
                raise Failure("a session does not end: the server may hang")
        if self._failure is not None:
            raise Failure(f"a session has failed: {self._failure}")


def update(connection: pymysql.Connection, _: int) -> None:
    connection.begin()
    with connection.cursor() as cursor:
        for change in (1, -1):
            cursor.execute(
                f"UPDATE kept SET v = v + %s, pad = REPEAT(%s, 300), h = {CHECKSUM} WHERE id = %s",
                (change, random.choice("abcdef"), random.randint(1, ROWS)),
            )
    connection.commit()


def fill(connection: pymysql.Connection, number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO filler{number} (b) VALUES (REPEAT('f', 30000))")


def prepare(server: Server) -> None:
    with server.connect(database=None) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE stress")
        cursor.execute("SET SESSION cte_max_recursion_depth = 1000000")
        cursor.execute(
            "CREATE TABLE stress.kept (id INT PRIMARY KEY, v INT NOT NULL, "
            "pad VARCHAR(400) NOT NULL, h BIGINT NOT NULL)"
        )
        cursor.execute(
            "INSERT INTO stress.kept WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 "
            f"FROM n WHERE id < {ROWS}) SELECT id, 0, REPEAT('a', 300), {CHECKSUM} FROM "
            "(SELECT id, 0 AS v, REPEAT('a', 300) AS pad FROM n) AS rows_"
        )


def check(server: Server) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*), SUM(v), SUM(h <> {CHECKSUM}) FROM kept")
        if (found := cursor.fetchone()) != (ROWS, 0, 0):
            raise Failure(f"rows, their sum, wrong ones: {found} instead of ({ROWS}, 0, 0)")
        cursor.execute("CHECK TABLE kept")
        for row in cursor.fetchall():
            if row[2] != "status" or row[3] != "OK":
                raise Failure(f"CHECK TABLE: {row}")


def full_disk(server: Server, *, kill: bool) -> None:
    """Fills the disk, lets the load run on it for a while, and makes space."""
    ballast = server.data / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, BALLAST)
    with server.connect() as connection, connection.cursor() as cursor:
        for number in range(FILLERS):
            cursor.execute(
                f"CREATE TABLE filler{number} (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)"
            )
    load = Load(server)
    load.start(update, WRITERS)
    load.start(fill, FILLERS)
    load.wait("the disk is full", lambda: load.refused >= 100)
    # Where the undo log cannot grow, an update is refused; but each has its answer.
    before = load.done + load.refused
    load.wait("sessions get answers", lambda: load.done + load.refused >= before + 3000)
    if kill:
        server.kill()
        load.end()
        ballast.unlink()
        seconds = server.start()
        print(f"stress-disk: full, killed, up again after {seconds:.1f} s", flush=True)
    else:
        load.end()
    check(server)
    with server.connect() as connection, connection.cursor() as cursor:
        for number in range(FILLERS):
            cursor.execute(f"DROP TABLE filler{number}")
        # The space must be there again, whoever has used it.
        cursor.execute("CREATE TABLE again (b LONGBLOB)")
        cursor.execute("INSERT INTO again VALUES (REPEAT('x', 20000000))")
        cursor.execute("DROP TABLE again")
    ballast.unlink(missing_ok=True)
    print(
        f"stress-disk: full, rows are right; {load.done} changes, {load.refused} refused",
        flush=True,
    )


def failing_disk(server: Server, flag: Path) -> None:
    """Lets all writes of pages fail until the server has gone, and starts it again."""
    load = Load(server)
    load.start(update, WRITERS)
    load.wait("updates run", lambda: load.done >= 1000)
    flag.touch()
    load.wait("the server gives up", lambda: not server.running)
    flag.unlink()
    load.end()
    seconds = server.start()
    check(server)
    print(f"stress-disk: failed, up again after {seconds:.1f} s, rows are right", flush=True)


@contextlib.contextmanager
def small_file_system(where: Path) -> Iterator[None]:
    where.mkdir()
    size = f"size={MEGABYTES}M"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(where)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"stress-disk: it mounts a tmpfs, which needs root: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(where)], check=True)


def run(options: argparse.Namespace, home: Path, work: Path) -> None:
    library, flag = work / "fail_writes.so", work / "fail_writes"
    source = Path(__file__).with_name("fail_writes.c")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True
    )
    server = Server(
        options.preset,
        home,
        [
            "--innodb-buffer-pool-size=5M",
            "--innodb-redo-log-capacity=16M",
            "--innodb-use-native-aio=OFF",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-io-capacity=4000",
            "--skip-log-bin",
            "--skip-stack-trace",
            "--loose-mysqlx=OFF",
            f"--loose-innodb-page-io-fast-path={options.fast_path}",
            *options.mysqld,
        ],
        {"LD_PRELOAD": str(library), "FAIL_WRITES": str(flag)},
    )
    server.initialize()
    server.start()
    try:
        prepare(server)
        for number in range(options.rounds):
            full_disk(server, kill=number % 2 == 1)
        if complaints := server.complaints():
            raise Failure("in its log:\n" + "\n".join(complaints[:20]))
        for _ in range(options.rounds):
            failing_disk(server, flag)
        if (status := server.stop()) != 0:
            raise Failure(f"the shutdown ended with {status}:\n{server.last_words()}")
    except (Failure, pymysql.Error) as error:
        print(server.last_words(), file=sys.stderr)
        raise Failure(str(error)) from error
    finally:
        if server.running:
            server.kill()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="debug", help="the build (debug)")
    parser.add_argument("--rounds", type=int, default=4, help="of each kind (4)")
    parser.add_argument("--fast-path", default="ON", choices=["ON", "OFF"])
    parser.add_argument("--mysqld", action="append", default=[], help="one more option of mysqld")
    options = parser.parse_args()
    # So that what was mounted and started does not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stress-disk: ended by SIGTERM"))
    with tempfile.TemporaryDirectory(prefix="stress-disk.") as work:
        home = Path(work) / "server"
        home.mkdir()
        try:
            with small_file_system(home / "data"):
                run(options, home, Path(work))
        except Failure as failure:
            print(f"stress-disk: FAILED: {failure}", file=sys.stderr)
            return 1
    print("stress-disk: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
