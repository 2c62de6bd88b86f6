# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Is what a server has recovered what its clients had been told? Rows, tables, logs and files."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import pymysql
from ledger import (
    CLIENTS,
    LOGGED,
    PAD,
    TABLES,
    WIDE,
    WIDE_ROWS,
    Promised,
    State,
    Tables,
    after,
    definition,
    index_after,
    wide_rows,
)
from load import CREATE_UNDO, Setting

PATIENCE = 300  #: seconds that a server may go on removing files
STEPS_AHEAD = 1  #: what a client may have had committed beyond what it was told


@dataclass
class Findings:
    """What was found; problems as pairs of kind and text."""

    problems: list[tuple[str, str]] = field(default_factory=list)
    lost: int = 0  #: acknowledged transactions and statements that are not there
    kept: int = 0
    notes: list[str] = field(default_factory=list)  #: what is no problem, but should be seen
    numbers: dict[int, int] = field(default_factory=dict)  #: the last of each client
    tables: int = 0
    logged: int = 0  #: the newest acknowledged change of tables that the binary log must have
    indexes: set[str] = field(default_factory=set)  #: secondary ones of the table of WIDE

    def begun(self, promised: Promised) -> Promised:
        """What clients go on from: all that is there, acknowledged or not."""
        built = promised.index
        if self.indexes != index_after(built):
            built += STEPS_AHEAD
        return replace(promised, rows=dict(self.numbers), tables=self.tables, index=built)

    @property
    def detail(self) -> str:
        return " | ".join([*(f"{kind}: {text}" for kind, text in self.problems), *self.notes])

    def add(self, kind: str, text: str) -> None:
        self.problems.append((kind, text))


def check(
    connection: pymysql.Connection,
    data: Path,
    promised: Promised,
    setting: Setting,
    found: Findings,
) -> None:
    """All that can be asked with SQL, and the files on disk. An error leaves what was found."""
    with connection.cursor() as cursor:
        found.numbers = numbers = _check_rows(cursor, promised, found)
        if setting.wide:
            _check_wide(cursor, numbers, promised, found)
        if setting.ddl:
            found.tables = _check_tables(cursor, promised, setting, found)
        if setting.binlog:
            _check_binlog(cursor, numbers, found.tables, promised, found)
            _check_logs(cursor, data, found)
        _check_undo(cursor, promised, found)
        _check_files(cursor, data, promised, found)


def _check_rows(
    cursor: pymysql.cursors.Cursor, promised: Promised, found: Findings
) -> dict[int, int]:
    cursor.execute("CHECK TABLE pc.ledger, " + ", ".join(f"pc.{t}" for t in TABLES))
    for table, _, kind, text in cursor.fetchall():
        if (kind, text) != ("status", "OK"):
            found.add("corrupt", f"CHECK TABLE {table}: {kind} {text}")
    cursor.execute("SELECT c, n FROM pc.ledger")
    numbers: dict[int, int] = dict(cursor.fetchall())
    rows: dict[int, State] = {client: {} for client in range(1, CLIENTS + 1)}
    for table in TABLES:
        pad = PAD.format(v="v", id="id")
        cursor.execute(
            f"SELECT id, c, v, s = v * 7919 % 1000 AND pad = {pad} AND c = id DIV 1000 FROM pc.{table} "
            "FORCE INDEX (PRIMARY)"
        )
        for key, client, value, good in cursor.fetchall():
            if not good:
                found.add("half", f"row {key} of {table} is not what any transaction wrote")
            rows.setdefault(client, {})[table, key] = value
        cursor.execute(f"SELECT id, s FROM pc.{table} FORCE INDEX (s) WHERE s >= 0")
        by_index = {(table, key): s for key, s in cursor.fetchall()}
        by_key = {
            key: value * 7919 % 1000
            for state in rows.values()
            for key, value in state.items()
            if key[0] == table
        }
        if by_index != by_key:
            found.add("corrupt", f"index s of {table} differs from its rows")
    for client in range(1, CLIENTS + 1):
        number = _check_number(client, numbers, promised, found)
        if number is None:
            continue
        want = after(client, number)
        if rows[client] != want:
            differing = sorted(
                key
                for key in rows[client].keys() | want.keys()
                if rows[client].get(key) != want.get(key)
            )
            key = differing[0]
            found.add(
                "half",
                f"client {client} after {number}: {len(differing)} rows differ, {key} has "
                f"{rows[client].get(key)} and not {want.get(key)}",
            )
    return numbers


