# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Counters before and after a query, from tables whose columns nobody knows beforehand."""

from __future__ import annotations

from typing import Any, Self

import pandas as pd

from ssb import counters
from ssb.counters import Counters, growth


class _Server:
    """Answers what Counters asks, from tables held here; stands in for a connection too."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]], status: dict[str, str]) -> None:
        self.tables = tables
        self.status = status
        self.description: list[tuple[str]] = []
        self._rows: list[tuple] = []

    def cursor(self) -> _Server:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        if "information_schema.tables" in statement:
            self._rows = [(name,) for name in self.tables]
        elif statement.startswith("SHOW"):
            self._rows = list(self.status.items())
        else:
            table = self.tables[statement.split("information_schema.")[1].split()[0]]
            self.description = [(name,) for name in table[0]] if table else []
            self._rows = [tuple(row.values()) for row in table]

    def fetchall(self) -> list[tuple]:
        return self._rows


def _grown(frame: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    rows = frame[["source", "row", "counter", "growth"]].itertuples(index=False)
    return {tuple(row[:3]): row[3] for row in rows if row[3] == row[3]}


def test_growth_by_pool_instance() -> None:
    rows = [{"POOL_ID": 0, "MADE_YOUNG": 5, "SINCE": "noon"}, {"POOL_ID": 1, "MADE_YOUNG": 7}]
    rows[1]["SINCE"] = "noon"
    server = _Server({"INNODB_LRU_STATS": rows}, {"Innodb_pages_read": "10", "Innodb_idle": "3"})
    watch = Counters(server)  # type: ignore[arg-type]
    before = watch.snapshot()
    # The order of rows may change, and so may a text such as the time of the last reset.
    server.tables["INNODB_LRU_STATS"] = [
        {"POOL_ID": 1, "MADE_YOUNG": 17, "SINCE": "one"},
        {"POOL_ID": 0, "MADE_YOUNG": 6, "SINCE": "one"},
    ]
    server.status["Innodb_pages_read"] = "35"
    frame = growth(before, watch.snapshot())
    grown = _grown(frame)
    assert grown["INNODB_LRU_STATS", "0", "MADE_YOUNG"] == 1
    assert grown["INNODB_LRU_STATS", "1", "MADE_YOUNG"] == 10
    assert grown[counters.STATUS, "", "Innodb_pages_read"] == 25
    assert (counters.STATUS, "", "Innodb_idle") not in grown
    since = frame[(frame["counter"] == "SINCE") & (frame["row"] == "0")].iloc[0]
    assert (since["before"], since["after"]) == ("noon", "one")


def test_a_table_of_the_future_is_saved_whatever_names_its_rows() -> None:
    rows = [
        {"POOL_ID": 0, "SETTING": "old_blocks_time=0", "READS": 4},
        {"POOL_ID": 0, "SETTING": "old_blocks_time=1000", "READS": 9},
    ]
    server = _Server({"INNODB_LRU_WHATIF": rows}, {})
    watch = Counters(server)  # type: ignore[arg-type]
    before = watch.snapshot()
    rows[1]["READS"] = 12
    grown = _grown(growth(before, watch.snapshot()))
    assert grown["INNODB_LRU_WHATIF", "0/old_blocks_time=1000", "READS"] == 3
    assert grown["INNODB_LRU_WHATIF", "0/old_blocks_time=0", "READS"] == 0


def test_rows_that_nothing_names_are_told_by_their_place() -> None:
    server = _Server({"INNODB_LRU_DEPTH": [{"PAGES": 1}, {"PAGES": 2}]}, {})
    labels = {row for _, row, _ in Counters(server).snapshot()}  # type: ignore[arg-type]
    assert labels == {"0", "1"}


def test_a_table_with_a_row_a_page_is_left_out_and_named() -> None:
    pages = [{"PAGE_ID": number} for number in range(10_001)]
    server = _Server({"INNODB_LRU_PAGES": pages}, {})
    watch = Counters(server)  # type: ignore[arg-type]
    assert not watch.snapshot()
    assert watch.too_long == {"INNODB_LRU_PAGES"}


def test_a_table_without_rows_and_a_null_are_no_trouble() -> None:
    server = _Server({"INNODB_LRU_NONE": [], "INNODB_LRU_NULL": [{"A_ID": 1, "X": None}]}, {})
    watch = Counters(server)  # type: ignore[arg-type]
    frame = growth(watch.snapshot(), watch.snapshot())
    assert frame[frame["counter"] == "X"]["growth"].isna().all()
