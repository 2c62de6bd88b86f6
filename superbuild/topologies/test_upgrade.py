# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The data of stock to Sluice and back, in place, by a dump, a clone and a physical backup.

Every kind of table is in them, the redo, undo and binary logs are encrypted, and so is what
the tables of that kind hold.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pymysql
import pytest
import table_kinds
from conftest import Fleet
from fleet import ACCOUNT, PASSWORD, Member, compare, differences, rows, say, total, wait
from load import Load
from test_replication import BOTH_WAYS, catch_up, clone, follow, writable

LRU_STATS = (
    "INNODB_LRU_STATS",
    "INNODB_LRU_STATS_SINCE_RESET",
    "INNODB_LRU_INDEX_STATS",
    "INNODB_LRU_AGE_HISTOGRAM",
    "INNODB_LRU_WHATIF",
)
#: Persisted variables: of the server, one that needs a restart, of a plugin, of a component.
PERSISTED = {
    "sort_buffer_size": "300032",
    "back_log": "77",
    "rpl_semi_sync_source_timeout": "7777",
    "validate_password.length": "9",
}
#: Those that only Sluice has.
OURS = {"binlog_purge_chunk_interval": "25", "innodb_lru_flusher_free_pages": "50"}


def server(servers: Fleet, kind: str) -> Member:
    member = servers.member(
        kind,
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--innodb-redo-log-encrypt=ON",
        "--innodb-undo-log-encrypt=ON",
        "--binlog-encryption=ON",
    )
    member.options.append(f"--innodb-directories={member.home / 'outside'}")
    (member.home / "outside").mkdir()
    member.keyring()
    return member


def test_in_place(servers):
    """Stock, Sluice, stock, Sluice on one data directory, with a load at each."""
    member = server(servers, "stock")
    member.up()
    table_kinds.create(member)
    Load.prepare(member)
    member.execute(
        "CREATE TABLE topology.branches (id INT PRIMARY KEY, r INT)",
        "INSTALL PLUGIN clone SONAME 'mysql_clone.so'",
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "INSTALL COMPONENT 'file://component_validate_password'",
        "SET PERSIST sort_buffer_size = 300032",
        "SET PERSIST_ONLY back_log = 77",
        "SET PERSIST rpl_semi_sync_source_timeout = 7777",
        "SET PERSIST validate_password.length = 9",
    )
    load = Load([member])
    load.start()
    stops = ["stock", "sluice", "stock", "sluice"]
    for r, kind in enumerate(stops, 1):
        if r > 1:
            before, besides = rows(member), table_kinds.beside(member)
            say(f"{member} becomes {kind}: {total(before)}")
            member.become(servers.kinds[kind])
            member.up()
            found = differences(before, rows(member))
            assert not found, f"{member} has other rows than before:\n  " + "\n  ".join(found)
            table_kinds.same_beside(besides, table_kinds.beside(member), lambda: str(member))
            persisted(member)
            branches(member, r - 1)
            load = resumed(member, load)
        if member.ours:
            with_ours(member, first=r == 2)
        elif r > 2:
            without_ours(member)
        table_kinds.check(member)
        load.more(150)
        table_kinds.load(member, r)
        wait(f"{member} purges binary logs", member.purge)
        load.more(50)
        load.end()
        load.check(member)
        table_kinds.check(member)
        member.check_at_work()
        if member.ours:
            uninstall(member)
        if r < len(stops):
            prepare_branches(member, r)
    member.stop()


def resumed(member: Member, before: Load) -> Load:
    """A load whose clients go on where they were."""
    load = Load([member])
    load.done = list(before.done)
    load.start()
    return load


def persisted(member: Member) -> None:
    found = {name: value for name, value in member.variables().items() if name in PERSISTED}
    assert found == PERSISTED, f"{member}: persisted variables are {found}"
    plugins = dict(member.all("SELECT PLUGIN_NAME, PLUGIN_STATUS FROM information_schema.PLUGINS"))
    for name in ("clone", "rpl_semi_sync_source"):
        assert plugins.get(name) == "ACTIVE", f"{member}: the plugin {name}: {plugins.get(name)}"


def with_ours(member: Member, *, first: bool) -> None:
    """Persisted variables and plugins that only Sluice has."""
    chunk, free = OURS
    if first:
        for name, value in OURS.items():
            member.execute(f"SET PERSIST {name} = {value}")
    else:
        # The one that was reset on stock has its default again, the other its value.
        assert member.value(f"SELECT @@global.{chunk}") == int(OURS[chunk])
        assert member.value(f"SELECT @@global.{free}") != int(OURS[free])
    for name in LRU_STATS:
        member.execute(f"INSTALL PLUGIN {name} SONAME 'lru_stats.so'")
    assert member.value("SELECT COUNT(*) FROM information_schema.INNODB_LRU_STATS") >= 1


