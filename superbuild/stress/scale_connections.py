# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""10 000 connections.

All wait for one table, as an ALTER TABLE or a transaction is in the way. Each must
get error 1205 that names who it is, in time. Twice, to see whether memory comes back.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import resource
import selectors
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pymysql
from pymysql.constants import COMMAND
from scale_beside import Beside
from scale_part import Part, Row
from scale_server import memory, processor_seconds, status, value, values, wait
from server import Failure

LOCK_WAIT_TIMEOUT = 1205
#: Descriptors that are neither a table nor a connection.
SPARE_FILES = 1000
#: An answer later than this after its timeout is a failure, in seconds.
LATE = 300
#: And so is one that takes so many times as long with details as without, and some seconds more.
SLOWER = 3
SLOWER_SECONDS = 5


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
