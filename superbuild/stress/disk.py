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

Then all writes to data files fail, or all syncs of them (fail_calls.c). InnoDB ends the
server when it cannot write or sync a page; it must not hang. The disk is mended, the server
recovers. With native AIO, io_submit() fails for some seconds: the server has to go on.

Last, threads cannot be created while the server starts, each time from another one on. It may
start, or end; it must not hang, and starts as ever when threads can be had.

After each step all rows are checked.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
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
#: io_submit() fails for so long.
SUBMIT_SECONDS = 3
#: How long a start takes at most.
START_SECONDS = 120
FAULTS = ("full", "write", "sync", "threads", "submit")
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


class Fault:
    """Calls that fail_calls.c lets fail."""

    def __init__(self, flag: Path) -> None:
        self._flag = flag
        self._made = flag.with_suffix(".made")

    def begin(self, word: str) -> None:
        self._flag.write_text(word)

    def end(self) -> int:
        """How many calls have failed."""
        self._flag.unlink()
        count = self._made.stat().st_size if self._made.exists() else 0
        self._made.unlink(missing_ok=True)
        return count


def failing_disk(server: Server, fault: Fault, call: str) -> None:
    """Lets all writes or syncs of data files fail until the server has gone, and starts it again."""
    load = Load(server)
    load.start(update, WRITERS)
    load.wait("updates run", lambda: load.done >= 1000)
    fault.begin(call)
    load.wait("the server gives up", lambda: not server.running)
    fault.end()
    load.end()
    seconds = server.start()
    check(server)
    print(f"stress-disk: {call} failed, up again after {seconds:.1f} s, rows are right", flush=True)


def no_submit(server: Server, fault: Fault) -> None:
    """Lets io_submit() fail for a while; the server goes on."""
    load = Load(server)
    load.start(update, WRITERS)
    load.wait("updates run", lambda: load.done >= 1000)
    fault.begin("submit")
    time.sleep(SUBMIT_SECONDS)
    if not server.running:
        raise Failure("the server did not survive")
    if fault.end() == 0:
        raise Failure("io_submit() was not called")
    before = load.done
    load.wait("updates run again", lambda: load.done >= before + 1000)
    load.end()
    check(server)
    print("stress-disk: io_submit failed for a while, rows are right", flush=True)


def no_threads(server: Server, fault: Fault) -> None:
    """Starts the server with no thread, one, and so on, until it has all that it asks for."""
    started = []
    for most in itertools.count():
        fault.begin(f"thread {most}")
        if server.try_to_start(START_SECONDS):
            started.append(most)
            server.kill()
        if fault.end() == 0:
            break
    server.start()
    check(server)
    print(
        f"stress-disk: with 0 to {most} threads the server started with {started[0]} or more"
        f" ({len(started)} of {most + 1}), and hung never; then it starts, rows are right",
        flush=True,
    )


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


def run(options: argparse.Namespace, faults: list[str], home: Path, work: Path) -> None:
    library, flag = work / "fail_calls.so", work / "fail_calls"
    fault = Fault(flag)
    source = Path(__file__).with_name("fail_calls.c")
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"], check=True
    )
    server = Server(
        options.preset,
        home,
        [
            "--innodb-buffer-pool-size=5M",
            "--innodb-redo-log-capacity=16M",
            f"--innodb-use-native-aio={'ON' if 'submit' in faults else 'OFF'}",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-io-capacity=4000",
            "--skip-log-bin",
            "--skip-stack-trace",
            "--loose-mysqlx=OFF",
            f"--loose-innodb-page-io-fast-path={options.fast_path}",
            *options.mysqld,
        ],
        {"LD_PRELOAD": str(library), "FAIL_CALLS": str(flag)},
    )
    server.initialize()
    server.start()
    try:
        prepare(server)
        if "full" in faults:
            for number in range(options.rounds):
                full_disk(server, kill=number % 2 == 1)
        if complaints := server.complaints():
            raise Failure("in its log:\n" + "\n".join(complaints[:20]))
        for call in ("write", "sync"):
            for _ in range(options.rounds if call in faults else 0):
                failing_disk(server, fault, call)
        if "submit" in faults:
            no_submit(server, fault)
        if "threads" in faults:
            server.kill()
            no_threads(server, fault)
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
    parser.add_argument(
        "--faults", default=",".join(FAULTS), help=f"what fails ({','.join(FAULTS)})"
    )
    parser.add_argument("--fast-path", default="ON", choices=["ON", "OFF"])
    parser.add_argument("--mysqld", action="append", default=[], help="one more option of mysqld")
    options = parser.parse_args()
    # So that what was mounted and started does not stay.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stress-disk: ended by SIGTERM"))
    wanted = options.faults.split(",")
    if unknown := set(wanted) - set(FAULTS):
        parser.error(f"--faults: {', '.join(sorted(unknown))} is none of {', '.join(FAULTS)}")
    # io_submit() is called by a server with native AIO only.
    for faults in ([f for f in wanted if f != "submit"], [f for f in wanted if f == "submit"]):
        if not faults:
            continue
        with tempfile.TemporaryDirectory(prefix="stress-disk.") as work:
            home = Path(work) / "server"
            home.mkdir()
            try:
                with small_file_system(home / "data"):
                    run(options, faults, home, Path(work))
            except Failure as failure:
                print(f"stress-disk: FAILED: {failure}", file=sys.stderr)
                return 1
    print("stress-disk: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
