# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The variables whose defaults differ between the servers."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from harness.measurement import Measurement
from harness.report.blocks import Block, Table, Text
from harness.results import Results
from harness.scenario import Point, Scenario
from harness.server import Server

#: What tells one installation from another and is no default.
_NO_DEFAULTS = [
    "basedir",
    "character_sets_dir",
    "datadir",
    "error_log",
    "general_log_file",
    "hostname",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "plugin_dir",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log",
    "relay_log_basename",
    "relay_log_index",
    "report_port",
    "secure_file_priv",
    "server_uuid",
    "server_uid",
    "slow_query_log_file",
    "socket",
    "timestamp",
    "tmpdir",
    "innodb_data_home_dir",
    "innodb_tmpdir",
    "skip_networking",
    "admin_tls_version",
    "tls_version",
    "gtid_executed",
    "gtid_purged",
    "version_tokens_session",
    "version_ssl_library",
    "last_insert_id",
    "identity",
    "build_id",
]


class Defaults(Scenario):
    name = "defaults"
    report_tables = ("variables",)
    title = "Variables whose defaults differ"
    about = (
        "Each server is started with an empty data directory and told nothing but where its files "
        "are. SHOW GLOBAL VARIABLES is compared; what names files or this machine is left out. Some "
        "defaults follow from the machine's size. A dash: the server has no such variable."
    )
    rounds = 1

    def points(self) -> Sequence[Point]:
        return [Point(None, {"started": "bare"}, 15)]

    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        server.stop()
        server.create()  # without what the start with our settings left, the redo log above all
        server.start({}, bare=True)
        variables = server.variables()
        into.figure("variables", len(variables), "")
        for name in _NO_DEFAULTS:
            variables.pop(name, None)
        into.status("variables", variables)

    def report(self, results: Results) -> Sequence[Block]:
        table = results.table("variables").fillna("")
        wide = table.pivot_table(index="name", columns="server", values="value", aggfunc="first")
        wide = wide[[server for server in results.servers if server in wide]]
        differs = wide[wide.nunique(axis=1, dropna=True) > 1]
        blocks: list[Block] = [
            Table(
                differs.fillna("–").map(_shorten).reset_index(),
                f"{len(differs)} variables that several servers have, with different defaults.",
            )
        ]
        rows = [
            {"server": server, "variables of its own": ", ".join(own)}
            for server in wide
            if (own := sorted(wide.index[wide[server].notna() & (wide.notna().sum(axis=1) == 1)]))
        ]
        if rows and len(wide.columns) > 1:
            blocks.append(Table(pd.DataFrame(rows), "Variables that no other server here has."))
        elif len(wide.columns) == 1:
            blocks.append(Text("Only one server was asked."))
        return blocks


def _shorten(value: object) -> str:
    """A long list of flags would push the other servers off the page."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
