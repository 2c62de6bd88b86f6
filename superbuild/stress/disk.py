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

After each step all rows are checked, and whether each acknowledged transaction is there.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pymysql
from acknowledged import Acknowledged
from server import SANITIZER, Failure, Server, is_gone

MEGABYTES = 320  #: of the small file system
ROWS = 20_000
WRITERS = [f"writer{number}" for number in range(4)]
FILLERS = [f"filler{number}" for number in range(3)]  #: the tables, too
#: Bytes given back when a server is killed on a full disk: a start makes files.
BALLAST = 48 << 20

#: The table is full, the disk is full.
NO_SPACE = {1114, 1021}
#: Lock wait timeout, deadlock: another session has won.
LOST = {1205, 1213}
#: How long a load is waited for.
PATIENCE = 300
#: Answers that each session gets on a full disk.
ANSWERS = 200
#: io_submit() fails for so long.
SUBMIT_SECONDS = 3
FAULTS = ("full", "write", "sync", "threads", "submit")
CHECKSUM = "CRC32(CONCAT(id, ':', v, ':', pad))"
BLOB = "REPEAT('f', 30000)"


Step = Callable[[pymysql.Connection, str], None]


class Load:
    """Sessions that repeat a step until they are told to end."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failure: Exception | None = None
        self._server_ends = False
        #: Steps of each session: that were done, and that found no space. Both only ever grow.
        self.done: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def start(self, step: Step, sessions: Iterable[str]) -> None:
        for name in sessions:
            self.done[name] = self.refused[name] = 0
            self._threads.append(threading.Thread(target=self._session, args=(step, name)))
            self._threads[-1].start()

    def server_ends(self) -> None:
        """From now on sessions may lose their connections."""
        self._server_ends = True

    def _session(self, step: Step, name: str) -> None:
        connection = None
        try:
            connection = self._server.connect()
            while not self._over.is_set():
                self._try(step, connection, name)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the run
            if not (self._server_ends and is_gone(error, connection)):
                self._failure = error

    def _try(self, step: Step, connection: pymysql.Connection, name: str) -> None:
        try:
            step(connection, name)
            self.done[name] += 1
        except pymysql.Error as error:
            if error.args[0] not in NO_SPACE | LOST:
                raise
            self.refused[name] += error.args[0] in NO_SPACE
            connection.rollback()
            time.sleep(0.01)

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            if self._failure is not None:
                raise Failure(f"while waiting until {what}: {self._failure}")
            if time.monotonic() > end:
                raise Failure(f"{what}: not within {PATIENCE} s: the server may hang")
            time.sleep(0.1)

    def wait_for_answers(self) -> None:
        """Each session gets some: a kill would free one that hangs, and hide it."""

        def answers(name: str) -> int:
            return self.done[name] + self.refused[name]

        until = {name: answers(name) + ANSWERS for name in self.done}
        self.wait(
            "each session gets answers",
            lambda: all(answers(name) >= number for name, number in until.items()),
        )

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
            if thread.is_alive():
                raise Failure("a session does not end: the server may hang")
        if self._failure is not None:
            raise Failure(f"a session has failed: {self._failure}")


def update(acknowledged: Acknowledged, connection: pymysql.Connection, name: str) -> None:
    connection.begin()
    with connection.cursor() as cursor:
        for change in (1, -1):
            cursor.execute(
                f"UPDATE kept SET v = v + %s, pad = REPEAT(%s, 300), h = {CHECKSUM} WHERE id = %s",
                (change, random.choice("abcdef"), random.randint(1, ROWS)),
            )
    acknowledged.commit(connection, name)


def fill(connection: pymysql.Connection, name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {name} (b) VALUES ({BLOB})")


def prepare(server: Server, acknowledged: Acknowledged) -> None:
    with server.connect(database=None) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE stress")
        acknowledged.prepare(cursor)
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


def check(server: Server, acknowledged: Acknowledged) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        acknowledged.check(connection)
        cursor.execute(f"SELECT COUNT(*), SUM(v), SUM(h <> {CHECKSUM}) FROM kept")
        if (found := cursor.fetchone()) != (ROWS, 0, 0):
            raise Failure(f"rows, their sum, wrong ones: {found} instead of ({ROWS}, 0, 0)")
        cursor.execute("CHECK TABLE kept")
        for row in cursor.fetchall():
            if row[2] != "status" or row[3] != "OK":
                raise Failure(f"CHECK TABLE: {row}")


def check_filled(server: Server, table: str, told: int, *, killed: bool) -> None:
    """Has it each row that its session was told is there, and no other?"""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*), COALESCE(SUM(b <> {BLOB}), 0) FROM {table}")
        there, wrong = cursor.fetchone()
    # Before a kill the last one may have had no answer.
    if wrong or not told <= there <= told + killed:
        raise Failure(f"{table}: acknowledged {told} rows, there {there}, {wrong} of them wrong")


def full_disk(server: Server, acknowledged: Acknowledged, *, kill: bool) -> None:
    """Fills the disk, lets the load run on it for a while, and makes space."""
    ballast = server.data / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, BALLAST)
    with server.connect() as connection, connection.cursor() as cursor:
        for table in FILLERS:
            cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
    load = Load(server)
    load.start(functools.partial(update, acknowledged), WRITERS)
    load.start(fill, FILLERS)
    load.wait("the disk is full", lambda: load.refused.total() >= 100)
    # Where the undo log cannot grow, an update is refused; but each has its answer.
    load.wait_for_answers()
    if kill:
        load.server_ends()
        server.kill()
        load.end()
        ballast.unlink()
        seconds = server.start()
        print(f"stress-disk: full, killed, up again after {seconds:.1f} s", flush=True)
    else:
        load.end()
    check(server, acknowledged)
    for table in FILLERS:
        check_filled(server, table, load.done[table], killed=kill)
    with server.connect() as connection, connection.cursor() as cursor:
        for table in FILLERS:
            cursor.execute(f"DROP TABLE {table}")
        # The space must be there again, whoever has used it.
        cursor.execute("CREATE TABLE again (b LONGBLOB)")
        cursor.execute("INSERT INTO again VALUES (REPEAT('x', 20000000))")
        cursor.execute("DROP TABLE again")
    ballast.unlink(missing_ok=True)
    print(
        f"stress-disk: full, rows are right; {load.done.total()} changes,"
        f" {load.refused.total()} refused",
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


def updates(server: Server, acknowledged: Acknowledged) -> Load:
    """A load that changes rows, and runs."""
    load = Load(server)
    load.start(functools.partial(update, acknowledged), WRITERS)
    load.wait("updates run", lambda: load.done.total() >= 1000)
    return load


def failing_disk(server: Server, acknowledged: Acknowledged, fault: Fault, call: str) -> None:
    """Lets all writes or syncs of data files fail until the server has gone, and starts it again."""
    load = updates(server, acknowledged)
    load.server_ends()
    fault.begin(call)
    load.wait("the server gives up", lambda: not server.running)
    if fault.end() == 0:
        raise Failure(f"the server has ended, and no {call} had failed")
    load.end()
    seconds = server.start()
    check(server, acknowledged)
    print(f"stress-disk: {call} failed, up again after {seconds:.1f} s, rows are right", flush=True)


def no_submit(server: Server, acknowledged: Acknowledged, fault: Fault) -> None:
    """Lets io_submit() fail for a while; the server goes on."""
    load = updates(server, acknowledged)
    fault.begin("submit")
    time.sleep(SUBMIT_SECONDS)
    if not server.running:
        raise Failure("the server did not survive")
    if fault.end() == 0:
        raise Failure("io_submit() was not called")
    before = load.done.total()
    load.wait("updates run again", lambda: load.done.total() >= before + 1000)
    load.end()
    check(server, acknowledged)
    print("stress-disk: io_submit failed for a while, rows are right", flush=True)


def no_threads(server: Server, acknowledged: Acknowledged, fault: Fault) -> None:
    """Starts the server with no thread, one, and so on, until it has all that it asks for."""
    started = []
    for most in itertools.count():
        fault.begin(f"thread {most}")
        if server.try_to_start():
            started.append(most)
            server.kill()
        if fault.end() == 0:
            break
    server.start()
    check(server, acknowledged)
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
    acknowledged = Acknowledged()
    server.initialize()
    try:
        server.start()
        prepare(server, acknowledged)
        if "full" in faults:
            for number in range(options.rounds):
                full_disk(server, acknowledged, kill=number % 2 == 1)
        if complaints := server.complaints():
            raise Failure("in its log:\n" + "\n".join(complaints[:20]))
        for call in ("write", "sync"):
            for _ in range(options.rounds if call in faults else 0):
                failing_disk(server, acknowledged, fault, call)
        if "submit" in faults:
            no_submit(server, acknowledged, fault)
        if "threads" in faults:
            server.kill()
            no_threads(server, acknowledged, fault)
        if (status := server.stop()) != 0:
            raise Failure(f"the shutdown ended with {status}:\n{server.last_words()}")
        # A server that cannot write ends itself with an assertion; nothing else is to be seen.
        if complaints := server.complaints(SANITIZER):
            raise Failure("a sanitizer:\n" + "\n".join(complaints[:20]))
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
