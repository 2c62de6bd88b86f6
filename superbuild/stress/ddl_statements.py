# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""DDL of every kind: what a session of ddl.py does to the common tables, and to its own."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path

import pymysql
from ddl_rows import CHECKSUM, COLUMNS, ROWS, TABLES, check
from ddl_sessions import EXPECTED
from server import Failure, Server

TABLE_EXISTS = 1050


class Ddl:
    """DDL of one session: on the common tables, and on some of its own."""

    def __init__(self, server: Server, number: int) -> None:
        self._server = server
        self._number = number
        self._copied: Path | None = None  #: the file of a table that is not imported yet
        self._kinds = [
            self.rename,
            self.rebuild,
            self.copy,
            self.index,
            self.column,
            self.scratch,
            self.import_,
            self.exchange,
            self.general,
            self.grow,
        ]
        if server.can_encrypt:
            self._kinds += [self.encrypt, self.encrypt]
        # One session each, as they work on the server as a whole.
        if number == 0:
            self._kinds.append(self.undo)
        if number == 1:
            self._kinds.append(self.clone)
        if number == 2 and server.can_encrypt:
            self._kinds.append(self.rotate)

    def __call__(self, connection: pymysql.Connection, dice: random.Random) -> str:
        kind = dice.choice(self._kinds)
        with connection.cursor() as cursor:
            kind(connection, cursor, dice)
        return kind.__name__.strip("_")

    def _own(self, name: str) -> str:
        return f"{name}_{self._number}"

    @staticmethod
    def rename(connection, cursor, dice) -> None:
        table = f"t{dice.randrange(TABLES)}"
        try:
            cursor.execute(f"RENAME TABLE stress.{table} TO stress2.{table}")
        except pymysql.Error as error:
            # The server looks for the new name first: another session has it there.
            if error.args[0] == TABLE_EXISTS:
                return
            raise
        while True:
            try:
                check(connection, f"stress2.{table}")
                cursor.execute(f"RENAME TABLE stress2.{table} TO stress.{table}")
                return
            except pymysql.Error as error:
                if error.args[0] not in EXPECTED:
                    raise

    @staticmethod
    def rebuild(connection, cursor, dice) -> None:
        cursor.execute(f"ALTER TABLE t{dice.randrange(TABLES)} ENGINE=InnoDB, ALGORITHM=INPLACE")

    @staticmethod
    def copy(connection, cursor, dice) -> None:
        cursor.execute(f"ALTER TABLE t{dice.randrange(TABLES)} ENGINE=InnoDB, ALGORITHM=COPY")

    def index(self, connection, cursor, dice) -> None:
        table, index = f"t{dice.randrange(TABLES)}", self._own("i")
        self._until_done(cursor, f"ALTER TABLE {table} DROP INDEX {index}")
        cursor.execute(f"ALTER TABLE {table} ADD INDEX {index} (v, h), ALGORITHM=INPLACE")
        self._until_done(cursor, f"ALTER TABLE {table} DROP INDEX {index}")

    def column(self, connection, cursor, dice) -> None:
        table, column = f"t{1 + dice.randrange(TABLES - 1)}", self._own("c")
        self._until_done(cursor, f"ALTER TABLE {table} DROP COLUMN {column}")
        cursor.execute(f"ALTER TABLE {table} ADD COLUMN {column} INT DEFAULT 7")
        self._until_done(cursor, f"ALTER TABLE {table} DROP COLUMN {column}")

    @staticmethod
    def _until_done(cursor, statement: str) -> None:
        """Takes back what was done, however long it has to wait for locks or a rename."""
        while True:
            try:
                cursor.execute(statement)
                return
            except pymysql.Error as error:
                # 1091: there is nothing to take back.
                if error.args[0] == 1091:
                    return
                if error.args[0] not in (1205, 1146, 1213):
                    raise

    def scratch(self, connection, cursor, dice) -> None:
        """Create, fill, truncate, fill, drop."""
        own = self._own("scratch")
        cursor.execute(f"DROP TABLE IF EXISTS {own}")
        cursor.execute(f"CREATE TABLE {own} {COLUMNS}")
        for _ in range(2):
            cursor.execute(f"INSERT INTO {own} SELECT id, v, pad, h FROM t1")
            check(connection, own)
            cursor.execute(f"TRUNCATE TABLE {own}")
        cursor.execute(f"DROP TABLE {own}")

    def import_(self, connection, cursor, dice) -> None:
        """Export, discard, import."""
        source, target = self._own("source"), self._own("target")
        folder = self._server.data / "stress"
        cursor.execute(f"DROP TABLE IF EXISTS {source}, {target}")
        # A kill may have left what the server does not know.
        for file in folder.glob(f"{target}.*"):
            file.unlink()
        for table in (source, target):
            cursor.execute(f"CREATE TABLE {table} {COLUMNS}")
        cursor.execute(f"INSERT INTO {source} SELECT id, v, pad, h FROM t2")
        cursor.execute(f"FLUSH TABLES {source} FOR EXPORT")
        copies = [self._server.home / f"{source}{end}" for end in (".ibd", ".cfg")]
        for copy in copies:
            shutil.copy(folder / copy.name, copy)
        cursor.execute("UNLOCK TABLES")
        cursor.execute(f"ALTER TABLE {target} DISCARD TABLESPACE")
        self._copied = folder / f"{target}.ibd"
        for copy in copies:
            shutil.move(copy, folder / f"{target}{copy.suffix}")
        cursor.execute(f"ALTER TABLE {target} IMPORT TABLESPACE")
        self._copied = None
        check(connection, target)
        cursor.execute(f"UPDATE {target} SET pad = CONCAT(LEFT(pad, 99), 'i'), h = {CHECKSUM}")
        check(connection, target)
        cursor.execute(f"DROP TABLE {source}, {target}")

    def remove_copy(self) -> None:
        """What an operator does after a kill: until the import, the copy has the ID of its source, and
        the server starts with one file of an ID only."""
        copied, self._copied = self._copied, None
        if copied is None or not copied.exists():
            return
        source = copied.with_stem(self._own("source"))
        if self._space_id(copied) == self._space_id(source):
            copied.unlink()

    @staticmethod
    def _space_id(file: Path) -> bytes:
        with file.open("rb") as content:
            return content.read(38)[34:]

    def exchange(self, connection, cursor, dice) -> None:
        """Partition exchange, there and back."""
        parts, whole = self._own("parts"), self._own("whole")
        cursor.execute(f"DROP TABLE IF EXISTS {parts}, {whole}")
        cursor.execute(
            f"CREATE TABLE {parts} {COLUMNS} PARTITION BY RANGE (id) "
            f"(PARTITION p0 VALUES LESS THAN ({ROWS + 1}), PARTITION p1 VALUES LESS THAN MAXVALUE)"
        )
        cursor.execute(f"CREATE TABLE {whole} {COLUMNS}")
        cursor.execute(f"INSERT INTO {parts} SELECT id, v, pad, h FROM t3")
        cursor.execute(f"ALTER TABLE {parts} EXCHANGE PARTITION p0 WITH TABLE {whole}")
        check(connection, whole)
        cursor.execute(f"UPDATE {whole} SET pad = CONCAT(LEFT(pad, 99), 'x'), h = {CHECKSUM}")
        cursor.execute(f"ALTER TABLE {parts} EXCHANGE PARTITION p0 WITH TABLE {whole}")
        check(connection, parts)
        cursor.execute(f"ALTER TABLE {parts} TRUNCATE PARTITION p0")
        cursor.execute(f"DROP TABLE {parts}, {whole}")

    def general(self, connection, cursor, dice) -> None:
        """A general tablespace with two tables."""
        space, first, second = self._own("space"), self._own("g1"), self._own("g2")
        cursor.execute(f"DROP TABLE IF EXISTS {first}, {second}")
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (space,)
        )
        if cursor.fetchone()[0]:
            cursor.execute(f"DROP TABLESPACE {space}")
        cursor.execute(f"CREATE TABLESPACE {space} ADD DATAFILE '{space}.ibd'")
        for table in (first, second):
            cursor.execute(f"CREATE TABLE {table} {COLUMNS} TABLESPACE = {space}")
            cursor.execute(f"INSERT INTO {table} SELECT id, v, pad, h FROM t4")
            check(connection, table)
        cursor.execute(f"ALTER TABLE {first} TABLESPACE = innodb_file_per_table")
        check(connection, first)
        cursor.execute(f"DROP TABLE {first}, {second}")
        cursor.execute(f"DROP TABLESPACE {space}")

    def grow(self, connection, cursor, dice) -> None:
        """Extends a tablespace again and again, beside a temporary table that does."""
        own = self._own("grow")
        cursor.execute(f"DROP TABLE IF EXISTS {own}")
        cursor.execute(f"CREATE TABLE {own} (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        cursor.execute("DROP TEMPORARY TABLE IF EXISTS temporary_")
        cursor.execute(f"CREATE TEMPORARY TABLE temporary_ {COLUMNS}")
        for _ in range(6):
            cursor.execute(
                f"INSERT INTO {own} (b) VALUES (REPEAT('b', %s))", (dice.randint(1, 900_000),)
            )
        cursor.execute("INSERT INTO temporary_ SELECT id, v, pad, h FROM t5")
        check(connection, "temporary_")
        cursor.execute(f"SELECT COUNT(*) FROM {own} WHERE b <> REPEAT('b', LENGTH(b))")
        if cursor.fetchone()[0]:
            raise Failure(f"{own}: a BLOB is not what was written")
        cursor.execute("DROP TEMPORARY TABLE temporary_")
        cursor.execute(f"DROP TABLE {own}")

    @staticmethod
    def encrypt(connection, cursor, dice) -> None:
        table, yes = f"t{1 + dice.randrange(TABLES - 1)}", dice.choice("YN")
        cursor.execute(f"ALTER TABLE {table} ENCRYPTION = '{yes}'")

    @staticmethod
    def rotate(connection, cursor, dice) -> None:
        cursor.execute("ALTER INSTANCE ROTATE INNODB MASTER KEY")

    def undo(self, connection, cursor, dice) -> None:
        """An undo tablespace is used, emptied, truncated and dropped."""
        name = "stress_undo"
        cursor.execute(
            "SELECT STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (name,)
        )
        if cursor.fetchone() is None:
            cursor.execute(f"CREATE UNDO TABLESPACE {name} ADD DATAFILE '{name}.ibu'")
        time.sleep(2)  # transactions use it
        cursor.execute(f"ALTER UNDO TABLESPACE {name} SET INACTIVE")
        for _ in range(600):
            cursor.execute(
                "SELECT STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME = %s", (name,)
            )
            if cursor.fetchone() == ("empty",):
                cursor.execute(f"DROP UNDO TABLESPACE {name}")
                return
            time.sleep(0.1)

    def clone(self, connection, cursor, dice) -> None:
        target = self._server.home / "clone"
        shutil.rmtree(target, ignore_errors=True)
        cursor.execute(f"SET GLOBAL clone_block_ddl = {dice.choice(('ON', 'OFF'))}")
        try:
            cursor.execute(f"CLONE LOCAL DATA DIRECTORY = '{target}'")
        except pymysql.Error as error:
            # 3633: a concurrent DDL that a clone does not go with. 1025: a table was renamed to
            # a schema that has no folder in the clone yet.
            if error.args[0] not in (1025, 3633):
                raise
        shutil.rmtree(target, ignore_errors=True)
