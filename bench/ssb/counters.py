# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the server counts, before and after a query.

Sources, each if the server has it:
- every INFORMATION_SCHEMA table whose name begins with INNODB_LRU_ (Sluice's plugin
  lru_stats, and what comes after it, a what-if prediction too);
- INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS (MySQL 5.6 and later, MariaDB);
- SHOW GLOBAL STATUS LIKE 'Innodb%'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from pymysql import Connection

STATUS = "STATUS"  #: the source's name of SHOW GLOBAL STATUS
LRU_PREFIX = "INNODB_LRU_"
_MOST_ROWS = 10_000  # a table with a row a page would take longer to read than a query

#: (table, which of its rows, column); values are numbers or texts.
Key = tuple[str, str, str]
Snapshot = dict[Key, object]


class Counters:
    """Takes snapshots through a connection of its own, so that no query's session sees them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.tables = self._find()
        self.too_long: set[str] = set()  #: tables left out for their length

    def _find(self) -> list[str]:
        with self._connection.cursor() as cursor:
            cursor.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = "
                r"'information_schema' AND (table_name LIKE 'INNODB\_LRU\_%' "
                "OR table_name = 'INNODB_BUFFER_POOL_STATS') ORDER BY table_name"
            )
            return [row[0].upper() for row in cursor.fetchall()]

    def snapshot(self) -> Snapshot:
        """All counters now."""
        values: Snapshot = {}
        with self._connection.cursor() as cursor:
            for table in self.tables:
                if table in self.too_long:
                    continue
                cursor.execute(f"SELECT * FROM information_schema.{table} LIMIT {_MOST_ROWS + 1}")
                rows = cursor.fetchall()
                if len(rows) > _MOST_ROWS:
                    self.too_long.add(table)
                    continue
                columns = [column[0].upper() for column in cursor.description]
                values.update(_cells(table, columns, rows))
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb%'")
            values.update(((STATUS, "", name), value) for name, value in cursor.fetchall())
        return values


def growth(before: Snapshot, after: Snapshot) -> pd.DataFrame:
    """One line a counter: source, row, counter, before, after, growth.

    Status variables that stand still are left out, they would be most of the lines.

    growth is empty where one of the two is no number. It is that of gauges too
    (lengths of lists, maxima), where it says little: `after` is their value.
    """
    lines = []
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        first, second = _number(old), _number(new)
        grown = None if first is None or second is None else second - first
        if key[0] == STATUS and not grown:
            continue
        lines.append((*key, old, new, grown))
    frame = pd.DataFrame(lines, columns=["source", "row", "counter", "before", "after", "growth"])
    return frame.astype({"before": str, "after": str})


def _cells(table: str, columns: list[str], rows: Sequence[tuple]) -> Iterator[tuple[Key, object]]:
    labels = _labels(columns, rows)
    for label, row in zip(labels, rows, strict=True):
        for name, value in zip(columns, row, strict=True):
            yield (table, label, name), value


def _labels(columns: list[str], rows: Sequence[tuple]) -> list[str]:
    """Which row it is: its columns named ..._ID, its texts with them, or else its place."""
    ids = {name for name in columns if name.endswith("_ID")}
    texts = {
        name
        for position, name in enumerate(columns)
        if all(isinstance(row[position], str) for row in rows)
    }
    for naming in (ids, ids | texts):
        labels = [
            "/".join(str(value) for name, value in zip(columns, row, strict=True) if name in naming)
            for row in rows
        ]
        if len(set(labels)) == len(rows):
            return labels
    return [str(place) for place in range(len(rows))]


def _number(value: object) -> int | float | None:
    """Status values come as text, those of tables as numbers."""
    if value is None:
        return None
    text = str(value)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None
