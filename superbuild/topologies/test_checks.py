# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Would the other tests notice? What they look for, broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fleet
import pytest
from fleet import Member, compare
from load import Load
from test_replication import GTID, acknowledged, catch_up, follow, writable


def change(member: Member, statement: str) -> None:
    """One row, on this server alone."""
    with member.connect("topology") as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_log_bin = OFF")
        assert cursor.execute(statement) == 1, statement


def test_what_is_broken_is_found(servers, monkeypatch):
    one, other = (servers.member(kind, *GTID) for kind in ("stock", "sluice"))
    for member in (one, other):
        member.up("--super-read-only=ON")
    follow(other, one, gtid=True)
    writable(one, True)
    Load.prepare(one)
    load = Load([one])
    load.start()
    load.more(50)
    load.end()
    catch_up(other, one, gtid=True)
    compare([one, other])
    load.check(other)

    def found(words: str, check: Callable[..., Any], *what: Any) -> None:
        with pytest.raises(AssertionError, match=words):
            check(*what)

    writable(other, True)
    other.execute("STOP REPLICA")
    # A row, a byte of a row, a transaction, half a transaction, a table.
    change(other, "DELETE FROM pages WHERE id = 4711")
    found(r"`pages`: 5000 and 4999 rows, 1 keys differ: 4711", compare, [one, other])
    found("4999 rows instead of 5000", load.check, other)
    change(one, "DELETE FROM pages WHERE id = 4711")
    compare([one, other])
    change(other, "UPDATE pages SET pad = CONCAT('+', SUBSTR(pad, 2)) WHERE id = 3")
    found(r"1 keys differ: 3$", compare, [one, other])
    change(other, f"DELETE FROM ledger WHERE client = 2 AND n = {load.done[2]}")
    found("transactions by client", load.check, other)
    change(one, "UPDATE account SET v = v + 1 WHERE id = 1")
    found("a sum is wrong|rows instead of", load.check, one)
    one.execute("CREATE TABLE topology.more (id INT)")
    found("`more` is missing on one", compare, [one, other])

    # A switch that is off; a server of the other kind; a feature that does nothing.
    other.check_kind()
    other.execute("SET GLOBAL binlog_purge_background = OFF")
    found("runs with", other.check_kind)
    other.execute("SET GLOBAL binlog_purge_background = ON")
    for member, kind in ((one, "sluice"), (other, "stock")):
        member.definition, real = servers.kinds[kind], member.definition
        found("says that it is", member.check_kind)
        member.definition = real
    monkeypatch.setattr(fleet, "PATIENCE", 1)
    monkeypatch.setitem(fleet.AT_WORK, "binlog_purge_background", ["binlog_purge_errors"])
    found("binlog_purge_background at work", other.check_at_work)

    # A commit that no replica has acknowledged.
    one.execute(
        "SET GLOBAL super_read_only = OFF",
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
        "SET GLOBAL rpl_semi_sync_source_timeout = 1",
        "SET GLOBAL rpl_semi_sync_source_enabled = ON",
        "INSERT INTO topology.more VALUES (1)",
    )
    found("were not semi-synchronous", acknowledged, one)
