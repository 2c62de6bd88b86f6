# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Groups of stock and Sluice members; one is killed, and comes back as a clone of the other kind."""

from __future__ import annotations

import functools
import uuid

import pymysql
import pytest
from conftest import Fleet
from fleet import PASSWORD, PATIENCE, Member, compare, say, wait
from load import Load
from loopback import free_port

MEMBERS = (
    "SELECT MEMBER_PORT, MEMBER_STATE, MEMBER_ROLE"
    " FROM performance_schema.replication_group_members"
)


class Group:
    """Members that are in a group, or have been."""

    def __init__(self, servers: Fleet, kinds: list[str], *, single_primary: bool) -> None:
        addresses = [f"127.0.0.1:{free_port()}" for _ in kinds]
        assert len(set(addresses)) == len(kinds)
        single = "ON" if single_primary else "OFF"
        many = "OFF" if single_primary else "ON"
        name = uuid.uuid4()
        self.members = [
            servers.member(
                kind,
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
                "--super-read-only=ON",
                "--plugin-load-add=mysql_clone.so",
                "--plugin-load-add=group_replication.so",
                f"--loose-group-replication-group-name={name}",
                f"--loose-group-replication-local-address={address}",
                f"--loose-group-replication-group-seeds={','.join(addresses)}",
                "--loose-group-replication-start-on-boot=OFF",
                f"--loose-group-replication-single-primary-mode={single}",
                f"--loose-group-replication-enforce-update-everywhere-checks={many}",
                "--loose-group-replication-recovery-get-public-key=ON",
                # A member that only stands still on a busy machine is not a lost one.
                "--loose-group-replication-member-expel-timeout=20",
                "--loose-group-replication-message-cache-size=134217728",
            )
            for kind, address in zip(kinds, addresses, strict=True)
        ]
        self.single_primary = single_primary

    def start(self) -> None:
        first, *others = self.members
        for member in self.members:
            member.up()
            self._credentials(member)
        first.execute(
            "SET GLOBAL group_replication_bootstrap_group = ON",
            "START GROUP_REPLICATION",
            "SET GLOBAL group_replication_bootstrap_group = OFF",
        )
        for member in others:
            member.execute("START GROUP_REPLICATION")
        self.await_online(self.members)

    @staticmethod
    def _credentials(member: Member) -> None:
        member.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_USER = 'repl', SOURCE_PASSWORD = '{PASSWORD}'"
            " FOR CHANNEL 'group_replication_recovery'"
        )

    def await_online(self, members: list[Member]) -> None:
        """All see these, and no others, and all of them online."""
        wanted = {member.port for member in members}

        def agreed() -> bool:
            for member in members:
                seen = {row[0]: row[1] for row in member.all(MEMBERS)}
                assert "ERROR" not in seen.values(), f"{member}: a member is in error: {seen}"
                if set(seen) != wanted or set(seen.values()) != {"ONLINE"}:
                    return False
            return True

        wait(f"{', '.join(map(str, members))} are a group", agreed)
        primaries = self.primaries(members)
        if self.single_primary:
            assert len(primaries) == 1, f"more primaries than one: {primaries}"
        else:
            assert len(primaries) == len(members), f"not all are primaries: {primaries}"

    def primaries(self, members: list[Member]) -> list[Member]:
        rows = members[0].all(MEMBERS)
        ports = {row[0] for row in rows if row[2] == "PRIMARY"}
        return [member for member in self.members if member.port in ports]

    def kill(self, lost: Member, load: Load) -> list[Member]:
        """Kill a member; those that are left, when they have gone on without it."""
        say(f"{lost} is killed")
        lost.kill()
        left = [member for member in self.members if member is not lost]
        self.await_online(left)
        load.more(200)
        return left

    def rejoin_as_clone(self, lost: Member, left: list[Member], load: Load) -> Member:
        """It comes back, as the logs that it would need are purged; who gave it the data."""
        for member in left:
            wait(f"{member} purges binary logs", member.purge)
        lost.up("--loose-group-replication-clone-threshold=1")
        with lost.connect(read_timeout=PATIENCE) as connection, connection.cursor() as cursor:
            try:
                cursor.execute("START GROUP_REPLICATION")
            except pymysql.Error as error:
                # It may end, to be started again, before it has answered.
                assert error.args[0] in (0, 2006, 2013), error
        assert lost.await_end() == 16, f"{lost} did not end to be started again on cloned data"
        lost.up()
        state, number, words, source = lost.all(
            "SELECT STATE, ERROR_NO, ERROR_MESSAGE, SOURCE FROM performance_schema.clone_status"
        )[0]
        assert (state, number) == ("Completed", 0), f"{lost}: clone: {state} {number} {words}"
        (donor,) = [member for member in left if source.endswith(f":{member.port}")]
        say(f"{lost} is a clone of {donor}")
        with load.gently():
            lost.execute("START GROUP_REPLICATION")
            self.await_online(self.members)
        return donor

    def finish(self, load: Load) -> None:
        load.end()
        executed = [member.value("SELECT @@gtid_executed") for member in self.members]
        for member in self.members:
            for everything in executed:
                late = member.value(
                    f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{everything}', {PATIENCE})"
                )
                assert late == 0, f"{member} has not all of {everything}"
        self.await_online(self.members)
        for member in self.members:
            member.check_kind()
            load.check(member)
        compare(self.members)
        for member in self.members:
            wait(f"{member} purges binary logs", member.purge)
            member.check_at_work()
        for member in reversed(self.members):
            member.stop()