def uninstall(member: Member) -> None:
    """As docs/user/upgrade.md says, before stock is started."""
    for name in LRU_STATS:
        member.execute(f"UNINSTALL PLUGIN {name}")


def without_ours(member: Member) -> None:
    """Stock warns of persisted variables that it does not know, and can reset them."""
    log = member.log.read_text(errors="replace")
    for name in OURS:
        assert any(name in line and "[Warning]" in line for line in log.splitlines()), (
            f"{member}: no warning of {name} in {member.log}"
        )
    member.execute("RESET PERSIST IF EXISTS innodb_lru_flusher_free_pages")


# Transactions that are prepared when the server ends

TOUCHED = ("encrypted", "by_hash", "compressed", "in_general_encrypted")


def prepare_branches(member: Member, r: int) -> None:
    """Two prepared transactions whose sessions have ended: one to commit, one to roll back."""
    for number, what in ((1, "commit"), (2, "rollback")):
        connection = member.connect()
        with connection.cursor() as cursor:
            cursor.execute(f"XA START 'branch{r}','{what}'")
            cursor.execute(f"INSERT INTO topology.branches VALUES ({r * 10 + number}, {r})")
            for name in TOUCHED:
                cursor.execute(
                    f"INSERT INTO kinds.{name} (id, a, b)"
                    f" VALUES ({900000 + r * 10 + number}, 'branch', REPEAT('x', 500))"
                )
            cursor.execute(f"XA END 'branch{r}','{what}'")
            cursor.execute(f"XA PREPARE 'branch{r}','{what}'")
        connection.close()


def branches(member: Member, r: int) -> None:
    """End what the server of the other kind has prepared."""
    found = sorted(row[3] for row in member.all("XA RECOVER"))
    wanted = [f"branch{r}commit", f"branch{r}rollback"]
    assert found == wanted, f"{member}: prepared transactions are {found}, not {wanted}"
    member.execute(f"XA COMMIT 'branch{r}','commit'", f"XA ROLLBACK 'branch{r}','rollback'")
    assert member.all("XA RECOVER") == []
    one, other = r * 10 + 1, r * 10 + 2
    assert member.all(f"SELECT id FROM topology.branches WHERE r = {r}") == [(one,)]
    for name in TOUCHED:
        ids = member.all(
            f"SELECT id FROM kinds.{name} WHERE id IN ({900000 + one}, {900000 + other})"
        )
        assert ids == [(900000 + one,)], f"{member}: kinds.{name} has {ids}"


# To another data directory


@BOTH_WAYS
def test_dump(servers, source, replica):
    """mysqldump of one kind, loaded by the client of the other."""
    one, other = server(servers, source), server(servers, replica)
    one.up()
    table_kinds.create(one)
    table_kinds.load(one, 1)
    dump = servers.home / "dump.sql"
    with dump.open("wb") as file:
        one.client(
            "mysqldump",
            "--single-transaction",
            "--routines",
            "--events",
            "--triggers",
            "--hex-blob",
            "--column-statistics",
            "--set-gtid-purged=OFF",
            "--databases",
            "kinds",
            stdout=file,
        )
    text = dump.read_bytes().replace(bytes(one.home / "outside"), bytes(other.home / "outside"))
    dump.write_bytes(text)
    other.up()
    # No dump holds tablespaces, nor accounts unless it is of the database mysql.
    other.execute(*(s for s in table_kinds.TABLESPACES if "UNDO" not in s))
    with dump.open("rb") as file:
        other.client("mysql", stdin=file, stdout=None)
    same(one, other, table_kinds.LOGICAL)
    table_kinds.check(other)
    table_kinds.load(other, 2)
    table_kinds.check(other)


def same(one: Member, other: Member, besides: dict[str, str] = table_kinds.COPIED) -> None:
    first = rows(one, databases="= 'kinds'")
    found = differences(first, rows(other, databases="= 'kinds'"))
    assert first and not found, f"{one} and {other} differ:\n  " + "\n  ".join(found)
    say(f"{one} and {other} have the same: {total(first)}")
    table_kinds.same_beside(
        table_kinds.beside(one, besides),
        table_kinds.beside(other, besides),
        lambda: f"{one}, {other}",
    )


def filled_for_a_clone(member: Member) -> Load:
    """Tables of each kind that a clone has, and a load that goes on."""
    table_kinds.create(member)
    table_kinds.without_what_no_clone_has(member)
    Load.prepare(member)
    load = Load([member])
    load.start()
    load.more(100)
    return load


#: The recipient does not have the donor's plugin.
PLUGIN_MATCH = 3870


