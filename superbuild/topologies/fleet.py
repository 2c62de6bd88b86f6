# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Servers of two kinds that reach each other on the loopback: start, look, compare."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keyring
from loopback import free_port

from harness.server import Server
from harness.server_definition import ServerDefinition
from harness.settings import Neutral

PATIENCE = 600  #: seconds; nothing here takes as long on a machine that is merely busy
PASSWORD = "between servers"
#: Who connects from server to server.
ACCOUNT = "'repl'@'127.0.0.1'"

#: All of ours that can be switched.
SWITCHES = {
    "binlog_purge_background": "ON",
    "innodb_lru_flusher": "ON",
    "innodb_page_io_fast_path": "ON",
}
#: Counters that show each of them at work.
AT_WORK = {
    "binlog_purge_background": ["binlog_purge_files_removed"],
    "innodb_lru_flusher": ["innodb_lru_flusher_pages_evicted"],
    "innodb_page_io_fast_path": [
        "innodb_page_io_fast_path_reads",
        "innodb_page_io_fast_path_writes",
    ],
}
SYSTEM = "('mysql', 'information_schema', 'performance_schema', 'sys')"


def wait(what: str, condition: Callable[[], Any]) -> Any:
    """What the condition returns, as soon as that is true."""
    end = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {PATIENCE} s: {what}"
        time.sleep(0.1)
    return found


def say(words: str) -> None:
    print(f"test-topologies: {words}", flush=True)


def install(definition: ServerDefinition, where: Path) -> ServerDefinition:
    """The same server in a folder of its own, with a keyring if the data directory wants one."""
    programs, plugins = where / "bin", where / "plugins"
    programs.mkdir(parents=True)
    # It looks for the list of its components beside its binary, which no link may stand for.
    mysqld = programs / "mysqld"
    try:
        os.link(definition.mysqld, mysqld)
    except OSError:
        shutil.copy2(definition.mysqld, mysqld)
    (programs / "mysqld.my").write_text('{"read_local_manifest": true}')
    assert definition.plugins is not None
    keyring.plugins(definition.plugins, plugins, '{"read_local_config": true}')
    return dataclasses.replace(definition, mysqld=mysqld, plugins=plugins)