def _check_number(
    client: int, numbers: dict[int, int], promised: Promised, found: Findings
) -> int | None:
    """The last transaction of a client, and whether it may be that one."""
    told = promised.rows.get(client, 0)
    number = numbers.get(client)
    if number is None:
        found.add("half", f"client {client} is not in the ledger")
        return None
    found.kept += number
    if number < told:
        found.lost += told - number
        found.add("lost", f"client {client}: acknowledged {told}, there {number}")
    if number > told + STEPS_AHEAD:
        found.add("half", f"client {client}: never sent {number}, only {told + 1}")
    return number


def _check_wide(
    cursor: pymysql.cursors.Cursor, numbers: dict[int, int], promised: Promised, found: Findings
) -> None:
    cursor.execute("CHECK TABLE pc.wide")
    for table, _, kind, text in cursor.fetchall():
        if (kind, text) != ("status", "OK"):
            found.add("corrupt", f"CHECK TABLE {table}: {kind} {text}")
    last = _check_number(WIDE, numbers, promised, found)
    if last is None:
        return
    cursor.execute(
        "SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'pc' AND "
        "TABLE_NAME = 'wide' AND INDEX_NAME <> 'PRIMARY'"
    )
    found.indexes = indexes = {row[0] for row in cursor.fetchall()}
    if indexes in (index_after(promised.index), index_after(promised.index + STEPS_AHEAD)):
        found.kept += promised.index
    else:
        found.lost += 1
        found.add("lost", f"index: acknowledged {promised.index}, there {indexes}")
    want = {row: number for number in range(1, last + 1) for row in wide_rows(number)}
    cursor.execute(f"SELECT id, v, pad = {PAD.format(v='v', id='id')} FROM pc.wide")
    there = cursor.fetchall()
    wrong = [key for key, v, good in there if not good or v != want.get(key, 0)]
    if wrong or len(there) != WIDE_ROWS:
        found.add(
            "half",
            f"client {WIDE} after {last}: {len(there)} rows, {len(wrong)} wrong: {wrong[:3]}",
        )
    by_key = {key: v for key, v, _ in there}
    for index in indexes:
        cursor.execute(f"SELECT id, v FROM pc.wide FORCE INDEX ({index}) WHERE v >= 0")
        if dict(cursor.fetchall()) != by_key:
            found.add("corrupt", f"index {index} of wide differs from its rows")


def _check_tables(
    cursor: pymysql.cursors.Cursor, promised: Promised, setting: Setting, found: Findings
) -> int:
    cursor.execute(
        "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS "
        "WHERE TABLE_SCHEMA = 'pcddl' ORDER BY TABLE_NAME, ORDINAL_POSITION"
    )
    there: dict[str, list[str]] = {}
    for name, column in cursor.fetchall():
        there.setdefault(name, []).append(column)
    indexes: dict[str, set[str]] = {}
    cursor.execute(
        "SELECT TABLE_NAME, INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'pcddl'"
    )
    for name, index in cursor.fetchall():
        indexes.setdefault(name, set()).add(index)
    counts: dict[str, int] = {}
    for name, columns in there.items():
        cursor.execute(f"CHECK TABLE pcddl.{name}")
        for _, _, kind, text in cursor.fetchall():
            if (kind, text) != ("status", "OK"):
                found.add("corrupt", f"CHECK TABLE pcddl.{name}: {kind} {text}")
        # A column that was added has its number as its default.
        right = " AND ".join(
            ["v = id % 7", *(f"{c} = {c[1:]}" for c in columns if re.fullmatch(r"c\d+", c))]
        )
        cursor.execute(f"SELECT COUNT(*), COALESCE(SUM({right}), 0) FROM pcddl.{name}")
        count, good = cursor.fetchall()[0]
        if count != good:
            found.add("half", f"pcddl.{name}: {count - good} wrong rows")
        counts[name] = count
    cursor.execute(
        "SELECT NAME FROM information_schema.INNODB_TABLESPACES WHERE NAME LIKE 'pcddl/%' AND ENCRYPTION = 'Y'"
    )
    encrypted = {row[0].partition("/")[2] for row in cursor.fetchall()}
    # Which statement was the last? Several may leave the same tables.
    tables: Tables = {}
    matching = [0] if _same(tables, there, indexes, counts, encrypted) else []
    for number in range(1, promised.tables + 1 + STEPS_AHEAD):
        statement = definition(tables, number, encryption=setting.encryption)
        if promised.tables_before < number <= promised.tables and statement.startswith(LOGGED):
            found.logged = number
        if number > promised.tables - 60 and _same(tables, there, indexes, counts, encrypted):
            matching.append(number)
    if not matching:
        found.add("half", f"tables are not those after any statement up to {promised.tables + 1}")
        return -1
    number = matching[-1]
    if number < promised.tables:
        found.lost += promised.tables - number
        found.add("lost", f"tables: acknowledged {promised.tables}, there {number}")
    found.kept += number
    return number


