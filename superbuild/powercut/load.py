# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Loads whose every acknowledged statement can be told from the rows, and the check.

Each client does a fixed sequence of transactions, given by its number alone, and
marks each one that the server has acknowledged in the log of the recording. So the
rows of a client say which transaction was its last, and all of its rows must be
what they are after that one: no older, nor newer, none half done.
"""

from __future__ import annotations

import contextlib
import random
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

CLIENTS = 4
ROWS = 150  #: of a client in a table, at most
TABLES = ("t0", "t1", "t2", "t3")
STEPS_AHEAD = 1  #: what a client may have had committed beyond what it was told

PAD = "REPEAT(CHAR(97 + {v} % 26), 60 + ({id} * 31 + {v} * 17) % 800)"

CREATE_UNDO = "CREATE UNDO TABLESPACE pc_undo ADD DATAFILE 'pc_undo.ibu'"

#: A purge while somebody has LOCK INSTANCE FOR BACKUP.
BACKUP_LOCK = 4085

#: Errors after which a client does the same again.
AGAIN = {1205, 1213}

#: What clients are told by a server that ends, or is gone.
GONE = {0, 1053, 1317, 2002, 2003, 2006, 2013, 3169}

#: One more client, of a table that is larger than the buffer pool: pages are evicted,
#: and written before they are.
WIDE = 9
WIDE_ROWS = 16000


def is_gone(error: BaseException) -> bool:
    if isinstance(error, pymysql.Error):
        return not error.args or error.args[0] in GONE
    return isinstance(error, OSError)


@dataclass
class Setting:
    """What is loaded; how tables are made."""

    tables: dict[str, str] = field(default_factory=dict)  #: options of CREATE TABLE
    encryption: bool = False
    ddl: bool = True
    undo: bool = True
    purge: bool = True
    wide: bool = True


# Clients that change rows


def transaction(client: int, number: int) -> list[tuple[str, int, str]]:
    """What the number-th transaction of a client touches: table, row, what for."""
    dice = random.Random(f"{client} {number}")
    count = 60 if number % 40 == 0 else dice.randint(1, 5)
    rows = {(dice.choice(TABLES), dice.randrange(ROWS)) for _ in range(count)}
    return [(t, r, dice.choice(("change", "change", "change", "remove"))) for t, r in sorted(rows)]


State = dict[tuple[str, int], int]


def after(client: int, number: int) -> State:
    """The rows of a client after a transaction: the value of each one there is."""
    state: State = {}
    for done in range(1, number + 1):
        step(state, client, done)
    return state


def step(state: State, client: int, number: int) -> None:
    for table, row, what in transaction(client, number):
        key = (table, client * 1000 + row)
        if key in state and what == "remove":
            del state[key]
        else:
            state[key] = number


def statements(state: State, client: int, number: int) -> list[str]:
    made = []
    for table, row, what in transaction(client, number):
        key = client * 1000 + row
        pad = PAD.format(v=number, id=key)
        if (table, key) not in state:
            made.append(
                f"INSERT INTO {table} VALUES ({key}, {client}, {number}, {number * 7919 % 1000}, {pad})"
            )
        elif what == "remove":
            made.append(f"DELETE FROM {table} WHERE id = {key}")
        else:
            made.append(
                f"UPDATE {table} SET v = {number}, s = {number * 7919 % 1000}, pad = {pad} WHERE id = {key}"
            )
    made.append(f"UPDATE /* R {client} {number} */ ledger SET n = {number} WHERE c = {client}")
    return made


def wide_rows(number: int) -> list[int]:
    """What the number-th transaction of the client WIDE changes, on as many pages."""
    dice = random.Random(f"wide {number}")
    return sorted({dice.randrange(WIDE_ROWS) for _ in range(6)})


# The client that changes tables


@dataclass
class Table:
    columns: list[str]
    indexes: list[str]
    rows: int
    partitions: list[str] = field(default_factory=list)

    def copy(self) -> Table:
        return Table(list(self.columns), list(self.indexes), self.rows, list(self.partitions))


Tables = dict[str, Table]


def definition(tables: Tables, number: int, *, encryption: bool) -> str:
    """The number-th statement; changes tables to what there is after it."""
    dice = random.Random(f"tables {number}")
    names = sorted(tables)
    new = f"d{number}"
    comment = f"/* D {number} */"
    if len(names) < 2 or (len(names) < 6 and dice.random() < 0.25):
        parts = dice.random() < 0.25
        tables[new] = Table(["id", "v"], ["PRIMARY"], 0, ["p0", "p1"] if parts else [])
        options = dice.choice(
            ["", " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", " COMPRESSION='zlib'"]
            + ([" ENCRYPTION='Y'"] if encryption else [])
        )
        if parts:
            options = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))"
        return f"CREATE TABLE {comment} {new} (id INT PRIMARY KEY, v INT){options}"
    name = dice.choice(names)
    table = tables[name]
    choices = [
        "column",
        "index",
        "rebuild",
        "copy",
        "rename",
        "truncate",
        "drop",
        "rows",
        "rows",
        "rows",
    ]
    if len(table.columns) > 2:
        choices.append("drop column")
    if len(table.indexes) > 1:
        choices.append("drop index")
    if table.partitions:
        choices += ["partition", "partition"]
    if encryption and not table.partitions:
        choices += ["encrypt", "decrypt"]
    choice = dice.choice(choices)
    if choice == "column":
        table.columns.append(f"c{number}")
        return f"ALTER TABLE {comment} {name} ADD COLUMN c{number} INT DEFAULT {number}"
    if choice == "drop column":
        column = table.columns.pop()
        with contextlib.suppress(ValueError):
            table.indexes.remove(f"i_{column}")
        return f"ALTER TABLE {comment} {name} DROP COLUMN {column}"
    if choice == "index":
        table.indexes.append(f"k{number}")
        return f"ALTER TABLE {comment} {name} ADD INDEX k{number} (v, id)"
    if choice == "drop index":
        return f"ALTER TABLE {comment} {name} DROP INDEX {table.indexes.pop()}"
    if choice == "rebuild":
        return f"ALTER TABLE {comment} {name} FORCE, ALGORITHM=INPLACE"
    if choice == "copy":
        return f"ALTER TABLE {comment} {name} FORCE, ALGORITHM=COPY"
    if choice == "rename":
        tables[new] = tables.pop(name)
        return f"RENAME TABLE {name} TO {new} {comment}"
    if choice == "truncate":
        table.rows = 0
        return f"TRUNCATE TABLE {comment} {name}"
    if choice == "drop":
        del tables[name]
        return f"DROP TABLE {name} {comment}"
    if choice == "partition":
        table.rows = 0
        return f"ALTER TABLE {comment} {name} TRUNCATE PARTITION {', '.join(table.partitions)}"
    if choice in ("encrypt", "decrypt"):
        return f"ALTER TABLE {comment} {name} ENCRYPTION='{'Y' if choice == 'encrypt' else 'N'}'"
    table.rows = 150
    return (
        f"REPLACE {comment} INTO {name} (id, v) WITH RECURSIVE n (id) AS "
        f"(SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 150) SELECT id, id % 7 FROM n"
    )


# Running them


class Load:
    """Clients of a server whose files are recorded."""

    def __init__(
        self,
        connect: Callable[[str | None], pymysql.Connection],
        mark: Callable[[str], None],
        setting: Setting,
        seed: str,
        begun: Promised | None = None,
    ) -> None:
        """begun: what clients have done before, in a server that has it all."""
        self._connect = connect
        self._mark = mark
        self._setting = setting
        self._seed = seed
        self._begun = begun or Promised()
        self._over = threading.Event()
        self._ends = False
        self._threads: list[threading.Thread] = []
        self.errors: list[str] = []
        self.done = 0

    @staticmethod
    def prepare(connection: pymysql.Connection, setting: Setting) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE pc")
            cursor.execute("CREATE TABLE pc.ledger (c INT PRIMARY KEY, n INT NOT NULL)")
            for table in TABLES:
                cursor.execute(
                    f"CREATE TABLE pc.{table} (id INT PRIMARY KEY, c INT NOT NULL, v INT NOT NULL, "
                    "s INT NOT NULL, pad VARCHAR(900) NOT NULL, KEY s (s, pad(20))) "
                    f"STATS_PERSISTENT=0 {setting.tables.get(table, '')}"
                )
            for client in (*range(1, CLIENTS + 1), WIDE):
                cursor.execute(f"INSERT INTO pc.ledger VALUES ({client}, 0)")
            if setting.wide:
                cursor.execute(
                    "CREATE TABLE pc.wide (id INT PRIMARY KEY, v INT NOT NULL, "
                    "pad VARCHAR(900) NOT NULL) STATS_PERSISTENT=0"
                )
                cursor.execute(f"SET SESSION cte_max_recursion_depth = {WIDE_ROWS}")
                cursor.execute(
                    "INSERT INTO pc.wide WITH RECURSIVE n (id) AS (SELECT 0 UNION ALL SELECT id + 1 "
                    f"FROM n WHERE id < {WIDE_ROWS - 1}) SELECT id, 0, {PAD.format(v=0, id='id')} FROM n"
                )
            # Megabytes that each image would have, and each check read.
            cursor.execute("RESET BINARY LOGS AND GTIDS")
            cursor.execute("CREATE DATABASE pcddl")  # at last: there is a GTID

    def run(self, seconds: float, least: int = 0) -> None:
        """For so long, and until so many transactions were acknowledged."""
        self.start()
        self._over.wait(seconds)
        self.wait_for(least)
        self._over.set()
        self.join()

    def wait_for(self, acknowledged: int) -> None:
        limit = time.monotonic() + 600
        while self.done < acknowledged and not self._over.wait(0.02):
            if time.monotonic() > limit:
                self.errors.append(f"{self.done} transactions in ten minutes")
                return

    def server_ends(self) -> None:
        """From now on clients may lose their connections."""
        self._ends = True

    def start(self) -> None:
        sessions: list[Callable[[], None]] = [
            lambda client=client: self._rows(client) for client in range(1, CLIENTS + 1)
        ]
        if self._setting.ddl:
            sessions.append(self._tables)
        if self._setting.purge:
            sessions.append(self._purge)
        if self._setting.undo:
            sessions.append(self._undo)
        if self._setting.encryption:
            sessions.append(self._keys)
        if self._setting.wide:
            sessions.append(self._wide)
        self._threads = [
            threading.Thread(target=self._session, args=(s,), daemon=True) for s in sessions
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(300)
            if thread.is_alive():
                self.errors.append("a client hangs")

    def _session(self, session: Callable[[], None]) -> None:
        try:
            session()
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the run
            if self._ends and is_gone(error):
                return
            self.errors.append(f"{type(error).__name__}: {error}")
            self._over.set()

    def _rows(self, client: int) -> None:
        number = self._begun.rows.get(client, 0) + 1
        state = after(client, number - 1)
        dice = random.Random(f"{self._seed} {client}")
        with self._connect("pc") as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION transaction_isolation = 'READ-COMMITTED'")
            while not self._over.is_set():
                wanted = statements(state, client, number)
                try:
                    connection.begin()
                    if dice.random() < 0.05:
                        for statement in wanted[:-1]:
                            cursor.execute(statement)
                        connection.rollback()
                        connection.begin()
                    for statement in wanted:
                        cursor.execute(statement)
                    connection.commit()
                except pymysql.Error as error:
                    if error.args[0] not in AGAIN:
                        raise
                    connection.rollback()
                    continue
                self._mark(f"R {client} {number}\n")
                step(state, client, number)
                number += 1
                self.done += 1

    def _wide(self) -> None:
        number = self._begun.rows.get(WIDE, 0) + 1
        with self._connect("pc") as connection, connection.cursor() as cursor:
            while not self._over.is_set():
                connection.begin()
                for row in wide_rows(number):
                    pad = PAD.format(v=number, id=row)
                    cursor.execute(f"UPDATE wide SET v = {number}, pad = {pad} WHERE id = {row}")
                cursor.execute(
                    f"UPDATE /* R {WIDE} {number} */ ledger SET n = {number} WHERE c = {WIDE}"
                )
                connection.commit()
                self._mark(f"R {WIDE} {number}\n")
                number += 1
                self.done += 1

    def _tables(self) -> None:
        tables: Tables = {}
        number = 1
        while number <= self._begun.tables:
            definition(tables, number, encryption=self._setting.encryption)
            number += 1
        with self._connect("pcddl") as connection, connection.cursor() as cursor:
            while not self._over.is_set():
                cursor.execute(definition(tables, number, encryption=self._setting.encryption))
                self._mark(f"D {number}\n")
                number += 1

    def _purge(self) -> None:
        dice = random.Random(f"{self._seed} purge")
        with self._connect(None) as connection, connection.cursor() as cursor:
            while not self._over.wait(dice.random() * 0.5):
                cursor.execute("SHOW BINARY LOGS")
                logs = [row[0] for row in cursor.fetchall()]
                if len(logs) < 5:
                    if dice.random() < 0.5:
                        cursor.execute("FLUSH BINARY LOGS")
                    continue
                to = logs[-dice.randint(2, 4)]
                try:
                    cursor.execute(f"PURGE BINARY LOGS TO '{to}'")
                except pymysql.Error as error:
                    if error.args[0] != BACKUP_LOCK:
                        raise
                    continue  # a master key is being rotated
                self._mark(f"P {to}\n")

    def _undo(self) -> None:
        dice = random.Random(f"{self._seed} undo")
        with self._connect(None) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'pc_undo'"
            )
            if not cursor.fetchall():
                cursor.execute(CREATE_UNDO)
            names = ("innodb_undo_001", "innodb_undo_002", "pc_undo")
            for name in names:  # a server that was killed may have left one inactive
                cursor.execute(f"ALTER UNDO TABLESPACE {name} SET ACTIVE")
            while not self._over.wait(dice.random()):
                name = dice.choice(names)
                cursor.execute(f"ALTER UNDO TABLESPACE {name} SET INACTIVE")
                while not self._over.wait(0.05):
                    cursor.execute(
                        "SELECT STATE FROM information_schema.INNODB_TABLESPACES "
                        f"WHERE NAME = '{name}'"
                    )
                    if cursor.fetchall() == (("empty",),):
                        break
                cursor.execute(f"ALTER UNDO TABLESPACE {name} SET ACTIVE")

    def _keys(self) -> None:
        dice = random.Random(f"{self._seed} keys")
        with self._connect(None) as connection, connection.cursor() as cursor:
            while not self._over.wait(0.3 + dice.random()):
                what = dice.choice(("INNODB", "INNODB", "BINLOG"))
                cursor.execute(f"ALTER INSTANCE ROTATE {what} MASTER KEY")
                self._mark(f"K {what}\n")


# Checking


@dataclass
class Promised:
    """What clients had been told when the power failed."""

    rows: dict[int, int] = field(default_factory=dict)
    tables: int = 0
    purged_to: str = ""

    @classmethod
    def read(cls, marks: list[str], begun: Promised | None = None) -> Promised:
        promised = cls(dict(begun.rows), begun.tables, begun.purged_to) if begun else cls()
        for mark in marks:
            what, *words = mark.split()
            if what == "R":
                promised.rows[int(words[0])] = int(words[1])
            elif what == "D":
                promised.tables = int(words[0])
            elif what == "P":
                promised.purged_to = words[0]
        return promised

    @property
    def commits(self) -> int:
        return sum(self.rows.values()) + self.tables


@dataclass
class Findings:
    """What was found; problems as pairs of kind and text."""

    problems: list[tuple[str, str]] = field(default_factory=list)
    lost: int = 0  #: acknowledged transactions and statements that are not there
    kept: int = 0
    numbers: dict[int, int] = field(default_factory=dict)  #: the last of each client
    tables: int = 0

    def add(self, kind: str, text: str) -> None:
        self.problems.append((kind, text))


def check(
    connection: pymysql.Connection, data: Path, promised: Promised, setting: Setting
) -> Findings:
    """All that can be asked with SQL, and the files on disk."""
    found = Findings()
    with connection.cursor() as cursor:
        found.numbers = numbers = _check_rows(cursor, promised, found)
        if setting.wide:
            _check_wide(cursor, numbers, promised, found)
        if setting.ddl:
            found.tables = _check_tables(cursor, promised, setting, found)
        _check_binlog(cursor, numbers, found.tables, promised, found)
        _check_files(cursor, data, found)
    return found


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
    want = {row: number for number in range(1, last + 1) for row in wide_rows(number)}
    cursor.execute(f"SELECT id, v, pad = {PAD.format(v='v', id='id')} FROM pc.wide")
    there = cursor.fetchall()
    wrong = [key for key, v, good in there if not good or v != want.get(key, 0)]
    if wrong or len(there) != WIDE_ROWS:
        found.add(
            "half",
            f"client {WIDE} after {last}: {len(there)} rows, {len(wrong)} wrong: {wrong[:3]}",
        )


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
    for name in there:
        cursor.execute(f"CHECK TABLE pcddl.{name}")
        for _, _, kind, text in cursor.fetchall():
            if (kind, text) != ("status", "OK"):
                found.add("corrupt", f"CHECK TABLE pcddl.{name}: {kind} {text}")
        cursor.execute(f"SELECT COUNT(*), COALESCE(SUM(v = id % 7), 0) FROM pcddl.{name}")
        count, good = cursor.fetchall()[0]
        if count != good:
            found.add("half", f"pcddl.{name}: {count - good} wrong rows")
        counts[name] = count
    # Which statement was the last? Several may leave the same tables.
    tables: Tables = {}
    matching = [0] if _same(tables, there, indexes, counts) else []
    for number in range(1, promised.tables + 1 + STEPS_AHEAD):
        definition(tables, number, encryption=setting.encryption)
        if number > promised.tables - 60 and _same(tables, there, indexes, counts):
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
) -> bool:
    if tables.keys() != there.keys():
        return False
    return all(
        table.columns == there[name]
        and set(table.indexes) == indexes.get(name, set())
        and table.rows == counts[name]
        for name, table in tables.items()
    )


SEQUENCE = re.compile(r"/\* ([RD]) (\d+)(?: (\d+))? \*/")
GTID = re.compile(r"GTID_NEXT= '([0-9a-f-]+):(\d+)'")


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
        if all(row[2] != "Previous_gtids" for row in events):
            headless.add(log)
        for row in events:
            info = row[5]
            gtid = GTID.search(info)
            if gtid:
                gtids.append((gtid.group(1), int(gtid.group(2))))
                continue
            mark = SEQUENCE.search(info)
            if mark:
                kind, first, second = mark.groups()
                key = "D" if kind == "D" else f"R {first}"
                number = int(first if kind == "D" else second)
                # A statement is there as a comment of its rows, too.
                if seen.get(key, [None])[-1] != number:
                    seen.setdefault(key, []).append(number)
    last = {f"R {client}": number for client, number in numbers.items()}
    for key, there in seen.items():
        # The server writes DROP TABLE in words of its own, without the comment.
        gapless = sorted(there) if key == "D" else range(there[0], there[0] + len(there))
        if there != list(gapless):
            found.add("binlog", f"transactions of {key} are not in order without gaps: {there}")
        if key != "D" and there[-1] != last.get(key):
            found.add("binlog", f"{key}: the log ends with {there[-1]}, the engine {last.get(key)}")
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


def _check_files(cursor: pymysql.cursors.Cursor, data: Path, found: Findings) -> None:
    # A purge goes on in the background.
    limit = time.monotonic() + 30
    while True:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Binlog_purge_files_pending'")
        rows = cursor.fetchall()
        if not rows or int(rows[0][1]) == 0 or time.monotonic() > limit:
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
    cursor.execute("SELECT FILE_NAME FROM information_schema.FILES WHERE FILE_NAME IS NOT NULL")
    known = {Path(row[0]).name for row in cursor.fetchall() if row[0]}
    for file in [*data.glob("pc/*"), *data.glob("pcddl/*"), *data.glob("*.ib[ud]")]:
        if file.name not in known:
            size = file.stat().st_size
            kind, more = "stray", ""
            if file.name == "pc_undo.ibu":
                kind = "known: undo file"
                try:
                    cursor.execute(CREATE_UNDO)
                except pymysql.Error as error:
                    more = f"; to create it again fails: {error}"
                    file.unlink()
            found.add(
                kind, f"{file.relative_to(data)} of {size} bytes belongs to no tablespace{more}"
            )
