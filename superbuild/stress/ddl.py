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
many or too few, a lost transaction, CHECK TABLE that finds something, a crash that
was not asked for, a session that hangs, an error nobody expected, a report of a
sanitizer.

A failure keeps the data directory, says where, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import collections
import functools
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import tsan_reports
from ddl_observer import Observer
from ddl_sessions import HANGS, Stress
from ddl_statements import Ddl
from server import Failure, Server

FAST_READS = "Innodb_page_io_fast_path_reads"
WRITERS = 6
READERS = 2


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
    ddl = [Ddl(server, number) for number in range(4)]
    threads = [
        threading.Thread(target=stress.session, args=(f"{kind} {number}", step))
        for kind, count, make in (
            ("writer", WRITERS, lambda number: functools.partial(stress.write, number)),
            ("reader", READERS, lambda _: stress.read),
            ("ddl", len(ddl), ddl.__getitem__),
            ("observer", 2, Observer),
        )
        for number in range(count)
        for step in [make(number)]
    ]
    for thread in threads:
        thread.start()

    end = time.monotonic() + 60 * options.minutes
    kills = checks = 0
    counters: collections.Counter[str] = collections.Counter()
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
                    for one in ddl:
                        one.remove_copy()
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
        thread.join(timeout=HANGS)
        if thread.is_alive():
            stress.fail(Failure("a session does not end: the server may hang"))

    try:
        if stress.failure is None:
            counters.update(fast_path_counters(server))
            stress.verify(thorough=True)
            if (status := server.stop()) != 0:
                raise Failure(f"the shutdown ended with {status}:\n{server.last_words()}")
    except Exception as error:  # noqa: BLE001 - no server is left
        stress.fail(error)
    if server.running:
        server.kill()
    for kind, number in sorted(stress.done.items()):
        print(f"{number:10d} {kind}")
    for name, value in sorted(counters.items()):
        print(f"{value:10d} {name}")
    print(f"stress: {checks} checks of all rows, {kills} kills")
    if stress.failure is None and options.fast_path == "ON" and not counters[FAST_READS]:
        stress.failure = Failure("no read took the fast path")
    if stress.failure is None and (complaints := server.complaints()):
        stress.failure = Failure("in its log:\n" + "\n".join(complaints[:20]))
    # Before it raises: what was seen until then may say why.
    if options.preset == "tsan":
        ours = tsan_reports.main(server.objects, [server.log])
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