def _same(
    tables: Tables,
    there: dict[str, list[str]],
    indexes: dict[str, set[str]],
    counts: dict[str, int],
    encrypted: set[str],
) -> bool:
    if tables.keys() != there.keys():
        return False
    return all(
        table.columns == there[name]
        and set(table.indexes) == indexes.get(name, set())
        and table.rows == counts[name]
        and table.encrypted == (name in encrypted)
        for name, table in tables.items()
    )


SEQUENCE = re.compile(r"/\* ([RDI]) (\d+)(?: (\d+))? \*/")
GTID = re.compile(r"GTID_NEXT= '([0-9a-f-]+):(\d+)'")
FIRST_LOG = "binlog.000001"
#: Undo tablespaces have a number, and one of its space IDs after another (undo::id2num()).
MAX_UNDO_SPACE_ID = 0xFFFFFFEF
UNDO_NUMBERS = 127


def _check_binlog(
    cursor: pymysql.cursors.Cursor,
    numbers: dict[int, int],
    tables: int,
    promised: Promised,
    found: Findings,
) -> None:
    cursor.execute("SHOW BINARY LOGS")
    logs = [row[0] for row in cursor.fetchall()]
    if promised.purged_to and (not logs or logs[0] < promised.purged_to):
        found.add("purge", f"purged to {promised.purged_to}, but {logs[:1]} is there")
    wanted = max(FIRST_LOG, promised.purging_to, promised.purged_to)
    if logs and logs[0] > wanted:
        found.add("purge", f"no purge beyond {wanted} was asked for, but {logs[0]} is the first")
    seen: dict[str, list[int]] = {}
    headless: set[str] = set()
    gtids: list[tuple[str, int]] = []
    for log in logs:
        try:
            cursor.execute(f"SHOW BINLOG EVENTS IN '{log}'")
        except pymysql.Error as error:
            found.add("binlog", f"{log}: {error}")
            continue
        events = cursor.fetchall()
        own: set[tuple[str, int]] = set()  # of one transaction
        if all(row[2] != "Previous_gtids" for row in events):
            headless.add(log)
        for row in events:
            info = row[5]
            gtid = GTID.search(info)
            if gtid:
                gtids.append((gtid.group(1), int(gtid.group(2))))
                own.clear()
                continue
            mark = SEQUENCE.search(info)
            if mark:
                kind, first, second = mark.groups()
                key = f"R {first}" if kind == "R" else kind
                number = int(second if kind == "R" else first)
                # A statement is there as a comment of its rows, too.
                if (key, number) not in own:
                    own.add((key, number))
                    seen.setdefault(key, []).append(number)
    last = {f"R {client}": number for client, number in numbers.items()}
    for key, there in seen.items():
        # The server writes DROP TABLE in words of its own, without the comment.
        gapless = sorted(set(there)) if key == "D" else range(there[0], there[0] + len(there))
        if there != list(gapless):
            found.add("binlog", f"transactions of {key} are not in order without gaps: {there}")
        if key[0] == "R" and there[-1] != last.get(key):
            found.add("binlog", f"{key}: the log ends with {there[-1]}, the engine {last.get(key)}")
    # What the engine has does not always tell: many statements leave the tables as they were.
    if "D" in seen and seen["D"][-1] < found.logged:
        found.add(
            "binlog", f"tables: acknowledged {found.logged}, the log ends with {seen['D'][-1]}"
        )
    built = seen.get("I", [0])[-1]
    if built < promised.index or index_after(built) != found.indexes:
        found.add(
            "binlog",
            f"index: acknowledged {promised.index}, the log ends with {built}, there {found.indexes}",
        )
    if tables >= 0 and "D" in seen and seen["D"][-1] > tables + 1:
        found.add("binlog", f"tables: the log ends with {seen['D'][-1]}, the engine {tables}")
    cursor.execute(
        "SELECT @@GLOBAL.gtid_mode, @@GLOBAL.gtid_executed, @@GLOBAL.gtid_purged, @@version"
    )
    mode, executed, purged, version = cursor.fetchall()[0]
    if mode != "ON":
        return
    executed, purged = executed.replace("\n", ""), purged.replace("\n", "")
    ranges = re.fullmatch(r"[0-9a-f-]+:1(?:-(\d+))?", executed)
    if ranges is None:
        found.add("gtid", f"gtid_executed has gaps: {executed}")
        return
    end = int(ranges.group(1) or 1)
    start = int(re.split("[:-]", purged)[-1]) if purged else 0
    want = list(range(start + 1, end + 1))
    if [number for _, number in gtids] != want:
        there_ = [number for _, number in gtids]
        # The log that was the newest when the power failed.
        newest = logs[-2] if len(logs) > 1 else ""
        stock = "sluice" not in version
        found.add(
            "known: gtid_purged" if stock and newest in headless and start == end else "gtid",
            f"executed to {end}, purged to {start}, but the logs have "
            f"{there_[:1]}..{there_[-1:]}, {len(there_)} of {len(want)}",
        )


