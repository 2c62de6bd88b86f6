# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Replication from stock to Sluice and back, by positions and by GTIDs, semi-synchronous."""

from __future__ import annotations

import pymysql
import pytest
from fleet import ACCOUNT, PASSWORD, PATIENCE, Member, compare, say, wait
from load import Load

BOTH_WAYS = pytest.mark.parametrize(
    ("source", "replica"), [("stock", "sluice"), ("sluice", "stock")]
)
GTID = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
POSITIONS = ("--gtid-mode=OFF",)
PLUGINS = ("--plugin-load-add=mysql_clone.so",)
#: It never gives up waiting for a replica: who is not told so is not semi-synchronous.
SEMISYNC = (
    "--plugin-load-add=semisync_source.so",
    "--plugin-load-add=semisync_replica.so",
    "--rpl-semi-sync-source-timeout=3600000",
)


def writable(member: Member, yes: bool) -> None:
    member.execute(f"SET GLOBAL super_read_only = {'OFF' if yes else 'ON'}")
    if yes:
        member.execute("SET GLOBAL read_only = OFF")


def follow(replica: Member, source: Member, *, gtid: bool) -> None:
    """It replicates from there on, from where the source is."""
    where = "SOURCE_AUTO_POSITION = 1"
    if not gtid:
        file, position = source.all("SHOW BINARY LOG STATUS")[0][:2]
        where = f"SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = {position}"
    replica.execute(
        f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {source.port},"
        f" SOURCE_USER = 'repl', SOURCE_PASSWORD = '{PASSWORD}', GET_SOURCE_PUBLIC_KEY = 1,"
        f" SOURCE_CONNECT_RETRY = 1, {where}",
        "START REPLICA",
    )
    wait(f"{replica} replicates from {source}", lambda: running(replica))


def running(replica: Member) -> bool:
    (state,) = replica.rows("SHOW REPLICA STATUS")
    assert not state["Last_SQL_Errno"], state["Last_SQL_Error"]
    return state["Replica_IO_Running"] == state["Replica_SQL_Running"] == "Yes"


def catch_up(replica: Member, source: Member, *, gtid: bool) -> None:
    """Until it has all that the source has; the source takes no more writes."""
    if gtid:
        everything = source.value("SELECT @@gtid_executed")
        late = replica.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{everything}', {PATIENCE})")
        assert late == 0, (
            f"{replica} has not all of {everything}: {replica.value('SELECT @@gtid_executed')}"
        )
    else:
        file, position = source.all("SHOW BINARY LOG STATUS")[0][:2]
        done = replica.value(f"SELECT SOURCE_POS_WAIT('{file}', {position}, {PATIENCE})")
        assert done is not None and done >= 0, f"{replica} does not reach {file} {position}: {done}"
    assert running(replica), f"{replica} has stopped"


def purge_all(members: list[Member], load: Load) -> None:
    """Purges on all servers, under load, until each one's have removed files."""
    removed = 0
    for member in members:
        removed += wait(f"{member} purges binary logs", member.purge)
        load.more(50)
    say(f"{removed} binary logs purged under load")


def semisync(source: Member, replica: Member) -> None:
    """Both sides on, and the source has a replica that answers."""
    replica.execute(
        "SET GLOBAL rpl_semi_sync_replica_enabled = ON",
        "STOP REPLICA IO_THREAD",
        "START REPLICA IO_THREAD",
    )
    source.execute("SET GLOBAL rpl_semi_sync_source_enabled = ON")

    def on() -> bool:
        there, here = source.status("Rpl_semi_sync%"), replica.status("Rpl_semi_sync%")
        return (
            there["rpl_semi_sync_source_status"] == "ON"
            and there["rpl_semi_sync_source_clients"] == "1"
            and here["rpl_semi_sync_replica_status"] == "ON"
        )

    wait(f"{source} and {replica} are semi-synchronous", on)


def acknowledged(source: Member) -> int:
    """Groups of commits that waited until the replica had them. None went without."""
    status = source.status("Rpl_semi_sync%")
    without = int(status["rpl_semi_sync_source_no_tx"])
    assert without == 0, f"{source}: {without} transactions were not semi-synchronous"
    return int(status["rpl_semi_sync_source_yes_tx"])