class Member(Server):
    """One server of several. It may become one of the other kind, on the same data."""

    def __init__(
        self, definition: ServerDefinition, home: Path, number: int, options: Iterable[str] = ()
    ) -> None:
        super().__init__(definition, home, Neutral({}, {}))
        self.number = number
        self.port = free_port()
        self.options = list(options)

    def __str__(self) -> str:
        return f"server {self.number} ({self.definition.title})"

    @property
    def ours(self) -> bool:
        return self.definition.name == "sluice"

    # Its life

    def copy(self, data: Path) -> None:
        """A copy of a data directory of a server that is down."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.binlog_directory.mkdir(parents=True)
        shutil.copytree(data, self.data, symlinks=True)
        (self.data / "auto.cnf").unlink(missing_ok=True)

    def keyring(self) -> None:
        """From its next start on, it has a keyring."""
        (self.data / "mysqld.my").write_text(keyring.MANIFEST)
        keyring.configure(self.data, keyring.kept_in(self.home / "keyring"))

    def up(self, *more: str) -> None:
        options = [
            f"--server-id={self.number}",
            f"--log-bin={self.binlog_directory / 'binlog'}",
            "--max-binlog-size=256K",
            "--innodb-buffer-pool-size=8M",
            "--innodb-redo-log-capacity=64M",
            # Servers are killed, not machines: what is written is not lost.
            "--innodb-flush-log-at-trx-commit=2",
            "--sync-binlog=0",
            "--max-connections=100",
            "--table-open-cache=300",
            "--loose-mysqlx=OFF",
            "--skip-name-resolve",
            "--skip-stack-trace",
            "--log-error-verbosity=3",
            "--report-host=127.0.0.1",
            f"--report-port={self.port}",
            f"--secure-file-priv={self.home}",
            *self.options,
            *more,
        ]
        if self.ours:
            options += [f"--{name}={value}" for name, value in SWITCHES.items()]
        # As under systemd, it may end in order to be started again (clone).
        supervised = {"MYSQLD_PARENT_PID": str(os.getpid())}
        self.start({}, supervised, options, bare=True, port=self.port, timeout=PATIENCE)
        self.check_kind()

    def become(self, definition: ServerDefinition) -> None:
        self.stop()
        self.definition = definition
        self.name = definition.name

    def await_end(self) -> int:
        """Wait until it ends by itself; its exit status."""
        assert self._process is not None
        status = self._process.wait(PATIENCE)
        self._process = None
        return status

    def _base_command(self) -> list[str]:
        """With an option file, empty: --no-defaults would leave out the persisted variables."""
        options = self.home / "empty.cnf"
        options.touch()
        command = super()._base_command()
        return [f"--defaults-file={options}" if o == "--no-defaults" else o for o in command]

    # What it is, and does

    def check_kind(self) -> None:
        """It is what it should be, with all of our switches on if it is ours."""
        version = self.value("SELECT @@version")
        found = {name: value for name, value in self.variables().items() if name in SWITCHES}
        if self.ours:
            assert version.endswith("-sluice"), f"{self} says that it is {version}"
            assert found == SWITCHES, f"{self} runs with {found} instead of {SWITCHES}"
        else:
            assert "sluice" not in version, f"{self} says that it is {version}"
            assert not found, f"{self} knows {found}, so it is not unpatched"

    def check_at_work(self) -> None:
        """Each of our switches had an effect since the start."""
        if not self.ours:
            return
        for switch, counters in AT_WORK.items():

            def working(counters: list[str] = counters) -> bool:
                status = self.status()
                return all(int(status[name]) > 0 for name in counters)

            wait(f"{self}: {switch} at work, seen by {', '.join(counters)}", working)

    def check_log(self) -> None:
        """Nothing in its error log that nobody should see."""
        bad = re.compile(r"Assertion failure|mysqld got signal|\[FATAL\]|corrupt", re.IGNORECASE)
        if self.log.exists():
            with self.log.open(errors="replace") as lines:
                found = [line.rstrip() for line in lines if bad.search(line)]
            assert not found, f"{self}: in {self.log}:\n" + "\n".join(found[:10])

    def value(self, query: str) -> Any:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
            return row[0] if row else None

    def all(self, query: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())

    def purge(self) -> int:
        """Purge all binary logs that nobody reads; how many went."""
        self.execute("FLUSH BINARY LOGS")
        before = self.all("SHOW BINARY LOGS")
        self.execute(f"PURGE BINARY LOGS TO '{before[-1][0]}'")
        return len(before) - len(self.all("SHOW BINARY LOGS"))

    # Other programs

    def program(self, name: str) -> Path:
        """A client program of its kind."""
        places = [self.definition.basedir / "bin", self.definition.basedir]
        places += [self.definition.basedir / "runtime_output_directory"]
        for place in places:
            if (place / name).is_file():
                return place / name
        raise AssertionError(f"{self}: there is no {name} in {', '.join(map(str, places))}")

    def client(self, name: str, *arguments: str, **more: Any) -> None:
        """Run a client program of its kind on it."""
        command = [str(self.program(name)), "--no-defaults", "--user=root"]
        command += [f"--socket={self.socket}", *arguments]
        done = subprocess.run(
            command,
            env=self._environment_of_process({}),
            stderr=subprocess.PIPE,
            check=False,
            **more,
        )
        said = done.stderr.decode(errors="replace")
        assert done.returncode == 0, f"{self}: {name} ended with {done.returncode}\n{said}"


# Rows

#: A column as text that has all of it.
_AS_TEXT = {
    "geometry": "HEX(ST_AsWKB({c}))",
    "json": "HEX(CAST({c} AS CHAR))",
    "vector": "HEX({c})",
    "binary": "HEX({c})",
    "varbinary": "HEX({c})",
    "bit": "HEX({c} + 0)",
    "tinyblob": "HEX({c})",
    "blob": "HEX({c})",
    "mediumblob": "HEX({c})",
    "longblob": "HEX({c})",
}

Rows = dict[str, list[tuple[str, str]]]


def rows(member: Server, *, databases: str = f"NOT IN {SYSTEM}") -> Rows:
    """Every row of every table: what identifies it, if something does, and a hash of it."""
    columns = member.rows(
        "SELECT TABLE_SCHEMA AS db, TABLE_NAME AS tab, COLUMN_NAME AS col, DATA_TYPE AS type,"
        " COLUMN_KEY AS k FROM information_schema.COLUMNS JOIN information_schema.TABLES"
        " USING (TABLE_SCHEMA, TABLE_NAME) WHERE TABLE_TYPE = 'BASE TABLE'"
        f" AND TABLE_SCHEMA {databases} ORDER BY db, tab, ORDINAL_POSITION"
    )
    tables: dict[str, tuple[list[str], list[str]]] = {}
    for column in columns:
        texts, keys = tables.setdefault(f"`{column['db']}`.`{column['tab']}`", ([], []))
        kind = column["type"].lower()
        if kind in ("point", "linestring", "polygon", "geomcollection"):
            kind = "geometry"
        name = f"`{column['col']}`"
        texts.append(_AS_TEXT.get(kind, "HEX(CAST({c} AS CHAR))").format(c=name))
        if column["k"] == "PRI":
            keys.append(name)
    found: Rows = {}
    with member.connect() as connection, connection.cursor() as cursor:
        for table, (texts, keys) in tables.items():
            whole = ", ".join(f"IFNULL({text}, '-')" for text in texts)
            key = f"CONCAT_WS('/', {', '.join(keys)})" if keys else "''"
            cursor.execute(f"SELECT {key}, SHA2(CONCAT_WS('|', {whole}), 256) FROM {table}")
            found[table] = sorted((str(row[0]), str(row[1])) for row in cursor.fetchall())
    return found


def total(all_rows: Rows) -> str:
    """A checksum of them, and how many there are."""
    digest = hashlib.sha256(repr(sorted(all_rows.items())).encode()).hexdigest()
    return f"{sum(map(len, all_rows.values()))} rows of {len(all_rows)} tables, {digest[:16]}"


def differences(one: Rows, other: Rows) -> list[str]:
    """Tables and rows that differ, for a message."""
    found = [f"table {table} is missing on one" for table in sorted(one.keys() ^ other.keys())]
    for table in sorted(one.keys() & other.keys()):
        if one[table] != other[table]:
            differ = sorted({row[0] for row in set(one[table]) ^ set(other[table])})
            found.append(
                f"{table}: {len(one[table])} and {len(other[table])} rows, {len(differ)} keys "
                f"differ: {', '.join(differ[:8]) or '(the table has no key)'}"
            )
    return found


def compare(members: list[Member]) -> None:
    """All have the same rows in the same tables."""
    first = rows(members[0])
    assert sum(map(len, first.values())) > 0, f"{members[0]} has no rows: nothing is compared"
    for other in members[1:]:
        found = differences(first, rows(other))
        assert not found, f"{members[0]} and {other} differ:\n  " + "\n  ".join(found)
        mine, others = tables_made(members[0]), tables_made(other)
        assert mine == others, f"{members[0]} and {other} have tables made differently"
    say(f"{len(members)} servers have the same: {total(first)}")


def tables_made(member: Member) -> dict[str, str]:
    """SHOW CREATE TABLE of each table, without the counter, which replicas may have higher."""
    made = {}
    for database, table in member.all(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
        f" WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN {SYSTEM}"
    ):
        text = member.all(f"SHOW CREATE TABLE `{database}`.`{table}`")[0][1]
        made[f"{database}.{table}"] = re.sub(r" AUTO_INCREMENT=\d+", "", text)
    return made
