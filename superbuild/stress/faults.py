#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""System calls of a purge of binary logs that fail: what the user sees, what is lost.

strace lets one call fail on the files of a purge, in a server of any build, while logs
are purged. The purge may say what it likes; commits and rotations must go on. When
the call works again nothing may be left: the index names the files on disk and
no others, gtid_executed has each transaction, all rows are there, in some cases after kill -9, too.
Ends with a table, and with status 1 if something was lost or a call was not made.

Faults that the debug keywords binlog_purge_<call>_<error> make are tested by
mysql-test/suite/binlog_purge_crash; here are the others.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pymysql
from server import Failure, Server

LOGS = 4  #: purged in each case
LIST = "binlog.~purge~"
#: What is told in the log of errors; the path differs.
TOLD = re.compile(r"\[(?:ERROR|Warning)\].*?\[Server\] (.*)")


@dataclass(frozen=True)
class Case:
    call: str  #: a name of strace's, or several
    inject: str  #: what strace does to it
    of: str  #: list, new list, log, shrinking, folder
    means: str
    kill: bool = False  #: and kill -9 after it
    ends: bool = False  #: the server, by itself, as upstream does if the index cannot be replaced


CASES = [
    Case("openat", "error=EACCES", "list", "the list cannot be opened"),
    Case("openat", "error=ENOSPC", "list", "the list cannot be made", kill=True),
    Case("openat", "error=EMFILE", "list", "no descriptor is left"),
    Case("pwrite64", "retval=7:when=1", "list", "a short write", kill=True),
    Case(
        "fsync,fdatasync",
        "error=EIO:when=1",
        "folder",
        "the name of the list is not on disk",
        kill=True,
    ),
    Case(
        "fsync,fdatasync",
        "error=EIO:when=2",
        "folder",
        "the name of the new index is not on disk",
        ends=True,
    ),
    Case("fsync,fdatasync", "delay_enter=3000000:when=1", "list", "a sync that takes 3 s"),
    Case("close", "error=EIO:when=1", "list", "an error that comes with close"),
    Case("unlink", "error=EIO", "list", "the empty list cannot be removed", kill=True),
    Case("newfstatat,lstat,stat,statx", "error=EIO", "log", "a log cannot be looked at"),
    Case("openat", "error=EACCES", "shrinking", "a log cannot be opened to be shrunk"),
    Case("openat", "error=EMFILE", "shrinking", "no descriptor is left"),
    Case("fcntl", "error=EAGAIN", "shrinking", "no lease: somebody has it open"),
    Case("fcntl", "error=EINVAL", "shrinking", "a file system without leases"),
    Case("ftruncate", "delay_enter=3000000:when=1", "shrinking", "a truncation that takes 3 s"),
    Case("unlink", "error=EPERM", "shrinking", "a file that is immutable", kill=True),
    Case("unlink", "error=EBUSY", "shrinking", "a file that is in use"),
    Case("unlink", "delay_enter=3000000:when=1", "shrinking", "an unlink that takes 3 s"),
    Case(
        "fsync,fdatasync",
        "error=EIO:when=1",
        "new index",
        "the new index is not on disk",
        kill=True,
    ),
]