@BOTH_WAYS
def test_clone(servers, source, replica):
    """A remote clone, under load, that goes on as a replica."""
    one, other = server(servers, source), server(servers, replica)
    for member in (one, other):
        member.up("--plugin-load-add=mysql_clone.so", "--super-read-only=ON")
    writable(one, True)
    load = filled_for_a_clone(one)
    if one.ours:
        refused_with_lru_stats(one, other)
    clone(other, one)
    other.up("--plugin-load-add=mysql_clone.so", "--super-read-only=ON")
    state = other.all("SELECT STATE, ERROR_NO FROM performance_schema.clone_status")
    assert state == [("Completed", 0)], f"{other}: {state}"
    same(one, other)
    table_kinds.check(other)
    follow(other, one, gtid=True)
    load.more(200)
    for member in (one, other):
        wait(f"{member} purges binary logs", member.purge)
    load.end()
    writable(one, False)
    catch_up(other, one, gtid=True)
    load.check(other)
    compare([one, other])
    for member in (one, other):
        member.check_at_work()


def refused_with_lru_stats(donor: Member, recipient: Member) -> None:
    """Stock cannot have the plugins of lru_stats.so, so it refuses a donor that has."""
    donor.execute(
        "SET GLOBAL super_read_only = OFF",
        "INSTALL PLUGIN INNODB_LRU_STATS SONAME 'lru_stats.so'",
    )
    writable(recipient, True)
    recipient.execute(f"SET GLOBAL clone_valid_donor_list = '127.0.0.1:{donor.port}'")
    with pytest.raises(pymysql.Error) as refused:
        recipient.execute(f"CLONE INSTANCE FROM {ACCOUNT}:{donor.port} IDENTIFIED BY '{PASSWORD}'")
    assert refused.value.args[0] == PLUGIN_MATCH, refused.value
    donor.execute("UNINSTALL PLUGIN INNODB_LRU_STATS")


@BOTH_WAYS
def test_physical_backup(servers, source, replica):
    """A copy of the running server's files, started by the other kind, and the logs since then."""
    one, other = server(servers, source), server(servers, replica)
    one.up("--plugin-load-add=mysql_clone.so")
    load = filled_for_a_clone(one)
    backup = servers.home / "backup"
    one.execute(f"CLONE LOCAL DATA DIRECTORY = '{backup}'")
    load.more(150)
    table_kinds.load(one, 1)
    load.end()

    other.copy(backup)
    (other.home / "outside").mkdir()
    other.keyring()
    shutil.copy(one.home / "keyring", other.home / "keyring")
    other.up("--plugin-load-add=mysql_clone.so")
    table_kinds.check(other)
    replay(one, other, servers.home / "since.sql")
    load.check(other)
    compare([one, other])

    # Tables alone: their files.
    moved = ("dynamic", "compressed", "encrypted", "by_hash", "json", "instant")
    for table in moved:
        move(one, other, table)
    same(one, other)
    say(f"tablespaces imported: {', '.join(moved)}")
    table_kinds.check(other)


def replay(one: Member, other: Member, file: Path) -> None:
    """What the binary logs of one have, and the other has not."""
    had = other.value("SELECT @@gtid_executed").replace("\n", "")
    logs = [row[0] for row in one.all("SHOW BINARY LOGS")]
    with file.open("wb") as out:
        one.client(
            "mysqlbinlog", "--read-from-remote-server", f"--exclude-gtids={had}", *logs, stdout=out
        )
    with file.open("rb") as since:
        other.client("mysql", "--binary-mode", stdin=since, stdout=None)
    everything = one.value("SELECT @@gtid_executed").replace("\n", "")
    assert other.value(f"SELECT GTID_SUBSET('{everything}', @@gtid_executed)") == 1
    assert other.value(f"SELECT GTID_SUBSET('{everything}', '{had}')") == 0, "nothing was replayed"


def move(one: Member, other: Member, table: str) -> None:
    """A table's files, exported by one, imported by the other in place of its own."""
    folder = Path("data") / "kinds"
    other.execute(f"DELETE FROM kinds.{table}", f"ALTER TABLE kinds.{table} DISCARD TABLESPACE")
    with one.connect("kinds") as connection, connection.cursor() as cursor:
        cursor.execute(f"FLUSH TABLES {table} FOR EXPORT")
        for file in (one.home / folder).iterdir():
            name = file.name.lower()
            if name.startswith((f"{table}.", f"{table}#p#")) and file.suffix in (
                ".ibd",
                ".cfg",
                ".cfp",
            ):
                shutil.copy(file, other.home / folder)
        cursor.execute("UNLOCK TABLES")
    other.execute(f"ALTER TABLE kinds.{table} IMPORT TABLESPACE")