@BOTH_WAYS
@pytest.mark.parametrize("gtid", [False, True], ids=["positions", "gtid"])
def test_there_and_back(servers, source, replica, gtid):
    """A replica of the other kind, then the roles changed, under load each time."""
    options = GTID if gtid else POSITIONS
    one, other = (servers.member(kind, *options) for kind in (source, replica))
    for member in (one, other):
        member.up("--super-read-only=ON")
    follow(other, one, gtid=gtid)
    writable(one, True)
    Load.prepare(one)
    load = Load([one, other])
    load.start()
    load.more(400)
    purge_all([one, other], load)

    # The roles change: the source is closed, the replica has all, clients move to it.
    say("the roles change")
    writable(one, False)
    catch_up(other, one, gtid=gtid)
    other.execute("STOP REPLICA", "RESET REPLICA ALL")
    follow(one, other, gtid=gtid)
    writable(other, True)
    load.more(400)
    purge_all([one, other], load)
    load.end()
    writable(other, False)
    catch_up(one, other, gtid=gtid)
    finish([one, other], load)


@BOTH_WAYS
def test_semisync_and_a_killed_source(servers, source, replica):
    """Semi-synchronous; the source is killed; the replica has all that was acknowledged."""
    one, other = (servers.member(kind, *GTID, *SEMISYNC, *PLUGINS) for kind in (source, replica))
    for member in (one, other):
        member.up("--super-read-only=ON")
    follow(other, one, gtid=True)
    writable(one, True)
    Load.prepare(one)
    semisync(one, other)
    before = acknowledged(one)
    load = Load([one, other])
    load.start()
    load.more(400)
    purge_all([one, other], load)
    assert acknowledged(one) > before

    say(f"{one} is killed")
    one.kill()
    other.execute("STOP REPLICA IO_THREAD")
    (state,) = other.rows("SHOW REPLICA STATUS")
    received = state["Retrieved_Gtid_Set"].replace("\n", "")
    late = other.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{received}', {PATIENCE})")
    assert late == 0, f"{other} has not applied {received}"
    acked = list(load.done)
    found = dict(other.all("SELECT client, MAX(n) FROM topology.ledger GROUP BY 1"))
    for client, n in enumerate(acked):
        assert found.get(client, 0) >= n, (
            f"client {client} was told that {n} is committed, {other} has {found.get(client, 0)}"
        )
    other.execute("STOP REPLICA", "RESET REPLICA ALL")
    load.members = [other]
    writable(other, True)
    load.more(300)

    # What the killed one has alone was acknowledged to nobody: it is made anew.
    say(f"{one} comes back as a clone of {other}")
    one.up("--super-read-only=ON")
    clone(one, other)
    one.up("--super-read-only=ON")
    follow(one, other, gtid=True)
    semisync(other, one)
    before = acknowledged(other)
    load.more(300)
    assert acknowledged(other) > before
    purge_all([one, other], load)
    load.end()
    writable(other, False)
    catch_up(one, other, gtid=True)
    finish([one, other], load)


def clone(member: Member, donor: Member) -> None:
    """Its data become those of the donor. It ends, and has to be started again."""
    writable(member, True)
    member.execute(f"SET GLOBAL clone_valid_donor_list = '127.0.0.1:{donor.port}'")
    with member.connect() as connection, connection.cursor() as cursor:
        try:
            cursor.execute(f"CLONE INSTANCE FROM {ACCOUNT}:{donor.port} IDENTIFIED BY '{PASSWORD}'")
        except pymysql.Error as error:
            assert error.args[0] in (0, 2006, 2013), error
    # What a supervisor would start again (MYSQLD_RESTART_EXIT).
    assert member.await_end() == 16, f"{member} did not end to be started again"


def finish(members: list[Member], load: Load) -> None:
    for member in members:
        member.check_kind()
        load.check(member)
    compare(members)
    for member in members:
        member.check_at_work()
        member.stop()