class Faults:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._number = 0
        self._log_seen = 0

    def _sql(self, statement: str) -> list[tuple[object, ...]]:
        with self._server.connect(None) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _status(self, name: str) -> int:
        return int(str(self._sql(f"SHOW GLOBAL STATUS LIKE 'Binlog_purge_{name}'")[0][1]))

    def _write(self, count: int) -> None:
        with self._server.connect("stress") as connection, connection.cursor() as cursor:
            for _ in range(count):
                self._number += 1
                cursor.execute(f"INSERT INTO t VALUES ({self._number}, REPEAT('x', 60000))")

    def _logs(self) -> list[str]:
        return [str(row[0]) for row in self._sql("SHOW BINARY LOGS")]

    def run(self, case: Case) -> dict[str, str]:
        for _ in range(LOGS):
            self._write(1)
            self._sql("FLUSH BINARY LOGS")
        logs = self._logs()
        data = self._server.data
        names = {
            "list": [LIST],
            "log": logs[:-1],
            "shrinking": [f"#purged_{log}" for log in logs[:-1]],
            "folder": [""],
            "new index": ["binlog.index_crash_safe"],
        }[case.of]
        errors = self._status("errors")
        self._told()
        trace = Trace(self._server, case, [data / name for name in names])
        try:
            began = time.monotonic()
            try:
                with self._server.connect(None) as connection, connection.cursor() as cursor:
                    cursor.execute(f"PURGE BINARY LOGS TO '{logs[-1]}'")
                    cursor.execute("SHOW WARNINGS")
                    says = "; ".join(str(row[2]) for row in cursor.fetchall()) or "nothing"
            except pymysql.Error as error:
                says = f"error {error.args[0]}"
            took = time.monotonic() - began
            counted = 0  # by a server that has ended
            if not case.ends:
                self._commits_and_rotations_go_on(trace, errors)
                counted = self._status("errors") - errors
            if case.kill:  # while the fault is there
                self._server.kill()
        finally:
            trace.end()
        if trace.injected() == 0:
            raise Failure(f"{case.call} of the {case.of} was not called: {trace.output()}")
        if case.ends:
            self._starts_again()
        told = self._told()
        if case.kill:
            self._server.start()
            self._told()
            self._all_is_there(" after kill -9")
        if logs[-1] not in self._logs():
            raise Failure(f"{logs[-1]} is gone, to which the logs were to be purged")
        # An error of the statement may have left logs in the index: purged now.
        self._sql(f"PURGE BINARY LOGS TO '{self._logs()[-1]}'")
        self._all_is_there("")
        return {
            "call": f"`{case.call.split(',')[0]}` of {case.of}",
            "fault": case.inject.split(":")[0],
            "means": case.means,
            "statement": f"{says}, {took:.1f} s",
            "counted": str(counted),
            "log": told,
            "lost": "nothing",
        }

    def _commits_and_rotations_go_on(self, trace: Trace, errors: int) -> None:
        self._write(1)
        self._sql("FLUSH BINARY LOGS")
        limit = time.monotonic() + 60
        while trace.injected() == 0 or (
            self._status("files_pending") > 0 and self._status("errors") == errors
        ):
            if time.monotonic() > limit:
                break
            time.sleep(0.1)

    def _starts_again(self) -> None:
        limit = time.monotonic() + 60
        while self._server.running:
            if time.monotonic() > limit:
                raise Failure("the fault has not ended the server")
            time.sleep(0.1)
        self._server.start()

    def _told(self) -> str:
        """What the log of errors says since the last time; without paths."""
        text = self._server.log.read_text(errors="replace")
        new, self._log_seen = text[self._log_seen :], len(text)
        lines = dict.fromkeys(
            re.sub(r"'[^']*'", "'...'", match.group(1)) for match in TOLD.finditer(new)
        )
        return "; ".join(lines) or "nothing"

    def _all_is_there(self, when: str) -> None:
        limit = time.monotonic() + 180
        while True:
            listed = set(self._logs())
            on_disk = {
                path.name
                for path in self._server.data.iterdir()
                if re.fullmatch(r"binlog\.\d+|#purged_.*|binlog\.~.*|.*_crash_safe", path.name)
            }
            if listed == on_disk and self._status("files_pending") == 0:
                break
            if time.monotonic() > limit:
                raise Failure(f"left{when}: {on_disk - listed}, missing: {listed - on_disk}")
            time.sleep(0.2)
        rows = self._sql("SELECT COUNT(*), MAX(id) FROM stress.t")
        if rows != [(self._number, self._number)]:
            raise Failure(f"rows{when}: {rows}, and not {self._number}")
        executed = str(self._sql("SELECT @@GLOBAL.gtid_executed")[0][0])
        last = self._number + 2  # CREATE DATABASE, CREATE TABLE
        if not executed.endswith(f":1-{last}"):
            raise Failure(f"gtid_executed{when}: {executed}, and not 1-{last}")


class Trace:
    """strace beside a server, until it is ended."""

    def __init__(self, server: Server, case: Case, paths: list[Path]) -> None:
        self._file = server.home / "trace"
        command = ["strace", "-f", "-p", str(server.process_id), "-o", str(self._file)]
        command += ["-e", f"trace={','.join('?' + call for call in case.call.split(','))}"]
        command += [
            "-e",
            f"inject={','.join('?' + call for call in case.call.split(','))}:{case.inject}",
        ]
        for path in paths:
            command += ["-P", str(path), "-P", f"./{path.name}"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "attached" in line:
                break
        else:
            raise Failure("strace cannot attach; may this user trace?")

    def output(self) -> str:
        return self._file.read_text(errors="replace")[-500:] if self._file.exists() else ""

    def injected(self) -> int:
        return len(re.findall(r"\((?:INJECTED|DELAYED)", self._file.read_text(errors="replace")))

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.communicate(timeout=10)
        except subprocess.TimeoutExpired:  # it waits for a thread of a server that has ended
            self._process.kill()
            self._process.communicate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--only", default="", help="cases whose words contain this")
    arguments = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    options = [
        "--log-bin=binlog",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--server-id=1",
        "--loose-binlog-purge-background=ON",
        "--loose-binlog-purge-chunk-size=16K",
        "--loose-binlog-purge-chunk-interval=0",
        "--innodb-buffer-pool-size=16M",
        "--performance-schema=OFF",
        "--loose-mysqlx=OFF",
    ]
    failed = 0
    rows = []
    server = Server(arguments.preset, home, options)
    try:
        server.initialize()
        server.start()
        with server.connect(None) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE stress")
            cursor.execute("CREATE TABLE stress.t (id INT PRIMARY KEY, pad MEDIUMTEXT)")
        faults = Faults(server)
        for case in CASES:
            if arguments.only not in f"{case.call} {case.of} {case.inject} {case.means}":
                continue
            try:
                rows.append(faults.run(case))
                print(f"passed: {rows[-1]}", flush=True)
            except (Failure, pymysql.Error) as error:
                failed += 1
                print(f"FAILED: {case}: {error}", flush=True)
                if not server.running:
                    print(server.last_words())
                    server.start()
    finally:
        if server.running:
            server.kill()
        shutil.rmtree(home, ignore_errors=True)
    if rows:
        print("\n| " + " | ".join(rows[0]) + " |\n" + "|---" * len(rows[0]) + "|")
        for row in rows:
            print("| " + " | ".join(row.values()) + " |")
    if not rows and not failed:
        print(f"no case has the words '{arguments.only}'")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
