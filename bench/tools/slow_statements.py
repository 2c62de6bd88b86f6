# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What slow statements wait for, beside ordinary ones, server by server.

    make unoptimised stock
    make bench-slow-statements CLIENTS=16

Each server runs alone under the same load: updates or point selects by key, uniform, with data
several times the pool. The servers take turns; a round has each of them once. For SECONDS the
performance schema records each statement and each wait inside it (data files, mutexes, latches,
conditions). The output has medians over the rounds, for all statements and for those around three
percentiles:

    statements    how many there are
    milliseconds  how long one of them takes
    ...           what part of that it waits for, in percent, by what it is
    no known wait the rest: on a core, waiting for one, or in a wait that has no instrument

Recording slows every server down, so the times are not those of a server in use. Where no statement
is recorded whole, more waits came than the history holds (a million): take fewer SECONDS.

Needs sysbench. First it fills a table for each server, which is kept. Then it takes rounds *
servers * (SETTLE + SECONDS), and some seconds to read what was recorded.
"""

from __future__ import annotations

import argparse
import bisect
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from harness.errors import BenchError
from harness.server import Server
from harness.settings import size_in_bytes
from tools import tool

_PAGE_BYTES = 16384
_HISTORY = 1_000_000  #: nearly the most that the variable takes
_REST = "no known wait"

#: What is waited for, by how the event is called. The first that matches decides.
_WAITS = {
    "data files": r"wait/io/file/innodb/innodb_data_file",
    "doublewrite": r".*dblwr",
    "a free page": r".*lru_flusher",
    "LRU list and free list": r".*(LRU_list|buf_pool_free|buf_pool_mutex|flush_state)",
    "redo log": r"wait/.*/innodb/.*log_",
    "other latches of InnoDB": r"wait/synch/.*/innodb/",
    "other": r".*",
}
_MATCHERS = [(name, re.compile(pattern)) for name, pattern in _WAITS.items()]

#: From which to which part of all statements, ordered by how long they take.
_BANDS = {"all": (0, 1), "p50": (0.45, 0.55), "p95": (0.94, 0.96), "p99": (0.985, 0.995)}

_CONSUMERS = "('events_waits_history_long', 'events_statements_history_long')"
_STATEMENTS = (
    "SELECT THREAD_ID, EVENT_ID, END_EVENT_ID, TIMER_WAIT"
    " FROM performance_schema.events_statements_history_long"
    " WHERE END_EVENT_ID IS NOT NULL AND EVENT_NAME IN"
    " ('statement/sql/update', 'statement/sql/select', 'statement/com/Execute')"
)
#: Without the event of the table, which has the others inside.
_EVENTS = (
    "SELECT THREAD_ID, EVENT_ID, TIMER_WAIT, EVENT_NAME"
    " FROM performance_schema.events_waits_history_long"
    " WHERE TIMER_WAIT IS NOT NULL AND EVENT_NAME <> 'wait/io/table/sql/handler'"
)

Statement = tuple[int, int, int, int]  #: thread, first and last event, picoseconds
Wait = tuple[int, int, int, str]  #: thread, event, picoseconds, name


class Profile(tool.Turns):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options, quick=False)

    def _start(self, server: Server) -> None:
        writes = size_in_bytes(self._options.pool) // _PAGE_BYTES // 8
        server.start(
            {
                "buffer_pool_size": self._options.pool,
                "buffer_pool_instances": 1,
                "lru_scan_depth": writes,
                "io_capacity": writes,
                "performance_schema": "on",
            },
            extra=[
                f"--performance-schema-events-waits-history-long-size={_HISTORY}",
                "--performance-schema-events-statements-history-long-size=200000",
                "--performance-schema-instrument=wait/io/file/%=ON",
                "--performance-schema-instrument=wait/synch/%=ON",
                "--performance-schema-consumer-events-waits-current=ON",
                "--performance-schema-consumer-events-waits-history-long=OFF",
                "--performance-schema-consumer-events-statements-history-long=OFF",
            ],
        )

    def _measure(self, server: Server) -> list[dict[str, Any]]:
        self._start(server)
        try:
            with self._under_load(server):
                time.sleep(self._options.settle)
                _switch(server, "YES")
                time.sleep(self._options.seconds)
                _switch(server, "NO")
            found = bands(_fetch(server, _STATEMENTS), _fetch(server, _EVENTS))
        finally:
            server.stop()
        if not found:
            raise BenchError(f"{server.name}: no statement was recorded whole")
        return found

    def _line(self, found: Sequence[dict[str, Any]]) -> str:
        return f"{found[0]['statements']} statements"


def _switch(server: Server, enabled: str) -> None:
    server.execute(
        f"UPDATE performance_schema.setup_consumers SET ENABLED = '{enabled}'"
        f" WHERE NAME IN {_CONSUMERS}"
    )


def _fetch(server: Server, query: str) -> list[Any]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def waited_for(event: str) -> str:
    return next(name for name, matcher in _MATCHERS if matcher.match(event))


def bands(statements: Iterable[Statement], waits: Iterable[Wait]) -> list[dict[str, Any]]:
    """Of each band, how long a statement takes, and what part it waits for what, in percent.

    A statement counts if its thread's waits are known from before its first event on.
    """
    of_thread: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for thread, event, picoseconds, name in waits:
        of_thread[thread].append((event, picoseconds, name))
    for events in of_thread.values():
        events.sort()
    whole = [s for s in statements if s[0] in of_thread and s[1] > of_thread[s[0]][0][0]]
    whole.sort(key=lambda statement: statement[3])

    found = []
    for band, (first, last) in _BANDS.items():
        part = whole[int(first * len(whole)) : int(last * len(whole))]
        if not part:
            continue
        spent: Counter[str] = Counter()
        total = sum(statement[3] for statement in part)
        for thread, first_event, last_event, _ in part:
            events = of_thread[thread]
            i = bisect.bisect(events, (first_event, 0, ""))
            while i < len(events) and events[i][0] <= last_event:
                spent[waited_for(events[i][2])] += events[i][1]
                i += 1
        row: dict[str, Any] = {
            "band": band,
            "statements": len(part),
            "milliseconds": total / len(part) / 1e9,
        }
        row |= {name: 100 * spent[name] / total for name in _WAITS}
        row[_REST] = 100 * max(0, total - spent.total()) / total
        found.append(row)
    return found


def summary(frame: pd.DataFrame) -> str:
    medians = frame.drop(columns="round").groupby(["server", "band"], sort=False).median().T
    text = medians.to_string(float_format=lambda v: f"{v:.2f}", na_rep="-")
    return f"\nmedian of {frame['round'].max()} rounds; below milliseconds: percent of the time\n{text}"


def _parser() -> argparse.ArgumentParser:
    return tool.turns_parser(
        "bench-slow-statements",
        __doc__,
        servers="stock sluice-unoptimised",
        data_by_pool=8,
        rounds=3,
        length=1.5,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    return tool.run("bench-slow-statements", options, Profile, summary)


if __name__ == "__main__":
    sys.exit(main())
