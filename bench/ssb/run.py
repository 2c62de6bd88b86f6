# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs the queries in one connection and notes time, rows, counters and plans."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from pymysql import Connection

from ssb import compare, queries
from ssb.counters import Counters, growth

_EXPLAINED = ["id", "select_type", "table", "type", "key", "key_len", "ref", "rows", "Extra"]


@dataclass(frozen=True)
class Timing:
    """One query, run once."""

    run: str  #: cold, warm 1 ...
    query: str
    seconds: float  #: from sending the statement to the last row, on the client's clock
    rows: int


class Runner:
    """Keeps what every query of every run brought."""

    def __init__(self, connection: Connection, counters: Counters) -> None:
        self._connection = connection
        self._counters = counters
        self._growth: list[pd.DataFrame] = []
        self._plans: list[list[object]] = []
        # MySQL 9 prints a tree unless asked for the table, which 5.5 has no other name for.
        new = connection.server_version.startswith(("8.", "9."))
        self._traditional = "FORMAT=TRADITIONAL " if new else ""
        self.timings: list[Timing] = []
        self.answers: dict[str, list[compare.Row]] = {}  #: the first answer of each query
        self.unsteady: list[compare.Difference] = []  #: later answers that differ from the first

    def run(self, name: str, names: Sequence[str]) -> float:
        """Each query once, in this order; returns their seconds in total."""
        total = 0.0
        with self._connection.cursor() as cursor:
            for query in names:
                statement = queries.sql(query)
                before = self._counters.snapshot()
                started = time.perf_counter()
                cursor.execute(statement)
                rows = cursor.fetchall()
                seconds = time.perf_counter() - started
                total += seconds
                after = self._counters.snapshot()
                grown = growth(before, after)
                grown.insert(0, "run", name)
                grown.insert(1, "query", query)
                self._growth.append(grown)
                self.timings.append(Timing(name, query, seconds, len(rows)))
                self._note(query, compare.canonical(rows))
                self._explain(name, query, statement)
        return total

    def _note(self, query: str, rows: list[compare.Row]) -> None:
        first = self.answers.setdefault(query, rows)
        if first is not rows:
            self.unsteady += compare.differences({query: first}, {query: rows}, [query])

    def counters(self) -> pd.DataFrame:
        """run, query, source, row, counter, before, after, growth."""
        return pd.concat(self._growth, ignore_index=True)

    def plans(self) -> pd.DataFrame:
        """EXPLAIN of each query of each run, right after it, in columns that all servers have."""
        return pd.DataFrame(self._plans, columns=["run", "query", *_EXPLAINED])

    def _explain(self, run: str, query: str, statement: str) -> None:
        # Not once for all runs: since MySQL 8 the cost of a plan depends on how much of a
        # table is in the pool. Not before the query, whose pages it would read.
        with self._connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {self._traditional}{statement}")
            columns = [column[0] for column in cursor.description]
            for row in cursor.fetchall():
                cells = dict(zip(columns, row, strict=True))
                self._plans.append([run, query, *(cells.get(column) for column in _EXPLAINED)])
