# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""One recovery: a server starts, is checked, writes, stops, and its pages are checked.

Defects of stock's that are known are told from others; see docs/design/power_cuts.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pymysql
from check import Findings, check
from ledger import Promised
from load import Setting
from power_server import PowerServer, stress

#: A source and a line, as an assertion names them.
SOURCE = re.compile(r"([\w-]+\.(?:cc|h|ic)):\d+")
OURS = {
    path.name
    for folder in ("storage", "sql", "plugin", "vio")
    for path in (stress.ROOT / folder).rglob("*")
}

#: A page that was written before its redo log. The server goes on.
FUTURE = re.compile(r"is in the future!")

#: What a server says that had no redo log when it ended.
REDO_OFF = "Server was killed when InnoDB redo logging was disabled"


def recover(
    server: PowerServer, promised: Promised, setting: Setting, *, all_pages: bool
) -> tuple[Findings, float]:
    """Starts, checks, writes, stops, and checks the pages."""
    found = Findings()
    recovery = 0.0
    try:
        try:
            recovery = start(server, found)
        except stress.Failure as failure:
            errors = errors_of(server)
            kind = "no start"
            if may_refuse(promised, setting) and any(REDO_OFF in error for error in errors):
                kind = "known: redo log disabled"
            elif server.is_stock and trx_sys_is_torn(server, errors):
                kind = "known: page of TRX_SYS"
            elif server.is_stock and first_page_is_torn(server, errors):
                kind = "known: first page"
            elif server.is_stock and any("check if keyring is loaded" in error for error in errors):
                kind = "known: keyring"
            found.add(kind, reason(errors[:3], failure))
            return found, recovery
        try:
            with server.connect(None) as connection:
                check(connection, server.data, promised, setting, found)
                with connection.cursor() as cursor:
                    cursor.execute("CREATE TABLE pc.afterwards (id INT PRIMARY KEY, v INT)")
                    cursor.execute("INSERT INTO pc.afterwards VALUES (1, 1)")
                    cursor.execute("DROP TABLE pc.afterwards")
        except pymysql.Error as error:
            kind = "crash" if error.args and error.args[0] in stress.GONE else "refused"
            if server.is_stock and "master key from keyring" in str(error):
                kind = "known: keyring"
            found.add(kind, f"{error}")
        stop(server, found, all_pages=all_pages)
        if all_pages and not found.problems:
            start_again(server, promised, setting, found)
        add_complaints(server, found)
    finally:
        server.end()
    return found, recovery


def start_again(server: PowerServer, promised: Promised, setting: Setting, found: Findings) -> None:
    """After a clean stop: what a recovery leaves must not be refused, or lost, by the next start."""
    later = Findings()
    try:
        start(server, later)
        with server.connect(None) as connection:
            check(connection, server.data, promised, setting, later)
        stop(server, later, all_pages=False)
    except (stress.Failure, pymysql.Error) as error:
        later.add("no start", str(error).partition("\n")[0])
    for kind, text in later.problems:
        found.add(kind, f"in the start after a clean stop: {text}")


def add_complaints(server: PowerServer, found: Findings, before: Iterable[str] = ()) -> None:
    """What a server has said that nobody should see; before: in a log that it had before."""
    said = [*before, *server.complaints()]
    # No settings allow one of ours, whatever pages they may tear.
    ours = [line for line in said if OURS.intersection(SOURCE.findall(line))]
    for line in ours[:2]:
        found.add("assertion", line[:300])
    for line in [line for line in said if line not in ours][:2]:
        found.add("crash", line[:300])
    for line in server.complaints(FUTURE)[:2]:
        found.add("future", line[:300])


def may_refuse(promised: Promised, setting: Setting) -> bool:
    """Without redo log a cut leaves unusable data, and a start says so, unless the server had stopped."""
    return not setting.redo and not promised.stopped


def errors_of(server: PowerServer) -> list[str]:
    if not server.log.exists():
        return []
    with server.log.open(errors="replace") as lines:
        return [line.rstrip() for line in lines if "[ERROR]" in line or "Assertion" in line]