def _check_undo(cursor: pymysql.cursors.Cursor, promised: Promised, found: Findings) -> None:
    cursor.execute("SELECT 1 FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'pc_undo'")
    if promised.undo and not cursor.fetchall():
        found.lost += 1
        found.add("lost", "the undo tablespace: acknowledged, not there")


def _check_logs(cursor: pymysql.cursors.Cursor, data: Path, found: Findings) -> None:
    # A purge goes on in the background.
    limit = time.monotonic() + PATIENCE
    while True:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Binlog_purge_files_pending'")
        rows = cursor.fetchall()
        # The list goes after its last file.
        busy = rows and (int(rows[0][1]) or (data / "binlog.~purge~").exists())
        if not busy or time.monotonic() > limit:
            break
        time.sleep(0.05)
    cursor.execute("SHOW BINARY LOGS")
    listed = {row[0] for row in cursor.fetchall()}
    there = {
        file.name
        for file in data.iterdir()
        if re.fullmatch(r"binlog\.\d+|#purged_.*|binlog\.~.*|.*\.~rec~", file.name)
    }
    if listed - there:
        found.add("files", f"in the index, not on disk: {sorted(listed - there)[:3]}")
    if there - listed:
        found.add("stray", f"on disk, not in the index: {sorted(there - listed)[:3]}")


def _check_files(
    cursor: pymysql.cursors.Cursor, data: Path, promised: Promised, found: Findings
) -> None:
    for file in _remains(cursor, data, time.monotonic() + PATIENCE):
        found.add("stray", f"{file.name} of {file.stat().st_size} bytes is left")
    cursor.execute("SELECT FILE_NAME FROM information_schema.FILES WHERE FILE_NAME IS NOT NULL")
    known = {Path(row[0]).name for row in cursor.fetchall() if row[0]}
    for file in [*data.glob("pc/*"), *data.glob("pcddl/*"), *data.glob("*.ib[ud]")]:
        if file.name not in known:
            size = file.stat().st_size
            kind, more = "stray", ""
            # Upstream leaves the file of a statement that was not acknowledged.
            if file.name == "pc_undo.ibu" and not promised.undo:
                kind = "known: undo file"
                try:
                    cursor.execute(CREATE_UNDO)
                except pymysql.Error as error:
                    more = f"; to create it again fails: {error}"
                    file.unlink()
            found.add(
                kind, f"{file.relative_to(data)} of {size} bytes belongs to no tablespace{more}"
            )


def _remains(cursor: pymysql.cursors.Cursor, data: Path, limit: float) -> list[Path]:
    """Files of a change that a start has to end, and did not.

    A truncation that begins after the start has its log, too, but ends. The log of a CREATE UNDO TABLESPACE
    that was lost belongs to no tablespace: it stays, as upstream's does, until its number is used again.
    """
    cursor.execute(
        "SELECT SPACE FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE = 'Undo'"
    )
    logs = {
        f"undo_{(MAX_UNDO_SPACE_ID - int(row[0])) % UNDO_NUMBERS + 1}_trunc.log"
        for row in cursor.fetchall()
    }
    left = {
        *(file for file in data.rglob("undo_*_trunc.log") if file.name in logs),
        *data.parent.glob("keyring.*"),
    }
    while left := {file for file in left if file.exists()}:
        if time.monotonic() > limit:
            break
        time.sleep(0.05)
    return sorted(left)
