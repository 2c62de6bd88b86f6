# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What slow_statements.py makes of recorded events, without a server."""

from __future__ import annotations

import pytest

from tools import slow_statements


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ("wait/io/file/innodb/innodb_data_file", "data files"),
        ("wait/io/file/innodb/innodb_dblwr_file", "doublewrite"),
        ("wait/io/file/innodb/innodb_log_file", "redo log"),
        ("wait/io/file/innodb/innodb_redo_log_file", "redo log"),
        ("wait/synch/mutex/innodb/log_writer_mutex", "redo log"),
        ("wait/synch/mutex/innodb/buf_pool_LRU_list_mutex", "LRU list and free list"),
        ("wait/synch/mutex/innodb/buf_pool_mutex", "LRU list and free list"),
        ("wait/synch/cond/innodb/lru_flusher_free_page_cond", "a free page"),
        ("wait/synch/mutex/innodb/trx_sys_mutex", "other latches of InnoDB"),
        ("wait/synch/mutex/sql/THD::LOCK_thd_data", "other"),
    ],
)
def test_what_an_event_waits_for(event: str, name: str) -> None:
    assert slow_statements.waited_for(event) == name


def test_a_statement_has_the_waits_inside_it() -> None:
    data, log = "wait/io/file/innodb/innodb_data_file", "wait/io/file/innodb/innodb_log_file"
    # Thread 1 has a wait before the first statement, and one between the two; thread 2's first wait
    # comes after its statement began, so what was before it is not known.
    statements = [(1, 10, 19, 1000), (1, 30, 39, 3000), (2, 10, 19, 9000)]
    waits = [
        (1, 5, 777, data),
        (1, 12, 400, data),
        (1, 25, 777, data),
        (1, 31, 600, data),
        (1, 39, 1200, log),
        (2, 15, 100, data),
    ]
    all_of_them = slow_statements.bands(statements, waits)[0]
    assert all_of_them["band"] == "all"
    assert all_of_them["statements"] == 2
    assert all_of_them["milliseconds"] == pytest.approx(2000 / 1e9)
    assert all_of_them["data files"] == pytest.approx(25)
    assert all_of_them["redo log"] == pytest.approx(30)
    assert all_of_them["no known wait"] == pytest.approx(45)


def test_bands_have_the_slower_statements() -> None:
    statements = [(1, 10 * i, 10 * i + 9, 1000 * i) for i in range(1, 1001)]
    waits = [(1, 1, 1, "wait/io/file/innodb/innodb_data_file")]
    found = {band["band"]: band for band in slow_statements.bands(statements, waits)}
    assert found["p50"]["milliseconds"] == pytest.approx(500_500 / 1e9)
    assert found["p99"]["milliseconds"] == pytest.approx(990_500 / 1e9)
    assert found["p99"]["statements"] == 10


def test_nothing_recorded() -> None:
    assert slow_statements.bands([], []) == []
