# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Counters of InnoDB, as differences over a load."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import pymysql

from harness.server import Server

#: Status variables: pages read from and written to data files, and fsyncs of all files.
PAGES_READ = "innodb_pages_read"
PAGES_WRITTEN = "innodb_pages_written"
SYNCS = "innodb_data_fsyncs"

#: INNODB_METRICS of 5.6 and later. A user thread that finds the free list empty searches the
#: LRU's tail for a clean page (search_num_scan), page by page (search_scanned), and if there is
#: none, for a dirty one that it writes itself (single_flush_num_scan). buffer_LRU_get_free_search
#: would be the wrong one: it counts requests that the free list answers, too.
SEARCHES = "buffer_LRU_search_num_scan"
SEARCHED_PAGES = "buffer_LRU_search_scanned"
SINGLE_FLUSH_SCANS = "buffer_LRU_single_flush_num_scan"


def enable_lru_metrics(server: Server) -> bool:
    """Turn the LRU's INNODB_METRICS on; False for a server without them."""
    try:
        server.execute("SET GLOBAL innodb_monitor_enable = 'buffer_LRU%'")
    except pymysql.err.MySQLError:
        return False
    return True


def lru_metrics(server: Server) -> dict[str, int]:
    rows = server.rows(
        "SELECT NAME, COUNT FROM INFORMATION_SCHEMA.INNODB_METRICS WHERE NAME LIKE 'buffer_LRU%'"
    )
    return {str(row["NAME"]): int(row["COUNT"]) for row in rows}


def mutex_acquisitions(server: Server) -> dict[str, int]:
    """COUNT_STAR of InnoDB's mutexes: each count is one acquisition, contended or not.

    From performance_schema.events_waits_summary_global_by_event_name, which needs the
    setting mutex_instruments.
    """
    rows = server.rows(
        "SELECT EVENT_NAME AS name, COUNT_STAR AS count"
        " FROM performance_schema.events_waits_summary_global_by_event_name"
        " WHERE EVENT_NAME LIKE 'wait/synch/mutex/innodb/%'"
    )
    return {str(row["name"]).rpartition("/")[2]: int(row["count"]) for row in rows}


def growth(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: value - before.get(name, 0) for name, value in after.items()}


def frame(counts: Mapping[str, int], column: str) -> pd.DataFrame:
    """name and count, the largest first, without what stayed at zero."""
    rows = sorted(((n, c) for n, c in counts.items() if c), key=lambda row: -row[1])
    return pd.DataFrame(rows, columns=["name", column])