def trx_sys_is_torn(server: PowerServer, errors: list[str]) -> bool:
    """Stock reads that page before it looks into the doublewrite files, see the note."""
    return any("space=0, page number=5]" in error for error in errors) and has_copy(server, 0, 5)


def first_page_is_torn(server: PowerServer, errors: list[str]) -> bool:
    """Upstream looks for its copy if another page of the file says whose it is, see the note."""
    spaces = re.findall(r"Tablespace '(\d+)' mentioned in the redo log is corr", "\n".join(errors))
    return any(has_copy(server, int(space), 0) for space in spaces)


def has_copy(server: PowerServer, space: int, page_number: int) -> bool:
    """Have the doublewrite files a whole copy of a page?"""
    for file in server.data.glob("#ib_*.dblwr"):
        with file.open("rb") as opened:
            while page := opened.read(16384):
                where = int.from_bytes(page[34:38]), int.from_bytes(page[4:8])
                if where == (space, page_number) and page[20:24] == page[-4:]:
                    return True
    return False


def undo_number_is_old(server: PowerServer, error: str) -> bool:
    """Has a start completed a truncation, and not told the dictionary the new number? See the note."""
    told = re.search(r"\(1533, 'Failed to alter: UNDO TABLESPACE (\w+)'\)", error)
    if told is None or not server.is_stock:
        return False
    implicit = re.fullmatch(r"innodb_undo_0*(\d+)", told[1])
    number = implicit[1] if implicit else r"(?:[3-9]|\d\d+)"
    completed = re.compile(rf"Reconstructing undo tablespace number {number}\.")
    logs = server.home.glob("mysqld*.log")
    return any(completed.search(log.read_text(errors="replace")) for log in logs)


def reason(errors: list[str], failure: stress.Failure) -> str:
    """Why a server did not start."""
    return " / ".join(line[28:220] for line in errors) or str(failure).partition("\n")[0]


def start(server: PowerServer, found: Findings) -> float:
    """A debug server that finds a page corrupt can hang; a busy machine takes its time."""
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    try:
        return server.start_within(90 * busy)
    except stress.Failure:
        if not server.gave_up or errors_of(server):
            raise
        if server.was_idle:
            raise stress.Failure(
                f"the start hung: idle when killed after {90 * busy:.0f} s"
            ) from None
        found.notes.append(f"killed after a start of {90 * busy:.0f} s, started again")
        return server.start_within(1800)


def stop(server: PowerServer, found: Findings, *, all_pages: bool) -> None:
    """Stops a server, which may have ended by itself, and checks the pages."""
    which = "the shutdown" if server.running else "it had"
    with contextlib.suppress(subprocess.TimeoutExpired):
        if (status := server.stop()) != 0:
            found.add("crash", f"{which} ended with {status}")
    if server.running:
        found.add("crash", "does not stop")
    # What is known or allowed does not hide a page that is wrong.
    elif all(kind != "crash" for kind, _ in found.problems):
        check_pages(server, found, all_pages=all_pages)


def check_pages(server: PowerServer, found: Findings, *, all_pages: bool) -> None:
    """Those of tables, and of the large tablespaces of the server if all_pages."""
    innochecksum = server.objects / "runtime_output_directory" / "innochecksum"
    files = [*server.data.glob("pc/*.ibd"), *server.data.glob("pcddl/*.ibd")]
    if all_pages:
        files += [
            *server.data.glob("undo_*"),
            *server.data.glob("*.ib[du]"),
            server.data / "ibdata1",
        ]
    for file in files:
        if file.stat().st_size == 0 or encrypted(file):
            continue
        done = subprocess.run([innochecksum, file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            found.add("pages", f"innochecksum {file.name}: {(done.stderr or done.stdout)[:200]}")


def encrypted(file: Path) -> bool:
    """Is the tablespace? innochecksum has no keys."""
    with file.open("rb") as opened:
        opened.seek(54)
        return bool(int.from_bytes(opened.read(4), "big") & (1 << 13))
