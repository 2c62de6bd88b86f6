# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Clients that load a server as the ledger says, and the settings of a load."""

from __future__ import annotations

import functools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pymysql
from ledger import (
    CLIENTS,
    PAD,
    TABLES,
    WIDE,
    WIDE_ROWS,
    Promised,
    Tables,
    after,
    definition,
    index_change,
    statements,
    step,
    wide_rows,
)

CREATE_UNDO = "CREATE UNDO TABLESPACE pc_undo ADD DATAFILE 'pc_undo.ibu'"

#: Seconds after which a client hangs: longer than an answer may take, which says more.
HANGS = 1000

#: A purge while somebody has LOCK INSTANCE FOR BACKUP.
BACKUP_LOCK = 4085

#: Errors after which a client does the same again.
AGAIN = {1205, 1213}

#: What clients are told by a server that ends, or is gone.
GONE = {0, 1053, 1317, 2002, 2003, 2006, 2013, 3169}


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
    redo: bool = True
    index: bool = False
    binlog: bool = True


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

    def begin(self) -> None:
        if not self._setting.redo:
            with self._connect(None) as connection, connection.cursor() as cursor:
                cursor.execute("ALTER INSTANCE DISABLE INNODB REDO_LOG")

    def run(self, seconds: float, least: int = 0) -> None:
        """For so long, and until so many transactions were acknowledged."""
        self.start()
        self._over.wait(seconds)
        self.wait_for(least)
        self._over.set()
        self.join()

    def wait_for(self, acknowledged: int) -> None:
        """However long a busy machine takes: a load that goes on does not hang."""
        done, limit = self.done, time.monotonic() + 600
        while self.done < acknowledged and not self._over.wait(0.02):
            if self.done > done:
                done, limit = self.done, time.monotonic() + 600
            elif time.monotonic() > limit:
                self.errors.append(f"{done} transactions, and none more in ten minutes")
                return

    def server_ends(self) -> None:
        """From now on clients may lose their connections."""
        self._ends = True

    def start(self) -> None:
        sessions: list[Callable[[], None]] = [
            functools.partial(self._rows, client) for client in range(1, CLIENTS + 1)
        ]
        # Without a binary log, others see rows before the redo log is flushed.
        if self._setting.binlog:
            sessions.append(self._read)
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
        if self._setting.index:
            sessions.append(self._index)
        self._threads = [
            threading.Thread(target=self._session, args=(s,), daemon=True) for s in sessions
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(HANGS)
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

    def _read(self) -> None:
        """What another client has seen stays: the binary log was synced before."""
        seen: dict[int, int] = {}
        with self._connect("pc") as connection, connection.cursor() as cursor:
            while not self._over.wait(0.02):
                cursor.execute("SELECT c, n FROM ledger")
                for client, number in cursor.fetchall():
                    if number > max(seen.get(client, 0), self._begun.rows.get(client, 0)):
                        seen[client] = number
                        self._mark(f"R {client} {number}\n")

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

    def _index(self) -> None:
        """Builds an index of many pages, again and again, where the last one was."""
        number = self._begun.index + 1
        with self._connect("pc") as connection, connection.cursor() as cursor:
            while not self._over.is_set():
                cursor.execute(f"ALTER TABLE /* I {number} */ wide {index_change(number)}")
                self._mark(f"I {number}\n")
                number += 1

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
                self._mark(f"p {to}\n")
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
            self._mark("U\n")
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