@pytest.mark.parametrize(
    "members",
    [("stock", "sluice", "sluice"), ("sluice", "stock", "stock")],
    ids=["one-stock", "one-sluice"],
)
def test_single_primary(servers, members):
    """The primary, alone of its kind, is killed, and comes back as a clone of the others."""
    group = Group(servers, list(members), single_primary=True)
    group.start()
    Load.prepare(group.members[0])
    load = Load(group.members)
    load.start()
    load.more(300)
    lost = group.members[0]
    assert group.primaries(group.members) == [lost]
    left = group.kill(lost, load)
    assert group.primaries(left)[0].ours != lost.ours
    donor = group.rejoin_as_clone(lost, left, load)
    assert donor.ours != lost.ours
    load.more(200)

    say("the one that came back is made the primary again")
    server_uuid = lost.value("SELECT @@server_uuid")
    donor.value(f"SELECT group_replication_set_as_primary('{server_uuid}')")
    assert group.primaries(group.members) == [lost]
    load.more(200)
    group.finish(load)


@pytest.mark.parametrize(
    "members",
    [("sluice", "stock", "sluice"), ("stock", "sluice", "stock")],
    ids=["one-stock", "one-sluice"],
)
def test_multi_primary(servers, members):
    """Clients write to all members; the one that is alone of its kind is killed."""
    group = Group(servers, list(members), single_primary=False)
    group.start()
    Load.prepare(group.members[0])
    everything = group.members[0].value("SELECT @@gtid_executed")
    for member in group.members:
        member.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{everything}', {PATIENCE})")
    load = Load(group.members, clients=6)
    load.start()
    load.more(300)
    check_all_write(group.members)
    lost = group.members[1]
    left = group.kill(lost, load)
    donor = group.rejoin_as_clone(lost, left, load)
    assert donor.ours != lost.ours
    load.move()
    load.more(300)
    check_all_write(group.members)
    group.finish(load)


def check_all_write(members: list[Member]) -> None:
    """Clients of the load are connected to each member."""
    for member in members:
        wait(
            f"{member} has clients that write",
            functools.partial(
                member.value,
                "SELECT COUNT(*) FROM performance_schema.processlist WHERE DB = 'topology'",
            ),
        )
